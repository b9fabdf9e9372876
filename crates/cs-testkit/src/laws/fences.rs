//! Laws of fences: what is not the current attempt changes nothing.

use cs_fence::{Attempt, Fenced, InterruptOutcome, Interruption, Token};
use cs_journal::{Task, Woke};
use cs_model::{
    CardId, Clock, Ending, Epoch, FailureClass, IdSource, MachineId, RunState, TurnSeq, TurnState,
};
use cs_record::{CardFilter, LeftProcess, SendTo};
use cs_settle::GiveUp;

use super::World;

/// Tries every fenced write of an attempt and checks that each is stale and leaves the record as it is.
async fn check_stale(world: &World, attempt: &Attempt) {
    let before = world.picture().await;
    let process = World::process(9);
    let record = world
        .attempts
        .record_process(attempt, &process)
        .await
        .expect("it answers");
    assert!(matches!(record, Fenced::Stale(_)), "{record:?}");
    let clear = world
        .attempts
        .clear_process(attempt, &process)
        .await
        .expect("it answers");
    assert!(matches!(clear, Fenced::Stale(_)), "{clear:?}");
    let mark = world
        .attempts
        .mark_incomplete(attempt, &process, "something")
        .await
        .expect("it answers");
    assert!(matches!(mark, Fenced::Stale(_)), "{mark:?}");
    let standing = world.attempts.standing(attempt).await.expect("it answers");
    assert!(matches!(standing, Fenced::Stale(_)), "{standing:?}");
    let brief = world.daemon.run_brief(attempt).await.expect("it answers");
    assert!(matches!(brief, Fenced::Stale(_)), "{brief:?}");
    let answer = world.answer(attempt, &World::words("late")).await;
    assert!(matches!(answer, Fenced::Stale(_)), "{answer:?}");
    let asked = world.answer(attempt, &world.question(&[], None)).await;
    assert!(matches!(asked, Fenced::Stale(_)), "{asked:?}");
    let gave_up = world.give_up(attempt, FailureClass::Agent).await;
    assert!(matches!(gave_up, Fenced::Stale(_)), "{gave_up:?}");
    assert_eq!(before, world.picture().await);
}

pub(super) async fn interrupt(world: &World, attempt: &Attempt) -> InterruptOutcome {
    interrupt_as(world, world.machine, attempt).await
}

async fn interrupt_as(world: &World, machine: MachineId, attempt: &Attempt) -> InterruptOutcome {
    let one = Interruption {
        attempt: *attempt,
        at: world.clock.now(),
    };
    let outcomes = world
        .attempts
        .interrupt(machine, world.operation(), &[one])
        .await
        .expect("it answers");
    assert_eq!(outcomes.len(), 1);
    assert_eq!(outcomes[0].0, attempt.run);
    outcomes[0].1
}

/// An attempt that was followed by another, and one whose run is over, change nothing (AF-3, AF-7, AF-8). Invariant 1.
pub async fn a_stale_attempt_changes_nothing(world: &World) {
    let first = world.running().await;
    assert_eq!(
        interrupt(world, &first.attempt).await,
        InterruptOutcome::Interrupted
    );
    check_stale(world, &first.attempt).await;
    let second = world.take(Task::Resumes).await.expect("it goes on");
    check_stale(world, &first.attempt).await;
    let _ = world.answer(&second.attempt, &World::words("done")).await;
    check_stale(world, &second.attempt).await;
}

/// Epoch and token must both match (AF-1). Invariant 1.
pub async fn a_wrong_token_changes_nothing(world: &World) {
    let taken = world.running().await;
    let token = Token::from_bytes([7; 16]);
    let forged = Attempt {
        token,
        ..taken.attempt
    };
    check_stale(world, &forged).await;
    assert_eq!(interrupt(world, &forged).await, InterruptOutcome::Stale);
    let applied = world.answer(&taken.attempt, &World::words("done")).await;
    assert!(matches!(applied, Fenced::Applied(_)));
}

