//! What `/proc` says about processes. Every answer is a snapshot: the caller checks identity before it acts on one.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;

use rustix::process::Pid;

/// The fields of `/proc/PID/stat` that this crate uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) comm: String,
    pub(crate) state: u8,
    pub(crate) parent: i32,
    pub(crate) threads: u32,
    /// Start time in clock ticks since boot: with the pid and the boot id it names a process for good.
    pub(crate) start_ticks: u64,
}

impl Stat {
    /// Whether the process has ended and only waits to be reaped. One whose first thread has ended while others go
    /// on looks like a zombie too, but is not dead.
    pub(crate) fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x') && self.threads <= 1
    }

    /// Whether a thread that was told to stop runs no code of its own any more: it is stopped or has ended, or the kernel lets it go
    /// no further than to its stop.
    fn stands_still(&self) -> bool {
        matches!(self.state, b'T' | b't' | b'D' | b'Z' | b'X' | b'x')
    }
}

/// Whether every thread of a process that was told to stop stands still. What is gone does, and what cannot be seen does not.
pub(crate) fn stands_still(pid: Pid) -> bool {
    let tasks = match fs::read_dir(format!("/proc/{pid}/task")) {
        Ok(tasks) => tasks,
        Err(error) => return is_gone(&error),
    };
    tasks.into_iter().all(|task| {
        let text = task.and_then(|task| fs::read(task.path().join("stat")));
        match text {
            Ok(text) => parse_stat(&text).is_some_and(|stat| stat.stands_still()),
            Err(error) => is_gone(&error),
        }
    })
}

/// Reads a process's stat; `None` when there is no such process.
pub(crate) fn stat(pid: Pid) -> io::Result<Option<Stat>> {
    match fs::read(format!("/proc/{pid}/stat")) {
        Ok(text) => parse_stat(&text)
            .map(Some)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "unreadable /proc stat line")),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A process that ends while its files are read gives either error.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

/// The command name may hold spaces and parentheses, so the fields are counted from the last `)`.
fn parse_stat(text: &[u8]) -> Option<Stat> {
    let open = text.iter().position(|byte| *byte == b'(')?;
    let close = text.iter().rposition(|byte| *byte == b')')?;
    let comm = String::from_utf8_lossy(text.get(open + 1..close)?).into_owned();
    let rest = std::str::from_utf8(text.get(close + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    // Fields 20 and 22 of the line; state is field 3 and the parent field 4.
    let threads = fields.nth(15)?.parse().ok()?;
    let start_ticks = fields.nth(1)?.parse().ok()?;
    Some(Stat {
        comm,
        state,
        parent,
        threads,
        start_ticks,
    })
}

/// Every process that `/proc` shows.
pub(crate) fn all() -> io::Result<Vec<Pid>> {
    let mut pids = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Ok(entry) = entry else { continue };
        pids.extend(entry.file_name().to_str().and_then(parse_pid));
    }
    Ok(pids)
}

fn parse_pid(text: &str) -> Option<Pid> {
    text.parse().ok().and_then(Pid::from_raw)
}

/// The children of all threads of a process. Complete only while the process and its children stand still.
pub(crate) fn children(parent: Pid) -> io::Result<Vec<Pid>> {
    let tasks = match fs::read_dir(format!("/proc/{parent}/task")) {
        Ok(tasks) => tasks,
        Err(error) if is_gone(&error) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for task in tasks {
        let Ok(task) = task else { continue };
        match fs::read_to_string(task.path().join("children")) {
            Ok(list) => found.extend(list.split_ascii_whitespace().filter_map(parse_pid)),
            // A thread that has just ended, or a kernel without per-task child lists.
            Err(error) if error.kind() == io::ErrorKind::NotFound && task.path().exists() => {
                return children_by_scan(parent);
            }
            Err(_) => {}
        }
    }
    Ok(found)
}

/// The children of a process by looking at every process's parent, for kernels without child lists.
fn children_by_scan(parent: Pid) -> io::Result<Vec<Pid>> {
    let mut found = Vec::new();
    for pid in all()? {
        if let Ok(Some(stat)) = stat(pid)
            && stat.parent == parent.as_raw_nonzero().get()
        {
            found.push(pid);
        }
    }
    Ok(found)
}

/// How much memory a process occupies; nothing when it is gone.
pub(crate) fn resident_bytes(pid: Pid) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages
        .unwrap_or(0)
        .saturating_mul(rustix::param::page_size() as u64)
}

/// The value that a variable had in the environment with which a process was started.
pub(crate) fn environment(pid: Pid, name: &str) -> Option<Vec<u8>> {
    let block = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut values = block.split(|byte| *byte == 0).filter_map(|entry| {
        let value = entry.strip_prefix(name.as_bytes())?;
        value.strip_prefix(b"=")
    });
    values.next().map(<[u8]>::to_vec)
}

/// The arguments of a process.
pub(crate) fn arguments(pid: Pid) -> io::Result<Vec<OsString>> {
    let line = fs::read(format!("/proc/{pid}/cmdline"))?;
    let line = line.strip_suffix(b"\0").unwrap_or(&line);
    let arguments = line.split(|byte| *byte == 0);
    Ok(arguments.map(|word| OsString::from_vec(word.to_vec())).collect())
}

/// Whether a process was started with this `NAME=value` in its environment. A process that cannot be read has none, and
/// nobody has an empty one.
pub(crate) fn has_environment(pid: Pid, assignment: &[u8]) -> bool {
    !assignment.is_empty()
        && fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|block| block.split(|byte| *byte == 0).any(|entry| entry == assignment))
}

