//! Laws of what comes of a landing: evidence, whom a failure goes to, and where it lands.

use std::time::Duration;

use cs_journal::Task;
use cs_model::{AskState, CardId, CardState, LandMethod, LandingState, TurnSeq, TurnState};
use cs_record::{AcceptLanding, Evidence, FencedLanding, LandingResult, VerifyExit};

use super::World;
use super::landings::{accept, accept_of, landed, offered, settle, take};

/// What a verify command said of a commit.
pub(super) fn evidence(commit: &str, exit: VerifyExit) -> Evidence {
    Evidence {
        command: "make check".to_owned(),
        commit: commit.to_owned(),
        exit,
        duration_ms: 1_234,
    }
}

/// A verify that a signal ended.
pub(super) fn verify_failed(report: String, commit: &str) -> LandingResult {
    let evidence = evidence(commit, VerifyExit::Signal(9));
    LandingResult::VerifyFailed { report, evidence }
}

/// A landing of which the verify has passed.
pub(super) fn passed(report: String, commit: String) -> LandingResult {
    LandingResult::Landed {
        evidence: Some(evidence(&commit, VerifyExit::Code(0))),
        commit,
        report,
    }
}

/// A verify that failed goes back to the agent as a conflict does, and the landing keeps what the command said; so does one that
/// landed.
pub async fn a_failed_verify_goes_back_with_its_evidence(world: &World) {
    let card = offered(world).await;
    accept(world, card).await;
    let attempt = take(world).await.expect("it is accepted");
    let failed = LandingResult::VerifyFailed {
        report: "exit code 1: two tests failed".to_owned(),
        evidence: evidence("0123", VerifyExit::Code(1)),
    };
    assert_eq!(settle(world, &attempt, &failed).await, FencedLanding::Applied);
    let detail = world.detail(card).await;
    assert_eq!(detail.landings[0].state, LandingState::VerifyFailed);
    let kept = detail.landings[0].evidence.clone();
    assert_eq!(kept, Some(evidence("0123", VerifyExit::Code(1))));
    assert_eq!(
        (detail.asks[0].state, detail.asks[0].answer.as_deref()),
        (AskState::Answered, Some("exit code 1: two tests failed"))
    );
    let next = world.take(Task::Rearms).await.expect("the offer has its answer");
    let _ = world.answer(&next.attempt, &World::words("solved")).await;
    accept(world, card).await;
    let attempt = take(world).await.expect("it is accepted");
    let passed = evidence("4567", VerifyExit::Code(0));
    let landed = LandingResult::Landed {
        commit: "4567".to_owned(),
        report: "landed as 4567".to_owned(),
        evidence: Some(passed.clone()),
    };
    assert_eq!(settle(world, &attempt, &landed).await, FencedLanding::Applied);
    let detail = world.detail(card).await;
    assert_eq!(detail.landings[1].evidence, Some(passed));
}

/// The third landing in a row that failed without a word of a person starts no agent: its offer is open again, and the person is told. A
/// turn or an answer of a person begins a new count.
pub async fn the_third_failed_landing_in_a_row_goes_to_the_person(world: &World) {
    let card = offered(world).await;
    let conflict = LandingResult::Conflict {
        report: "both changed engine.txt".to_owned(),
    };
    let fail = async || {
        accept(world, card).await;
        let attempt = take(world).await.expect("it is accepted");
        assert_eq!(settle(world, &attempt, &conflict).await, FencedLanding::Applied);
    };
    for _ in 0..2 {
        fail().await;
        let next = world.take(Task::Rearms).await.expect("the offer has its answer");
        world.offer(&next.attempt).await;
    }
    fail().await;
    assert!(world.take(Task::Rearms).await.is_none() && world.take(Task::Turns).await.is_none());
    let detail = world.detail(card).await;
    assert_eq!(detail.card.state, CardState::Open);
    let offer = detail.asks.iter().find(|ask| ask.state == AskState::Open);
    let offer = offer.expect("its offer is open again");
    let turns = world.cards.turns(card, TurnSeq::START, 99).await;
    let turns = turns.expect("the card is there");
    let told = turns.last().expect("the person is told");
    assert_eq!(told.state, TurnState::Settled);
    assert!(told.body.contains("landing 3 in a row"), "{}", told.body);
    world.reply(offer.id).await;
    let next = world.take(Task::Rearms).await.expect("the person has spoken");
    world.offer(&next.attempt).await;
    fail().await;
    assert!(world.take(Task::Rearms).await.is_some(), "a new count");
}

/// A branch that was published moves no base: the card stays open, and its offer can be accepted again.
pub async fn a_published_branch_keeps_its_card_open(world: &World) {
    let card = offered(world).await;
    accept(world, card).await;
    let attempt = take(world).await.expect("it is accepted");
    let report = "published cs/engine to origin".to_owned();
    let published = LandingResult::Published { report };
    assert_eq!(settle(world, &attempt, &published).await, FencedLanding::Applied);
    let detail = world.detail(card).await;
    assert_eq!(
        (detail.card.state, detail.asks[0].state, detail.landings[0].state),
        (CardState::Open, AskState::Open, LandingState::Published)
    );
    assert!(world.take(Task::Rearms).await.is_none() && world.take(Task::Turns).await.is_none());
    accept(world, card).await;
    assert!(take(world).await.is_some());
}

/// A landing goes onto the branch that the person said, and waits only for those on that one.
pub async fn a_landing_goes_onto_the_branch_that_the_person_said(world: &World) {
    let (first, onto, waits) = (offered(world).await, offered(world).await, offered(world).await);
    accept(world, first).await;
    let mut cards = Vec::new();
    for card in [onto, waits] {
        world.clock.advance(Duration::from_secs(1));
        let accept = AcceptLanding {
            onto: Some("next".to_owned()),
            method: Some(LandMethod::Squash),
            ..accept_of(world, card)
        };
        let landing = world.people.accept_landing(&accept).await.expect("it can land");
        assert_eq!(landing.base.as_deref(), Some("next"));
        let kept = world.detail(card).await.landings[0].clone();
        assert_eq!((kept.base, kept.method), (landing.base, Some(LandMethod::Squash)));
        cards.push(card);
    }
    let (receipt, request) = world.claim(Task::Landings, 9).await.expect("the record answers");
    let taken: Vec<CardId> = receipt.landings.iter().map(|landing| landing.card).collect();
    assert_eq!(taken, [first, onto], "the first of each base");
    let attempt = receipt.landings[1].attempt(&request.seed);
    assert_eq!(settle(world, &attempt, &landed()).await, FencedLanding::Applied);
    let next = take(world).await.expect("its base is free");
    let brief = world
        .daemon
        .landing_brief(next.landing)
        .await
        .expect("it is there");
    assert_eq!(
        (brief.card.id, brief.landing.base.as_deref()),
        (waits, Some("next"))
    );
}
