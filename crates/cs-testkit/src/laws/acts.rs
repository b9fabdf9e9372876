//! Laws of what people do.

use cs_fence::Fenced;
use cs_journal::{Task, Woke};
use cs_model::{CardId, CardState, CodebaseId, Ending, IdSource, RunState, TurnSeq, TurnState};
use cs_record::{AnswerAsk, ErrorClass, RecordError, Refusal, SendTo};
use cs_settle::Answer;

use super::World;

/// The same turn sent twice, to a new or an existing card, is one turn.
pub async fn a_turn_is_written_once(world: &World) {
    let new = world.new_turn(world.new_card(), "please");
    let first = world.people.send(&new).await.expect("a good turn is taken");
    let again = world.people.send(&new).await.expect("the same turn");
    assert_eq!((first, first.seq.get()), (again, 1));
    let more = world.new_turn(SendTo::Card(first.card), "more");
    let second = world.people.send(&more).await.expect("a good turn is taken");
    assert_eq!(second, world.people.send(&more).await.expect("the same turn"));
    assert_eq!(second.seq.get(), 2);
    let turns = world
        .cards
        .turns(first.card, TurnSeq::START, 99)
        .await
        .expect("the card is there");
    assert_eq!(
        turns.iter().map(|turn| turn.body.as_str()).collect::<Vec<_>>(),
        ["please", "more"]
    );
}

async fn check_refused(world: &World, to: SendTo, body: &str, class: ErrorClass) {
    let refused = world.people.send(&world.new_turn(to, body)).await;
    assert_eq!(refused.expect_err("it is refused").class(), class);
}

/// An empty or too long text, a bad title and an unknown card are refused, and nothing is written.
pub async fn a_bad_text_is_refused(world: &World) {
    check_refused(world, world.new_card(), "", ErrorClass::Invalid).await;
    check_refused(world, world.new_card(), " \n\t", ErrorClass::Invalid).await;
    check_refused(
        world,
        world.new_card(),
        &"x".repeat((1 << 20) + 1),
        ErrorClass::Invalid,
    )
    .await;
    let unknown = CardId::from_uuid(world.ids.uuid_v7());
    check_refused(world, SendTo::Card(unknown), "hello", ErrorClass::NotFound).await;
    for title in ["", "two\nlines", &"x".repeat(201)] {
        let SendTo::NewCard {
            card,
            codebase,
            agent,
            ..
        } = world.new_card()
        else {
            unreachable!("it makes a new card");
        };
        let title = title.to_owned();
        let to = SendTo::NewCard {
            card,
            title,
            codebase,
            base: None,
            agent,
            opening: cs_model::Opening::Owner,
        };
        check_refused(world, to, "hello", ErrorClass::Invalid).await;
    }
    assert!(
        world
            .cards
            .cards(cs_record::CardFilter::All)
            .await
            .expect("it answers")
            .rows
            .is_empty()
    );
    world.send(world.new_card(), &"x".repeat(1 << 20)).await;
}

/// A turn on a stopped card opens it again.
pub async fn a_new_turn_opens_a_card_again(world: &World) {
    let taken = world.running().await;
    let card = taken.claimed.card;
    assert!(
        world
            .people
            .stop_card(card, &world.person)
            .await
            .expect("it answers")
    );
    assert!(world.take(Task::Turns).await.is_none() && world.take(Task::Resumes).await.is_none());
    world.send(SendTo::Card(card), "go on").await;
    assert_eq!(world.detail(card).await.card.state, CardState::Open);
    let next = world.take(Task::Turns).await.expect("it is open");
    assert!(
        matches!(next.claimed.woke, Woke::Turns(turns) if turns.len() == 2),
        "the turn of before is not lost"
    );
}

fn reply(world: &World, ask: cs_model::AskId, body: &str) -> AnswerAsk {
    AnswerAsk {
        ask,
        body: body.to_owned(),
        person: world.person.clone(),
    }
}

/// The second answer to a question is told by whom and when the first came. Invariant 10.
pub async fn the_first_answer_to_a_question_wins(world: &World) {
    let taken = world.running().await;
    let ask = world.ask(&taken.attempt, &world.question(&[], None)).await;
    assert_eq!(world.cards.open_asks().await.expect("it answers").rows.len(), 1);
    let stored = world
        .people
        .answer_ask(&reply(world, ask, "left"))
        .await
        .expect("it is open");
    assert_eq!(stored.answer.as_deref(), Some("left"));
    let second = world.people.answer_ask(&reply(world, ask, "right")).await;
    assert!(
        matches!(&second, Err(RecordError::Refused(Refusal::AlreadyAnswered { by, .. })) if by == "Ada"),
        "{second:?}"
    );
    assert_eq!(world.detail(taken.claimed.card).await.asks, [stored]);
    let unknown = cs_model::AskId::from_uuid(world.ids.uuid_v7());
    let missing = world.people.answer_ask(&reply(world, unknown, "left")).await;
    assert_eq!(
        missing.expect_err("it is not there").class(),
        ErrorClass::NotFound
    );
}

