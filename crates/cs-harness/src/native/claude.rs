//! Claude Code.

mod launch;
mod lines;
mod result;

pub(super) use result::Tokens;

use super::{outcome, read};
use crate::{Event, Harness, HarnessKind, LaunchSpec, Line, Outcome, ProcessEnd, RunFacts, Seen};

/// Claude Code.
#[derive(Debug)]
pub(crate) struct Claude {
    argv: Vec<String>,
}

impl Claude {
    pub(crate) fn new(argv: &[String]) -> Self {
        Self { argv: argv.to_vec() }
    }
}

impl Harness for Claude {
    fn kind(&self) -> HarnessKind {
        HarnessKind::Claude
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
