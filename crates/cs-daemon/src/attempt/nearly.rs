//! Says in time that an attempt comes near to the end of its disk.

use std::convert::Infallible;
use std::future;
use std::time::Duration;

use cs_journal::ClaimedRun;

use crate::context::Context;

/// How often the disk of an agent that runs is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Says it once, as soon as it is so. It never returns.
pub(super) async fn say_when_nearly_used_up(cx: &Context, name: &str, row: &ClaimedRun) -> Infallible {
    let noted = cx.deps.executions.attempt(name).await;
    let allowance = noted.map(|file| file.allowance).unwrap_or_default();
    while allowance.limits_output() {
        let used_bytes = cx.deps.executions.output_bytes(name).await;
        if let Some(what) = allowance.nearly_used_up(used_bytes) {
            cx.said(&format!(
                "run {} attempt {} of card {}: {what}",
                row.run.short(),
                row.epoch,
                row.card.short()
            ));
            break;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    future::pending().await
}
