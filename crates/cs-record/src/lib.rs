//! The operations of the record: pure rules over one aggregate, and one loop that carries them out.
#![warn(clippy::wildcard_enum_match_arm)]

mod error;
mod ports;
mod rows;

pub use error::{ErrorClass, RecordError, Refusal};
pub use ports::{
    AcceptLanding, AnswerAsk, CardDetail, CardFilter, CardReads, CardSummary, Codebases, DaemonReads,
    FencedLanding, HeldProcess, LandingBrief, LandingRecord, LandingResult, Machines, Pause, PauseScope,
    Peeked, PeopleActs, Present, RunBrief, Send, SendTo, Sent, StoppedRun,
};
pub use rows::{Ask, Card, Codebase, Landing, Machine, Readiness, ReadyFor, Run, Turn};
