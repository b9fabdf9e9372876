//! Owns the whole process tree of each agent and proves its end.
//!
//! * [`command`]: short commands (git, probes) with a deadline, output caps and a tree kill.
//! * [`await_left_over()`]: the end of a short command whose starter died hard.
//! * [`hold()`], then [`Held::go`]: an *execution*, held by a *shim*, a small process that outlives its starter.
//! * [`survey()`]: what became of an execution while nobody looked; it adopts what is alive.
//! * [`end_untraced()`]: ends an execution whose directory is gone, by what was noted of it elsewhere.
//! * [`dismiss()`]: takes note that a person has looked after what no stop could end.
//! * [`hold_in_process()`]: an execution without a shim, for programs that want no process of ours beside them.
//! * [`glance()`]: what an execution looks like from outside, for lists.
//! * [`belongs_to()`] and [`is_in_execution()`]: whether a process is of an execution's tree, and whether this one is of any.
//! * [`Stopper`]: ends an execution with everything below it, grandchildren in sessions of their own included.
//! * [`Limits`]: what an execution may use before its shim ends it; [`Pauser`] pauses it and lets it go on.
//! * [`Follower`] reads what an agent says while it says it; [`Transcript`] keeps what was made of it, and
//!   [`Puncher`] gives back the disk of what is kept there.
//!
//! A program whose executions these are calls [`shim::run_if_requested`] first thing in `main`.
//!
//! Whether an execution is alive is whether its lock is held, never whether a pid exists. An execution is closed only
//! with a [`Proof`]. The crate knows processes, files and signals; it must never know cards, runs, the record or what an
//! agent says. Linux only so far: the proof rests on child subreapers, pidfds and `/proc`.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "cs-supervise proves the end of a process tree with Linux means; other systems are not supported yet"
);

mod agent;
mod cgroup;
mod change;
mod clock;
mod closed;
pub mod command;
mod crash;
mod dir;
mod dismiss;
mod follower;
mod framer;
mod glance;
mod hold;
mod identity;
mod in_process;
mod kin;
mod left_over;
mod limits;
mod link;
pub mod onlooker;
mod pause;
mod proc;
mod program;
mod running;
mod settle;
pub mod shim;
mod shortage;
pub mod socket;
mod survey;
mod sweep;
mod sys;
mod transcript;
mod tree;
mod untraced;
mod window;
mod wire;

pub use cgroup::Tier;
pub use change::ChangeWatch;
pub use closed::{AgentExit, Closed, Proof, SpawnFailure, SpawnReason};
pub use crash::kill_this_process;
pub use dir::ExecutionDir;
pub use dismiss::{DismissError, dismiss};
pub use follower::{FollowError, Followed, Follower};
pub use framer::{Framer, Record};
pub use glance::{Glance, Life, Load, glance};
pub use hold::{Containment, ExecutionSpec, Feature, GoError, Held, HoldError, Lack, MAX_PROMPT_BYTES, hold};
pub use identity::{BootId, NamedProcess, ProcessIdentity, Protocol, ShimIdentity};
pub use in_process::{Execution, HeldInProcess, RunningInProcess, hold_in_process};
pub use kin::{belongs_to, holds_connection, is_in_execution};
pub use left_over::{LeftOver, await_left_over};
pub use limits::{Lease, LeaseEnd, Limit, Limits};
pub use pause::{PauseError, PausedBy, Pauser};
pub use program::ShimProgram;
pub use running::{Running, StopError, StopRequest, Stopper};
pub use shortage::{free_descriptors, is_shortage};
pub use survey::{HungShim, SurveyError, Verdict, Waiting, survey};
pub use transcript::{Resumed, SpoolOffsets, Transcript, TranscriptError, TranscriptLine, TranscriptReader};
pub use untraced::{Noted, UntracedEnd, end_untraced};
pub use window::{Puncher, SpoolWindow};
pub use wire::COOKIE_VARIABLE as EXECUTION_VARIABLE;
