//! What people and daemons do, in short.

use cs_fence::{Attempt, TokenSeed};
use cs_journal::{Child, ClaimRequest, Task};
use cs_model::{CardId, CodebaseId, IdSource, Opening, OperationId, TurnId};
use cs_record::{Send, SendTo};
use cs_settle::Answer;
use cs_testkit::laws::World;

/// Puts a turn on a card.
pub(crate) async fn send(world: &World, to: SendTo) -> CardId {
    let turn = TurnId::from_uuid(world.ids.uuid_v7());
    let send = Send::new(turn, to, world.person.clone(), "please");
    world.people.send(&send).await.expect("a good turn is taken").card
}

/// Puts a turn on a new card of the world's codebase.
pub(crate) async fn new_card(world: &World) -> CardId {
    new_card_of(world, Some(world.codebase)).await
}

/// Puts a turn on a new card.
pub(crate) async fn new_card_of(world: &World, codebase: Option<CodebaseId>) -> CardId {
    let to = SendTo::NewCard {
        card: CardId::from_uuid(world.ids.uuid_v7()),
        title: "make it go".to_owned(),
        codebase,
        base: Some("main".to_owned()),
        agent: "mine".parse().expect("a name"),
        opening: Opening::Owner,
    };
    send(world, to).await
}

/// Returns a request for turns.
pub(crate) fn request(world: &World, limit: u32) -> ClaimRequest {
    ClaimRequest {
        task: Task::Turns,
        limit,
        agents: vec!["mine".to_owned()],
        seed: TokenSeed::from_bytes(world.ids.secret()),
    }
}

/// Takes turns of at most so many cards.
pub(crate) async fn take(world: &World, limit: u32) -> Vec<Attempt> {
    claim(world, Task::Turns, limit).await
}

/// Claims something for the machine of the world.
pub(crate) async fn claim(world: &World, task: Task, limit: u32) -> Vec<Attempt> {
    let request = ClaimRequest {
        task,
        ..request(world, limit)
    };
    let operation = OperationId::from_uuid(world.ids.uuid_v7());
    let receipt = world.claims.claim(world.machine, operation, &request).await;
    let runs = receipt.expect("the record answers").runs;
    runs.iter().map(|run| run.attempt(&request.seed)).collect()
}

/// A child of an attempt.
pub(crate) fn child(parent: Attempt) -> Child {
    Child {
        parent,
        codebase: None,
        model: None,
        effort: None,
        brief: "a part".to_owned(),
    }
}

/// Ends an attempt with an answer.
pub(crate) async fn answer(world: &World, attempt: &Attempt) {
    let done = world.settlements.answer(attempt, &Answer::words("done")).await;
    assert!(
        matches!(done, Ok(cs_fence::Fenced::Applied(_))),
        "the attempt is the current one: {done:?}"
    );
}
