//! Laws of what the record forgets.

use std::time::Duration;

use cs_fence::Interruption;
use cs_journal::{ClaimError, Reconciled, Task};
use cs_model::Clock;
use cs_record::JOURNAL_LIFE;

use super::World;

async fn forget(world: &World, limit: u32, dry_run: bool) -> Vec<String> {
    let old = world
        .housekeeping
        .forget_operations(limit, dry_run)
        .await
        .expect("it answers");
    old.into_iter().map(|row| row.kind).collect()
}

/// A journal row goes 7 days after it was written and after the last attempt that it names has ended; not before, oldest first,
/// and never one that could be claimed again: its id is too old by then. Invariant 3.
pub async fn a_journal_row_goes_when_nobody_can_need_it(world: &World) {
    let (cancelled, request) = (world.operation(), world.request(Task::Turns, 1));
    world
        .claims
        .reconcile(world.machine, cancelled)
        .await
        .expect("it answers");
    world.clock.advance(Duration::from_secs(1));
    let taken = world.running().await;
    let at = world.clock.now();
    let report = [Interruption {
        attempt: taken.attempt,
        at,
    }];
    world.clock.advance(JOURNAL_LIFE + Duration::from_secs(1));
    assert_eq!(forget(world, 9, true).await, ["cancelled"], "the run is live");
    assert_eq!(
        forget(world, 9, true).await,
        ["cancelled"],
        "a dry run changes nothing"
    );
    assert_eq!(forget(world, 9, false).await, ["cancelled"]);
    assert!(forget(world, 9, false).await.is_empty());
    let late = world.claims.claim(world.machine, cancelled, &request).await;
    assert!(matches!(late, Err(ClaimError::ClockApart { .. })), "{late:?}");

    let operation = world.operation();
    world
        .attempts
        .interrupt(world.machine, operation, &report)
        .await
        .expect("it answers");
    assert!(forget(world, 9, true).await.is_empty(), "it has only just ended");
    world.clock.advance(Duration::from_secs(60));
    world.take(Task::Resumes).await.expect("it goes on");
    assert_eq!(
        forget(world, 9, true).await,
        ["take_turns"],
        "another attempt has followed"
    );
    world.clock.advance(JOURNAL_LIFE + Duration::from_secs(1));
    assert_eq!(forget(world, 1, false).await, ["take_turns"], "the oldest first");
    assert_eq!(
        forget(world, 9, false).await,
        ["interrupt"],
        "the second attempt is live"
    );
}

/// What is still kept answers as ever.
pub async fn a_kept_row_still_answers(world: &World) {
    let operation = world.operation();
    world.card().await;
    let request = world.request(Task::Turns, 1);
    let receipt = world
        .claims
        .claim(world.machine, operation, &request)
        .await
        .expect("it answers");
    world.clock.advance(JOURNAL_LIFE * 2);
    let _ = forget(world, 9, false).await;
    let said = world
        .claims
        .reconcile(world.machine, operation)
        .await
        .expect("it answers");
    assert!(matches!(said, Reconciled::Completed { receipt: kept, .. } if kept == receipt));
}
