//! A control group (version 2) of an execution's own. The kernel keeps every process that is born in it there, kills all of them at
//! once, and says when none is left. No controller is needed for that.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use crate::closed::Proof;

/// Between two looks at a group that tells of no change.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// A group that is not frozen so long after it was asked for is one with a process that the kernel waits for.
const FREEZE_LIMIT: Duration = Duration::from_secs(2);

/// Which means hold the processes of an execution together, from the start of its agent on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// A control group of its own, besides what [`Tier::Subreaper`] does.
    Cgroup,
    #[default]
    /// Its shim, to which all orphans of the tree fall.
    Subreaper,
    /// A PID namespace of its own. Nothing leaves it, and it ends with its shim, by the kernel's hand.
    Namespace,
    /// The process that supervises it without a shim: nothing holds them but what it has seen, and their environment cookie.
    InProcess,
}

impl Tier {
    /// The best that can be had for what this process starts. Makes a group and removes it again.
    #[must_use]
    pub fn best() -> Self {
        let probe = Cgroup::place(&format!("cs-panel-probe-{}", std::process::id()));
        match probe.and_then(|probe| probe.make().map(|()| probe)) {
            Ok(probe) => {
                if let Err(error) = probe.remove() {
                    tracing::debug!(%error, "a control group made as a probe stays");
                }
                Self::Cgroup
            }
            Err(_) => Self::Subreaper,
        }
    }
}

