//! Laws of races: sixteen at once.

use std::sync::Arc;

use cs_fence::{Fenced, InterruptOutcome, Interruption};
use cs_journal::{Child, DispatchRefusal, Receipt, Task};
use cs_model::{Clock, CodebaseId, IdSource, RunState, TurnSeq};
use cs_record::{AnswerAsk, FencedLanding, JOURNAL_LIFE, LandingResult, ReadyFor, SendTo};
use tokio::task::JoinSet;

use super::world::AGENT;
use super::{World, landings, reads};

const RACERS: usize = 16;

/// Sixteen takers with room for more take each card exactly once. Invariant 1.
pub async fn sixteen_takers_take_each_card_once(world: &World) {
    let mut cards = Vec::new();
    for _ in 0..40 {
        cards.push(world.card().await);
    }
    let mut racers = JoinSet::new();
    for _ in 0..RACERS {
        let (claims, machine) = (Arc::clone(&world.claims), world.machine);
        let calls: Vec<_> = (0..8)
            .map(|_| (world.operation(), world.request(Task::Turns, 3)))
            .collect();
        racers.spawn(async move {
            let mut taken = Vec::new();
            for (operation, request) in calls {
                let receipt = claims
                    .claim(machine, operation, &request)
                    .await
                    .expect("the record answers");
                taken.extend(receipt.runs.into_iter().map(|run| run.card));
            }
            taken
        });
    }
    let mut taken: Vec<_> = racers.join_all().await.into_iter().flatten().collect();
    taken.sort();
    cards.sort();
    assert_eq!(taken, cards);
}

/// Of sixteen answers to one question, one is stored and fifteen are refused. Invariant 10.
pub async fn of_sixteen_answers_one_wins(world: &World) {
    let taken = world.running().await;
    let ask = world.ask(&taken.attempt, &world.question(&[], None)).await;
    let mut racers = JoinSet::new();
    for number in 0..RACERS {
        let people = Arc::clone(&world.people);
        let answer = AnswerAsk {
            ask,
            body: format!("answer {number}"),
            person: world.person.clone(),
        };
        racers.spawn(async move { people.answer_ask(&answer).await.ok() });
    }
    let won: Vec<_> = racers.join_all().await.into_iter().flatten().collect();
    assert_eq!(won.len(), 1);
    assert_eq!(world.detail(taken.claimed.card).await.asks, won);
}

/// Of sixteen settlements of one attempt, one is applied and writes one turn. Invariant 1.
pub async fn of_sixteen_settlements_one_is_applied(world: &World) {
    let taken = world.running().await;
    let mut racers = JoinSet::new();
    for number in 0..RACERS {
        let settlements = Arc::clone(&world.settlements);
        let attempt = taken.attempt;
        let answer = World::words(&format!("answer {number}"));
        racers.spawn(async move {
            settlements
                .answer(&attempt, &answer)
                .await
                .expect("the record answers")
        });
    }
    let results = racers.join_all().await;
    assert_eq!(
        results
            .iter()
            .filter(|result| matches!(result, Fenced::Applied(_)))
            .count(),
        1
    );
    let turns = world
        .cards
        .turns(taken.claimed.card, TurnSeq::START, 99)
        .await
        .expect("the card is there");
    assert_eq!(turns.len(), 2);
}

/// Of sixteen reports of one interruption one interrupts; the others say that it is. Invariant 1.
pub async fn of_sixteen_interruptions_one_is_applied(world: &World) {
    let taken = world.running().await;
    let mut racers = JoinSet::new();
    for _ in 0..RACERS {
        let (attempts, machine, operation) = (Arc::clone(&world.attempts), world.machine, world.operation());
        let report = [Interruption {
            attempt: taken.attempt,
            at: world.clock.now(),
        }];
        racers.spawn(async move { attempts.interrupt(machine, operation, &report).await });
    }
    let outcomes = racers.join_all().await.into_iter();
    let outcomes: Vec<_> = outcomes.map(|said| said.expect("it answers")[0].1).collect();
    let first = |outcome: &&InterruptOutcome| **outcome == InterruptOutcome::Interrupted;
    assert_eq!(outcomes.iter().filter(first).count(), 1, "{outcomes:?}");
    let again = |outcome: &&InterruptOutcome| **outcome == InterruptOutcome::AlreadyInterrupted;
    assert_eq!(outcomes.iter().filter(again).count(), RACERS - 1, "{outcomes:?}");
}

/// Of sixteen owners that a launcher sends at once there is one. Invariant 2. Invariant 15.
pub async fn of_sixteen_owners_one_is_sent(world: &World) {
    let launcher = world.launching().await;
    let mut racers = JoinSet::new();
    for number in 0..RACERS {
        let (claims, machine, operation) = (Arc::clone(&world.claims), world.machine, world.operation());
        let child = Child {
            parent: launcher.attempt,
            codebase: None,
            model: None,
            effort: None,
            brief: format!("own it, says {number}"),
        };
        let request = world.request(Task::Child(child), 1);
        racers.spawn(async move { claims.claim(machine, operation, &request).await });
    }
    let receipts: Vec<_> = racers
        .join_all()
        .await
        .into_iter()
        .map(|said| said.expect("it answers"))
        .collect();
    assert_eq!(
        receipts.iter().filter(|receipt| receipt.runs.len() == 1).count(),
        1
    );
    let refused = |receipt: &&Receipt| receipt.refused == Some(DispatchRefusal::HasOwner);
    assert_eq!(receipts.iter().filter(refused).count(), RACERS - 1);
    assert_eq!(world.detail(launcher.claimed.card).await.runs.len(), 2);
}

