//! The ports of the record that belong to no mission crate, split by caller.

mod daemon;
mod landing;
mod people;
mod reads;

pub use daemon::{
    DaemonReads, HeldProcess, LandingBrief, Machines, Pause, PauseScope, Peeked, Present, RunBrief,
    StoppedRun,
};
pub use landing::{FencedLanding, LandingRecord, LandingResult};
pub use people::{AcceptLanding, AnswerAsk, Codebases, PeopleActs, Send, SendTo, Sent};
pub use reads::{CardDetail, CardFilter, CardReads, CardSummary};
