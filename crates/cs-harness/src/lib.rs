//! Agent programs and how to drive them.
//!
//! A *harness* is one agent program and the way to talk to it. This crate holds, for each harness, three pure functions:
//! run facts become a launch specification, lines of output become normal events, and the end of the process together
//! with what was seen becomes an outcome. It starts nothing, reads no file, knows no database and no clock: whoever
//! embeds it starts the process and feeds it the bytes.
//!
//! ```
//! use cs_harness::{AgentConfig, HarnessKind, Line, ProcessEnd, Seen, TaskEnd, adapter};
//!
//! let agent = AgentConfig::new("echo", vec!["cat".to_owned()], HarnessKind::Plain)?;
//! let harness = adapter(&agent);
//! let mut seen = Seen::default();
//! for bytes in b"hello\n".split_inclusive(|byte| *byte == b'\n') {
//!     for event in harness.events(&Line { bytes, dropped_bytes: 0 }) {
//!         seen.observe(&event);
//!     }
//! }
//! let outcome = harness.outcome(&ProcessEnd::Exited(0), &seen);
//! assert_eq!(outcome.task, TaskEnd::Answered { text: "hello".to_owned() });
//! # Ok::<(), cs_harness::AgentConfigError>(())
//! ```
//!
//! Limits: [`LINE_MAX_BYTES`] for a line of output, [`ANSWER_MAX_BYTES`] for an answer, [`TEXT_MAX_BYTES`] for any other
//! text of one event. The protocol that any command can speak is written down in `docs/command-harness.md`.

mod adapter;
mod agent;
mod command;
mod event;
mod failure;
mod hindrance;
mod json;
mod kind;
mod launch;
mod line;
mod mask;
mod native;
mod outcome;
mod price;
mod probe;
mod seen;
mod stop;
mod text;
mod tools;
mod version;

pub use adapter::{Harness, adapter};
pub use agent::{AgentConfig, AgentConfigError};
pub use event::{
    AskAgain, Event, Matter, ToolServer, Trouble, TurnMark, UsageReport, UsageSpan, UsageTotals,
};
pub use failure::{FailureCause, public_reason};
pub use hindrance::Hindrance;
pub use json::read_json;
pub use kind::{HarnessKind, UnknownHarness};
pub use launch::{GivenAnswer, LaunchSpec, OwnSettings, Permissions, PrivateFile, RunFacts, Wake};
pub use line::{LINE_MAX_BYTES, Line};
pub use mask::names_a_secret;
pub use native::{ANSWER_WITHIN, COMMIT_COMMANDS, SessionFiles, SessionReader, UNREAD_MAX_BYTES};
pub use outcome::{Outcome, ProcessEnd, TaskEnd, is_from_outside};
pub use price::{PRICES_OF, Price, price_of};
pub use probe::{
    SignIn, SignInMeans, is_too_old, least_version, sign_in_means, sign_in_told, version_in, version_question,
};
pub use seen::{Offer, Question, Seen};
pub use stop::stop_now;
pub use text::{ANSWER_MAX_BYTES, TEXT_MAX_BYTES, Tail, cap_text, one_line};
pub use tools::{PANEL_SERVER, PanelTools};