/// A record that was restored from a backup refuses the attempts that are newer than it, and unknown runs. Invariant 1.
pub async fn a_restored_record_refuses_newer_attempts(world: &World) {
    let taken = world.running().await;
    let seed = cs_fence::TokenSeed::from_bytes([1; 32]);
    let epoch = Epoch::new(taken.attempt.epoch.get() + 1);
    let run = taken.attempt.run;
    let newer = Attempt {
        run,
        epoch,
        token: seed.for_run(run, epoch),
    };
    check_stale(world, &newer).await;
    assert_eq!(interrupt(world, &newer).await, InterruptOutcome::Stale);
    let run = cs_model::RunId::from_uuid(world.ids.uuid_v7());
    let unknown = Attempt { run, ..taken.attempt };
    check_stale(world, &unknown).await;
    assert_eq!(interrupt(world, &unknown).await, InterruptOutcome::Stale);
}

/// A process is written while its attempt runs, and removed once it does not, if it is the very one. Invariant 7.
pub async fn a_process_is_recorded_and_cleared_under_its_fence(world: &World) {
    let taken = world.running().await;
    let (process, other) = (World::process(7), World::process(8));
    for _ in 0..2 {
        let recorded = world
            .attempts
            .record_process(&taken.attempt, &process)
            .await
            .expect("it answers");
        assert_eq!(recorded, Fenced::Applied(()));
    }
    let early = world
        .attempts
        .clear_process(&taken.attempt, &process)
        .await
        .expect("it answers");
    assert!(matches!(early, Fenced::Stale(_)), "it still runs");
    let running = world
        .daemon
        .running_runs(world.machine)
        .await
        .expect("it answers");
    assert_eq!(running[0].process.as_ref(), Some(&process));
    let _ = world.ask(&taken.attempt, &world.question(&[], None)).await;
    let wrong = world
        .attempts
        .clear_process(&taken.attempt, &other)
        .await
        .expect("it answers");
    assert!(matches!(wrong, Fenced::Stale(_)), "another process");
    let cleared = world
        .attempts
        .clear_process(&taken.attempt, &process)
        .await
        .expect("it answers");
    assert_eq!(cleared, Fenced::Applied(()));
    assert!(
        world
            .daemon
            .stopped_runs(world.machine)
            .await
            .expect("it answers")
            .is_empty()
    );
}

/// Interrupted, already interrupted, continued, stale (AF-12); a repeated receipt says what it said, as a fact of the past.
pub async fn an_interruption_has_four_outcomes(world: &World) {
    let taken = world.running().await;
    let other = MachineId::from_uuid(world.ids.uuid_v7());
    assert_eq!(
        interrupt_as(world, other, &taken.attempt).await,
        InterruptOutcome::Stale
    );
    let operation = world.operation();
    let one = Interruption {
        attempt: taken.attempt,
        at: world.clock.now(),
    };
    let report = [one.clone(), one.clone()];
    let said = world
        .attempts
        .interrupt(world.machine, operation, &report)
        .await
        .expect("it answers");
    let outcomes: Vec<_> = said.iter().map(|(_, outcome)| *outcome).collect();
    assert_eq!(
        outcomes,
        [
            InterruptOutcome::Interrupted,
            InterruptOutcome::AlreadyInterrupted
        ]
    );
    assert_eq!(
        interrupt(world, &taken.attempt).await,
        InterruptOutcome::AlreadyInterrupted
    );
    let next = world.take(Task::Resumes).await.expect("it goes on");
    let again = world
        .attempts
        .interrupt(world.machine, operation, &report)
        .await
        .expect("it answers");
    assert!(
        again
            .iter()
            .all(|(_, outcome)| *outcome == InterruptOutcome::AlreadyInterrupted),
        "{again:?}"
    );
    assert_eq!(
        interrupt(world, &taken.attempt).await,
        InterruptOutcome::Continued
    );
    let _ = world.answer(&next.attempt, &World::words("done")).await;
    assert_eq!(interrupt(world, &next.attempt).await, InterruptOutcome::Stale);
    let as_claim = world.claims.reconcile(world.machine, operation).await;
    assert!(as_claim.is_err(), "an interruption is no claim: {as_claim:?}");
}

async fn turn_states(world: &World, card: CardId) -> Vec<TurnState> {
    let turns = world
        .cards
        .turns(card, TurnSeq::START, 99)
        .await
        .expect("the card is there");
    turns.iter().map(|turn| turn.state).collect()
}

