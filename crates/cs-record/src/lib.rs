//! The operations of the record: pure rules over one aggregate, and one loop that carries them out.
//!
//! [`Record`] implements every port of the record over a [`RowStore`]: it locks cards, decides with the pure functions of
//! [`rules`], and commits whole rows. Stores hold no rule, so that all of them behave alike; the laws in cs-testkit prove it.
//!
//! This crate must never know a database, a runtime, a process or git.
#![warn(clippy::wildcard_enum_match_arm)]

mod aggregate;
mod error;
mod ports;
mod readiness;
mod record;
mod rows;
pub mod rules;
mod store;

pub use aggregate::{Aggregate, Change, TurnMark, Writes};
pub use error::{ErrorClass, RecordError, Refusal};
pub use ports::{
    AcceptLanding, AnswerAsk, CardDetail, CardFilter, CardReads, CardSummary, Codebases, DaemonReads,
    FencedLanding, HeldProcess, LandingBrief, LandingRecord, LandingResult, Machines, Pause, PauseScope,
    Peeked, PeopleActs, Present, RunBrief, Send, SendTo, Sent, StoppedRun,
};
pub use readiness::readiness;
pub use record::Record;
pub use rows::{Ask, Card, Codebase, Landing, Machine, Readiness, ReadyFor, Run, Turn};
pub use store::{
    Facts, JournalEntry, JournalRow, Limits, Lock, Locked, PRESENCE_LIFE, Registered, RowStore, Select,
    StoreError,
};
