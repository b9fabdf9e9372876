//! Laws of landings.

use std::time::Duration;

use cs_fence::LandingAttempt;
use cs_journal::{Task, Woke};
use cs_model::{AskState, CardId, CardState, Ending, LandingState, PauseKind, RunState, TurnSeq, TurnState};
use cs_record::{
    AcceptLanding, CardFilter, ErrorClass, FencedLanding, Landing, LandingResult, Scope, SendTo,
};

use super::World;

pub(super) fn accept_of(world: &World, card: CardId) -> AcceptLanding {
    AcceptLanding::new(world.landing_id(), card, world.person.clone())
}

pub(super) async fn accept(world: &World, card: CardId) -> Landing {
    world
        .people
        .accept_landing(&accept_of(world, card))
        .await
        .expect("it can land")
}

pub(super) async fn take(world: &World) -> Option<LandingAttempt> {
    let (receipt, request) = world.claim(Task::Landings, 9).await.expect("the record answers");
    assert!(receipt.landings.len() <= 1, "one landing of a base at a time");
    receipt
        .landings
        .first()
        .map(|landing| landing.attempt(&request.seed))
}

/// Makes a card whose owner has offered its work.
pub(super) async fn offered(world: &World) -> CardId {
    let taken = world.running().await;
    world.offer(&taken.attempt).await;
    taken.claimed.card
}

/// Makes a card whose work is being landed.
pub(super) async fn running(world: &World) -> (CardId, LandingAttempt) {
    let card = offered(world).await;
    accept(world, card).await;
    (card, take(world).await.expect("it is accepted"))
}

pub(super) fn landed() -> LandingResult {
    LandingResult::Landed {
        commit: "0123456789abcdef".to_owned(),
        report: "landed as 0123456".to_owned(),
        evidence: None,
    }
}

pub(super) async fn settle(world: &World, attempt: &LandingAttempt, result: &LandingResult) -> FencedLanding {
    world
        .landings
        .settle_landing(attempt, result)
        .await
        .expect("the record answers")
}

/// An accepted offer is taken by the machine with the tree, and its success lands the card and finishes the run.
pub async fn a_landing_is_accepted_taken_and_landed(world: &World) {
    let card = offered(world).await;
    let accept = accept_of(world, card);
    let landing = world.people.accept_landing(&accept).await.expect("it can land");
    assert_eq!(
        world
            .people
            .accept_landing(&accept)
            .await
            .expect("the same landing"),
        landing
    );
    assert_eq!(landing.message.as_deref(), Some("Make it go"));
    assert_eq!(world.detail(card).await.asks[0].state, AskState::Accepted);
    let second = world.people.accept_landing(&accept_of(world, card)).await;
    assert_eq!(
        second.expect_err("one is under way").class(),
        ErrorClass::Conflict
    );
    let attempt = take(world).await.expect("it is accepted");
    let brief = world
        .daemon
        .landing_brief(attempt.landing)
        .await
        .expect("it is there");
    assert_eq!(
        (brief.card.id, brief.landing.state),
        (card, LandingState::Running)
    );
    assert_eq!(settle(world, &attempt, &landed()).await, FencedLanding::Applied);
    let detail = world.detail(card).await;
    assert_eq!(detail.card.state, CardState::Landed);
    assert_eq!(detail.runs[0].state, RunState::Ended(Ending::Finished));
    assert_eq!(
        (detail.asks[0].state, detail.asks[0].delivered),
        (AskState::Answered, true)
    );
    let turns = world
        .cards
        .turns(card, TurnSeq::START, 9)
        .await
        .expect("the card is there");
    assert_eq!(
        turns.last().map(|turn| turn.body.as_str()),
        Some("landed as 0123456")
    );
    assert!(
        world.take(Task::Rearms).await.is_none(),
        "no agent is started for it"
    );
    let over = world.people.accept_landing(&accept_of(world, card)).await;
    assert_eq!(over.expect_err("it has landed").class(), ErrorClass::Conflict);
}

/// A conflict answers the offer, so that its run goes on; without an offer it is a turn that starts the owner.
pub async fn a_conflict_goes_back_to_the_agent(world: &World) {
    let report = "both changed engine.txt".to_owned();
    let conflict = LandingResult::Conflict { report };
    let card = offered(world).await;
    accept(world, card).await;
    let attempt = take(world).await.expect("it is accepted");
    assert_eq!(settle(world, &attempt, &conflict).await, FencedLanding::Applied);
    let next = world.take(Task::Rearms).await.expect("the offer has its answer");
    assert!(matches!(next.claimed.woke, Woke::Answer(_)));
    let _ = world.answer(&next.attempt, &World::words("solved")).await;
    accept(world, card).await;
    let attempt = take(world).await.expect("it is accepted");
    assert_eq!(settle(world, &attempt, &conflict).await, FencedLanding::Applied);
    let next = world.take(Task::Turns).await.expect("the report is a turn");
    assert!(matches!(next.claimed.woke, Woke::Turns(turns) if turns.len() == 1));
}

