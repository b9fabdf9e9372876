//! What an execution may use before its shim ends it, with a daemon or without one.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What an execution may use. The shim looks at it at least once a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// How many bytes of disk its two spools and its transcript may occupy together, as the file system counts them: what was punched
    /// out of a spool counts no more. `None`: no limit. What an agent writes within one second goes beyond it.
    pub spool_bytes: Option<u64>,
    /// How long it may work in all. Time in which the machine sleeps or the execution is paused is not counted, and a new
    /// daemon does not begin anew. `None`: no limit.
    pub awake: Option<Duration>,
    /// How long it may go on when nobody follows it.
    pub lease: Lease,
}

impl Limits {
    /// Whether anything would be done about it.
    pub(crate) fn does_anything(self) -> bool {
        self.spool_bytes.is_some() || self.awake.is_some() || self.lease.at_end != LeaseEnd::Continue
    }
}

/// How long an execution may go on without somebody who follows it. Whoever awaits [`Running::closed`](crate::Running::closed)
/// renews it, and lets go on what was paused at its end; it counts time like [`Limits::awake`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The time after the last renewal.
    pub length: Duration,
    /// What happens then.
    pub at_end: LeaseEnd,
}

impl Default for Lease {
    /// 10 min, after which the execution goes on.
    fn default() -> Self {
        Self {
            length: Duration::from_secs(600),
            at_end: LeaseEnd::Continue,
        }
    }
}

/// What happens to an execution that nobody has followed for too long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaseEnd {
    /// Nothing. For what can spend neither turns nor money without bounds.
    #[default]
    Continue,
    /// It is paused until somebody follows it again, or [`Pauser::resume`](crate::Pauser::resume) lets it go on. A pause that a
    /// person has asked for is not ended by a follower.
    Pause,
    /// It is stopped.
    Stop,
}

/// A limit that ended an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// [`Limits::spool_bytes`].
    SpoolBytes,
    /// [`Limits::awake`].
    Awake,
    /// [`Limits::lease`], which ends with a stop.
    Lease,
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::SpoolBytes => "its output took more disk than it may",
            Self::Awake => "it worked for longer than it may",
            Self::Lease => "nobody followed it for longer than it may go on alone",
        })
    }
}
