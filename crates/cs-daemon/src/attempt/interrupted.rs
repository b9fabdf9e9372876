//! Telling the record that an attempt was cut short.

use cs_fence::InterruptOutcome;
use cs_journal::InterruptReceipt;

use super::{Trouble, used};
use crate::borders::Border;
use crate::context::Context;

/// Tells the record that an attempt was cut short, under the receipt's own operation id (RC-6).
pub(crate) async fn report_interrupted(cx: &Context, receipt: InterruptReceipt) -> Result<(), Trouble> {
    let reports = [receipt.interruption()];
    // Before its next attempt can begin, which may use what is left.
    used::tell_noted(cx, &reports[0].attempt).await?;
    let outcomes = cx
        .deps
        .record
        .attempts
        .interrupt(cx.deps.machine.id, receipt.report(), &reports)
        .await?;
    cx.deps.borders.reach(Border::P20);
    let row = receipt.row();
    let Some((_, outcome)) = outcomes.iter().find(|(run, _)| *run == row.run) else {
        // No row is to blame: it is told again before anything else goes on.
        return Err(Trouble::Local {
            what: "the report of an interruption was answered without its run",
            source: std::io::ErrorKind::InvalidData.into(),
        });
    };
    match outcome {
        InterruptOutcome::Stale => cx.forget_pause(row.run, row.epoch),
        InterruptOutcome::Interrupted
        | InterruptOutcome::AlreadyInterrupted
        | InterruptOutcome::Continued => {
            cx.pass_on_pause(row.run, row.epoch);
        }
    }
    cx.said(&format!(
        "run {} attempt {} of card {} was cut short: {}",
        row.run.short(),
        row.epoch,
        row.card.short(),
        words(*outcome)
    ));
    cx.secrets.forget(row.run, row.epoch);
    receipt.acknowledged()?;
    cx.wake.notify_one();
    Ok(())
}

/// Says what an interruption leads to.
fn words(outcome: InterruptOutcome) -> &'static str {
    match outcome {
        InterruptOutcome::Interrupted => "it goes on with its next attempt",
        InterruptOutcome::AlreadyInterrupted => "the record knew that already",
        InterruptOutcome::Continued => "its next attempt has begun already",
        InterruptOutcome::Stale => "the record has gone on without it",
    }
}
