//! opencode, `opencode run --format json`.
//!
//! It gives no end mark: the process ends after the last step, and the reason of that step tells. An error that a good step
//! follows is mended. Its exit code is wrong in both directions.

mod launch;
mod message;

pub(crate) use launch::OPENCODE_CONFIG;

use super::read::{self, Read};
use super::{outcome, wire};
use crate::{Event, Harness, HarnessKind, LaunchSpec, Line, Outcome, ProcessEnd, RunFacts, Seen};

/// opencode.
#[derive(Debug)]
pub(crate) struct Opencode {
    argv: Vec<String>,
}

impl Opencode {
    pub(crate) fn new(argv: &[String]) -> Self {
        Self { argv: argv.to_vec() }
    }
}

impl Harness for Opencode {
    fn kind(&self) -> HarnessKind {
        HarnessKind::Opencode
    }

    fn launch(&self, facts: &RunFacts) -> LaunchSpec {
        launch::launch(&self.argv, facts)
    }

    fn events(&self, line: &Line<'_>) -> Vec<Event> {
        match read::whole(line) {
            Read::Done(events) => events,
            Read::Whole(bytes) => message::events(bytes).unwrap_or_else(|| wire::not_understood(bytes)),
        }
    }

    fn outcome(&self, end: &ProcessEnd, seen: &Seen) -> Outcome {
        outcome(self.kind(), end, seen)
    }
}
