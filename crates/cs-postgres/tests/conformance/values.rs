//! Values at their limits and over them, and machines whose clocks are wrong: every store does the same, to the letter.

use std::sync::Arc;
use std::time::Duration;

use cs_fence::TokenSeed;
use cs_journal::{ClaimError, ClaimRequest, Task};
use cs_model::{CardId, Clock, IdSource, OperationId, Time, TurnId, TurnSeq};
use cs_record::{RecordError, Refusal, Send, SendTo, Sent};
use cs_settle::Answer;
use cs_testkit::laws::World;
use cs_testkit::{MemoryStore, SeededIds, SetClock};

const MIB: usize = 1 << 20;
const HOUR: Duration = Duration::from_secs(60 * 60);

/// The store under test, and the one in memory.
async fn worlds() -> [World; 2] {
    let clock = Arc::new(SetClock::new());
    let memory = MemoryStore::new(Arc::clone(&clock) as _);
    [
        crate::world_under_test().await,
        World::new(memory, clock, ()).await,
    ]
}

async fn send(world: &World, title: &str, body: &str) -> Result<Sent, RecordError> {
    let card = CardId::from_uuid(world.ids.uuid_v7());
    let to = SendTo::new_card(card, title, "mine".parse().expect("a name"));
    let turn = TurnId::from_uuid(world.ids.uuid_v7());
    world
        .people
        .send(&Send::new(turn, to, world.person.clone(), body))
        .await
}

/// What is taken comes back as it was.
async fn check_kept(title: &str, body: &str) {
    for world in worlds().await {
        let sent = send(&world, title, body).await.expect("it is taken");
        let detail = world.cards.card(sent.card).await.expect("it is there");
        assert_eq!(detail.card.title, title.trim());
        let turns = world
            .cards
            .turns(sent.card, TurnSeq::START, 9)
            .await
            .expect("they are there");
        assert!(
            turns[0].body == body,
            "{} of {} bytes came back",
            turns[0].body.len(),
            body.len()
        );
    }
}

/// What is refused leaves nothing.
async fn check_refused(title: &str, body: &str, expected: &Refusal) {
    for world in worlds().await {
        match send(&world, title, body).await {
            Err(RecordError::Refused(refusal)) => assert_eq!(&refusal, expected),
            other => panic!("{expected:?} was expected: {other:?}"),
        }
        let cards = world
            .cards
            .cards(cs_record::CardFilter::All)
            .await
            .expect("it answers");
        assert!(cards.rows.is_empty());
    }
}

#[tokio::test]
async fn a_message_is_kept_to_the_letter_up_to_its_limit() {
    check_kept("a title", &"x".repeat(MIB)).await;
    check_kept("a title", &"𝄞".repeat(MIB / 4)).await;
    // Every character of it takes two where a store has no NUL.
    check_kept("a title", &"\0".repeat(MIB)).await;
    check_kept("a title", &format!("\u{10}0{}", "\u{10}\0".repeat(100))).await;
    for body in [
        "\0",
        "\u{1b}",
        "a\0b\u{10}0\u{10}1\u{7f}\u{9b}\r\n\t\u{feff}\u{fffd}\u{10ffff}",
        "'; drop table cards; --",
        "{\"a\": [null]}",
    ] {
        check_kept("a title", body).await;
    }
}

#[tokio::test]
async fn a_message_over_its_limit_or_without_a_word_is_refused() {
    let over = |bytes| Refusal::TooLong {
        what: "the message",
        bytes,
        limit_bytes: MIB,
    };
    check_refused("a title", &"x".repeat(MIB + 1), &over(MIB + 1)).await;
    check_refused("a title", &format!("{}ë", "x".repeat(MIB - 1)), &over(MIB + 1)).await;
    for body in ["", " ", "\n\t\u{85}\u{2003}"] {
        check_refused("a title", body, &Refusal::EmptyTurn).await;
    }
}

#[tokio::test]
async fn a_title_is_one_line_of_at_most_200_characters() {
    check_kept(&"x".repeat(200), "please").await;
    check_kept(&"𝄞".repeat(200), "please").await;
    check_kept("  \u{feff}wide  ", "please").await;
    for (title, chars) in [
        ("", 0),
        ("  ", 0),
        ("a\0b", 3),
        ("a\nb", 3),
        ("\u{9b}", 1),
        (&*"x".repeat(201), 201),
    ] {
        check_refused(title, "please", &Refusal::BadTitle { chars }).await;
    }
}

