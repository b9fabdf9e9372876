//! Ids, states and times of cs-panel: the vocabulary that every crate shares.
//!
//! It holds no I/O, no async and no decision that needs more than its arguments. It must never know a database,
//! a process, git or an agent program. Ids are UUIDv7 newtypes, stored values are closed enums (an unknown one is an
//! error, never a default), and times are UTC cut to microseconds. Whoever stands at the edge takes the clock and the generator of the
//! machine with the feature `system`.
#![warn(clippy::wildcard_enum_match_arm)]

mod card;
mod ids;
mod landing;
mod names;
mod ports;
mod run;
#[cfg(feature = "system")]
mod system;
mod text;
mod time;

pub use card::{
    AskState, AskTo, Author, CardState, InvalidPriority, Opening, PauseKind, Priority, TurnState,
};
pub use ids::{
    AskId, AttachmentId, CardId, CodebaseId, LandingId, MachineId, OperationId, ParseIdError, RuleId, RunId,
    TurnId,
};
pub use landing::{LandMethod, LandingState, LandingTarget, Publish};
pub use names::{AgentName, InvalidName, Person};
pub use ports::{Clock, IdSource};
pub use run::{Cap, Ending, Epoch, FailureClass, OrphanTree, RunKind, RunState, TurnSeq};
#[cfg(feature = "system")]
pub use system::{SystemClock, SystemIds};
pub use text::UnknownValue;
pub use time::{ParseTimeError, Time};
