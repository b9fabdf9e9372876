//! How an execution ended, and what proves that nothing of it is left.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::identity::NamedProcess;
use crate::limits::Limit;

/// An execution that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// How the agent itself ended.
    pub exit: AgentExit,
    /// Whether somebody asked for the end before the agent came to its own.
    pub stopped_by_us: bool,
    /// Why we know that no process is left; `None` when some could not be ended: the execution is not closed then, and a stop of it was
    /// incomplete.
    pub proof: Option<Proof>,
    /// Processes that the agent left behind when it ended by itself. They were killed.
    pub leaked: Vec<NamedProcess>,
    /// Processes that could not be killed; empty when there is a proof, and without one when what is left cannot be named.
    pub survivors: Vec<NamedProcess>,
    /// How many rounds of stopping, walking and killing it took.
    pub rounds: u32,
    /// When the agent ended, or was found to have ended; microseconds since 1970, UTC.
    pub ended_at_unix_micros: i64,
    /// The limit that ended it, if one did; it was then stopped by us.
    pub limit: Option<Limit>,
    /// How long it worked: the machine awake, the execution not paused. `None` when it never ran or nobody could count; at most
    /// 30 s too little when its shim was lost.
    pub worked: Option<Duration>,
    /// When a person took note of the survivors, see [`dismiss`](crate::dismiss()); microseconds since 1970, UTC.
    pub dismissed_at_unix_micros: Option<i64>,
}

impl Closed {
    /// Whether nothing more is to be done about it: its end is proven, or a person has dismissed what is left.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.proof.is_some() || self.dismissed_at_unix_micros.is_some()
    }
}

/// How an agent ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentExit {
    /// It never got its GO: nothing of it ran.
    NeverStarted,
    /// It got its GO and could not be started.
    SpawnFailed(SpawnFailure),
    /// It exited with this code.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
    /// It ended and nobody could see how. Never a success.
    Unknown,
}

/// Why an agent could not be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{reason}")]
pub struct SpawnFailure {
    /// The reason, in words that hold no path.
    pub reason: SpawnReason,
    /// The system's error number; 0 when it gave none.
    pub errno: i32,
}

/// What kept an agent from being started. Its text holds no path and may be shown to anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpawnReason {
    /// There is no such program.
    ProgramNotFound,
    /// The program is there, but may not be executed or has no known format.
    NotExecutable,
    /// The program names an interpreter that is not there.
    InterpreterNotFound,
    /// The working directory is gone or not accessible.
    WorkingDirectory,
    /// Arguments and environment are longer than the system allows.
    ArgumentsTooLong,
    /// The system refused for another reason; the error number says which.
    System,
}

impl std::fmt::Display for SpawnReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ProgramNotFound => "the agent's program was not found",
            Self::NotExecutable => "the agent's program cannot be executed",
            Self::InterpreterNotFound => "the interpreter that the agent's program names was not found",
            Self::WorkingDirectory => "the agent's working directory cannot be used",
            Self::ArgumentsTooLong => "the agent's arguments and environment are too long",
            Self::System => "the system refused to start the agent",
        })
    }
}

/// Why we know that nothing of an execution runs any more. From the strongest to the weakest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// The machine was started anew since.
    HostRebooted,
    /// The execution's PID namespace has ended, and the kernel has ended everything in it before.
    NamespaceEnded,
    /// The execution's control group was found empty and could be removed.
    CgroupEmpty,
    /// The shim, to which every orphan of the tree falls, had no child left; two sweeps after it found nothing.
    SubreaperEmpty,
    /// Two sweeps, by environment cookie and by the list of known descendants, found nothing.
    SweepClean,
}
