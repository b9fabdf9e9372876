//! Laws of when a card starts: dependencies, start times, priorities, and what people do about them.

use std::time::Duration;

use cs_fence::Fenced;
use cs_journal::{Target, Task};
use cs_model::{CardId, CardState, Clock, FailureClass, IdSource, MachineId, Priority};
use cs_record::{ErrorClass, HandBack, RecordError, SendTo, Sent};
use cs_settle::GaveUp;

use super::World;

async fn waits(world: &World, to: SendTo, after: &[CardId]) -> Result<Sent, RecordError> {
    let mut turn = world.new_turn(to, "please");
    turn.plan.after = after.to_vec();
    world.people.send(&turn).await
}

/// A card that waits for others starts when all of them are done: landed, closed, or without a codebase and answered.
/// Invariant 16.
pub async fn a_card_waits_for_the_cards_before_it(world: &World) {
    let first = world.running().await;
    let plain = world.send(world.plain_card(), "tell me").await.card;
    let mut both = [first.claimed.card, plain];
    both.sort();
    let card = waits(world, world.new_card(), &both)
        .await
        .expect("they are there")
        .card;
    let told = world.take(Task::Turns).await.expect("the plain one is ready");
    assert_eq!(told.claimed.card, plain);
    assert!(world.take(Task::Turns).await.is_none(), "it waits");
    assert_eq!(world.detail(card).await.waits_for, both);
    let _ = world.answer(&told.attempt, &World::words("so it is")).await;
    let _ = world.answer(&first.attempt, &World::words("done")).await;
    assert_eq!(
        world.detail(card).await.waits_for,
        [first.claimed.card],
        "its work has not landed"
    );
    assert!(world.take(Task::Turns).await.is_none());
    world
        .people
        .close_card(first.claimed.card, &world.person)
        .await
        .expect("nothing moves");
    assert_eq!(
        world.take(Task::Turns).await.map(|taken| taken.claimed.card),
        Some(card)
    );
}

/// Cards that would wait for each other are refused, directly, over others, and at once from both sides; nothing is written.
pub async fn a_cycle_is_refused_when_it_is_made(world: &World) {
    let one = world.card().await;
    let two = waits(world, world.new_card(), &[one])
        .await
        .expect("it is there")
        .card;
    let three = waits(world, world.new_card(), &[two])
        .await
        .expect("it is there")
        .card;
    let before = world.picture().await;
    for (card, after) in [(one, three), (one, two), (one, one)] {
        let refused = waits(world, SendTo::Card(card), &[after])
            .await
            .expect_err("it is a cycle");
        assert_eq!(refused.class(), ErrorClass::Invalid, "{refused}");
    }
    let unknown = CardId::from_uuid(world.ids.uuid_v7());
    let refused = waits(world, SendTo::Card(one), &[unknown])
        .await
        .expect_err("it is not there");
    assert_eq!(refused.class(), ErrorClass::NotFound, "{refused}");
    assert_eq!(before, world.picture().await);
    let (four, five) = (world.card().await, world.card().await);
    let (after_four, after_five) = ([four], [five]);
    let (left, right) = tokio::join!(
        waits(world, SendTo::Card(four), &after_five),
        waits(world, SendTo::Card(five), &after_four)
    );
    assert_eq!(
        usize::from(left.is_ok()) + usize::from(right.is_ok()),
        1,
        "{left:?} {right:?}"
    );
}