/// How the list says that the last landing of a card stands.
async fn last_listed(world: &World, card: CardId) -> Option<LandingState> {
    let listed = world.cards.cards(CardFilter::All).await.expect("it answers").rows;
    let summary = listed.into_iter().find(|summary| summary.card.id == card);
    summary.expect("it is listed").last_landing
}

/// A landing that cannot be done now tells why, and its offer can be accepted again. The list says how the last landing stands.
pub async fn a_refused_landing_leaves_the_offer_open(world: &World) {
    let card = offered(world).await;
    let other = world.card().await;
    assert_eq!(last_listed(world, card).await, None);
    accept(world, card).await;
    assert_eq!(last_listed(world, card).await, Some(LandingState::Accepted));
    let attempt = take(world).await.expect("it is accepted");
    let report = "the base is checked out and dirty".to_owned();
    assert_eq!(
        settle(world, &attempt, &LandingResult::Refused { report }).await,
        FencedLanding::Applied
    );
    let detail = world.detail(card).await;
    assert_eq!(
        (detail.card.state, detail.asks[0].state),
        (CardState::Open, AskState::Open)
    );
    let turns = world
        .cards
        .turns(card, TurnSeq::START, 9)
        .await
        .expect("the card is there");
    assert_eq!(turns.last().map(|turn| turn.state), Some(TurnState::Settled));
    assert_eq!(last_listed(world, card).await, Some(LandingState::Refused));
    assert_eq!(last_listed(world, other).await, None);
    world.clock.advance(Duration::from_secs(1));
    accept(world, card).await;
    assert!(take(world).await.is_some());
    assert_eq!(
        last_listed(world, card).await,
        Some(LandingState::Running),
        "the last one counts"
    );
}

/// Only the current life of a landing writes; one that was given back is taken under its next epoch. Invariant 1.
pub async fn a_stale_landing_changes_nothing(world: &World) {
    accept(world, offered(world).await).await;
    let first = take(world).await.expect("it is accepted");
    assert_eq!(
        world.landings.release_landing(&first).await.expect("it answers"),
        FencedLanding::Applied
    );
    let again = world.landings.release_landing(&first).await.expect("it answers");
    assert!(
        matches!(again, FencedLanding::Stale { row: Some(_), .. }),
        "{again:?}"
    );
    let second = take(world).await.expect("it was given back");
    assert_eq!(second.epoch.get(), 2);
    let before = world.picture().await;
    let forged = LandingAttempt {
        token: first.token,
        ..second
    };
    for stale in [first, forged] {
        let said = settle(world, &stale, &landed()).await;
        assert!(matches!(said, FencedLanding::Stale { .. }), "{said:?}");
    }
    assert_eq!(before, world.picture().await);
    assert_eq!(settle(world, &second, &landed()).await, FencedLanding::Applied);
    let repeated = settle(world, &second, &landed()).await;
    assert!(matches!(repeated, FencedLanding::Stale { .. }), "{repeated:?}");
}

/// Landings on one base are carried out one at a time, in the order of their acceptance.
pub async fn landings_of_a_base_go_one_at_a_time_in_order(world: &World) {
    let mut accepted = Vec::new();
    for _ in 0..3 {
        let card = offered(world).await;
        accepted.push(card);
    }
    accepted.reverse();
    for card in &accepted {
        world.clock.advance(Duration::from_secs(1));
        accept(world, *card).await;
    }
    for card in accepted {
        let attempt = take(world).await.expect("the next one");
        assert_eq!(
            world
                .daemon
                .landing_brief(attempt.landing)
                .await
                .expect("it is there")
                .card
                .id,
            card
        );
        assert!(take(world).await.is_none(), "one at a time");
        assert_eq!(settle(world, &attempt, &landed()).await, FencedLanding::Applied);
    }
}

/// Landings on two bases of a codebase are under way at once: neither can move the base of the other.
pub async fn landings_of_two_bases_go_at_once(world: &World) {
    let main = offered(world).await;
    let mut to = world.new_card();
    if let SendTo::NewCard { base, .. } = &mut to {
        *base = Some("next".to_owned());
    }
    let next = world.send(to, "please").await.card;
    let taken = world.running_card(next).await;
    world.offer(&taken.attempt).await;
    let second = offered(world).await;
    for card in [main, second, next] {
        world.clock.advance(Duration::from_secs(1));
        accept(world, card).await;
    }
    let (receipt, _) = world.claim(Task::Landings, 9).await.expect("the record answers");
    let cards: Vec<CardId> = receipt.landings.iter().map(|landing| landing.card).collect();
    assert_eq!(cards, [main, next], "the first of each base");
    assert!(take(world).await.is_none(), "both bases are taken");
}