/// A group, by its directory. It need not be there.
#[derive(Debug, Clone)]
pub(crate) struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
    /// Says where a group of this name would be: below that of this process, where that may be written.
    pub(crate) fn place(name: &str) -> io::Result<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        let own = fs::read_to_string("/proc/self/cgroup")?;
        let missing = || io::Error::new(io::ErrorKind::Unsupported, "no control group is mounted");
        let parent = own_dir(&mounts, &own).ok_or_else(missing)?;
        rustix::fs::access(&parent, rustix::fs::Access::WRITE_OK)?;
        Ok(Self {
            path: parent.join(name),
        })
    }

    /// The group that a process is in.
    pub(crate) fn holding(pid: Pid) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let its = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        own_dir(&mounts, &its).map(|path| Self { path })
    }

    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn make(&self) -> io::Result<()> {
        fs::create_dir(&self.path)
    }

    pub(crate) fn exists(&self) -> bool {
        self.path.is_dir()
    }

    /// The file through which a process enters the group: whoever writes `0` to it.
    pub(crate) fn entrance(&self) -> io::Result<OwnedFd> {
        let file = OpenOptions::new()
            .write(true)
            .open(self.path.join("cgroup.procs"))?;
        Ok(file.into())
    }

    /// Kills every process of the group, also those that are being born.
    pub(crate) fn kill(&self) -> io::Result<()> {
        fs::write(self.path.join("cgroup.kill"), "1")
    }

    /// Freezes the group: on return no process of it runs.
    pub(crate) fn freeze(&self) -> io::Result<()> {
        fs::write(self.path.join("cgroup.freeze"), "1")?;
        match self.await_event("frozen 1", FREEZE_LIMIT)? {
            true => Ok(()),
            false => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    pub(crate) fn thaw(&self) -> io::Result<()> {
        fs::write(self.path.join("cgroup.freeze"), "0")
    }

    /// Waits until no process is in the group or below it, and removes it.
    pub(crate) fn close(&self, limit: Duration) -> io::Result<Emptiness> {
        let is_empty = match self.await_event("populated 0", limit) {
            Ok(is_empty) => is_empty,
            // Only an empty group can be removed, whoever did it.
            Err(error) if is_gone(&error) => return Ok(Emptiness::Empty),
            Err(error) => return Err(error),
        };
        Ok(match is_empty {
            true if self.remove().is_ok() => Emptiness::Removed,
            true => Emptiness::Empty,
            false => Emptiness::Populated,
        })
    }

    /// The processes that are in the group or below it, as far as they can be named: what lies outside of our PID namespace has no
    /// number here, and not every group has a list. That there is none to be named proves nothing.
    pub(crate) fn members(&self) -> Vec<Pid> {
        let mut found = Vec::new();
        let listed = each_below(&self.path, &mut |group| {
            // The processes of a threaded group stand in the list of the one above it.
            let list = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
            found.extend(
                list.lines()
                    .filter_map(|pid| pid.parse().ok().and_then(Pid::from_raw)),
            );
            Ok(())
        });
        if let Err(error) = listed {
            tracing::debug!(%error, "not every process of a control group can be named");
        }
        found
    }

    /// Removes the group and those that its processes made in it. Only what is empty can be removed.
    pub(crate) fn remove(&self) -> io::Result<()> {
        each_below(&self.path, &mut |group| fs::remove_dir(group))
    }

    fn await_event(&self, event: &str, limit: Duration) -> io::Result<bool> {
        let mut file = File::open(self.path.join("cgroup.events"))?;
        let deadline = Instant::now() + limit;
        let mut text = String::new();
        loop {
            text.clear();
            file.rewind()?;
            file.read_to_string(&mut text)?;
            if text.lines().any(|line| line == event) {
                return Ok(true);
            }
            if Instant::now() >= deadline {
                return Ok(false);
            }
            let wait = Timespec::try_from(LOOK_INTERVAL).map_err(io::Error::other)?;
            match poll(&mut [PollFd::new(&file, PollFlags::PRI)], Some(&wait)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// What the kernel says of a group that is to be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Emptiness {
    /// No process was in it, and it is removed: none can ever be again.
    Removed,
    /// No process was in it; it could not be removed, or somebody else has done it.
    Empty,
    /// Some process is in it.
    Populated,
}

impl Emptiness {
    /// What is proven of an execution of which nothing is left as far as `without_group` goes.
    pub(crate) fn proof(self, without_group: Proof) -> Option<Proof> {
        match self {
            Self::Removed => Some(Proof::CgroupEmpty),
            Self::Empty => Some(without_group),
            Self::Populated => None,
        }
    }
}

/// A group that is removed while its files are read gives either error.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ENODEV)
}

/// Visits a group and all below it, the deepest first.
fn each_below(group: &Path, visit: &mut impl FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    for entry in fs::read_dir(group)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            each_below(&entry.path(), visit)?;
        }
    }
    visit(group)
}

/// The directory of the group that a process is in, from its `/proc/PID/mountinfo` and `/proc/PID/cgroup`.
fn own_dir(mounts: &str, own: &str) -> Option<PathBuf> {
    let path = Path::new(own.lines().find_map(|line| line.strip_prefix("0::"))?);
    mounts.lines().find_map(|line| {
        let (mount, system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        if system.split(' ').next()? != "cgroup2" {
            return None;
        }
        // A group outside of what is mounted has `..` in its path, or none of the mount's root.
        let below = path.strip_prefix(unescape(root)).ok()?;
        let is_below = below
            .components()
            .all(|part| matches!(part, std::path::Component::Normal(_)));
        is_below.then(|| Path::new(&unescape(point)).join(below))
    })
}

/// Blanks and backslashes stand in mount tables as three octal digits.
fn unescape(field: &str) -> String {
    let mut parts = field.split('\\');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part
            .get(..3)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) if code.is_ascii() => {
                text.push(char::from(code));
                text.push_str(&part[3..]);
            }
            Some(_) | None => {
                text.push('\\');
                text.push_str(part);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mounts: &str, own: &str, expected: Option<&str>) {
        assert_eq!(own_dir(mounts, own).as_deref(), expected.map(Path::new));
    }

    #[test]
    fn the_group_is_found_through_the_mount_table() {
        let hybrid = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                      37 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n\
                      38 31 0:41 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n";
        check(hybrid, "4:memory:/a\n0::/\n", Some("/sys/fs/cgroup/unified"));
        check(
            hybrid,
            "0::/user.slice/x.service\n",
            Some("/sys/fs/cgroup/unified/user.slice/x.service"),
        );
        check(hybrid, "4:memory:/a\n", None);
        check(
            "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n",
            "0::/\n",
            None,
        );
    }

    /// A directory that looks like a group.
    fn group(events: &str, procs: &str) -> (tempfile::TempDir, Cgroup) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("cgroup.events"), events).unwrap();
        fs::write(dir.path().join("cgroup.procs"), procs).unwrap();
        let group = Cgroup::at(dir.path().to_path_buf());
        (dir, group)
    }

    #[test]
    fn nothing_is_proven_of_a_populated_group_whose_processes_cannot_be_named() {
        let (_dir, group) = group("populated 1\nfrozen 0\n", "0\n0\n");
        assert_eq!(group.members(), []);
        let emptiness = group.close(Duration::ZERO).unwrap();
        assert_eq!(emptiness, Emptiness::Populated);
        assert_eq!(emptiness.proof(Proof::SweepClean), None);
    }

    #[test]
    fn a_group_that_cannot_be_removed_or_is_gone_proves_no_more_than_what_is_known_without_it() {
        // Its files keep the directory from being removed.
        let (dir, group) = group("populated 0\nfrozen 0\n", "");
        assert_eq!(group.close(Duration::ZERO).unwrap(), Emptiness::Empty);
        fs::remove_dir_all(dir.path()).unwrap();
        assert_eq!(group.close(Duration::ZERO).unwrap(), Emptiness::Empty);
        assert_eq!(
            Emptiness::Empty.proof(Proof::SubreaperEmpty),
            Some(Proof::SubreaperEmpty)
        );
        assert_eq!(
            Emptiness::Removed.proof(Proof::SweepClean),
            Some(Proof::CgroupEmpty)
        );
    }

    #[test]
    fn what_cannot_be_read_of_a_group_is_no_word_on_it() {
        let (dir, group) = group("", "");
        fs::remove_file(dir.path().join("cgroup.events")).unwrap();
        fs::create_dir(dir.path().join("cgroup.events")).unwrap();
        assert!(group.close(Duration::ZERO).is_err());
    }

    #[test]
    fn a_child_group_without_a_list_does_not_hide_the_others() {
        let (dir, group) = group("populated 1\n", "17\n");
        // Reading the list of a threaded group fails.
        fs::create_dir_all(dir.path().join("threaded/cgroup.procs")).unwrap();
        fs::create_dir(dir.path().join("plain")).unwrap();
        fs::write(dir.path().join("plain/cgroup.procs"), "18\n").unwrap();
        let mut members: Vec<i32> = group
            .members()
            .iter()
            .map(|pid| pid.as_raw_nonzero().get())
            .collect();
        members.sort_unstable();
        assert_eq!(members, [17, 18]);
    }

    #[test]
    fn a_group_outside_of_what_is_mounted_is_none() {
        let part = "38 31 0:41 /box /run/my\\040groups rw - cgroup2 cgroup2 rw\n";
        check(part, "0::/box/inner\n", Some("/run/my groups/inner"));
        check(part, "0::/other\n", None);
        check("38 31 0:41 / /g rw - cgroup2 c rw\n", "0::/../outside\n", None);
    }
}
