//! Laws of what happened.

use std::sync::Arc;
use std::time::Duration;

use cs_fence::Interruption;
use cs_journal::{Task, Woke};
use cs_model::{Author, CardId, Clock, FailureClass, LandingState, Time};
use cs_record::{
    AnswerAsk, Cursor, ErrorClass, Event, EventPlace, Events, HandBack, LandingResult, MAX_EVENTS, SendTo,
    What,
};
use tokio::task::JoinSet;

use super::{World, landings};

/// How long a reader may have to wait for the transactions of others, which hold back what is written after they began.
const PATIENCE: Duration = Duration::from_secs(60);

async fn read(events: &dyn Events, after: Cursor, of: Option<CardId>) -> Vec<(Cursor, Event)> {
    let read = events.events(after, of, MAX_EVENTS).await;
    read.expect("the cursor is good")
}

/// Reads everything that happened once that is at least so much.
async fn told(world: &World, of: Option<CardId>, least: usize) -> Vec<(Cursor, Event)> {
    let told = tokio::time::timeout(PATIENCE, async {
        loop {
            let found = read(&*world.events, Cursor::START, of).await;
            if found.len() >= least {
                return found;
            }
            tokio::task::yield_now().await;
        }
    });
    told.await.expect("what happened can be read in the end")
}

/// An event as a line: its attempt or landing, where there is one, and its kind.
fn line(event: &Event) -> String {
    let (kind, _) = event.what.to_stored().expect("it can be written");
    match event.epoch {
        Some(epoch) => format!("{epoch} {kind}"),
        None => kind,
    }
}

/// Checks what is told of a card, and that there is no more.
async fn check(world: &World, card: CardId, expected: &str) -> Vec<Event> {
    let expected: Vec<&str> = expected.split(", ").collect();
    let told = told(world, Some(card), expected.len()).await;
    let events: Vec<Event> = told.into_iter().map(|(_, event)| event).collect();
    let lines: Vec<String> = events.iter().map(line).collect();
    assert_eq!(lines, expected);
    assert!(events.iter().all(|event| event.card == card));
    assert!(events.is_sorted_by_key(|event| event.at));
    events
}

/// Everything that becomes of a run is told with its attempt, its machine and its time: a claim with what woke it, the process, its end,
/// a question and its answer, a failure with its next time, an interruption, and what could not be ended.
pub async fn what_happened_is_told_in_order(world: &World) {
    let first = world.running().await;
    let card = first.claimed.card;
    world.note(&first.attempt).await;
    let ask = world.ask(&first.attempt, &world.question(&[], None)).await;
    world.gone(&first.attempt).await;
    world.clock.advance(Duration::from_secs(5));
    let answered_at = world.clock.now();
    world.reply(ask).await;
    let second = world.take(Task::Rearms).await.expect("it has its answer");
    let _ = world.give_up(&second.attempt, FailureClass::Agent).await;
    let again_at = world.owner(card).await.again_at;
    world.clock.advance(Duration::from_secs(60));
    let third = world.take(Task::Resumes).await.expect("it goes on");
    world.note(&third.attempt).await;
    let at = world.clock.now();
    let attempt = third.attempt;
    let cut = Interruption { attempt, at };
    let reported = world
        .attempts
        .interrupt(world.machine, world.operation(), &[cut])
        .await;
    reported.expect("it answers");
    let process = World::process(7);
    let marked = world
        .attempts
        .mark_incomplete(&third.attempt, &process, "cc1 (9)");
    let _ = marked.await.expect("it answers");
    world.gone(&third.attempt).await;
    world.clock.advance(Duration::from_secs(60));
    let fourth = world.take(Task::Resumes).await.expect("it goes on");
    let _ = world.answer(&fourth.attempt, &World::words("done")).await;
    let events = check(
        world,
        card,
        "made, said, 1 claimed, 1 started, 1 asked, 1 waits_for_answer, 1 gone, answered, 2 claimed, \
         2 failed, 3 claimed, 3 started, 3 interrupted, 3 left_behind, 3 gone, 4 claimed, 4 said, \
         4 finished",
    )
    .await;
    for event in events.iter().filter(|event| event.epoch.is_some()) {
        assert_eq!(
            (event.run, event.machine),
            (Some(first.claimed.run), Some(world.machine))
        );
    }
    let woke = Some(first.claimed.woke.clone());
    assert!(matches!(&events[2].what, What::Claimed { woke: told, .. } if *told == woke));
    assert!(matches!(&events[8].what, What::Claimed { woke: Some(Woke::Answer(by)), .. } if *by == ask));
    let by = Author::Person(world.person.clone());
    assert_eq!(
        (&events[7].what, events[7].at),
        (&What::Answered { ask, by }, answered_at)
    );
    let failed = What::Failed {
        class: Some(FailureClass::Agent),
        reason: Some("it broke".to_owned()),
        again_at,
    };
    assert_eq!(events[9].what, failed);
}

