//! What attempts used up that have no outcome, on its way to the record.
//!
//! It is noted beside the execution before anybody is told that the attempt is over, and told from there: a daemon that dies in between
//! leaves it to the next one, and the record counts an attempt once.

use cs_fence::{Attempt, Fenced};
use cs_settle::Used;
use cs_supervise::ExecutionDir;

use super::{Trouble, session, unlisted};
use crate::context::Context;
use crate::executions::{AttemptFile, beside};
use crate::outcome::UsedRow;

/// The file of an execution that says what its attempt used up, where that has no outcome to say it.
const USED: &str = "used.json";

/// Notes what an attempt used up.
pub(super) fn note(cx: &Context, name: &str, used: &UsedRow) -> Result<(), Trouble> {
    session::beside_execution(cx, name, USED, used)
}

/// Tells the record what was noted of an attempt.
pub(super) async fn tell_noted(cx: &Context, attempt: &Attempt) -> Result<(), Trouble> {
    let names = cx.deps.executions.names(attempt.run, attempt.epoch).await;
    for name in names.map_err(unlisted)?.into_iter().rev() {
        let dir = ExecutionDir::at(cx.state.execution(&name));
        if let Some(used) = beside::read::<UsedRow>(&dir, USED) {
            return tell(cx, attempt, used.into()).await;
        }
    }
    Ok(())
}

/// Tells the record what an attempt used up of which nobody here knew.
pub(super) async fn tell_unknown(cx: &Context, name: &str, file: &AttemptFile) -> Result<(), Trouble> {
    let Some(harness) = file.harness() else {
        return Ok(());
    };
    cx.secrets.know(file.attempt.run, file.attempt.epoch).await;
    let seen = match cx.deps.executions.heard(name, harness.as_ref()).await {
        Ok(seen) => seen,
        Err(error) => {
            tracing::warn!(name, %error, "what an attempt used up cannot be read, and is not counted");
            return Ok(());
        }
    };
    let used = session::count(cx, name, Some(file), &seen)?;
    let (run, epoch) = (file.attempt.run, file.attempt.epoch);
    let words = cx.words_of(&file.row);
    cx.secrets.forget(run, epoch);
    tell(cx, &file.attempt, used.freed(&words).into()).await
}

/// Tells the record what an attempt used up, whatever that thinks of it by now.
pub(super) async fn tell(cx: &Context, attempt: &Attempt, used: Used) -> Result<(), Trouble> {
    if used == Used::default() {
        return Ok(());
    }
    match cx.deps.record.settlements.used(attempt, &used).await? {
        Fenced::Applied(()) => {}
        Fenced::Stale(standing) => {
            tracing::info!(%attempt, %standing, "the record does not know the attempt whose use it was told");
        }
    }
    Ok(())
}
