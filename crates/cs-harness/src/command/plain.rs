use cs_model::FailureClass;

use super::{launch_spec, text_events, with_tools};
use crate::{
    Event, FailureCause, Harness, HarnessKind, LaunchSpec, Line, Outcome, ProcessEnd, RunFacts, Seen, TaskEnd,
};

/// A command that reads its prompt and prints its answer.
#[derive(Debug)]
pub(crate) struct PlainCommand {
    argv: Vec<String>,
}

impl PlainCommand {
    pub(crate) fn new(argv: &[String]) -> Self {
        Self { argv: argv.to_vec() }
    }
}

impl Harness for PlainCommand {
    fn kind(&self) -> HarnessKind {
        HarnessKind::Plain
    }

    fn launch(&self, facts: &RunFacts) -> LaunchSpec {
        with_tools(
            launch_spec(&self.argv, facts, facts.prompt.clone().into_bytes()),
            facts,
        )
    }

    fn events(&self, line: &Line<'_>) -> Vec<Event> {
        text_events(line.bytes)
    }

    fn outcome(&self, end: &ProcessEnd, seen: &Seen) -> Outcome {
        let failed = |class, cause| TaskEnd::failed(self.kind(), class, cause);
        let task = match end {
            ProcessEnd::Exited(0) => TaskEnd::Answered {
                text: seen.text().trim().to_owned(),
            },
            ProcessEnd::Exited(code) => failed(FailureClass::Agent, FailureCause::ExitCode(*code)),
            ProcessEnd::Signalled(number) => failed(FailureClass::Agent, FailureCause::Signal(*number)),
            ProcessEnd::SpawnFailed { .. } => failed(FailureClass::InvalidRequest, FailureCause::NotStarted),
            ProcessEnd::Unknown => failed(FailureClass::Interrupted, FailureCause::EndNotSeen),
        };
        Outcome {
            process: end.clone(),
            task,
        }
    }
}
