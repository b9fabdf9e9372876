//! Laws of what a running agent asks.

use cs_fence::Fenced;
use cs_journal::Task;
use cs_model::{FailureClass, RunState, TurnState};
use cs_record::ErrorClass;
use cs_settle::{Answered, GaveUp};

use super::World;

/// A question is on the record at once, also twice; its run is asked, its words are taken when it ends, once. Invariant 10.
pub async fn a_question_is_asked_while_the_agent_runs(world: &World) {
    let taken = world.running().await;
    world.note(&taken.attempt).await;
    let question = world.question(&[], None).ask.expect("it asks");
    for _ in 0..2 {
        let asked = world
            .agents
            .ask(&taken.attempt, &question)
            .await
            .expect("it answers");
        assert_eq!(asked, Fenced::Applied(()));
    }
    let card = taken.claimed.card;
    assert_eq!(world.run_state(card).await, RunState::Asked);
    assert_eq!(world.cards.open_asks().await.expect("it answers").rows.len(), 1);
    let ended = world.answer(&taken.attempt, &World::words("I asked")).await;
    assert!(
        matches!(
            ended,
            Fenced::Applied(Answered {
                turn: Some(_),
                asked: true
            })
        ),
        "{ended:?}"
    );
    let again = world.answer(&taken.attempt, &World::words("I asked")).await;
    assert!(matches!(again, Fenced::Stale(_)), "it has settled: {again:?}");
    let turns = world
        .cards
        .turns(card, cs_model::TurnSeq::START, 9)
        .await
        .expect("it is there");
    assert_eq!((turns.len(), turns[0].state), (2, TurnState::Settled));
}

/// An answer that comes before the attempt has ended wakes the next one, not before the first one's process is gone.
pub async fn an_early_answer_waits_for_the_end_of_the_attempt(world: &World) {
    let taken = world.running().await;
    world.note(&taken.attempt).await;
    let question = world.question(&[], None).ask.expect("it asks");
    let _ = world
        .agents
        .ask(&taken.attempt, &question)
        .await
        .expect("it answers");
    world.reply(question.id).await;
    assert!(world.take(Task::Rearms).await.is_none(), "its process runs");
    let _ = world.answer(&taken.attempt, &World::words("I asked")).await;
    world.gone(&taken.attempt).await;
    assert!(world.take(Task::Rearms).await.is_some());
}

/// A harness that fails after its question was taken has not failed: the question stands. Scenario 23.
pub async fn a_failure_after_a_question_is_none(world: &World) {
    let taken = world.running().await;
    world.note(&taken.attempt).await;
    let question = world.question(&[], None).ask.expect("it asks");
    let _ = world
        .agents
        .ask(&taken.attempt, &question)
        .await
        .expect("it answers");
    let gave_up = world.give_up(&taken.attempt, FailureClass::Agent).await;
    assert_eq!(gave_up, Fenced::Applied(GaveUp::Asked));
    assert_eq!(world.run_state(taken.claimed.card).await, RunState::Asked);
    assert_eq!(world.owner(taken.claimed.card).await.tries, 0);
    world.gone(&taken.attempt).await;
    world.reply(question.id).await;
    assert!(world.take(Task::Rearms).await.is_some());
}

/// A failed sign-in after a question is a failed sign-in: its route is parked. Scenario 25.
pub async fn a_failed_sign_in_after_a_question_parks_the_route(world: &World) {
    let taken = world.running().await;
    world.note(&taken.attempt).await;
    let question = world.question(&[], None).ask.expect("it asks");
    let _ = world
        .agents
        .ask(&taken.attempt, &question)
        .await
        .expect("it answers");
    let gave_up = world.give_up(&taken.attempt, FailureClass::Authentication).await;
    assert_eq!(gave_up, Fenced::Applied(GaveUp::Parked));
    assert_eq!(
        world
            .machines
            .parks(world.machine)
            .await
            .expect("it answers")
            .len(),
        1
    );
    assert_eq!(
        world.cards.open_asks().await.expect("it answers").rows.len(),
        1,
        "its question stands"
    );
}

/// Nobody asks before its start is on the record: the process there is what keeps the next attempt from starting beside it.
/// Invariant 7.
pub async fn nobody_asks_before_its_start_is_noted(world: &World) {
    let taken = world.running().await;
    let question = world.question(&[], None).ask.expect("it asks");
    let early = world.agents.ask(&taken.attempt, &question).await;
    assert_eq!(early.expect_err("it is early").class(), ErrorClass::Conflict);
    world.note(&taken.attempt).await;
    let asked = world.agents.ask(&taken.attempt, &question).await;
    assert_eq!(asked.expect("it answers"), Fenced::Applied(()));
}

/// Nobody but the current attempt asks, and not without words.
pub async fn only_the_current_attempt_asks(world: &World) {
    let taken = world.running().await;
    let mut question = world.question(&[], None).ask.expect("it asks");
    question.question = " ".to_owned();
    let empty = world
        .agents
        .ask(&taken.attempt, &question)
        .await
        .expect_err("it has no words");
    assert_eq!(empty.class(), ErrorClass::Invalid);
    let _ = world.answer(&taken.attempt, &World::words("done")).await;
    let before = world.picture().await;
    let question = world.question(&[], None).ask.expect("it asks");
    let late = world
        .agents
        .ask(&taken.attempt, &question)
        .await
        .expect("it answers");
    assert!(matches!(late, Fenced::Stale(_)), "{late:?}");
    assert_eq!(before, world.picture().await);
}
