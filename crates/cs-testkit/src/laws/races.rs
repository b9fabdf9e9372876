//! Laws of races: sixteen at once.

use std::sync::Arc;

use cs_fence::Fenced;
use cs_journal::Action;
use cs_model::TurnSeq;
use cs_record::AnswerAsk;
use tokio::task::JoinSet;

use super::World;

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
            .map(|_| (world.operation(), world.request(Action::TakeTurns, 3)))
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