/// Nothing of a card starts before its time; a person who wants it now says so.
pub async fn a_card_waits_for_its_time(world: &World) {
    let mut turn = world.new_turn(world.new_card(), "tonight");
    let at = world.clock.now().plus(Duration::from_secs(3600));
    turn.plan.not_before = Some(at);
    let card = world.people.send(&turn).await.expect("a good turn is taken").card;
    assert!(world.take(Task::Turns).await.is_none());
    assert_eq!(world.peek().await.next_due, Some(at));
    world.send(SendTo::Card(card), "and mind the dog").await;
    assert!(
        world.take(Task::Turns).await.is_none(),
        "more words do not change when"
    );
    world.clock.set(at);
    assert!(world.take(Task::Turns).await.is_some());

    let mut turn = world.new_turn(world.new_card(), "tomorrow");
    turn.plan.not_before = Some(world.clock.now().plus(Duration::from_secs(86_400)));
    let card = world.people.send(&turn).await.expect("a good turn is taken").card;
    assert!(
        world
            .people
            .retry_card(card, &world.person)
            .await
            .expect("it is open")
    );
    assert_eq!(
        world.take(Task::Turns).await.map(|taken| taken.claimed.card),
        Some(card)
    );
}

/// A card that waits for one that will never be done starts when a person wants it now, and waits for nothing any more.
pub async fn a_person_frees_a_card_that_waits(world: &World) {
    let first = world.running().await;
    let card = waits(world, world.new_card(), &[first.claimed.card])
        .await
        .expect("it is there")
        .card;
    let _ = world.give_up(&first.attempt, FailureClass::InvalidRequest).await;
    assert!(
        world.take(Task::Turns).await.is_none(),
        "a failed card is not done"
    );
    for _ in 0..2 {
        let free = world.people.retry_card(card, &world.person).await;
        assert!(free.expect("it is open"), "it is ready, also when it was before");
    }
    assert!(world.detail(card).await.waits_for.is_empty());
    let taken = world.take(Task::Turns).await;
    assert_eq!(taken.map(|taken| taken.claimed.card), Some(card));
    let round = waits(world, SendTo::Card(first.claimed.card), &[card]).await;
    round.expect("they do not wait for each other any more");
}

/// The card with the higher priority goes first, then the one that was ready first.
pub async fn the_higher_priority_goes_first(world: &World) {
    let mut cards = Vec::new();
    for priority in [0, -5, 7, 7] {
        world.clock.advance(Duration::from_secs(1));
        let mut turn = world.new_turn(world.new_card(), "please");
        turn.plan.priority = Priority::new(priority);
        cards.push(world.people.send(&turn).await.expect("a good turn is taken").card);
    }
    let mut order = Vec::new();
    while let Some(taken) = world.take(Task::Turns).await {
        order.push(taken.claimed.card);
    }
    assert_eq!(order, [cards[2], cards[3], cards[0], cards[1]]);
}

/// A retry opens a failed card with a new count and starts one that waits for its time at once; a landed one is refused.
pub async fn a_person_tries_a_card_again(world: &World) {
    let taken = world.running().await;
    let card = taken.claimed.card;
    let _ = world.give_up(&taken.attempt, FailureClass::Agent).await;
    assert!(
        world
            .people
            .retry_card(card, &world.person)
            .await
            .expect("it waits for its time")
    );
    let taken = world.take(Task::Resumes).await.expect("it goes on now");
    assert_eq!(world.owner(card).await.tries, 1, "an open card keeps its count");
    assert!(
        !world
            .people
            .retry_card(card, &world.person)
            .await
            .expect("it runs"),
        "nothing to do"
    );
    let gave_up = world.give_up(&taken.attempt, FailureClass::InvalidRequest).await;
    assert_eq!(gave_up, Fenced::Applied(GaveUp::Failed { tries: 1 }));
    assert!(
        world
            .people
            .retry_card(card, &world.person)
            .await
            .expect("it failed")
    );
    let taken = world.take(Task::Turns).await.expect("its turn is there");
    assert_eq!(
        (world.owner(card).await.tries, world.owner(card).await.starts),
        (0, 1)
    );
    let _ = world.answer(&taken.attempt, &World::words("done")).await;
    assert!(
        !world
            .people
            .retry_card(card, &world.person)
            .await
            .expect("it is open")
    );
    world
        .people
        .close_card(card, &world.person)
        .await
        .expect("nothing moves");
    let refused = world
        .people
        .retry_card(card, &world.person)
        .await
        .expect_err("it is over");
    assert_eq!(refused.class(), ErrorClass::Conflict);
}