/// A stop refuses a landing that nobody has begun; one that runs goes on.
pub async fn a_stop_refuses_an_accepted_landing(world: &World) {
    let card = offered(world).await;
    accept(world, card).await;
    world
        .people
        .stop_card(card, &world.person)
        .await
        .expect("it answers");
    assert!(take(world).await.is_none());
    let detail = world.detail(card).await;
    assert_eq!(
        (detail.landings[0].state, detail.asks[0].state),
        (LandingState::Refused, AskState::Withdrawn)
    );
    let card = offered(world).await;
    accept(world, card).await;
    let attempt = take(world).await.expect("it is accepted");
    world
        .people
        .stop_card(card, &world.person)
        .await
        .expect("it answers");
    assert_eq!(settle(world, &attempt, &landed()).await, FencedLanding::Applied);
    assert_eq!(world.detail(card).await.card.state, CardState::Landed);
}

/// While a landing is under way nothing is started; a turn that came meanwhile keeps the card open. Invariant 9.
pub async fn a_turn_that_comes_during_a_landing_is_not_lost(world: &World) {
    let card = offered(world).await;
    accept(world, card).await;
    world.send(SendTo::Card(card), "one more thing").await;
    assert!(world.take(Task::Turns).await.is_none());
    let attempt = take(world).await.expect("it is accepted");
    assert!(world.take(Task::Turns).await.is_none());
    assert_eq!(settle(world, &attempt, &landed()).await, FencedLanding::Applied);
    assert_eq!(world.detail(card).await.card.state, CardState::Open);
    assert!(world.take(Task::Turns).await.is_some());
}

/// A machine that lost every trace of a landing gives it back: it is accepted again, and its old life changes nothing.
pub async fn a_landing_that_left_no_trace_is_given_back(world: &World) {
    accept(world, offered(world).await).await;
    let first = take(world).await.expect("it is accepted");
    let stranger = cs_model::MachineId::from_uuid(cs_model::IdSource::uuid_v7(&*world.ids));
    let hand_back = async |machine| {
        let given = world
            .machines
            .hand_back_landing(machine, first.landing, first.epoch)
            .await;
        given.expect("it answers")
    };
    assert!(!hand_back(stranger).await, "another machine");
    assert!(hand_back(world.machine).await);
    assert!(!hand_back(world.machine).await, "it is given back once");
    let late = LandingResult::Refused {
        report: "late".to_owned(),
    };
    assert!(matches!(
        settle(world, &first, &late).await,
        FencedLanding::Stale { .. }
    ));
    let second = take(world).await.expect("it is accepted again");
    assert!(second.epoch > first.epoch);
}

/// A pause keeps accepted landings back, and no peek names them; a drain lets them through, since their work was begun.
pub async fn a_pause_keeps_landings_back_and_a_drain_does_not(world: &World) {
    let card = offered(world).await;
    accept(world, card).await;
    let scopes = [
        Scope::Everything,
        Scope::Machine(world.machine),
        Scope::Codebase(world.codebase),
    ];
    for scope in scopes {
        for (kind, passes) in [(PauseKind::Pause, false), (PauseKind::Drain, true)] {
            let paused = world.machines.pause(scope, kind, None, &world.person).await;
            paused.expect("it answers");
            let peeked = world.daemon.peek(world.machine, &[]).await.expect("it answers");
            assert_eq!(peeked.landings, passes, "{scope:?} {kind}");
            let taken = take(world).await;
            assert_eq!(taken.is_some(), passes, "{scope:?} {kind}");
            if let Some(attempt) = taken {
                let released = world.landings.release_landing(&attempt).await;
                assert_eq!(released.expect("it answers"), FencedLanding::Applied);
            }
        }
        assert!(world.machines.unpause(scope).await.expect("it answers"));
    }
}

/// A card is not closed while its work is being landed, nor while its landing waits; a stop withdraws one that waits.
pub async fn a_card_that_lands_is_not_closed(world: &World) {
    let (card, attempt) = running(world).await;
    world
        .people
        .stop_card(card, &world.person)
        .await
        .expect("it stops");
    let refused = world.people.close_card(card, &world.person).await;
    assert_eq!(
        refused.expect_err("it lands").class(),
        cs_record::ErrorClass::Conflict
    );
    let _ = settle(world, &attempt, &landed()).await;
    let card = offered(world).await;
    world
        .people
        .stop_card(card, &world.person)
        .await
        .expect("it stops");
    accept(world, card).await;
    let refused = world.people.close_card(card, &world.person).await;
    assert_eq!(
        refused.expect_err("it is to land").class(),
        cs_record::ErrorClass::Conflict
    );
    assert!(
        world
            .people
            .stop_card(card, &world.person)
            .await
            .expect("it stops")
    );
    assert_eq!(take(world).await, None, "it is withdrawn");
    world
        .people
        .close_card(card, &world.person)
        .await
        .expect("nothing moves");
}
