//! Scenarios that were asked for by number, as far as the record decides them. The others are laws of the other files and
//! tests of the crates that play the other parts.

use cs_fence::{Attempt, Fenced, ProcessFact};
use cs_journal::Task;
use cs_model::{Ending, Epoch, FailureClass, RunState};
use cs_record::SendTo;
use cs_settle::GaveUp;

use super::World;

/// Scenario 11: the answer of attempt 1 that comes after attempt 2 began is refused, and attempt 2 goes on. Invariant 1.
pub async fn scenario_11_an_answer_of_the_attempt_before_is_refused(world: &World) {
    let first = world.running().await;
    let _ = world.give_up(&first.attempt, FailureClass::Verify).await;
    let second = world.take(Task::Resumes).await.expect("it goes on");
    let before = world.picture().await;
    let late = world.answer(&first.attempt, &World::words("late")).await;
    assert!(matches!(late, Fenced::Stale(_)), "{late:?}");
    assert_eq!(before, world.picture().await);
    let current = world.answer(&second.attempt, &World::words("in time")).await;
    assert!(matches!(current, Fenced::Applied(_)), "{current:?}");
}

/// Scenario 12: the same run and pid with another start of the process is another process, and is not cleared. Invariant 7.
pub async fn scenario_12_a_pid_that_was_used_again_is_not_cleared(world: &World) {
    let taken = world.running().await;
    let process = World::process(7);
    let _ = world
        .attempts
        .record_process(&taken.attempt, &process)
        .await
        .expect("it answers");
    let _ = world.answer(&taken.attempt, &World::words("done")).await;
    let later = ProcessFact {
        start_ticks: process.start_ticks + 1,
        ..process.clone()
    };
    let rebooted = ProcessFact {
        boot_id: "another".to_owned(),
        ..process.clone()
    };
    for other in [later, rebooted] {
        let cleared = world
            .attempts
            .clear_process(&taken.attempt, &other)
            .await
            .expect("it answers");
        assert!(matches!(cleared, Fenced::Stale(_)), "{other:?}");
    }
    assert_eq!(world.owner(taken.claimed.card).await.process, Some(process));
}

/// Scenarios 13 and 14: an identity that differs in any one part is another one, by however little. Invariant 1.
pub async fn scenario_13_and_14_every_part_of_an_identity_counts(world: &World) {
    let taken = world.running().await;
    let other = world.running().await;
    let next = taken.attempt.epoch.next().expect("there is a next");
    let wrong = [
        Attempt {
            token: other.attempt.token,
            ..taken.attempt
        },
        Attempt {
            epoch: next,
            ..taken.attempt
        },
        Attempt {
            epoch: Epoch::NONE,
            ..taken.attempt
        },
        Attempt {
            run: other.attempt.run,
            ..taken.attempt
        },
    ];
    let before = world.picture().await;
    for attempt in wrong {
        let said = world.answer(&attempt, &World::words("me")).await;
        assert!(matches!(said, Fenced::Stale(_)), "{attempt:?}");
    }
    assert_eq!(before, world.picture().await);
}

/// Scenario 15: a process that is written after its run ended is refused, and the run stays ended. Invariant 1.
pub async fn scenario_15_a_late_process_changes_nothing(world: &World) {
    let taken = world.running().await;
    let card = taken.claimed.card;
    assert!(
        world
            .people
            .stop_card(card, &world.person)
            .await
            .expect("it stops")
    );
    let late = world
        .attempts
        .record_process(&taken.attempt, &World::process(7))
        .await
        .expect("it answers");
    assert!(matches!(late, Fenced::Stale(_)), "{late:?}");
    let run = world.owner(card).await;
    assert_eq!((run.state, run.process), (RunState::Ended(Ending::Stopped), None));
}

/// Scenario 27: three processes, then the reason with the count; a new turn begins a new count.
pub async fn scenario_27_three_processes_then_the_reason(world: &World) {
    let mut attempt = world.running().await;
    let card = attempt.claimed.card;
    let mut processes = 1;
    while let Fenced::Applied(GaveUp::Again { not_before, .. }) =
        world.give_up(&attempt.attempt, FailureClass::Agent).await
    {
        world.clock.set(not_before);
        attempt = world.take(Task::Resumes).await.expect("it goes on");
        processes += 1;
    }
    assert_eq!(processes, 3);
    let reason = world.detail(card).await.card.reason.expect("it says why");
    assert!(
        reason.contains("it broke") && reason.contains("3 tries"),
        "{reason}"
    );
    world.send(SendTo::Card(card), "again").await;
    assert!(world.take(Task::Turns).await.is_some());
}

/// Scenario 28: what cannot work is not tried again.
pub async fn scenario_28_what_is_not_retryable_is_not_retried(world: &World) {
    for class in [FailureClass::InvalidRequest, FailureClass::Cancelled] {
        let taken = world.running().await;
        let gave_up = world.give_up(&taken.attempt, class).await;
        assert_eq!(gave_up, Fenced::Applied(GaveUp::Failed { tries: 0 }), "{class}");
        world.clock.advance(std::time::Duration::from_secs(86_400));
        assert!(world.take(Task::Resumes).await.is_none());
    }
}

/// Scenario 29: an attempt that ended already is a fact, not an error.
pub async fn scenario_29_already_ended_is_no_error(world: &World) {
    let taken = world.running().await;
    let _ = world.answer(&taken.attempt, &World::words("done")).await;
    let late = world.give_up(&taken.attempt, FailureClass::Agent).await;
    let Fenced::Stale(standing) = late else {
        panic!("it has ended: {late:?}")
    };
    let row = standing.row.expect("it is on the record");
    assert_eq!(row, (taken.claimed.epoch, RunState::Ended(Ending::Finished)));
}
