//! What people and daemons do, in short.

use cs_fence::{Attempt, TokenSeed};
use cs_journal::{Action, ClaimRequest};
use cs_model::{CardId, IdSource, OperationId, TurnId};
use cs_record::{Send, SendTo};
use cs_settle::{Answer, Usage};
use cs_testkit::laws::World;

/// Puts a turn on a card.
pub(crate) async fn send(world: &World, to: SendTo) -> CardId {
    let send = Send {
        turn: TurnId::from_uuid(world.ids.uuid_v7()),
        to,
        person: world.person.clone(),
        body: "please".to_owned(),
    };
    world.people.send(&send).await.expect("a good turn is taken").card
}

/// Puts a turn on a new card.
pub(crate) async fn new_card(world: &World) -> CardId {
    let to = SendTo::NewCard {
        card: CardId::from_uuid(world.ids.uuid_v7()),
        title: "make it go".to_owned(),
        codebase: Some(world.codebase),
        base: Some("main".to_owned()),
        agent: "mine".parse().expect("a name"),
    };
    send(world, to).await
}

/// Returns a request for turns.
pub(crate) fn request(world: &World, limit: u32) -> ClaimRequest {
    ClaimRequest {
        action: Action::TakeTurns,
        limit,
        agents: vec!["mine".to_owned()],
        seed: TokenSeed::from_bytes(world.ids.secret()),
    }
}

/// Takes turns of at most so many cards.
pub(crate) async fn take(world: &World, limit: u32) -> Vec<Attempt> {
    let request = request(world, limit);
    let operation = OperationId::from_uuid(world.ids.uuid_v7());
    let receipt = world.claims.claim(world.machine, operation, &request).await;
    let runs = receipt.expect("the record answers").runs;
    runs.iter().map(|run| run.attempt(&request.seed)).collect()
}

/// Ends an attempt with an answer.
pub(crate) async fn answer(world: &World, attempt: &Attempt) {
    let answer = Answer {
        text: Some("done".to_owned()),
        ask: None,
        usage: Usage::default(),
    };
    let done = world.settlements.answer(attempt, &answer).await;
    assert!(
        matches!(done, Ok(cs_fence::Fenced::Applied(_))),
        "the attempt is the current one: {done:?}"
    );
}
