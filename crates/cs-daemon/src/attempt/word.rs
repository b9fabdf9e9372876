//! What an agent has said through its tools, at the end of its attempt.

use cs_fence::{Attempt, Fenced};
use cs_harness::{Harness, TaskEnd};
use cs_journal::Started;
use cs_model::{AskId, FailureClass, RunState};
use cs_supervise::ExecutionDir;

use super::Trouble;
use crate::context::Context;
use crate::executions::ExecutionEnd;
use crate::outcome::process_end;
use crate::tools::{self, Said, Word};

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
/// A failed sign-in is one all the same once the record has the question (ST-6): its route is parked, and the question stands. What the record
/// has not heard of goes first, or it would be lost.
pub(super) async fn word_of(
    cx: &Context,
    (name, attempt): (&str, &Attempt),
    harness: &dyn Harness,
    ended: &mut ExecutionEnd,
) -> Result<Option<AskId>, Trouble> {
    let dir = ExecutionDir::at(cx.state.execution(name));
    let Some(word) = read(&dir) else { return Ok(None) };
    let outcome = harness.outcome(&process_end(&ended.closed), &ended.seen);
    let is_sign_in = matches!(
        outcome.task,
        TaskEnd::Failed {
            class: FailureClass::Authentication,
            ..
        }
    );
    if is_sign_in && is_asked(cx, attempt).await? {
        return Ok(None);
    }
    ended.seen.observe(&word.event());
    Ok(Some(word.id()))
}

/// What cannot be read is said, and keeps nobody from settling: the record has what it was told by then.
fn read(dir: &ExecutionDir) -> Option<Word> {
    Said::word_of(dir).unwrap_or_else(|error| {
        tracing::error!(%error, dir = %dir.path().display(), "what the agent said through its tools cannot be read");
        None
    })
}

/// Whether the record has the question already.
async fn is_asked(cx: &Context, attempt: &Attempt) -> Result<bool, Trouble> {
    let (Fenced::Applied(standing) | Fenced::Stale(standing)) =
        cx.deps.record.attempts.standing(attempt).await?;
    Ok(standing.row == Some((attempt.epoch, RunState::Asked)))
}
