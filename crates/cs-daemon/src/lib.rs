//! The pass, the starts, the landings and the sweeps of cs-panel: what composes the mission crates.
//!
//! A [`Daemon`] works on one [`StateDir`]. It takes work from the record through the claim journal, carries each attempt in
//! a task of its own from the claim to the acknowledged outcome, and carries landings. Its loop owns what is in flight and
//! never waits for a start. Whatever dies, the next daemon finds each attempt in the ledger and goes on from there; agents
//! live in their shims and do not notice.
//!
//! It must never know SQL, flags or terminals. It rests on `docs/architecture.md`, which names the steps, who owns an attempt
//! at each of them, and the invariants.
#![warn(clippy::wildcard_enum_match_arm)]

mod admission;
mod agents;
mod attempt;
mod borders;
mod bounds;
mod choices;
mod claims;
mod context;
pub mod control;
mod daemon;
mod deps;
mod doubt;
mod executions;
mod host;
mod landing;
mod leftovers;
mod outcome;
mod pause;
mod places;
mod ports;
mod presence;
mod probe;
mod prompt;
mod publications;
mod report;
mod secrets;
mod state;
mod tools;
mod trees;

pub use admission::{Admission, AdmissionFacts, ClosedBecause, admission};
pub use agents::{AgentSetup, AgentTable, Agents, FixedAgents};
pub use attempt::{BROUGHT, FELL_BACK, Sandbox, SetupStatus, setup_status};
pub use borders::{Border, Borders};
pub use bounds::Bounds;
pub use choices::{AgentChoices, ToolsBy};
pub use daemon::{Daemon, DaemonError, Ended, GoingOn, LandingLeft, LandingStage, Mode};
pub use deps::{
    AgentRules, Checkouts, Deps, LandingPolicy, MachineIdentity, Preparation, RecordPorts, Reporter,
    Settings, VERIFY_LIMIT,
};
pub use executions::{
    Allowance, Alone, AttemptFile, ExecutionEnd, ExecutionNote, Executions, Found, HeldExecution,
    HoldTrouble, Launch, LostSight, Patience, RuleTold, RunningExecution, SessionPlace, ShimExecutions,
    StopLevel, StopSwitch, VerifyFile, execution_name, is_done, last_words,
};
pub use host::{Host, ThisHost};
pub use leftovers::{
    EXECUTIONS_KEPT, KeepEverything, Leftover, Leftovers, LeftoversError, MachineLeftovers, RUN_REFS_KEPT,
    Removed, TRASH_KEPT, What,
};
pub use pause::PauseNote;
pub use probe::{PROBE_LIMIT, Probed};
pub use state::{StateDir, StateError, StateLock};
pub use tools::{progress_of, tools_socket, tools_token};
pub use trees::{
    BasePush, GitTrees, Landings, Planned, Saved, TreeError, Trees, Workplace, method_of, tree_spec,
};
