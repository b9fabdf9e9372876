//! Laws of claims.

use std::time::Duration;

use cs_journal::{Action, ClaimError, Reconciled, Task, Woke};
use cs_model::{IdSource, MachineId, PauseKind, RunKind, TurnSeq, TurnState};
use cs_record::{Scope, SendTo};

use super::World;

/// A card whose turns were taken is ready for nothing; the attempt has the turns, in order (CJ-11). Invariant 1.
pub async fn a_card_is_taken_once(world: &World) {
    let card = world.card().await;
    let second = world.send(SendTo::Card(card), "and quickly").await;
    let taken = world.take(Task::Turns).await.expect("the card is ready");
    assert_eq!((taken.claimed.card, taken.claimed.kind), (card, RunKind::Owner));
    let turns = world
        .cards
        .turns(card, TurnSeq::START, 10)
        .await
        .expect("the card is there");
    assert_eq!(taken.claimed.woke, Woke::Turns(vec![turns[0].id, second.turn]));
    assert!(
        turns
            .iter()
            .all(|turn| turn.state == TurnState::Leased && turn.run == Some(taken.claimed.run))
    );
    for task in [Task::Turns, Task::Rearms, Task::Resumes, Task::Landings] {
        assert!(
            world
                .claim(task.clone(), 9)
                .await
                .expect("the record answers")
                .0
                .is_empty(),
            "{task:?}"
        );
    }
}

/// The same operation id gives the first result and takes nothing more (CJ-12). Invariant 3.
pub async fn a_replayed_claim_gives_the_first_result(world: &World) {
    world.card().await;
    let (operation, request) = (world.operation(), world.request(Task::Turns, 5));
    let first = world
        .claims
        .claim(world.machine, operation, &request)
        .await
        .expect("it takes");
    assert_eq!(first.runs.len(), 1);
    world.card().await;
    let again = world
        .claims
        .claim(world.machine, operation, &request)
        .await
        .expect("it is replayed");
    assert_eq!(first, again);
    assert!(
        world.take(Task::Turns).await.is_some(),
        "the second card was not taken"
    );
}

/// An operation that was reconciled before it came can never take anything (CJ-10). Invariant 3.
pub async fn a_cancelled_operation_never_takes(world: &World) {
    world.card().await;
    let (operation, request) = (world.operation(), world.request(Task::Turns, 5));
    for _ in 0..2 {
        let said = world
            .claims
            .reconcile(world.machine, operation)
            .await
            .expect("the record answers");
        assert_eq!(said, Reconciled::Cancelled);
    }
    let late = world.claims.claim(world.machine, operation, &request).await;
    assert!(
        matches!(late, Err(ClaimError::Cancelled(id)) if id == operation),
        "{late:?}"
    );
    assert!(
        world.take(Task::Turns).await.is_some(),
        "the card is still there to take"
    );
}

/// A claim whose answer was lost is confirmed with its receipt, whenever it is asked for (CJ-7). Invariant 4.
pub async fn a_lost_answer_is_confirmed(world: &World) {
    world.card().await;
    let (operation, request) = (world.operation(), world.request(Task::Turns, 5));
    let receipt = world
        .claims
        .claim(world.machine, operation, &request)
        .await
        .expect("it takes");
    for _ in 0..2 {
        let said = world
            .claims
            .reconcile(world.machine, operation)
            .await
            .expect("the record answers");
        let action = Action::TakeTurns;
        assert_eq!(
            said,
            Reconciled::Completed {
                action,
                receipt: receipt.clone()
            }
        );
    }
    let other = MachineId::from_uuid(world.ids.uuid_v7());
    let foreign = world.claims.reconcile(other, operation).await;
    assert!(matches!(foreign, Err(ClaimError::Corrupt(_))), "{foreign:?}");
}

/// An operation that took nothing leaves no row: it may come again, and then it takes.
pub async fn an_empty_claim_leaves_no_row(world: &World) {
    let (operation, request) = (world.operation(), world.request(Task::Turns, 5));
    assert!(
        world
            .claims
            .claim(world.machine, operation, &request)
            .await
            .expect("it answers")
            .is_empty()
    );
    world.card().await;
    assert!(
        !world
            .claims
            .claim(world.machine, operation, &request)
            .await
            .expect("it takes")
            .is_empty()
    );
}

/// An operation id that is older than 24 h, or lies as far in the future, is refused and takes nothing.
pub async fn an_operation_far_from_the_clock_is_refused(world: &World) {
    world.card().await;
    let day = Duration::from_secs(24 * 60 * 60);
    let request = world.request(Task::Turns, 5);
    let old = world.operation();
    world.clock.advance(day + Duration::from_secs(1));
    let refused = world.claims.claim(world.machine, old, &request).await;
    assert!(
        matches!(refused, Err(ClaimError::ClockApart { .. })),
        "{refused:?}"
    );
    let future = {
        world.clock.advance(day * 2);
        let id = world.operation();
        let past = cs_model::Clock::now(&*world.clock).unix_micros() - 2 * 86_400_000_000;
        world.clock.set(cs_model::Time::from_unix_micros(past));
        id
    };
    let refused = world.claims.claim(world.machine, future, &request).await;
    assert!(
        matches!(refused, Err(ClaimError::ClockApart { .. })),
        "{refused:?}"
    );
    assert!(world.take(Task::Turns).await.is_some());
}