/// Of sixteen times that an agent's call asks the same question there is one ask. Invariant 10.
pub async fn a_question_that_is_asked_sixteen_times_is_one(world: &World) {
    let taken = world.running().await;
    world.note(&taken.attempt).await;
    let question = world.question(&[], None).ask.expect("it asks");
    let mut racers = JoinSet::new();
    for _ in 0..RACERS {
        let (agents, attempt, question) = (Arc::clone(&world.agents), taken.attempt, question.clone());
        racers.spawn(async move { agents.ask(&attempt, &question).await });
    }
    for said in racers.join_all().await {
        assert_eq!(said.expect("it answers"), Fenced::Applied(()));
    }
    assert_eq!(world.cards.open_asks().await.expect("it answers").rows.len(), 1);
}

/// Of sixteen results of one landing one is taken, and one turn says so. Invariant 13.
pub async fn of_sixteen_landing_results_one_is_applied(world: &World) {
    let (card, attempt) = landings::running(world).await;
    let mut racers = JoinSet::new();
    for number in 0..RACERS {
        let landings = Arc::clone(&world.landings);
        let result = LandingResult::Landed {
            evidence: None,
            commit: format!("0123abc{number:x}"),
            report: format!("landed by {number}"),
        };
        racers.spawn(async move { landings.settle_landing(&attempt, &result).await });
    }
    let said: Vec<_> = racers
        .join_all()
        .await
        .into_iter()
        .map(|said| said.expect("it answers"))
        .collect();
    let applied = |said: &&FencedLanding| **said == FencedLanding::Applied;
    assert_eq!(said.iter().filter(applied).count(), 1);
    assert_eq!(world.detail(card).await.card.last_seq.get(), 2);
}

/// Of sixteen daemons that come at once with one machine id one holds the machine.
pub async fn of_sixteen_daemons_one_holds_the_machine(world: &World) {
    let mut racers = JoinSet::new();
    for number in 1..=RACERS {
        let machines = Arc::clone(&world.machines);
        let present = reads::daemon_of(world, u8::try_from(number).expect("it is small"));
        racers.spawn(async move { machines.present(&present).await });
    }
    let said = racers.join_all().await;
    assert_eq!(said.iter().filter(|said| said.is_ok()).count(), 1);
}

/// Of sixteen codebases that are registered at once under one name one gets it.
pub async fn of_sixteen_codebases_one_gets_the_name(world: &World) {
    let mut racers = JoinSet::new();
    for _ in 0..RACERS {
        let (codebases, machine) = (Arc::clone(&world.codebases), world.machine);
        let id = CodebaseId::from_uuid(world.ids.uuid_v7());
        racers.spawn(async move { codebases.add_codebase(id, "gearbox", machine).await });
    }
    let said = racers.join_all().await;
    assert_eq!(said.iter().filter(|said| said.is_ok()).count(), 1);
}

/// Sixteen that forget at once forget each row once.
pub async fn a_row_is_forgotten_once(world: &World) {
    for _ in 0..40 {
        let operation = world.operation();
        let reconciled = world.claims.reconcile(world.machine, operation).await;
        reconciled.expect("it answers");
    }
    world.clock.advance(JOURNAL_LIFE * 2);
    let mut racers = JoinSet::new();
    for _ in 0..RACERS {
        let housekeeping = Arc::clone(&world.housekeeping);
        racers.spawn(async move { housekeeping.forget_operations(5, false).await });
    }
    let forgotten = racers
        .join_all()
        .await
        .into_iter()
        .flat_map(|old| old.expect("it answers"));
    let mut operations: Vec<_> = forgotten.map(|row| row.operation).collect();
    let count = operations.len();
    operations.sort();
    operations.dedup();
    assert_eq!(count, operations.len(), "none twice");
    let left = world.housekeeping.forget_operations(99, true).await;
    assert_eq!(count + left.expect("it answers").len(), 40);
}

/// Sixteen readers see a card as a whole while it changes: what one call returns fits together.
pub async fn readers_see_whole_cards(world: &World) {
    let card = world.card().await;
    let mut readers = JoinSet::new();
    for _ in 0..RACERS {
        let (cards, daemon, machine) = (Arc::clone(&world.cards), Arc::clone(&world.daemon), world.machine);
        readers.spawn(async move {
            for _ in 0..8 {
                let detail = cards.card(card).await.expect("it is there");
                let is_known = |run| detail.runs.iter().any(|row| row.id == run);
                assert!(detail.card.owner.is_none_or(is_known), "{detail:?}");
                assert!(detail.asks.iter().all(|ask| is_known(ask.run)), "{detail:?}");
                let running = detail.runs.iter().any(|run| run.state == RunState::Running);
                assert!(
                    !running || detail.card.ready.what == ReadyFor::Nothing,
                    "{detail:?}"
                );
                daemon
                    .peek(machine, &[AGENT.to_owned()])
                    .await
                    .expect("it answers");
            }
        });
    }
    for _ in 0..12 {
        let taken = world.running_card(card).await;
        world.ask(&taken.attempt, &world.question(&[], None)).await;
        world.send(SendTo::Card(card), "more").await;
    }
    readers.join_all().await;
}
