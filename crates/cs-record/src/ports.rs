//! The ports of the record that belong to no mission crate, split by caller.

mod agents;
mod attachments;
mod daemon;
mod events;
mod housekeeping;
mod landing;
mod people;
mod reads;
mod standing;

pub use agents::AgentActs;
pub use attachments::{Attach, Attachments};
pub use daemon::{
    ChildBrief, DaemonReads, Former, HeldProcess, LandingBrief, LeftProcess, Machines, Peeked, Present,
    Redirect, RunBrief, StoppedRun,
};
pub use events::{Events, MAX_EVENTS};
pub use housekeeping::{Housekeeping, OldOperation};
pub use landing::{FencedLanding, LandingRecord, LandingResult};
pub use people::{
    AcceptLanding, AnswerAsk, Choice, Chosen, Codebases, HandBack, PeopleActs, Plan, Send, SendTo, Sent,
};
pub use reads::{CardDetail, CardFilter, CardReads, CardSummary};
pub use standing::{AddRule, StandingRules};
