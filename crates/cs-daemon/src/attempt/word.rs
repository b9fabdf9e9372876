//! What an agent has said through its tools, at the end of its attempt.

use cs_harness::{Harness, TaskEnd};
use cs_journal::Started;
use cs_model::{AskId, FailureClass};
use cs_supervise::ExecutionDir;

use super::Trouble;
use crate::context::Context;
use crate::executions::ExecutionEnd;
use crate::outcome::process_end;
use crate::tools::{self, Said};

/// Whose tools those of an execution are.
pub(super) fn tools_of(started: &Started, name: &str) -> tools::Of {
    tools::Of {
        attempt: started.attempt(),
        row: started.row().clone(),
        name: name.to_owned(),
    }
}

/// Takes in what an agent has said through its tools, as if it were the last that it said. Returns the id under which it said so.
///
/// A failed sign-in is one all the same (ST-6): its route is parked, and what the record has of the question stands.
pub(super) fn word_of(
    cx: &Context,
    name: &str,
    harness: &dyn Harness,
    ended: &mut ExecutionEnd,
) -> Result<Option<AskId>, Trouble> {
    let dir = ExecutionDir::at(cx.state.execution(name));
    let word = Said::word_of(&dir).map_err(|source| Trouble::Local {
        what: "what the agent said through its tools cannot be read",
        source,
    })?;
    let Some(word) = word else { return Ok(None) };
    let outcome = harness.outcome(&process_end(&ended.closed), &ended.seen);
    if matches!(
        outcome.task,
        TaskEnd::Failed {
            class: FailureClass::Authentication,
            ..
        }
    ) {
        return Ok(None);
    }
    ended.seen.observe(&word.event());
    Ok(Some(word.id()))
}
