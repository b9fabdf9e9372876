//! Laws of settlements: nothing is answered twice, nothing is lost.

use std::time::Duration;

use cs_fence::Fenced;
use cs_journal::{Task, Woke};
use cs_model::{
    AskId, AskState, Author, Cap, CardId, CardState, Ending, FailureClass, RunState, TurnSeq, TurnState,
};
use cs_record::{AnswerAsk, SendTo};
use cs_settle::{Answered, Capped, GaveUp, MAX_STARTS, Used};

use super::World;
use super::world::Taken;

async fn answer_ask(world: &World, ask: AskId) {
    let answer = AnswerAsk {
        ask,
        body: "left".to_owned(),
        person: world.person.clone(),
    };
    world.people.answer_ask(&answer).await.expect("it is open");
}

async fn states(world: &World, card: CardId) -> Vec<TurnState> {
    let turns = world
        .cards
        .turns(card, TurnSeq::START, 99)
        .await
        .expect("the card is there");
    turns.iter().map(|turn| turn.state).collect()
}

/// Returns the asks that are news to an attempt.
async fn news(world: &World, taken: &Taken) -> Vec<AskId> {
    let brief = world.daemon.run_brief(&taken.attempt).await.expect("it answers");
    let Fenced::Applied(brief) = brief else {
        panic!("it runs: {brief:?}");
    };
    let news = brief
        .asks
        .iter()
        .filter(|ask| ask.given == Some(taken.attempt.epoch));
    news.map(|ask| ask.id).collect()
}

/// An answer writes its words once, settles the turns that were taken and only those, and finishes the run.
/// Invariant 2. Invariant 9.
pub async fn an_answer_settles_what_was_taken(world: &World) {
    let taken = world.running().await;
    let card = taken.claimed.card;
    world.send(SendTo::Card(card), "one more thing").await;
    let applied = world.answer(&taken.attempt, &World::words("done")).await;
    let Fenced::Applied(Answered {
        turn: Some(turn),
        asked: false,
    }) = applied
    else {
        panic!("it is the current attempt: {applied:?}");
    };
    let again = world.answer(&taken.attempt, &World::words("done")).await;
    assert!(matches!(again, Fenced::Stale(_)), "{again:?}");
    let turns = world
        .cards
        .turns(card, TurnSeq::START, 99)
        .await
        .expect("the card is there");
    assert_eq!(turns.len(), 3);
    assert_eq!(
        (turns[2].id, &turns[2].author),
        (turn, &Author::Agent(taken.claimed.run))
    );
    assert_eq!(
        states(world, card).await,
        [TurnState::Settled, TurnState::Pending, TurnState::Settled]
    );
    assert_eq!(world.run_state(card).await, RunState::Ended(Ending::Finished));
    let next = world
        .take(Task::Turns)
        .await
        .expect("the turn that came meanwhile");
    assert_eq!(
        next.claimed.run, taken.claimed.run,
        "one owner for the card's whole life"
    );
    assert_eq!(next.claimed.woke, Woke::Turns(vec![turns[1].id]));
}

/// A run that asked goes on when it has its answer, and not before; an attempt that fails does not use the answer up.
/// Invariant 10.
pub async fn an_answered_question_wakes_its_run(world: &World) {
    let taken = world.running().await;
    let ask = world.ask(&taken.attempt, &world.question(&[], None)).await;
    assert!(world.take(Task::Rearms).await.is_none());
    assert_eq!(states(world, taken.claimed.card).await, [TurnState::Settled]);
    answer_ask(world, ask).await;
    let second = world.take(Task::Rearms).await.expect("it has its answer");
    assert_eq!(second.claimed.woke, Woke::Answer(ask));
    assert_eq!(news(world, &second).await, [ask]);
    let _ = world.give_up(&second.attempt, FailureClass::Infrastructure).await;
    world.clock.advance(Duration::from_secs(3600));
    let third = world.take(Task::Resumes).await.expect("it goes on");
    assert_eq!(third.claimed.woke, Woke::Retry);
    assert_eq!(news(world, &third).await, [ask], "the answer is still news");
    let _ = world.answer(&third.attempt, &World::words("done")).await;
    assert_eq!(
        world.run_state(taken.claimed.card).await,
        RunState::Ended(Ending::Finished)
    );
    assert!(world.detail(taken.claimed.card).await.asks[0].delivered);
}

