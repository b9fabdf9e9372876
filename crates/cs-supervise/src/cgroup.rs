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

    /// Waits until no process is in the group or below it, and removes it. Returns whether it did: then none can ever be again.
    pub(crate) fn close(&self, limit: Duration) -> io::Result<bool> {
        Ok(self.await_event("populated 0", limit)? && self.remove().is_ok())
    }

    /// The processes that are in the group or below it.
    pub(crate) fn members(&self) -> io::Result<Vec<Pid>> {
        let mut found = Vec::new();
        each_below(&self.path, &mut |group| {
            let list = fs::read_to_string(group.join("cgroup.procs"))?;
            found.extend(
                list.lines()
                    .filter_map(|pid| pid.parse().ok().and_then(Pid::from_raw)),
            );
            Ok(())
        })?;
        Ok(found)
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

    #[test]
    fn a_group_outside_of_what_is_mounted_is_none() {
        let part = "38 31 0:41 /box /run/my\\040groups rw - cgroup2 cgroup2 rw\n";
        check(part, "0::/box/inner\n", Some("/run/my groups/inner"));
        check(part, "0::/other\n", None);
        check("38 31 0:41 / /g rw - cgroup2 c rw\n", "0::/../outside\n", None);
    }
}
