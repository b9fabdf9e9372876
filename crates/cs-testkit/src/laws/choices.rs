//! Laws of what a person chooses for the agent of a card.

use std::time::Duration;

use cs_model::FailureClass;
use cs_record::{Choice, Chosen, ErrorClass, HandBack, SendTo};

use super::World;

/// What a person chose for a card is written on its run when an attempt begins, and stays for that attempt: its receipt has it too, so
/// that a recovered claim starts it the same (CJ-17). A later turn changes it or gives it back; another agent begins without.
pub async fn a_choice_for_a_card_holds_from_its_next_attempt(world: &World) {
    let named = |name: &str| Some(Chosen::This(name.to_owned()));
    let mut turn = world.new_turn(world.new_card(), "please");
    turn.choice = Choice {
        model: named("big"),
        effort: named("high"),
    };
    let card = world.people.send(&turn).await.expect("a good turn").card;
    let first = world.running_card(card).await;
    let of_claim = (first.claimed.model.as_deref(), first.claimed.effort.as_deref());
    assert_eq!(of_claim, (Some("big"), Some("high")));

    let mut turn = world.new_turn(SendTo::Card(card), "otherwise");
    turn.choice = Choice {
        model: named("small"),
        effort: Some(Chosen::OfTheAgent),
    };
    world.people.send(&turn).await.expect("a good turn");
    assert_eq!(
        world.owner(card).await.model.as_deref(),
        Some("big"),
        "it is at work"
    );
    assert_eq!(world.detail(card).await.card.model.as_deref(), Some("small"));
    let _ = world.give_up(&first.attempt, FailureClass::Infrastructure).await;
    world.clock.advance(Duration::from_secs(3600));
    let second = world.running_card(card).await;
    let run = world.owner(card).await;
    assert_eq!((run.model.as_deref(), run.effort), (Some("small"), None));
    assert_eq!(second.claimed.model, run.model);
    let _ = world.answer(&second.attempt, &World::words("done")).await;

    world.send(SendTo::Card(card), "and more").await;
    let third = world.running_card(card).await;
    assert_eq!(third.claimed.model.as_deref(), Some("small"), "nobody changed it");
    let _ = world.answer(&third.attempt, &World::words("done")).await;
    let hand_back = HandBack {
        card,
        agent: Some("other".parse().expect("a name")),
        to_any_machine: false,
        person: world.person.clone(),
    };
    world.people.hand_back(&hand_back).await.expect("it is free");
    assert_eq!(world.detail(card).await.card.model, None);

    let mut turn = world.new_turn(SendTo::Card(card), "too long");
    turn.choice.effort = named(&"x".repeat(201));
    let refused = world.people.send(&turn).await.expect_err("it is too long");
    assert_eq!(refused.class(), ErrorClass::Invalid);
}
