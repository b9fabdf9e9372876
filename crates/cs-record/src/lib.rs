//! The operations of the record: pure rules over one aggregate, and one loop that carries them out.
//!
//! [`Record`] implements every port of the record over a [`RowStore`]: it locks cards, decides with the pure functions of
//! [`rules`], and commits whole rows. Stores hold no rule, so that all of them behave alike; the laws in cs-testkit prove it.
//!
//! This crate must never know a database, a runtime, a process or git.
#![warn(clippy::wildcard_enum_match_arm)]

mod aggregate;
mod attachment;
mod error;
mod event;
mod evidence;
mod history;
mod journal;
mod limits;
mod ports;
mod readiness;
mod record;
mod rows;
pub mod rules;
mod run_usage;
mod store;
mod unreadable;

pub use aggregate::{Aggregate, Change, TurnMark, Writes};
pub use attachment::{Attachment, Content, ContentHash, NewAttachment, ParseHashError};
pub use error::{ErrorClass, RecordError, Refusal};
pub use event::{Cursor, Event, EventPlace, InvalidCursor, What};
pub use evidence::{Evidence, VerifyExit};
pub use journal::{JournalEntry, JournalRow};
pub use limits::{CodebaseLimits, Dependency, Limits, LiveLimit, Park, Pause, Route, Scope, Serves, Unpark};
pub use ports::{
    AcceptLanding, AddRule, AgentActs, AnswerAsk, Attach, Attachments, CardDetail, CardFilter, CardReads,
    CardSummary, ChildBrief, Choice, Chosen, Codebases, DaemonReads, Events, FencedLanding, Former, HandBack,
    HeldProcess, Housekeeping, LandingBrief, LandingRecord, LandingResult, LeftProcess, MAX_EVENTS, Machines,
    OldOperation, Peeked, PeopleActs, Plan, Present, Redirect, RunBrief, Send, SendTo, Sent, StandingRules,
    StoppedRun,
};
pub use readiness::readiness;
pub use record::Record;
pub use rows::{
    Ask, Card, Codebase, Landing, LeftBehind, Machine, Readiness, ReadyFor, Run, RunText, StandingRule, Turn,
};
pub use run_usage::RunUsage;
pub use store::{
    Earlier, Facts, JOURNAL_LIFE, Lock, Locked, Offer, PRESENCE_LIFE, Registered, RowStore, Select,
    StoreError,
};
pub use unreadable::{Gather, LeftOut, Listed, Sift, Unreadable};
