use super::{outcome, read};
use crate::{Event, Harness, HarnessKind, LaunchSpec, Line, Outcome, ProcessEnd, RunFacts, Seen};

/// What is an agent's own: how it is started, and what its lines mean.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Language {
    pub(super) kind: HarnessKind,
    pub(super) launch: fn(&[String], &RunFacts) -> LaunchSpec,
    /// Whether a line, whole or not, says nothing that another one does not say.
    pub(super) is_noise: fn(&[u8]) -> bool,
    /// The events of a whole line.
    pub(super) events: fn(&[u8]) -> Vec<Event>,
}

/// Of an agent that does not repeat itself.
pub(super) fn no_noise(_line: &[u8]) -> bool {
    false
}

/// An agent that speaks a language of its own.
#[derive(Debug)]
pub(crate) struct Native {
    argv: Vec<String>,
    language: Language,
}

impl Native {
    pub(crate) fn new(language: Language, argv: &[String]) -> Self {
        Self {
            argv: argv.to_vec(),
            language,
        }
    }
}

impl Harness for Native {
    fn kind(&self) -> HarnessKind {
        self.language.kind
    }

    fn launch(&self, facts: &RunFacts) -> LaunchSpec {
        (self.language.launch)(&self.argv, facts)
    }

    fn events(&self, line: &Line<'_>) -> Vec<Event> {
        if (self.language.is_noise)(line.bytes) {
            return Vec::new();
        }
        match read::whole(line) {
            read::Read::Whole(bytes) => (self.language.events)(bytes),
            read::Read::Done(events) => events,
        }
    }

    fn outcome(&self, end: &ProcessEnd, seen: &Seen) -> Outcome {
        outcome(self.kind(), end, seen)
    }
}