/// An interrupted run is ready at once, under its next epoch, with the turns that it had; no try is counted (RC-2). Invariant 9.
pub async fn an_interrupted_run_goes_on_with_its_turns(world: &World) {
    let taken = world.running().await;
    let card = taken.claimed.card;
    interrupt(world, &taken.attempt).await;
    assert_eq!(turn_states(world, card).await, [TurnState::Leased]);
    assert_eq!(world.run_state(card).await, RunState::Ended(Ending::Interrupted));
    let next = world.take(Task::Resumes).await.expect("it goes on");
    assert_eq!(
        (next.claimed.run, next.claimed.epoch.get()),
        (taken.claimed.run, 2)
    );
    assert_eq!(next.claimed.woke, Woke::Interrupted);
    assert_eq!(world.owner(card).await.tries, 0);
    let failure = GiveUp::new(FailureClass::Agent, "it broke");
    let stale = world
        .settlements
        .give_up(&taken.attempt, &failure)
        .await
        .expect("it answers");
    assert!(
        matches!(stale, Fenced::Stale(_)),
        "the late failure of attempt 1 does not fail attempt 2"
    );
}

/// One receipt ends the attempts of several cards, each on its own merits, in the order of the report. Invariant 4.
pub async fn one_receipt_interrupts_several_cards(world: &World) {
    let mut taken = Vec::new();
    for _ in 0..3 {
        taken.push(world.running().await.attempt);
    }
    let _ = world.answer(&taken[1], &World::words("done")).await;
    let at = world.clock.now();
    let reports: Vec<_> = taken
        .iter()
        .map(|attempt| Interruption {
            attempt: *attempt,
            at,
        })
        .collect();
    let said = world
        .attempts
        .interrupt(world.machine, world.operation(), &reports)
        .await
        .expect("it answers");
    let expected = [
        InterruptOutcome::Interrupted,
        InterruptOutcome::Stale,
        InterruptOutcome::Interrupted,
    ];
    let runs = taken.iter().map(|attempt| attempt.run);
    assert_eq!(said, runs.zip(expected).collect::<Vec<_>>());
    let (receipt, _) = world.claim(Task::Resumes, 9).await.expect("it takes");
    assert_eq!(receipt.runs.len(), 2);
}

/// No attempts: the record shows that it can, and changes nothing.
pub async fn a_probe_changes_nothing(world: &World) {
    world.running().await;
    let before = world.picture().await;
    let operation = world.operation();
    assert!(
        world
            .attempts
            .interrupt(world.machine, operation, &[])
            .await
            .expect("it answers")
            .is_empty()
    );
    assert_eq!(before, world.picture().await);
    let said = world
        .claims
        .reconcile(world.machine, operation)
        .await
        .expect("it left no row");
    assert_eq!(said, cs_journal::Reconciled::Cancelled);
}

/// A machine that lost every trace of a run gives it back, and the run is ready again; but not that of another machine or
/// epoch, and not one with a process on the record, since something of it ran.
pub async fn a_run_that_left_no_trace_is_given_back(world: &World) {
    let taken = world.running().await;
    let (run, epoch) = (taken.attempt.run, taken.attempt.epoch);
    let stranger = MachineId::from_uuid(world.ids.uuid_v7());
    let hand_back = async |machine, epoch| {
        let given = world.machines.hand_back_run(machine, run, epoch).await;
        given.expect("it answers")
    };
    assert!(!hand_back(stranger, epoch).await, "another machine");
    assert!(
        !hand_back(world.machine, epoch.next().expect("there is one")).await,
        "another epoch"
    );
    assert!(hand_back(world.machine, epoch).await);
    assert!(!hand_back(world.machine, epoch).await, "it is given back once");
    check_stale(world, &taken.attempt).await;
    let again = world.take(Task::Resumes).await.expect("it is ready at once");
    assert_eq!(again.claimed.woke, Woke::Interrupted);
    let process = World::process(7);
    let recorded = world.attempts.record_process(&again.attempt, &process).await;
    assert_eq!(recorded.expect("it answers"), Fenced::Applied(()));
    assert!(
        !hand_back(world.machine, again.attempt.epoch).await,
        "something of it ran"
    );
}

