//! Agent programs and how to drive them.
//!
//! A *harness* is one agent program and the way to talk to it. This crate holds, for each harness, three pure functions:
//! run facts become a launch specification, output records become normal events, and the end of the process together
//! with what was seen becomes an outcome. It starts nothing, reads no file, knows no database and no clock: whoever
//! embeds it starts the process and feeds it the bytes.
//!
//! ```
//! use cs_harness::{AgentConfig, CommandMode, ProcessEnd, RecordSplitter, Seen, TaskEnd, adapter};
//!
//! let agent = AgentConfig::new("echo", vec!["cat".to_owned()], CommandMode::Plain)?;
//! let harness = adapter(&agent);
//! let mut seen = Seen::default();
//! let mut splitter = RecordSplitter::at_line_start();
//! let mut output: &[u8] = b"hello\n";
//! while let Some(record) = splitter.next_at_end(output) {
//!     output = &output[record.bytes.len()..];
//!     for event in harness.events(&record) {
//!         seen.observe(&event);
//!     }
//! }
//! let outcome = harness.outcome(&ProcessEnd::Exited(0), &seen);
//! assert_eq!(outcome.task, TaskEnd::Answered { text: "hello".to_owned() });
//! # Ok::<(), cs_harness::AgentConfigError>(())
//! ```
//!
//! Limits: [`RECORD_MAX_BYTES`] for a line of output, [`ANSWER_MAX_BYTES`] for an answer, [`TEXT_MAX_BYTES`] for any other
//! text of one event. The protocol that any command can speak is written down in `docs/command-harness.md`.

mod adapter;
mod agent;
mod command;
mod event;
mod failure;
mod launch;
mod outcome;
mod record;
mod seen;
mod text;

pub use adapter::{Harness, adapter};
pub use agent::{AgentConfig, AgentConfigError, CommandMode};
pub use event::{Event, UsageTotals};
pub use failure::{FailureCause, HarnessKind, public_reason};
pub use launch::{GivenAnswer, LaunchSpec, PrivateFile, RunFacts, Wake};
pub use outcome::{Outcome, ProcessEnd, TaskEnd};
pub use record::{RECORD_MAX_BYTES, Record, RecordEnd, RecordSplitter, RecordStart};
pub use seen::{Offer, Question, Seen};
pub use text::{ANSWER_MAX_BYTES, TEXT_MAX_BYTES};
