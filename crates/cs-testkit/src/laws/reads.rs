//! Laws of reads and of presence.

use std::time::Duration;

use cs_fence::TokenHash;
use cs_journal::Task;
use cs_model::{CardId, CodebaseId, IdSource};
use cs_record::{AcceptLanding, ErrorClass, LandingResult, Peeked, Present, RecordError, Refusal};

use super::World;
use super::world::AGENT;

/// A card is found by its full id, by four or more of its last digits, and by four or more of the first of its last eight; nothing
/// else finds it.
pub async fn a_short_id_finds_its_card(world: &World) {
    let card = world.card().await;
    for _ in 0..3 {
        world.card().await;
    }
    let full = card.to_string();
    for given in [
        full.clone(),
        full.to_uppercase(),
        full.replace('-', ""),
        card.short(),
        card.short()[..6].to_owned(),
        card.short()[2..].to_owned(),
        format!(" {}\n", card.short()),
    ] {
        assert_eq!(
            world.cards.find_card(&given).await.expect("it is there"),
            card,
            "{given}"
        );
    }
    for given in [
        "",
        "abc",
        "ghij",
        "%",
        "____",
        &"0".repeat(33),
        "ffffffff-ffff-7fff-bfff-ffffffffffff",
    ] {
        let missing = world.cards.find_card(given).await;
        assert_eq!(
            missing.expect_err("it is not there").class(),
            ErrorClass::NotFound,
            "{given}"
        );
    }
    let twin = CardId::from_uuid(uuid::Uuid::from_u128(card.as_uuid().as_u128() ^ (1 << 100)));
    let cs_record::SendTo::NewCard {
        title,
        codebase,
        agent,
        ..
    } = world.new_card()
    else {
        unreachable!("it makes a new card");
    };
    let to = cs_record::SendTo::NewCard {
        card: twin,
        title,
        codebase,
        base: None,
        agent,
        opening: cs_model::Opening::Owner,
    };
    world.send(to, "hello").await;
    let both = world.cards.find_card(&card.short()).await;
    assert!(
        matches!(&both, Err(RecordError::Ambiguous { fits, .. }) if fits.len() == 2),
        "{both:?}"
    );
}

async fn peek(world: &World) -> Peeked {
    world
        .daemon
        .peek(world.machine, &[AGENT.to_owned()])
        .await
        .expect("it answers")
}

async fn check_peek(world: &World, expected: Peeked) {
    assert_eq!(peek(world).await, expected);
}

/// A peek names the steps for which the record has anything, and nothing more.
pub async fn a_peek_names_what_can_be_taken(world: &World) {
    let nothing = Peeked::default;
    check_peek(world, nothing()).await;
    world.card().await;
    check_peek(
        world,
        Peeked {
            turns: true,
            ..nothing()
        },
    )
    .await;
    let other = ["other".to_owned()];
    let foreign = world.daemon.peek(world.machine, &other).await;
    assert_eq!(foreign.expect("it answers"), nothing());
    let taken = world.take(Task::Turns).await.expect("the card is ready");
    check_peek(world, nothing()).await;
    let process = World::process(7);
    let _ = world
        .attempts
        .record_process(&taken.attempt, &process)
        .await
        .expect("it answers");
    world.offer(&taken.attempt).await;
    let to_close = || Peeked {
        to_close: true,
        ..nothing()
    };
    check_peek(world, to_close()).await;
    accept(world, taken.claimed.card).await;
    check_peek(world, to_close()).await;
    let _ = world
        .attempts
        .clear_process(&taken.attempt, &process)
        .await
        .expect("it answers");
    check_peek(
        world,
        Peeked {
            landings: true,
            ..nothing()
        },
    )
    .await;
    let (receipt, request) = world.claim(Task::Landings, 1).await.expect("it takes");
    let attempt = receipt.landings[0].attempt(&request.seed);
    let report = "both changed engine.txt".to_owned();
    let conflict = LandingResult::Conflict { report };
    let _ = world
        .landings
        .settle_landing(&attempt, &conflict)
        .await
        .expect("it answers");
    check_peek(
        world,
        Peeked {
            rearms: true,
            ..nothing()
        },
    )
    .await;
}