/// A landing is told with its lives, its end, and what becomes of its offer and its card.
pub async fn a_landing_is_told_from_its_offer_to_its_end(world: &World) {
    let (card, attempt) = landings::running(world).await;
    let released = world.landings.release_landing(&attempt).await;
    let _ = released.expect("it answers");
    let attempt = landings::take(world).await.expect("it is accepted");
    let report = "it is dirty".to_owned();
    let _ = landings::settle(world, &attempt, &LandingResult::Refused { report }).await;
    landings::accept(world, card).await;
    let attempt = landings::take(world).await.expect("it is accepted");
    let _ = landings::settle(world, &attempt, &landings::landed()).await;
    let events = check(
        world,
        card,
        "made, said, 1 claimed, 1 asked, 1 waits_for_answer, offer_accepted, landing_accepted, \
         1 landing_taken, 1 landing_released, 2 landing_taken, said, offer_open, 2 landing_over, \
         offer_accepted, landing_accepted, 1 landing_taken, said, 1 answered, 1 finished, 1 landing_over, \
         card_landed",
    )
    .await;
    let over = |state, commit| What::LandingOver {
        landing: attempt.landing,
        state,
        commit,
    };
    let commit = Some("0123456789abcdef".to_owned());
    assert_eq!(events[19].what, over(LandingState::Landed, commit));
    assert!(matches!(
        &events[12].what,
        What::LandingOver {
            state: LandingState::Refused,
            ..
        }
    ));
}

/// What people do to a card is told with who did it.
pub async fn what_people_do_is_told_with_their_names(world: &World) {
    let taken = world.running().await;
    let (card, person) = (taken.claimed.card, &world.person);
    assert!(world.people.stop_card(card, person).await.expect("it runs"));
    assert!(
        world
            .people
            .retry_card(card, person)
            .await
            .expect("it was stopped")
    );
    let hand_back = HandBack {
        card,
        agent: Some("other".parse().expect("a name")),
        to_any_machine: false,
        person: person.clone(),
    };
    world.people.hand_back(&hand_back).await.expect("it is free");
    world.people.stop_card(card, person).await.expect("it is open");
    world.send(SendTo::Card(card), "go on").await;
    world
        .people
        .close_card(card, person)
        .await
        .expect("nothing moves");
    let events = check(
        world,
        card,
        "made, said, 1 claimed, 1 stopped, card_stopped, reopened, retried, handed_back, card_stopped, \
         reopened, said, card_closed",
    )
    .await;
    let by = Some(person.clone());
    for (place, what) in [
        (4, What::CardStopped { by: by.clone() }),
        (5, What::Reopened { by: by.clone() }),
        (6, What::Retried { by: by.clone() }),
        (9, What::Reopened { by: by.clone() }),
        (11, What::CardClosed { by: by.clone() }),
    ] {
        assert_eq!(events[place].what, what);
    }
    let agent = "other".parse().expect("a name");
    let to_any_machine = false;
    assert_eq!(
        events[7].what,
        What::HandedBack {
            by,
            agent,
            to_any_machine
        }
    );
}

/// What is repeated, refused, stale or empty is not told.
pub async fn what_changes_nothing_is_not_told(world: &World) {
    let turn = world.new_turn(world.new_card(), "please");
    let card = world.people.send(&turn).await.expect("a good turn is taken").card;
    world.people.send(&turn).await.expect("the same turn");
    let (operation, request) = (world.operation(), world.request(Task::Turns, 1));
    for _ in 0..2 {
        let claimed = world.claims.claim(world.machine, operation, &request).await;
        assert_eq!(claimed.expect("it answers").runs.len(), 1);
    }
    let run = world.owner(card).await;
    let attempt = cs_fence::Attempt {
        run: run.id,
        epoch: run.epoch,
        token: request.seed.for_run(run.id, run.epoch),
    };
    assert!(world.take(Task::Turns).await.is_none());
    let ask = world.ask(&attempt, &world.question(&[], None)).await;
    let _ = world.answer(&attempt, &World::words("again")).await;
    world.reply(ask).await;
    let answer = AnswerAsk {
        ask,
        body: "right".to_owned(),
        person: world.person.clone(),
    };
    world
        .people
        .answer_ask(&answer)
        .await
        .expect_err("it is answered");
    world
        .people
        .stop_card(card, &world.person)
        .await
        .expect("it is open");
    world
        .people
        .stop_card(card, &world.person)
        .await
        .expect("it is stopped");
    check(
        world,
        card,
        "made, said, 1 claimed, 1 asked, 1 waits_for_answer, answered, 1 stopped, card_stopped",
    )
    .await;
}

