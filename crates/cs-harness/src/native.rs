//! Agents that speak a language of their own, each in a module: how it is started, and what its lines mean. How such an attempt
//! ended is decided in one place, here, from the events that all of them are turned into.

#[cfg_attr(not(test), expect(dead_code, reason = "the adapters that use it come next"))]
mod classify;
mod claude;
mod codex;
mod opencode;
mod pi;

pub(crate) use claude::Claude;
pub(crate) use codex::Codex;
pub(crate) use opencode::Opencode;
pub(crate) use pi::Pi;

use cs_model::FailureClass;

use crate::text::cap_answer;
use crate::{FailureCause, HarnessKind, Outcome, ProcessEnd, Seen, TaskEnd, Trouble};

/// Decides how an attempt of such an agent ended. Exit codes tell next to nothing: they are looked at last.
///
/// In this order: a question or an offer; a success that the agent marked, whatever its process did afterwards; the failure that
/// it told of; what it was trying again when it was ended; then the end of its process.
fn outcome(kind: HarnessKind, end: &ProcessEnd, seen: &Seen) -> Outcome {
    let task = TaskEnd::waiting(seen)
        .or_else(|| told(kind, seen))
        .unwrap_or_else(|| untold(kind, end));
    Outcome {
        process: end.clone(),
        task,
    }
}

/// What the agent itself said of the end of its task.
fn told(kind: HarnessKind, seen: &Seen) -> Option<TaskEnd> {
    if let (Some(true), None) = (seen.end(), seen.failure()) {
        return Some(succeeded(seen));
    }
    let trouble = seen.failure().or_else(|| seen.retrying());
    match (trouble, seen.end()) {
        (Some(trouble), _) => Some(failed(kind, trouble)),
        (None, Some(false)) => Some(TaskEnd::failed(
            kind,
            FailureClass::Agent,
            FailureCause::Told(None),
        )),
        (None, Some(true) | None) => None,
    }
}

fn succeeded(seen: &Seen) -> TaskEnd {
    let text = seen.final_text().filter(|text| !text.trim().is_empty());
    let text = text.or_else(|| seen.said()).unwrap_or_default();
    TaskEnd::Answered {
        text: cap_answer(text.trim()),
    }
}

fn failed(kind: HarnessKind, trouble: &Trouble) -> TaskEnd {
    match TaskEnd::failed(kind, trouble.class, FailureCause::Told(trouble.status)) {
        TaskEnd::Failed {
            class, cause, public, ..
        } => TaskEnd::Failed {
            class,
            cause,
            again: trouble.again,
            public,
        },
        other => other,
    }
}

/// The agent said nothing of the end of its task: an exit code of zero is no success.
fn untold(kind: HarnessKind, end: &ProcessEnd) -> TaskEnd {
    let (class, cause) = match end {
        ProcessEnd::Exited(0) => (FailureClass::Agent, FailureCause::NoEndMark),
        ProcessEnd::Exited(code) => (FailureClass::Agent, FailureCause::ExitCode(*code)),
        // Nobody here ended it, or that would have been named first: it goes on where it was.
        ProcessEnd::Signalled(number) => (FailureClass::Interrupted, FailureCause::Signal(*number)),
        ProcessEnd::SpawnFailed { .. } => (FailureClass::InvalidRequest, FailureCause::NotStarted),
        ProcessEnd::Unknown => (FailureClass::Interrupted, FailureCause::EndNotSeen),
    };
    TaskEnd::failed(kind, class, cause)
}