/// An answer that its run failed over for good wakes it again when a person tries the card again. Invariant 10.
pub async fn a_retry_brings_an_answer_that_was_never_settled(world: &World) {
    for class in [FailureClass::InvalidRequest, FailureClass::Cancelled] {
        let taken = world.running().await;
        let card = taken.claimed.card;
        let ask = world.ask(&taken.attempt, &world.question(&[], None)).await;
        world.reply(ask).await;
        let second = world.take(Task::Rearms).await.expect("it has its answer");
        let _ = world.give_up(&second.attempt, class).await;
        assert!(world.take(Task::Rearms).await.is_none(), "the card has failed");
        let ready = world.people.retry_card(card, &world.person).await;
        assert!(ready.expect("it can be tried again"), "{class}");
        let third = world.take(Task::Rearms).await.expect("its answer is there");
        assert_eq!(third.claimed.run, taken.claimed.run);
        let _ = world.answer(&third.attempt, &World::words("done")).await;
    }
    let taken = world.running().await;
    let card = taken.claimed.card;
    let ask = world.ask(&taken.attempt, &world.question(&[], None)).await;
    world.reply(ask).await;
    world.take(Task::Rearms).await.expect("it has its answer");
    world
        .people
        .stop_card(card, &world.person)
        .await
        .expect("it stops");
    let ready = world.people.retry_card(card, &world.person).await;
    assert!(ready.expect("it can be tried again"));
    assert!(world.take(Task::Rearms).await.is_some());
}

/// The result of a landing wakes its run although an older question of it is still open.
pub async fn an_answer_does_not_wait_for_another_question(world: &World) {
    let taken = world.running().await;
    world.ask(&taken.attempt, &world.question(&[], None)).await;
    world.send(SendTo::Card(taken.claimed.card), "by the way").await;
    let second = world.take(Task::Turns).await.expect("a turn wakes it");
    let later = world.ask(&second.attempt, &world.question(&[], None)).await;
    assert!(world.take(Task::Rearms).await.is_none(), "nobody has answered");
    world.reply(later).await;
    assert!(world.take(Task::Rearms).await.is_some());
}

/// A closed card is over: its questions are withdrawn, a message is refused, closing again is harmless. A card at work is not
/// closed.
pub async fn a_closed_card_is_over(world: &World) {
    let taken = world.running().await;
    let card = taken.claimed.card;
    let refused = world
        .people
        .close_card(card, &world.person)
        .await
        .expect_err("it is at work");
    assert_eq!(refused.class(), ErrorClass::Conflict);
    let ask = world.ask(&taken.attempt, &world.question(&[], None)).await;
    for _ in 0..2 {
        world
            .people
            .close_card(card, &world.person)
            .await
            .expect("nothing moves");
    }
    let detail = world.detail(card).await;
    assert_eq!((detail.card.state, detail.asks[0].id), (CardState::Closed, ask));
    assert!(world.cards.open_asks().await.expect("it answers").rows.is_empty());
    let turn = world.new_turn(SendTo::Card(card), "one more");
    assert_eq!(
        world.people.send(&turn).await.expect_err("it is over").class(),
        ErrorClass::Conflict
    );
}