/// A machine that has nothing left of a run but what the record says takes its process off it, whatever its state; but not that of
/// another machine, epoch or process. Then the card goes on. AF-8.
pub async fn a_process_that_left_no_trace_is_forgotten(world: &World) {
    let taken = world.running().await;
    let attempt = taken.attempt;
    world.note(&attempt).await;
    let stranger = MachineId::from_uuid(world.ids.uuid_v7());
    let of = |epoch, process| LeftProcess {
        run: attempt.run,
        epoch,
        process: World::process(process),
    };
    let forget = async |machine, left| {
        let forgotten = world.machines.forget_process(machine, &left).await;
        forgotten.expect("it answers")
    };
    let next = attempt.epoch.next().expect("there is one");
    assert!(!forget(stranger, of(attempt.epoch, 7)).await, "another machine");
    assert!(!forget(world.machine, of(next, 7)).await, "another epoch");
    assert!(
        !forget(world.machine, of(attempt.epoch, 8)).await,
        "another process"
    );
    assert!(forget(world.machine, of(attempt.epoch, 7)).await);
    assert!(
        !forget(world.machine, of(attempt.epoch, 7)).await,
        "it is forgotten once"
    );
    assert_eq!(world.run_state(taken.claimed.card).await, RunState::Running);
    let given = world
        .machines
        .hand_back_run(world.machine, attempt.run, attempt.epoch);
    assert!(given.await.expect("it answers"), "nothing of it is on the record");

    let again = world
        .take(Task::Resumes)
        .await
        .expect("it is ready at once")
        .attempt;
    world.note(&again).await;
    world
        .people
        .stop_card(taken.claimed.card, &world.person)
        .await
        .expect("it stops");
    world.send(SendTo::Card(taken.claimed.card), "more").await;
    assert!(
        world.take(Task::Turns).await.is_none(),
        "its process keeps the card"
    );
    assert!(forget(world.machine, of(again.epoch, 7)).await);
    assert!(world.take(Task::Turns).await.is_some(), "the card goes on");
}

/// What could not be ended is a mark on the run, whatever its state, and goes with the process. Invariant 7.
pub async fn what_was_left_behind_is_marked_until_it_is_gone(world: &World) {
    let taken = world.running().await;
    let card = taken.claimed.card;
    let mark = async |process: u32, left: &str| {
        let process = World::process(process);
        let marked = world
            .attempts
            .mark_incomplete(&taken.attempt, &process, left)
            .await;
        matches!(marked.expect("the record answers"), Fenced::Applied(()))
    };
    assert!(!mark(7, "sleep (pid 9)").await, "no process is noted yet");
    world.note(&taken.attempt).await;
    assert!(!mark(8, "sleep (pid 9)").await, "that is another process");
    assert!(mark(7, "sleep (pid 9)").await);
    let first = world.owner(card).await.left_behind.expect("it is marked");
    assert_eq!(first.what, "sleep (pid 9)");
    assert_eq!(
        world.run_state(card).await,
        RunState::Running,
        "a mark is no ending"
    );
    let cards = world.cards.cards(CardFilter::Current).await.expect("it answers");
    assert_eq!(cards.rows[0].left_behind, Some(first.clone()));
    world.clock.advance(std::time::Duration::from_secs(60));
    world
        .people
        .stop_card(card, &world.person)
        .await
        .expect("it stops");
    assert!(mark(7, "sleep (pid 9), cat (pid 10)").await, "it may be over");
    let second = world.owner(card).await.left_behind.expect("it is marked still");
    assert_eq!(
        (second.since, second.what.as_str()),
        (first.since, "sleep (pid 9), cat (pid 10)")
    );
    let cards = world.cards.cards(CardFilter::Current).await.expect("it answers");
    assert_eq!(cards.rows[0].left_behind, Some(second));
    world.gone(&taken.attempt).await;
    assert_eq!(world.owner(card).await.left_behind, None);
    assert!(!mark(7, "sleep (pid 9)").await, "nothing of it is left");
    world.send(SendTo::Card(card), "go on").await;
    let next = world.take(Task::Turns).await.expect("its tree is free");
    world.note(&next.attempt).await;
    assert!(!mark(7, "sleep (pid 9)").await, "an older attempt marks nothing");
}