/// Whoever reads on from a cursor gets exactly what comes after it, in pages of any size, of one card or of all.
pub async fn from_every_cursor_the_rest_follows(world: &World) {
    let one = landings::offered(world).await;
    let other = world.running().await.claimed.card;
    world.send(SendTo::Card(one), "by the way").await;
    let all = told(world, None, 9).await;
    assert_eq!(all.len(), 9);
    assert_eq!(world.events.events_end().await.expect("it answers"), all[8].0);
    for of in [None, Some(one), Some(other)] {
        let of_it = |(_, event): &&(Cursor, Event)| of.is_none_or(|card| event.card == card);
        let mine: Vec<_> = all.iter().filter(of_it).cloned().collect();
        assert_eq!(read(&*world.events, Cursor::START, of).await, mine);
        for (place, (cursor, _)) in all.iter().enumerate() {
            let rest: Vec<_> = all[place + 1..].iter().filter(of_it).cloned().collect();
            let kept = cursor.to_string().parse().expect("it survives its text");
            assert_eq!(read(&*world.events, kept, of).await, rest);
            let page = world
                .events
                .events(*cursor, of, 2)
                .await
                .expect("the cursor is good");
            assert_eq!(page, rest[..rest.len().min(2)]);
        }
    }
    assert!(
        read(&*world.events, Cursor::START, None).await == all,
        "reading changes nothing"
    );
}

/// A cursor whose event is not there is refused, and nothing is skipped for it.
pub async fn a_cursor_of_another_record_is_refused(world: &World) {
    let card = world.card().await;
    let good = told(world, Some(card), 2).await[1]
        .0
        .place()
        .expect("it is after an event");
    let another_time = EventPlace {
        at: Time::from_unix_micros(good.at.unix_micros() + 1),
        ..good
    };
    let another_number = EventPlace {
        number: good.number + 1_000_000,
        ..good
    };
    let another_era = EventPlace {
        era: good.era + 1,
        ..good
    };
    let no_number = EventPlace {
        number: u64::MAX,
        transaction: u64::MAX,
        era: u32::MAX,
        ..good
    };
    for other in [another_time, another_number, another_era, no_number] {
        let refused = world.events.events(Cursor::after(other), None, 9).await;
        let refused = refused.expect_err("there is no such event");
        assert_eq!(refused.class(), ErrorClass::Conflict, "{refused}");
    }
}

/// One reads on while sixteen write at once: it gets what is there in the end, in the same order, without a gap.
pub async fn sixteen_writers_are_read_by_one_without_a_gap(world: &World) {
    const CARDS: usize = 6;
    let mut writers = JoinSet::new();
    for _ in 0..16 {
        let people = Arc::clone(&world.people);
        let turns: Vec<_> = (0..CARDS)
            .map(|_| world.new_turn(world.new_card(), "please"))
            .collect();
        writers.spawn(async move {
            for turn in turns {
                people.send(&turn).await.expect("a good turn is taken");
            }
        });
    }
    let events = Arc::clone(&world.events);
    let reader = tokio::time::timeout(PATIENCE, async move {
        let (mut got, mut cursor) = (Vec::new(), Cursor::START);
        while got.len() < 2 * 16 * CARDS {
            let page = events.events(cursor, None, 7).await.expect("the cursor is good");
            cursor = page.last().map_or(cursor, |(last, _)| *last);
            got.extend(page);
            tokio::task::yield_now().await;
        }
        got
    });
    let (got, _) = tokio::join!(reader, writers.join_all());
    let got = got.expect("everything can be read in the end");
    assert_eq!(got, read(&*world.events, Cursor::START, None).await);
}