async fn accept(world: &World, card: CardId) {
    let accept = AcceptLanding::new(world.landing_id(), card, world.person.clone());
    world.people.accept_landing(&accept).await.expect("it can land");
}

pub(super) fn daemon_of(world: &World, secret: u8) -> Present {
    Present {
        machine: world.machine,
        name: "desk".to_owned(),
        person: world.person.clone(),
        boot_id: "boot".to_owned(),
        daemon: TokenHash::from_bytes([secret; 32]),
        follows: Vec::new(),
        codebases: vec![world.codebase],
        serves_everyone: false,
    }
}

/// A machine has one daemon: another is refused while the first was seen within 90 s and has not left.
pub async fn a_second_daemon_is_refused_while_the_first_is_present(world: &World) {
    let (first, second) = (daemon_of(world, 1), daemon_of(world, 2));
    world.machines.present(&first).await.expect("it is free");
    world.machines.present(&first).await.expect("it is its own");
    let refused = world.machines.present(&second).await;
    assert!(
        matches!(refused, Err(RecordError::Refused(Refusal::MachineHeld { .. }))),
        "{refused:?}"
    );
    world
        .machines
        .leave(world.machine, second.daemon)
        .await
        .expect("it answers");
    assert!(
        world.machines.present(&second).await.is_err(),
        "only the holder leaves"
    );
    world
        .machines
        .leave(world.machine, first.daemon)
        .await
        .expect("it answers");
    world.machines.present(&second).await.expect("the first has left");
    world.clock.advance(Duration::from_secs(89));
    assert!(world.machines.present(&first).await.is_err());
    world.clock.advance(Duration::from_secs(1));
    world.machines.present(&first).await.expect("90 s are over");
}

/// A daemon takes the place of one that it knows to be dead at once, and of no other.
pub async fn a_daemon_follows_a_dead_one_at_once(world: &World) {
    let (first, second) = (daemon_of(world, 1), daemon_of(world, 2));
    world.machines.present(&first).await.expect("it is free");
    let stranger = Present {
        follows: vec![second.daemon],
        ..daemon_of(world, 3)
    };
    assert!(
        world.machines.present(&stranger).await.is_err(),
        "it knows nothing of the first"
    );
    let next = Present {
        follows: vec![second.daemon, first.daemon],
        ..daemon_of(world, 4)
    };
    world.machines.present(&next).await.expect("it follows the first");
    assert!(
        world.machines.present(&first).await.is_err(),
        "the first was replaced"
    );
}

/// A daemon that says the same again is present for another 90 s, and what it says differently counts from then on.
pub async fn a_renewal_lasts_and_says_what_has_changed(world: &World) {
    let (first, second) = (daemon_of(world, 1), daemon_of(world, 2));
    world.machines.present(&first).await.expect("it is free");
    world.clock.advance(Duration::from_secs(89));
    world.machines.present(&first).await.expect("it is its own");
    world.clock.advance(Duration::from_secs(89));
    assert!(world.machines.present(&second).await.is_err(), "it was renewed");
    world.card().await;
    assert!(world.peek().await.turns, "the machine has the codebase");
    let without = Present {
        codebases: Vec::new(),
        ..first.clone()
    };
    for (said, has_work) in [(&without, false), (&without, false), (&first, true)] {
        world.machines.present(said).await.expect("it is its own");
        assert_eq!(world.peek().await.turns, has_work, "{said:?}");
    }
    let unknown = Present {
        codebases: vec![world.codebase, CodebaseId::from_uuid(world.ids.uuid_v7())],
        ..first.clone()
    };
    for said in [&unknown, &unknown] {
        world.machines.present(said).await.expect("it is its own");
        assert!(
            world.peek().await.turns,
            "what the record does not know is left out"
        );
    }
}