/// The same answer twice, with a question, asks once and says the same (crash point P14).
pub async fn a_repeated_answer_asks_once(world: &World) {
    let taken = world.running().await;
    let mut answer = world.question(&["left", "right"], None);
    answer.text = Some("I have a question".to_owned());
    let first = world.answer(&taken.attempt, &answer).await;
    let before = world.picture().await;
    let again = world.answer(&taken.attempt, &answer).await;
    assert!(
        matches!(
            first,
            Fenced::Applied(Answered {
                turn: Some(_),
                asked: true
            })
        ),
        "{first:?}"
    );
    assert_eq!(first, again);
    assert_eq!(before, world.picture().await);
    let ask = answer.ask.as_ref().expect("it asks").id;
    answer_ask(world, ask).await;
    assert_eq!(
        first,
        world.answer(&taken.attempt, &answer).await,
        "also after it was answered"
    );
    let other = world.answer(&taken.attempt, &world.question(&[], None)).await;
    assert!(
        matches!(other, Fenced::Stale(_)),
        "another question is another answer: {other:?}"
    );
}

/// A person's turn wakes a run that asked; its question stays open, and the run waits for it again.
pub async fn a_turn_wakes_an_asked_run_and_its_question_stays(world: &World) {
    let taken = world.running().await;
    let card = taken.claimed.card;
    let ask = world.ask(&taken.attempt, &world.question(&[], None)).await;
    assert_eq!(world.send(SendTo::Card(card), "by the way").await.open_asks, 1);
    let second = world.take(Task::Turns).await.expect("a turn wakes it");
    assert_eq!(second.claimed.run, taken.claimed.run);
    let done = world.answer(&second.attempt, &World::words("noted")).await;
    assert!(
        matches!(done, Fenced::Applied(Answered { asked: true, .. })),
        "{done:?}"
    );
    assert_eq!(world.detail(card).await.asks[0].state, AskState::Open);
    answer_ask(world, ask).await;
    assert!(world.take(Task::Rearms).await.is_some());
}

/// An answer that comes while its run is at work for a turn is not news to that attempt: it wakes the next one. Invariant 10.
pub async fn an_answer_that_came_too_late_for_an_attempt_wakes_the_next(world: &World) {
    let taken = world.running().await;
    let ask = world.ask(&taken.attempt, &world.question(&[], None)).await;
    world.send(SendTo::Card(taken.claimed.card), "by the way").await;
    let second = world.take(Task::Turns).await.expect("a turn wakes it");
    answer_ask(world, ask).await;
    assert!(news(world, &second).await.is_empty());
    let done = world.answer(&second.attempt, &World::words("noted")).await;
    assert!(
        matches!(done, Fenced::Applied(Answered { asked: true, .. })),
        "{done:?}"
    );
    let third = world.take(Task::Rearms).await.expect("the answer wakes it");
    assert_eq!(news(world, &third).await, [ask]);
}

/// Three tries, then the card is failed with the count in its reason, keeps its turns, and a new turn begins a new count.
/// Invariant 9.
pub async fn the_third_try_is_the_last(world: &World) {
    let mut taken = world.running().await;
    let card = taken.claimed.card;
    for tries in 1..3 {
        let gave_up = world.give_up(&taken.attempt, FailureClass::Agent).await;
        assert!(
            matches!(gave_up, Fenced::Applied(GaveUp::Again { tries: t, .. }) if t == tries),
            "{gave_up:?}"
        );
        world.clock.advance(Duration::from_secs(600));
        taken = world.take(Task::Resumes).await.expect("it goes on");
        assert_eq!(taken.claimed.woke, Woke::Retry);
    }
    let gave_up = world.give_up(&taken.attempt, FailureClass::Agent).await;
    assert_eq!(gave_up, Fenced::Applied(GaveUp::Failed { tries: 3 }));
    let detail = world.detail(card).await;
    assert_eq!(detail.card.state, CardState::Failed);
    let reason = detail.card.reason.expect("it says why");
    assert!(reason.contains("it broke") && reason.contains('3'), "{reason}");
    assert_eq!(states(world, card).await, [TurnState::Pending]);
    world.clock.advance(Duration::from_secs(3600));
    assert!(world.take(Task::Resumes).await.is_none() && world.take(Task::Turns).await.is_none());
    world.send(SendTo::Card(card), "try again").await;
    let next = world.take(Task::Turns).await.expect("a new turn opens it");
    assert!(matches!(next.claimed.woke, Woke::Turns(turns) if turns.len() == 2));
    assert_eq!(world.owner(card).await.tries, 0);
}

