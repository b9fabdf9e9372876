//! Codex.

mod launch;
mod lines;

pub(super) use lines::Tokens;

use super::{outcome, read};
use crate::{Event, Harness, HarnessKind, LaunchSpec, Line, Outcome, ProcessEnd, RunFacts, Seen};

/// Codex.
#[derive(Debug)]
pub(crate) struct Codex {
    argv: Vec<String>,
}

impl Codex {
    pub(crate) fn new(argv: &[String]) -> Self {
        Self { argv: argv.to_vec() }
    }
}

impl Harness for Codex {
    fn kind(&self) -> HarnessKind {
        HarnessKind::Codex
    }

    fn launch(&self, facts: &RunFacts) -> LaunchSpec {
        launch::launch(&self.argv, facts)
    }

    fn events(&self, line: &Line<'_>) -> Vec<Event> {
        match read::whole(line) {
            read::Read::Whole(bytes) => lines::events(bytes),
            read::Read::Done(events) => events,
        }
    }

    fn outcome(&self, end: &ProcessEnd, seen: &Seen) -> Outcome {
        outcome(self.kind(), end, seen)
    }
}