/// A machine without the codebase is never offered the card (WT-1).
pub async fn a_machine_without_the_codebase_gets_nothing(world: &World) {
    world.card().await;
    let other = MachineId::from_uuid(world.ids.uuid_v7());
    let request = world.request(Task::Turns, 5);
    let receipt = world
        .claims
        .claim(other, world.operation(), &request)
        .await
        .expect("it answers");
    assert!(receipt.is_empty());
    world
        .codebases
        .add_codebase(world.codebase, "engine", other)
        .await
        .expect("the same codebase");
    let receipt = world
        .claims
        .claim(other, world.operation(), &request)
        .await
        .expect("it answers");
    assert_eq!(receipt.runs.len(), 1);
}

/// From the first take on only the machine with the card's tree takes its work, and only with the card's route.
pub async fn another_machine_or_route_gets_nothing(world: &World) {
    let taken = world.running().await;
    let _ = world.answer(&taken.attempt, &World::words("done")).await;
    world.send(SendTo::Card(taken.claimed.card), "more").await;
    let other = MachineId::from_uuid(world.ids.uuid_v7());
    world
        .codebases
        .add_codebase(world.codebase, "engine", other)
        .await
        .expect("the same codebase");
    let mut request = world.request(Task::Turns, 5);
    let receipt = world
        .claims
        .claim(other, world.operation(), &request)
        .await
        .expect("it answers");
    assert!(receipt.is_empty(), "another machine");
    request.agents = vec!["other".to_owned()];
    let receipt = world
        .claims
        .claim(world.machine, world.operation(), &request)
        .await
        .expect("it answers");
    assert!(receipt.is_empty(), "another route");
    assert_eq!(
        world.take(Task::Turns).await.expect("its own").claimed.run,
        taken.claimed.run
    );
}

/// A pause is read by the take itself.
pub async fn a_pause_closes_the_takes(world: &World) {
    world.card().await;
    for scope in [Scope::Everything, Scope::Machine(world.machine)] {
        let pause = world
            .machines
            .pause(scope, PauseKind::Pause, Some("lunch"), &world.person)
            .await
            .expect("it pauses");
        assert_eq!(
            world.machines.pauses(world.machine).await.expect("it answers"),
            [pause]
        );
        assert!(world.take(Task::Turns).await.is_none(), "{scope:?}");
        assert!(world.machines.unpause(scope).await.expect("it answers"));
        assert!(!world.machines.unpause(scope).await.expect("it answers"));
    }
    let other = Scope::Machine(MachineId::from_uuid(world.ids.uuid_v7()));
    world
        .machines
        .pause(other, PauseKind::Pause, None, &world.person)
        .await
        .expect("it pauses");
    assert!(world.take(Task::Turns).await.is_some());
}

/// One claim of many takes the same cards, in the same order, as many claims of one.
pub async fn a_batch_takes_what_single_claims_take(world: &World) {
    let mut cards = Vec::new();
    for _ in 0..6 {
        world.clock.advance(Duration::from_secs(1));
        cards.push(world.card().await);
    }
    let (batch, _) = world.claim(Task::Turns, 3).await.expect("it takes");
    let mut taken: Vec<_> = batch.runs.iter().map(|run| run.card).collect();
    for _ in 0..3 {
        taken.push(world.take(Task::Turns).await.expect("one more").claimed.card);
    }
    assert_eq!(taken, cards);
    assert!(
        batch
            .runs
            .iter()
            .all(|run| run.epoch.get() == 1 && run.resumed_at.is_none())
    );
}

/// A card whose last process is not proven gone is ready for nothing: one card, one tree, one agent. Invariant 7.
pub async fn a_process_on_the_record_keeps_the_card(world: &World) {
    let taken = world.running().await;
    let process = World::process(7);
    let _ = world
        .attempts
        .record_process(&taken.attempt, &process)
        .await
        .expect("it answers");
    let _ = world.answer(&taken.attempt, &World::words("done")).await;
    world.send(SendTo::Card(taken.claimed.card), "more").await;
    assert!(world.take(Task::Turns).await.is_none());
    let stopped = world
        .daemon
        .stopped_runs(world.machine)
        .await
        .expect("it answers");
    assert_eq!(
        stopped.iter().map(|run| &run.process).collect::<Vec<_>>(),
        [&process]
    );
    let _ = world
        .attempts
        .clear_process(&taken.attempt, &process)
        .await
        .expect("it answers");
    assert!(world.take(Task::Turns).await.is_some());
}
