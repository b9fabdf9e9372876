use cs_model::FailureClass;

use super::message::{parse_message, start_line};
use super::{launch_spec, text_events, with_tools};
use crate::native::too_long;
use crate::{
    Event, FailureCause, Harness, HarnessKind, LaunchSpec, Line, Outcome, ProcessEnd, RunFacts, Seen, TaskEnd,
};

/// A command that speaks one JSON object per line.
#[derive(Debug)]
pub(crate) struct JsonLinesCommand {
    argv: Vec<String>,
}

impl JsonLinesCommand {
    pub(crate) fn new(argv: &[String]) -> Self {
        Self { argv: argv.to_vec() }
    }
}

impl Harness for JsonLinesCommand {
    fn kind(&self) -> HarnessKind {
        HarnessKind::JsonLines
    }

    fn launch(&self, facts: &RunFacts) -> LaunchSpec {
        with_tools(launch_spec(&self.argv, facts, start_line(facts)), facts)
    }

    fn events(&self, line: &Line<'_>) -> Vec<Event> {
        // A line that is too long is no text either: nobody reads sixteen megabytes of half a message.
        if let Some(events) = too_long(line) {
            return events;
        }
        // A last line without its terminator may still be a whole object; then it is a message.
        let message = parse_message(line.bytes);
        message.map_or_else(|| text_events(line.bytes), |event| vec![event])
    }

    fn outcome(&self, end: &ProcessEnd, seen: &Seen) -> Outcome {
        let task = match TaskEnd::waiting(seen) {
            Some(waiting) => waiting,
            None => self.without_question(end, seen),
        };
        Outcome {
            process: end.clone(),
            task,
        }
    }
}

impl JsonLinesCommand {
    fn without_question(&self, end: &ProcessEnd, seen: &Seen) -> TaskEnd {
        let failed = |class, cause| TaskEnd::failed(self.kind(), class, cause);
        let answered = seen.final_text().map(|text| TaskEnd::Answered {
            text: text.trim().to_owned(),
        });
        match end {
            ProcessEnd::Exited(0) if seen.ends_inside_line() => {
                failed(FailureClass::Agent, FailureCause::HalfLine)
            }
            ProcessEnd::Exited(0) => answered.unwrap_or(failed(FailureClass::Agent, FailureCause::NoFinal)),
            ProcessEnd::Exited(code) => failed(FailureClass::Agent, FailureCause::ExitCode(*code)),
            // An agent that stayed after its answer is closed by us: its answer is kept.
            ProcessEnd::Signalled(number) => {
                answered.unwrap_or(failed(FailureClass::Agent, FailureCause::Signal(*number)))
            }
            ProcessEnd::SpawnFailed { .. } => failed(FailureClass::InvalidRequest, FailureCause::NotStarted),
            ProcessEnd::Unknown => {
                answered.unwrap_or(failed(FailureClass::Interrupted, FailureCause::EndNotSeen))
            }
        }
    }
}
