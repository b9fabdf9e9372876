//! pi.

use super::outcome;
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
        crate::command::launch_spec(&self.argv, facts, facts.prompt.clone().into_bytes())
    }

    fn events(&self, line: &Line<'_>) -> Vec<Event> {
        crate::command::text_events(line.bytes)
    }

    fn outcome(&self, end: &ProcessEnd, seen: &Seen) -> Outcome {
        outcome(self.kind(), end, seen)
    }
}
