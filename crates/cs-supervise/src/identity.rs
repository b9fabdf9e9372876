//! Which process is meant: a pid alone names nobody for long.

use std::fs;
use std::io;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use crate::{proc, tree};

/// One boot of a machine, as the kernel names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BootId(String);

impl BootId {
    /// Reads the id of the running boot.
    ///
    /// # Errors
    /// The kernel does not tell it (`/proc` is not mounted).
    pub fn current() -> io::Result<Self> {
        Ok(Self(
            fs::read_to_string("/proc/sys/kernel/random/boot_id")?
                .trim()
                .to_owned(),
        ))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One process, for good: its number, when it started, and in which boot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessIdentity {
    boot_id: BootId,
    pid: i32,
    start_ticks: u64,
}

impl ProcessIdentity {
    /// A process as somebody else has noted it; `None` when that cannot be the number of a process.
    #[must_use]
    pub fn noted(boot_id: &str, pid: u32, start_ticks: u64) -> Option<Self> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
        Some(Self::new(BootId(boot_id.to_owned()), pid, start_ticks))
    }

    /// The process's number. Never signal it bare.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// When the process started, in clock ticks since the boot.
    #[must_use]
    pub fn start_ticks(&self) -> u64 {
        self.start_ticks
    }

    /// The boot in which the process started.
    #[must_use]
    pub fn boot_id(&self) -> &BootId {
        &self.boot_id
    }

    /// Whether this very process is running now. A process that has ended but was not reaped is not.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        BootId::current().is_ok_and(|boot| boot == self.boot_id)
            && self.stat().is_some_and(|stat| !stat.is_dead())
    }

    /// Whether this very process, one of this boot, is known to have ended. What cannot be seen now is not.
    pub(crate) fn has_ended(&self) -> bool {
        let Some(pid) = Pid::from_raw(self.pid) else {
            return true;
        };
        match proc::stat(pid) {
            Ok(Some(stat)) => stat.start_ticks != self.start_ticks || stat.is_dead(),
            Ok(None) => true,
            Err(_) => false,
        }
    }

    pub(crate) fn new(boot_id: BootId, pid: Pid, start_ticks: u64) -> Self {
        Self {
            boot_id,
            pid: pid.as_raw_nonzero().get(),
            start_ticks,
        }
    }

    /// The identity of a process that cannot be reaped while this runs; `None` when it is gone.
    pub(crate) fn of(boot_id: &BootId, pid: Pid) -> io::Result<Option<Self>> {
        Ok(proc::stat(pid)?.map(|stat| Self::new(boot_id.clone(), pid, stat.start_ticks)))
    }

    /// Pins this very process; `None` when it has ended. The boot must have been compared by the caller.
    pub(crate) fn pin(&self) -> Option<tree::Member> {
        tree::pin(Pid::from_raw(self.pid)?, self.start_ticks)
    }

    fn stat(&self) -> Option<proc::Stat> {
        let stat = proc::stat(Pid::from_raw(self.pid)?).ok().flatten()?;
        (stat.start_ticks == self.start_ticks).then_some(stat)
    }
}

/// A process and the name that the kernel gives it, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedProcess {
    /// Which process.
    pub identity: ProcessIdentity,
    /// Its command name, at most 15 bytes; not unique, and the process chooses it.
    pub name: String,
}

impl NamedProcess {
    pub(crate) fn of(boot_id: &BootId, member: &tree::Member) -> Self {
        Self {
            identity: ProcessIdentity::new(boot_id.clone(), member.pid, member.start_ticks),
            name: member.comm.clone(),
        }
    }
}

/// Names those of these processes that live. Their numbers may be given to others at any time: for people only.
pub(crate) fn named(boot_id: &BootId, pids: Vec<Pid>) -> Vec<NamedProcess> {
    let name = |pid| {
        let stat = proc::stat(pid).ok().flatten()?;
        (!stat.is_dead()).then(|| NamedProcess {
            identity: ProcessIdentity::new(boot_id.clone(), pid, stat.start_ticks),
            name: stat.comm,
        })
    };
    pids.into_iter().filter_map(name).collect()
}

/// The process that owns an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShimIdentity {
    /// Which process the shim is.
    pub process: ProcessIdentity,
    /// The protocol that it speaks.
    pub protocol: Protocol,
    /// The cookie in the environment of all that it starts; `None` where a version before this one has written it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cookie: Option<String>,
}

/// A version of the directory layout and of the socket protocol. Within one major version fields are only added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Protocol {
    /// Raised when an older reader would misunderstand.
    pub major: u32,
    /// Raised when something was added.
    pub minor: u32,
}

impl Protocol {
    /// What this build speaks.
    pub const CURRENT: Self = Self { major: 1, minor: 2 };

    /// The first in which a shim can be paused and its lease renewed.
    pub(crate) const WITH_PAUSE: Self = Self { major: 1, minor: 1 };

    /// The first in which a shim reads how the processes are to be held together, a PID namespace included.
    pub(crate) const WITH_NAMESPACE: Self = Self { major: 1, minor: 2 };

    /// Whether this build can drive a shim that speaks `self`.
    #[must_use]
    pub fn is_understood(self) -> bool {
        self.major == Self::CURRENT.major
    }
}