/// A run that a budget ends does not go on by itself; its card keeps its turns and the reason, and a retry or a new turn goes on.
/// Invariant 9.
pub async fn a_cap_ends_the_run_until_a_person_wants_more(world: &World) {
    let taken = world.running().await;
    let card = taken.claimed.card;
    let capped = Capped {
        cap: Cap::Wall,
        reason: "it worked for 24 h".to_owned(),
        used: Used::default(),
    };
    let applied = world.settlements.capped(&taken.attempt, &capped).await;
    assert_eq!(
        applied.expect("it answers"),
        Fenced::Applied(GaveUp::Failed { tries: 0 })
    );
    let again = world.settlements.capped(&taken.attempt, &capped).await;
    assert!(matches!(again, Ok(Fenced::Stale(_))), "{again:?}");
    let detail = world.detail(card).await;
    assert_eq!(detail.runs[0].state, RunState::Ended(Ending::Capped(Cap::Wall)));
    assert_eq!(detail.card.state, CardState::Failed);
    assert_eq!(detail.card.reason.as_deref(), Some("it worked for 24 h"));
    assert_eq!(states(world, card).await, [TurnState::Pending]);
    world.clock.advance(Duration::from_secs(3600));
    assert!(world.take(Task::Resumes).await.is_none() && world.take(Task::Turns).await.is_none());
    assert!(
        world
            .people
            .retry_card(card, &world.person)
            .await
            .expect("it may be tried")
    );
    let next = world.take(Task::Turns).await.expect("it goes on");
    assert_eq!(next.claimed.run, taken.claimed.run);
}

/// A budget that ends an attempt after its question takes nothing back: the question stands.
pub async fn a_cap_after_a_question_is_none(world: &World) {
    let taken = world.running().await;
    world.note(&taken.attempt).await;
    let ask = world.question(&[], None).ask.expect("it asks");
    let asked = world.agents.ask(&taken.attempt, &ask).await;
    assert!(matches!(asked, Ok(Fenced::Applied(()))), "{asked:?}");
    let capped = Capped {
        cap: Cap::Output,
        reason: "it wrote too much".to_owned(),
        used: Used::default(),
    };
    let applied = world.settlements.capped(&taken.attempt, &capped).await;
    assert_eq!(applied.expect("it answers"), Fenced::Applied(GaveUp::Asked));
    let detail = world.detail(taken.claimed.card).await;
    assert_eq!(
        (detail.card.state, detail.runs[0].state),
        (CardState::Open, RunState::Asked)
    );
}

/// What the agent did not cause uses up no try.
pub async fn a_failure_that_is_nobodys_fault_counts_no_try(world: &World) {
    let taken = world.running().await;
    let gave_up = world.give_up(&taken.attempt, FailureClass::Overloaded).await;
    assert!(
        matches!(gave_up, Fenced::Applied(GaveUp::Again { tries: 0, .. })),
        "{gave_up:?}"
    );
    let taken = world.running().await;
    let gave_up = world.give_up(&taken.attempt, FailureClass::InvalidRequest).await;
    assert_eq!(gave_up, Fenced::Applied(GaveUp::Failed { tries: 0 }));
    assert_eq!(
        world.detail(taken.claimed.card).await.card.state,
        CardState::Failed
    );
}

/// Ten starts without an accepted settlement park the card, whatever ended them.
pub async fn the_tenth_start_parks_the_card(world: &World) {
    let mut taken = world.running().await;
    let card = taken.claimed.card;
    for start in 1..=MAX_STARTS {
        let one = cs_fence::Interruption {
            attempt: taken.attempt,
            at: cs_model::Clock::now(&*world.clock),
        };
        world
            .attempts
            .interrupt(world.machine, world.operation(), &[one])
            .await
            .expect("it answers");
        if start == 1 {
            taken = world.take(Task::Resumes).await.expect("once it goes on at once");
        } else if start < MAX_STARTS {
            let at_once = world.take(Task::Resumes).await;
            assert!(at_once.is_none(), "again and again it waits");
            world.clock.advance(Duration::from_secs(900));
            taken = world.take(Task::Resumes).await.expect("it goes on");
        }
    }
    world.clock.advance(Duration::from_secs(900));
    assert!(world.take(Task::Resumes).await.is_none());
    let detail = world.detail(card).await;
    assert_eq!(
        (detail.card.state, world.owner(card).await.starts),
        (CardState::Failed, MAX_STARTS)
    );
    assert!(detail.card.reason.expect("it says why").contains("10 starts"));
    assert_eq!(states(world, card).await, [TurnState::Pending]);
    world.send(SendTo::Card(card), "try again").await;
    assert!(world.take(Task::Turns).await.is_some());
    assert_eq!(world.owner(card).await.starts, 1);
}

