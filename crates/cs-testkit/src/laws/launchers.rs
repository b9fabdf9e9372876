//! Laws of the run that finds the owner of a card.

use cs_fence::Fenced;
use cs_journal::{DispatchRefusal, Task, Woke};
use cs_model::{CardState, FailureClass, RunKind, TurnState};
use cs_record::SendTo;
use cs_settle::{Answered, GaveUp};

use super::World;
use super::children::{dispatch, finish, refusal};

/// A launcher that has sent the owner ends without words, and its card is the owner's. Scenario 24. Invariant 2.
pub async fn a_launcher_finds_the_owner(world: &World) {
    let launcher = world.launching().await;
    assert_eq!(launcher.claimed.kind, RunKind::Launcher);
    let card = launcher.claimed.card;
    world.send(SendTo::Card(card), "also this").await;
    assert!(
        world.take(Task::Turns).await.is_none(),
        "the launcher finds its owner first"
    );
    let owner = dispatch(world, &launcher.attempt, "own it").await;
    assert_eq!(
        (owner.claimed.kind, owner.claimed.codebase),
        (RunKind::Owner, Some(world.codebase))
    );
    assert_eq!(
        refusal(world, &launcher.attempt, "again").await,
        DispatchRefusal::HasOwner
    );
    finish(world, &owner.attempt, "I own it").await;
    let next = world.take(Task::Turns).await.expect("its owner has the new turn");
    assert_eq!(next.claimed.run, owner.claimed.run);
    let silent = cs_settle::Answer::default();
    let ended = world.answer(&launcher.attempt, &silent).await;
    assert!(
        matches!(
            ended,
            Fenced::Applied(Answered {
                turn: None,
                asked: false
            })
        ),
        "{ended:?}"
    );
}

/// a person gives it back. Scenario 26. Invariant 9.
pub async fn a_launchers_failure_does_not_return_the_message(world: &World) {
    let launcher = world.launching().await;
    let card = launcher.claimed.card;
    let gave_up = world
        .give_up(&launcher.attempt, FailureClass::InvalidRequest)
        .await;
    assert_eq!(gave_up, Fenced::Applied(GaveUp::Failed { tries: 0 }));
    let turns = world
        .cards
        .turns(card, cs_model::TurnSeq::START, 9)
        .await
        .expect("it is there");
    assert_eq!(
        (turns[0].state, turns[0].run),
        (TurnState::Leased, Some(launcher.claimed.run))
    );
    assert_eq!(world.detail(card).await.card.state, CardState::Failed);
    assert!(world.take(Task::Turns).await.is_none() && world.take(Task::Resumes).await.is_none());
    assert!(
        world
            .people
            .retry_card(card, &world.person)
            .await
            .expect("it can be tried again")
    );
    let again = world.take(Task::Turns).await.expect("a person wants it tried");
    assert_eq!(again.claimed.woke, Woke::Turns(vec![turns[0].id]));
    assert_ne!(again.claimed.run, launcher.claimed.run);
}

/// A launcher that fails after it has sent the owner does not fail the card (ST-5).
pub async fn a_launcher_that_has_sent_the_owner_fails_alone(world: &World) {
    let launcher = world.launching().await;
    let owner = dispatch(world, &launcher.attempt, "own it").await;
    let gave_up = world
        .give_up(&launcher.attempt, FailureClass::InvalidRequest)
        .await;
    assert_eq!(gave_up, Fenced::Applied(GaveUp::Failed { tries: 0 }));
    let detail = world.detail(launcher.claimed.card).await;
    assert_eq!(
        (detail.card.state, detail.card.owner),
        (CardState::Open, Some(owner.claimed.run))
    );
    finish(world, &owner.attempt, "done").await;
    assert!(
        world.take(Task::Turns).await.is_none(),
        "the message was the launcher's, and is not answered twice"
    );
}

/// A launcher that goes on beside the owner takes no turn that came since: it is the owner's. Invariant 9.
pub async fn a_launcher_that_goes_on_takes_nothing_from_the_owner(world: &World) {
    let launcher = world.launching().await;
    let owner = dispatch(world, &launcher.attempt, "own it").await;
    let card = launcher.claimed.card;
    let _ = world.give_up(&launcher.attempt, FailureClass::Interrupted).await;
    world.send(SendTo::Card(card), "mind the dog").await;
    let again = world.take(Task::Resumes).await.expect("the launcher goes on");
    assert_eq!(again.claimed.run, launcher.claimed.run);
    finish(world, &again.attempt, "sent").await;
    finish(world, &owner.attempt, "I own it").await;
    let next = world.take(Task::Turns).await.expect("the turn is the owner's");
    assert_eq!(next.claimed.run, owner.claimed.run);
}
