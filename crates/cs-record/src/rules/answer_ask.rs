//! A person answers a question.

use cs_model::{AskState, Author, CardState, Person, Time};

use super::check_body;
use crate::aggregate::Draft;
use crate::{Aggregate, AnswerAsk, Ask, Refusal, Writes};

/// Gives an open question its answer. The first one wins. An offer that is answered with words is declined with them.
///
/// # Errors
/// Refused when the question is not open, the card is stopped or closed, or the text is none of the choices.
pub fn answer_ask(
    aggregate: &Aggregate,
    ask: &Ask,
    answer: &AnswerAsk,
    now: Time,
) -> Result<(Writes, Ask), Refusal> {
    let by = Author::Person(answer.person.clone());
    let answered = answered(aggregate, ask, &answer.body, by, now)?;
    let mut draft = Draft::of(aggregate, now);
    draft.card.landings_returned = 0;
    for row in draft.asks.iter_mut().filter(|row| row.id == ask.id) {
        *row = answered.clone();
    }
    Ok((draft.finish(), answered))
}

/// Returns a question as it is with this answer, whoever gives it.
pub(super) fn answered(
    aggregate: &Aggregate,
    ask: &Ask,
    body: &str,
    by: Author,
    now: Time,
) -> Result<Ask, Refusal> {
    check_state(ask)?;
    check_card(aggregate)?;
    check_body("the answer", body)?;
    Ok(Ask {
        state: AskState::Answered,
        answer: Some(choose(ask, body)?),
        answered_by: Some(by),
        answered_at: Some(now),
        given: None,
        ..ask.clone()
    })
}

fn check_state(ask: &Ask) -> Result<(), Refusal> {
    let closed = |cure| Refusal::AskClosed {
        ask: ask.id.short(),
        state: ask.state,
        cure,
    };
    match ask.state {
        AskState::Open => Ok(()),
        AskState::Accepted => Err(closed("its landing is under way, wait for its result")),
        AskState::Withdrawn => Err(closed("send a message to the card instead")),
        AskState::Answered => Err(Refusal::AlreadyAnswered {
            ask: ask.id.short(),
            by: who(ask.answered_by.as_ref()),
            at: ask.answered_at.unwrap_or(ask.asked_at),
        }),
    }
}

fn who(author: Option<&Author>) -> String {
    match author {
        Some(Author::Person(person)) => Person::as_str(person).to_owned(),
        Some(Author::Agent(run)) => format!("the agent of run {}", run.short()),
        Some(Author::System) | None => "the system".to_owned(),
    }
}

fn check_card(aggregate: &Aggregate) -> Result<(), Refusal> {
    let card = &aggregate.card;
    match card.state {
        CardState::Open | CardState::Failed | CardState::Landed => Ok(()),
        CardState::Stopped | CardState::Closed => Err(Refusal::CardState {
            card: card.id.short(),
            state: card.state,
            cure: "send a message to the card instead",
        }),
    }
}

/// Returns the text to store: the choice itself, however the person spaced it.
fn choose(ask: &Ask, body: &str) -> Result<String, Refusal> {
    if ask.choices.is_empty() {
        return Ok(body.to_owned());
    }
    let given = body.trim();
    let choice = ask.choices.iter().find(|choice| choice.trim() == given);
    choice.cloned().ok_or_else(|| Refusal::NotAChoice {
        ask: ask.id.short(),
        choices: ask.choices.clone(),
    })
}
