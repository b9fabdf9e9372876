//! Agents that speak a language of their own, each in a module: how it is started, and what its lines mean. How such an attempt
//! ended is decided in one place, here, from the events that all of them are turned into.

mod acp;
mod classify;
mod claude;
mod codex;
mod opencode;
mod own;
mod pi;
mod quirks;
mod read;
mod session_file;
mod stderr;
mod wire;

pub(crate) use acp::Acp;
pub use acp::{ANSWER_WITHIN, UNREAD_MAX_BYTES};
pub(crate) use claude::CLAUDE;
pub(crate) use codex::CODEX;
pub(crate) use opencode::{OPENCODE, OPENCODE_CONFIG};
pub(crate) use own::Native;
pub(crate) use pi::PI;
pub(crate) use quirks::cost_total;
pub(crate) use read::too_long;
pub use session_file::{SessionFiles, SessionReader};

use cs_model::FailureClass;

use crate::mask::shown_call;
use crate::text::{cap_answer, cap_text};
use crate::{
    AskAgain, FailureCause, HarnessKind, Matter, Outcome, ProcessEnd, Seen, TaskEnd, Trouble,
    is_from_outside, public_reason,
};

/// What `edit` allows besides changing files, in every agent that can hold commands back: what a commit needs.
pub const COMMIT_COMMANDS: [&str; 10] = [
    "git add",
    "git commit",
    "git diff",
    "git log",
    "git ls-files",
    "git mv",
    "git rev-parse",
    "git rm",
    "git show",
    "git status",
];

/// Those among [`COMMIT_COMMANDS`] that only look, unless an option makes them write a file or start a program.
const LOOKING: [&str; 6] = [
    "git diff",
    "git log",
    "git ls-files",
    "git rev-parse",
    "git show",
    "git status",
];

/// Decides how an attempt of such an agent ended. Exit codes tell next to nothing: they are looked at last.
///
/// In this order: a question or an offer; a success that the agent marked, or the rest of one that marks nothing, whatever its
/// process did afterwards; the failure that it told of; what it was trying again when it was ended; then the end of its process.
fn outcome(kind: HarnessKind, end: &ProcessEnd, seen: &Seen) -> Outcome {
    let task = TaskEnd::waiting(seen)
        .or_else(|| told(kind, seen))
        .unwrap_or_else(|| untold(kind, end, seen));
    Outcome {
        process: end.clone(),
        task,
    }
}

/// What the agent itself said of the end of its task.
fn told(kind: HarnessKind, seen: &Seen) -> Option<TaskEnd> {
    // Claude Code was seen to call an error of its provider a success, and the end mark of pi says no more than that it is over;
    // the others take back what they told before.
    let is_taken_back = !matches!(kind, HarnessKind::Claude | HarnessKind::Pi) || seen.failure().is_none();
    // The end mark of pi says only that it is over, whatever became of its last turn.
    let is_marked = seen.end() == Some(true) && kind != HarnessKind::Pi;
    // A line that was begun after the last turn says that it was not the last.
    let is_over = is_marked || (seen.is_at_rest() && !seen.ends_inside_line());
    if is_over && is_taken_back {
        return Some(succeeded(kind, seen));
    }
    let trouble = seen.failure().or_else(|| seen.retrying());
    match (trouble, seen.end()) {
        (Some(trouble), _) => Some(failed(kind, trouble, seen)),
        (None, Some(false)) => Some(TaskEnd::failed(
            kind,
            FailureClass::Agent,
            FailureCause::Told(None),
        )),
        (None, Some(true) | None) => None,
    }
}

/// Its answer; or a question, where it was kept from something that nobody was there to allow.
fn succeeded(kind: HarnessKind, seen: &Seen) -> TaskEnd {
    let text = seen.final_text().filter(|text| !text.trim().is_empty());
    let text = text.or_else(|| seen.said()).unwrap_or_default();
    let text = cap_answer(text.trim());
    if seen.denied().is_empty() {
        return TaskEnd::Answered { text };
    }
    let who = kind.label();
    let denied = seen.denied().iter();
    let denied: String = denied.map(|what| format!("- {}\n", shown_call(what))).collect();
    let said = match text.as_str() {
        "" => String::new(),
        text => format!("\nIt said: {}", cap_text(text)),
    };
    TaskEnd::Asked {
        question: format!(
            "{who} was not allowed to do this, and nobody could be asked:\n{denied}What shall it do instead?{said}"
        ),
        choices: Vec::new(),
        text: None,
    }
}

fn failed(kind: HarnessKind, trouble: &Trouble, seen: &Seen) -> TaskEnd {
    let cause = match trouble.matter {
        Matter::Provider => FailureCause::Told(trouble.status),
        Matter::TurnCap => FailureCause::TurnCap,
        Matter::MoneyCap => FailureCause::MoneyCap,
        Matter::NoSuchSession => FailureCause::NoSuchSession,
        Matter::NoAnswer => FailureCause::NoAnswer,
        Matter::NotListening => FailureCause::NotListening,
    };
    // A stated time may stand in what was told on the way only. A wait of the agent's own choice is no statement.
    let before = seen.retrying().filter(|before| before.class == trouble.class);
    let stated = before.and_then(|before| before.again);
    let stated = stated.filter(|again| matches!(again, AskAgain::AtUnix(_)));
    TaskEnd::Failed {
        class: trouble.class,
        cause,
        again: trouble.again.or(stated),
        public: public_reason(kind, trouble.class, cause),
    }
}

/// The agent said nothing of the end of its task: an exit code of zero is no success.
fn untold(kind: HarnessKind, end: &ProcessEnd, seen: &Seen) -> TaskEnd {
    let (class, cause) = match end {
        ProcessEnd::Exited(0) if seen.ends_inside_line() => (FailureClass::Agent, FailureCause::HalfLine),
        ProcessEnd::Exited(0) => (FailureClass::Agent, FailureCause::NoEndMark),
        // A program that catches the signal and ends with the code that shells use for it.
        ProcessEnd::Exited(code) if is_from_outside(code.saturating_sub(128)) => {
            (FailureClass::Interrupted, FailureCause::Signal(code - 128))
        }
        ProcessEnd::Exited(code) => stderr::reason(*code, seen),
        // Nobody here ended it, or that would have been named first: it goes on where it was.
        ProcessEnd::Signalled(number) if is_from_outside(*number) => {
            (FailureClass::Interrupted, FailureCause::Signal(*number))
        }
        // A crash: started again for nothing, it would crash for ever.
        ProcessEnd::Signalled(number) => (FailureClass::Agent, FailureCause::Signal(*number)),
        ProcessEnd::SpawnFailed { .. } => (FailureClass::InvalidRequest, FailureCause::NotStarted),
        ProcessEnd::Unknown => (FailureClass::Interrupted, FailureCause::EndNotSeen),
    };
    TaskEnd::failed(kind, class, cause)
}

/// What an error tells of itself, for whoever reads it outside of this crate.
pub(crate) fn trouble(status: Option<u16>, code: Option<&str>, message: &str) -> Trouble {
    let facts = classify::ErrorFacts {
        status,
        word: code,
        message,
        retry_after_ms: None,
    };
    facts.trouble()
}
