//! pi, `pi -p --mode json`.
//!
//! Its exit code is always zero: the reason with which the model stopped tells. Old versions give no end mark; new ones end with
//! `agent_settled`. It repeats its messages in many lines, which are left out before they are read.

mod launch;
mod message;

use super::read::{self, Read};
use super::{outcome, wire};
use crate::{Event, Harness, HarnessKind, LaunchSpec, Line, Outcome, ProcessEnd, RunFacts, Seen};

/// pi.
#[derive(Debug)]
pub(crate) struct Pi {
    argv: Vec<String>,
}

impl Pi {
    pub(crate) fn new(argv: &[String]) -> Self {
        Self { argv: argv.to_vec() }
    }
}

impl Harness for Pi {
    fn kind(&self) -> HarnessKind {
        HarnessKind::Pi
    }

    fn launch(&self, facts: &RunFacts) -> LaunchSpec {
        launch::launch(&self.argv, facts)
    }

    fn events(&self, line: &Line<'_>) -> Vec<Event> {
        if message::is_repetition(line.bytes) {
            return Vec::new();
        }
        match read::whole(line) {
            Read::Done(events) => events,
            Read::Whole(bytes) => message::events(bytes).unwrap_or_else(|| wire::not_understood(bytes)),
        }
    }

    fn outcome(&self, end: &ProcessEnd, seen: &Seen) -> Outcome {
        outcome(self.kind(), end, seen)
    }
}