/// The work of a card goes to another route; to another machine only where no tree is.
pub async fn work_is_handed_back_between_two_starts(world: &World) {
    let taken = world.running().await;
    let mut hand_back = HandBack {
        card: taken.claimed.card,
        agent: Some("other".parse().expect("a name")),
        to_any_machine: false,
        person: world.person.clone(),
    };
    let refused = world
        .people
        .hand_back(&hand_back)
        .await
        .expect_err("it is at work");
    assert_eq!(refused.class(), ErrorClass::Conflict);
    let _ = world.answer(&taken.attempt, &World::words("done")).await;
    world.people.hand_back(&hand_back).await.expect("it is free");
    assert!(world.owner(hand_back.card).await.handed_back_at.is_some());
    world.send(SendTo::Card(hand_back.card), "go on").await;
    assert!(
        world.take(Task::Turns).await.is_none(),
        "the route of this machine is another one"
    );
    hand_back.to_any_machine = true;
    let refused = world
        .people
        .hand_back(&hand_back)
        .await
        .expect_err("its tree is here");
    assert_eq!(refused.class(), ErrorClass::Conflict);

    let plain = world.send(world.plain_card(), "tell me").await.card;
    let taken = world.take(Task::Turns).await.expect("it is ready");
    let _ = world.answer(&taken.attempt, &World::words("so it is")).await;
    hand_back = HandBack {
        card: plain,
        agent: None,
        ..hand_back
    };
    world.people.hand_back(&hand_back).await.expect("it has no tree");
    world.send(SendTo::Card(plain), "and now?").await;
    let other = MachineId::from_uuid(world.ids.uuid_v7());
    let request = world.request(Task::Turns, 1);
    let receipt = world
        .claims
        .claim(other, world.operation(), &request)
        .await
        .expect("it answers");
    assert_eq!(
        receipt.runs[0].run, taken.claimed.run,
        "the same run goes on elsewhere"
    );
    assert!(receipt.runs[0].fresh, "in a new conversation of its program");
}

/// Work that waits for a route goes on at once with another agent.
pub async fn a_card_that_is_handed_to_another_route_waits_no_more(world: &World) {
    let taken = world.running().await;
    let mut failure = cs_settle::GiveUp::new(FailureClass::RateLimit, "not now");
    failure.until = Some(world.clock.now().plus(Duration::from_secs(18_000)));
    let _ = world.settlements.give_up(&taken.attempt, &failure).await;
    let hand_back = HandBack {
        card: taken.claimed.card,
        agent: Some("other".parse().expect("a name")),
        to_any_machine: false,
        person: world.person.clone(),
    };
    world.people.hand_back(&hand_back).await.expect("it is free");
    let mut request = world.request(Task::Resumes, 1);
    request.agents = vec!["other".to_owned()];
    let receipt = world
        .claims
        .claim(world.machine, world.operation(), &request)
        .await
        .expect("it answers");
    assert_eq!(receipt.runs.len(), 1);
}

/// A claim of one run takes that run as its machine last saw it, or nothing.
pub async fn a_targeted_claim_takes_that_run_or_nothing(world: &World) {
    let other = world.card().await;
    let taken = world.running_card(other).await;
    let aim = |epoch| Target {
        run: taken.claimed.run,
        after: epoch,
    };
    assert!(
        world.take(Task::Resume(aim(taken.claimed.epoch))).await.is_none(),
        "it runs"
    );
    let _ = world.give_up(&taken.attempt, FailureClass::Overloaded).await;
    assert!(
        world.take(Task::Resume(aim(taken.claimed.epoch))).await.is_none(),
        "not before its time"
    );
    world.clock.advance(Duration::from_secs(3600));
    assert!(
        world
            .take(Task::Activate(aim(taken.claimed.epoch)))
            .await
            .is_none(),
        "it is no activation"
    );
    let next = world
        .take(Task::Resume(aim(taken.claimed.epoch)))
        .await
        .expect("it goes on");
    assert_eq!(next.claimed.run, taken.claimed.run);
    let _ = world.answer(&next.attempt, &World::words("done")).await;
    world.send(SendTo::Card(other), "more").await;
    world.card().await;
    assert!(
        world
            .take(Task::Activate(aim(taken.claimed.epoch)))
            .await
            .is_none(),
        "it has gone on since"
    );
    let third = world
        .take(Task::Activate(aim(next.claimed.epoch)))
        .await
        .expect("it has a turn");
    assert_eq!(
        (third.claimed.run, third.claimed.epoch.get()),
        (taken.claimed.run, 3)
    );
}