/// The value of a variable in the environment that a process was started with; `None` when it has none of that name.
pub(crate) fn variable(pid: Pid, name: &str) -> io::Result<Option<Vec<u8>>> {
    let block = fs::read(format!("/proc/{pid}/environ"))?;
    let mut entries = block.split(|byte| *byte == 0);
    let value = |entry: &[u8]| Some(entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?.to_vec());
    Ok(entries.find_map(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zombie(threads: u32) -> Stat {
        Stat {
            comm: String::new(),
            state: b'Z',
            parent: 1,
            threads,
            start_ticks: 1,
        }
    }

    #[test]
    fn a_process_whose_first_thread_ended_is_not_dead_while_others_go_on() {
        assert!(zombie(1).is_dead());
        assert!(!zombie(2).is_dead());
    }

    #[test]
    fn a_thread_that_runs_or_sleeps_does_not_stand_still() {
        let is_still = |state| Stat { state, ..zombie(1) }.stands_still();
        assert!(b"TtDZX".iter().all(|state| is_still(*state)));
        assert!(!b"RSI".iter().any(|state| is_still(*state)));
    }

    #[test]
    fn this_process_does_not_stand_still_and_what_is_gone_does() {
        assert!(!stands_still(rustix::process::getpid()));
        let no_such = Pid::from_raw(i32::MAX).unwrap();
        assert!(stands_still(no_such));
    }

    #[test]
    fn a_command_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let line = b"42 (a) b (c) S 7 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 98765 19 20\n";
        let stat = parse_stat(line).unwrap();
        assert_eq!(stat.comm, "a) b (c");
        assert_eq!(
            (stat.state, stat.parent, stat.threads, stat.start_ticks),
            (b'S', 7, 16, 98765)
        );
    }

    #[test]
    fn a_cut_line_is_refused() {
        assert_eq!(parse_stat(b"42 (sh) S 7 1"), None);
        assert_eq!(parse_stat(b""), None);
        assert_eq!(parse_stat(b")("), None);
    }

    #[test]
    fn our_own_line_can_be_read() {
        let stat = stat(rustix::process::getpid()).unwrap().unwrap();
        assert!(stat.start_ticks > 0 && !stat.is_dead());
    }
}