/// A question with choices takes one of them.
pub async fn an_answer_must_be_one_of_the_choices(world: &World) {
    let taken = world.running().await;
    let ask = world
        .ask(&taken.attempt, &world.question(&["left", "right"], None))
        .await;
    let wrong = world.people.answer_ask(&reply(world, ask, "up")).await;
    assert_eq!(wrong.expect_err("it is no choice").class(), ErrorClass::Invalid);
    let empty = world.people.answer_ask(&reply(world, ask, " ")).await;
    assert_eq!(empty.expect_err("it is empty").class(), ErrorClass::Invalid);
    let stored = world
        .people
        .answer_ask(&reply(world, ask, " left\n"))
        .await
        .expect("a choice");
    assert_eq!(stored.answer.as_deref(), Some("left"));
}

/// A stop ends the live run at once, withdraws its questions, hands its turns back, and keeps the process for the daemon.
/// Invariant 9.
pub async fn a_stop_hands_the_turns_back(world: &World) {
    let taken = world.running().await;
    let card = taken.claimed.card;
    let process = World::process(7);
    let _ = world
        .attempts
        .record_process(&taken.attempt, &process)
        .await
        .expect("it answers");
    assert!(
        world
            .people
            .stop_card(card, &world.person)
            .await
            .expect("it answers")
    );
    assert!(
        !world
            .people
            .stop_card(card, &world.person)
            .await
            .expect("it answers"),
        "it is stopped already"
    );
    let detail = world.detail(card).await;
    assert_eq!(detail.card.state, CardState::Stopped);
    assert_eq!(detail.runs[0].state, RunState::Ended(Ending::Stopped));
    assert_eq!(detail.runs[0].process.as_ref(), Some(&process));
    let turns = world
        .cards
        .turns(card, TurnSeq::START, 9)
        .await
        .expect("the card is there");
    assert_eq!((turns[0].state, turns[0].run), (TurnState::Pending, None));
    let late = world.answer(&taken.attempt, &World::words("done")).await;
    assert!(matches!(late, Fenced::Stale(_)), "{late:?}");
    let asked = world.running().await;
    let ask = world.ask(&asked.attempt, &world.question(&[], None)).await;
    world
        .people
        .stop_card(asked.claimed.card, &world.person)
        .await
        .expect("it answers");
    let closed = world.people.answer_ask(&reply(world, ask, "left")).await;
    assert_eq!(closed.expect_err("it is withdrawn").class(), ErrorClass::Conflict);
}

/// Registering a codebase again is harmless; another one cannot have its name.
pub async fn a_codebase_keeps_its_name(world: &World) {
    let other = CodebaseId::from_uuid(world.ids.uuid_v7());
    let taken = world.codebases.add_codebase(other, "engine", world.machine).await;
    assert!(
        matches!(taken, Err(RecordError::Refused(Refusal::NameTaken { .. }))),
        "{taken:?}"
    );
    let same = world
        .codebases
        .add_codebase(world.codebase, "engine", world.machine)
        .await;
    let all = world.codebases.codebases().await.expect("it answers");
    assert_eq!(all, [same.expect("it is the same")]);
    for name in ["", "  ", "a\nb", &"x".repeat(101)] {
        let bad = world.codebases.add_codebase(other, name, world.machine).await;
        assert_eq!(bad.expect_err("a bad name").class(), ErrorClass::Invalid);
    }
}

/// Every text comes back as it went in: quotes, control characters, NUL, and characters outside the basic plane.
pub async fn odd_characters_survive(world: &World) {
    let odd = "it's \"odd\"\u{0}\u{1}\u{7f}\r\n\t\\u0000 𝄞 ë";
    let sent = world.send(world.new_card(), odd).await;
    let taken = world.take(Task::Turns).await.expect("the card is ready");
    let mut answer: Answer = world.question(&[], None);
    answer.text = Some(odd.to_owned());
    let ask = answer.ask.as_mut().expect("it asks");
    ask.question = odd.to_owned();
    let ask = world.ask(&taken.attempt, &answer).await;
    let stored = world
        .people
        .answer_ask(&reply(world, ask, odd))
        .await
        .expect("it is open");
    assert_eq!(stored.answer.as_deref(), Some(odd));
    let turns = world
        .cards
        .turns(sent.card, TurnSeq::START, 9)
        .await
        .expect("the card is there");
    assert_eq!((turns[0].body.as_str(), turns[1].body.as_str()), (odd, odd));
    let detail = world.detail(sent.card).await;
    assert_eq!(
        (detail.asks[0].question.as_str(), detail.asks[0].answer.as_deref()),
        (odd, Some(odd))
    );
}