/// A run that goes on by itself waits for its time; a person's turn does not.
pub async fn a_retry_waits_for_its_time(world: &World) {
    let taken = world.running().await;
    let gave_up = world.give_up(&taken.attempt, FailureClass::Agent).await;
    let Fenced::Applied(GaveUp::Again { not_before, .. }) = gave_up else {
        panic!("the first failure is not the last: {gave_up:?}");
    };
    assert!(world.take(Task::Resumes).await.is_none());
    let agents = [super::world::AGENT.to_owned()];
    let peeked = world
        .daemon
        .peek(world.machine, &agents)
        .await
        .expect("it answers");
    assert_eq!(peeked.next_due, Some(not_before));
    world.clock.set(not_before);
    assert!(world.take(Task::Resumes).await.is_some());
}

/// An accepted settlement begins new counts of tries and starts, and adds what the attempt used up to the card's sums.
pub async fn an_answer_begins_new_counts(world: &World) {
    let taken = world.running().await;
    let card = taken.claimed.card;
    let _ = world.give_up(&taken.attempt, FailureClass::Agent).await;
    world.clock.advance(Duration::from_secs(600));
    let mut taken = world.take(Task::Resumes).await.expect("it goes on");
    let before = world.owner(card).await;
    assert_eq!((before.tries, before.starts), (1, 2));
    for used in 1..3 {
        let mut answer = World::words("done");
        answer.used.usage.output_tokens = Some(21);
        let _ = world.answer(&taken.attempt, &answer).await;
        let (after, card_usage) = (world.owner(card).await, world.detail(card).await.card.usage);
        assert_eq!(
            (after.tries, after.starts, card_usage.output_tokens),
            (0, 0, Some(21 * used))
        );
        world.send(SendTo::Card(card), "more").await;
        taken = world.take(Task::Turns).await.expect("a new turn");
    }
}

/// A run that failed for good asks nothing any more.
pub async fn a_final_failure_withdraws_its_questions(world: &World) {
    let taken = world.running().await;
    let card = taken.claimed.card;
    world.ask(&taken.attempt, &world.question(&[], None)).await;
    world.send(SendTo::Card(card), "by the way").await;
    let second = world.take(Task::Turns).await.expect("a turn wakes it");
    let gave_up = world.give_up(&second.attempt, FailureClass::InvalidRequest).await;
    assert_eq!(gave_up, Fenced::Applied(GaveUp::Failed { tries: 0 }));
    assert_eq!(world.detail(card).await.asks[0].state, AskState::Withdrawn);
    assert!(world.cards.open_asks().await.expect("it answers").rows.is_empty());
}

/// A full context is tried once more in a new conversation of the agent program; an accepted settlement ends that.
pub async fn a_full_context_begins_a_new_conversation(world: &World) {
    let taken = world.running().await;
    assert!(!taken.claimed.fresh);
    let _ = world.give_up(&taken.attempt, FailureClass::ContextOverflow).await;
    let next = world.take(Task::Resumes).await.expect("it goes on");
    assert!(next.claimed.fresh);
    let _ = world.answer(&next.attempt, &World::words("done")).await;
    world.send(SendTo::Card(next.claimed.card), "more").await;
    let third = world.take(Task::Turns).await.expect("a new turn");
    assert!(!third.claimed.fresh);
}

/// Words over the limit of a turn are cut and say so.
pub async fn words_without_end_are_cut(world: &World) {
    let taken = world.running().await;
    let much = "\u{1f980}".repeat((1 << 20) / 4 + 1);
    let _ = world.answer(&taken.attempt, &World::words(&much)).await;
    let turns = world
        .cards
        .turns(taken.claimed.card, cs_model::TurnSeq::new(1), 1)
        .await
        .expect("it is there");
    let body = &turns[0].body;
    assert!(body.len() <= 1 << 20 && body.ends_with(" bytes in all, the transcript has them]"));
}