/// An agent may end with anything; nothing of it may keep the end of its attempt from being told. What is over the limit of a turn
/// is cut.
#[tokio::test]
async fn whatever_an_agent_says_at_its_end_is_kept() {
    for world in worlds().await {
        for text in ["\0", "", "\u{10}", "\u{1b}]0;title\u{7}", &"𝄞".repeat(MIB)] {
            let sent = send(&world, "a title", "please").await.expect("it is taken");
            let request = request(&world);
            let operation = OperationId::from_uuid(world.ids.uuid_v7());
            let taken = world
                .claims
                .claim(world.machine, operation, &request)
                .await
                .expect("it takes");
            let attempt = taken.runs[0].attempt(&request.seed);
            let done = world.settlements.answer(&attempt, &Answer::words(text)).await;
            assert!(matches!(done, Ok(cs_fence::Fenced::Applied(_))), "{done:?}");
            let turns = world
                .cards
                .turns(sent.card, TurnSeq::START, 9)
                .await
                .expect("they are there");
            let (said, note) = turns[1]
                .body
                .split_once("\n\n[cut: ")
                .unwrap_or((&turns[1].body, ""));
            let is_whole = said == text && note.is_empty();
            let is_cut = text.len() > MIB && text.starts_with(said) && !note.is_empty();
            assert!(
                is_whole || is_cut,
                "{} bytes of {}, {note}",
                said.len(),
                text.len()
            );
            assert!(turns[1].body.len() <= MIB);
        }
    }
}

fn request(world: &World) -> ClaimRequest {
    ClaimRequest::one(Task::Turns, "mine", TokenSeed::from_bytes(world.ids.secret()))
}

/// Claims on a machine whose clock is apart from the record's.
async fn claim_with_clock(world: &World, made_at: Time) -> Result<usize, ClaimError> {
    let wrong = Arc::new(SetClock::new());
    wrong.set(made_at);
    let operation = OperationId::from_uuid(SeededIds::new(world.ids.number(), wrong).uuid_v7());
    let claimed = world
        .claims
        .claim(world.machine, operation, &request(world))
        .await?;
    Ok(claimed.runs.len())
}

#[tokio::test]
async fn a_clock_that_is_an_hour_apart_claims_as_any_other() {
    for world in worlds().await {
        let now = world.clock.now();
        let micros = |span: Duration| i64::try_from(span.as_micros()).expect("it is short");
        for apart in [-micros(HOUR), micros(HOUR), -micros(23 * HOUR), micros(23 * HOUR)] {
            let sent = send(&world, "a title", "please").await.expect("it is taken");
            let made_at = Time::from_unix_micros(now.unix_micros() + apart);
            assert_eq!(claim_with_clock(&world, made_at).await.expect("it takes"), 1);
            let detail = world.cards.card(sent.card).await.expect("it is there");
            assert_eq!(detail.card.created_at, now, "time on the record is the record's");
            assert_eq!(
                detail.runs[0].started_at, now,
                "time on the record is the record's"
            );
        }
    }
}

/// A machine that jumps an hour while it works goes on: who owns a claim is never a matter of clocks.
#[tokio::test]
async fn the_records_clock_may_jump_back_under_an_attempt() {
    for world in worlds().await {
        let sent = send(&world, "a title", "please").await.expect("it is taken");
        let (asked, operation) = (request(&world), OperationId::from_uuid(world.ids.uuid_v7()));
        let taken = world
            .claims
            .claim(world.machine, operation, &asked)
            .await
            .expect("it takes");
        let now = world.clock.now().unix_micros();
        world.clock.set(Time::from_unix_micros(now - 3_600_000_000));
        let attempt = taken.runs[0].attempt(&asked.seed);
        let done = world.settlements.answer(&attempt, &Answer::words("done")).await;
        assert!(matches!(done, Ok(cs_fence::Fenced::Applied(_))), "{done:?}");
        let again = Send::new(
            TurnId::from_uuid(world.ids.uuid_v7()),
            SendTo::Card(sent.card),
            world.person.clone(),
            "more",
        );
        world.people.send(&again).await.expect("it is taken");
        assert_eq!(
            claim_with_clock(&world, world.clock.now())
                .await
                .expect("it takes"),
            1
        );
    }
}

#[tokio::test]
async fn a_clock_that_is_more_than_a_day_apart_is_refused_with_both_times_and_the_cure() {
    for world in worlds().await {
        send(&world, "a title", "please").await.expect("it is taken");
        let now = world.clock.now();
        for (apart, shown) in [
            (-90_000_000_000_i64, "2025-12-30T23:00:00"),
            (90_000_000_000, "2026-01-02T01:00:00"),
        ] {
            let made_at = Time::from_unix_micros(now.unix_micros() + apart);
            let refused = claim_with_clock(&world, made_at)
                .await
                .expect_err("it is refused");
            assert!(matches!(refused, ClaimError::ClockApart { .. }), "{refused:?}");
            let said = refused.to_string();
            for part in [
                shown,
                "this machine's clock",
                "2026-01-01T00:00:00",
                "set the machine's clock right",
            ] {
                assert!(said.contains(part), "{part}: {said}");
            }
        }
        assert_eq!(
            claim_with_clock(&world, now).await.expect("it takes"),
            1,
            "nothing was taken by them"
        );
    }
}
