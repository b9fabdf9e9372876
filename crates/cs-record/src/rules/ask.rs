//! A running agent asks, or answers a question of one that it sent.

use cs_fence::{Attempt, Fenced, Verdict, judge};
use cs_model::{AskId, AskState, AskTo, Author, RunId, RunState, Time, TurnId};
use cs_settle::NewAsk;

use super::answer_ask::answered;
use super::check_body;
use crate::aggregate::Draft;
use crate::{Aggregate, Ask, Refusal, Writes};

/// Writes a question of an attempt that still runs; its run is `asked` from now on, its process stays on the row. The same
/// question again changes nothing.
///
/// # Errors
/// Refused for an empty or too long question, and before the process of the attempt is on the record: it is what keeps the next
/// attempt from starting while this one has asked and still runs.
pub fn ask(
    aggregate: &Aggregate,
    attempt: &Attempt,
    ask: &NewAsk,
    now: Time,
) -> Result<(Writes, Fenced<()>), Refusal> {
    let stale = Fenced::Stale(aggregate.standing(attempt.run));
    let verdict = aggregate.run(attempt.run).map(|run| judge(&run.fence(), attempt));
    match verdict {
        Some(Verdict::Running | Verdict::Asked) => {}
        Some(Verdict::Over | Verdict::Stale) | None => return Ok((Writes::default(), stale)),
    }
    if aggregate.asks.iter().any(|known| known.id == ask.id) {
        return Ok((Writes::default(), Fenced::Applied(())));
    }
    check_body("the question", &ask.question)?;
    if aggregate
        .run(attempt.run)
        .is_some_and(|run| run.process.is_none())
    {
        return Err(Refusal::StartNotNoted);
    }
    let mut draft = Draft::of(aggregate, now);
    let row = new_ask(&draft, attempt.run, ask, None);
    draft.asks.push(row);
    if let Some(run) = draft.run_mut(attempt.run) {
        run.state = RunState::Asked;
    }
    Ok((draft.finish(), Fenced::Applied(())))
}

/// Makes the row of a question. One to the parent of a run that has none goes to a person, and so does every offer.
pub(super) fn new_ask(draft: &Draft<'_>, run: RunId, ask: &NewAsk, turn: Option<TurnId>) -> Ask {
    let parent = draft
        .runs
        .iter()
        .find(|row| row.id == run)
        .and_then(|row| row.parent);
    let owner = draft.card.owner;
    let to = match ask.to {
        AskTo::Parent if parent.is_some() && parent == owner && ask.offer.is_none() => AskTo::Parent,
        AskTo::Parent | AskTo::Person => AskTo::Person,
    };
    Ask {
        id: ask.id,
        card: draft.card.id,
        run,
        question: ask.question.clone(),
        choices: ask.choices.clone(),
        offer: ask.offer.clone(),
        to,
        state: AskState::Open,
        answer: None,
        answered_by: None,
        asked_at: draft.now,
        answered_at: None,
        delivered: false,
        given: None,
        turn,
    }
}

/// Answers a question that a child asked this run. The first answer wins; the same one again changes nothing.
///
/// # Errors
/// Refused when the question is not one of a child of the attempt's run, is not open, or the text is none of its choices.
pub fn settle_ask(
    aggregate: &Aggregate,
    attempt: &Attempt,
    id: AskId,
    body: &str,
    now: Time,
) -> Result<(Writes, Fenced<Ask>), Refusal> {
    let stale = Fenced::Stale(aggregate.standing(attempt.run));
    let verdict = aggregate.run(attempt.run).map(|run| judge(&run.fence(), attempt));
    match verdict {
        Some(Verdict::Running) => {}
        Some(Verdict::Asked | Verdict::Over | Verdict::Stale) | None => {
            return Ok((Writes::default(), stale));
        }
    }
    let child = |ask: &&Ask| {
        aggregate
            .run(ask.run)
            .is_some_and(|run| run.parent == Some(attempt.run))
    };
    let to_parent = |ask: &&Ask| ask.to == AskTo::Parent && ask.offer.is_none();
    let mut mine = aggregate.asks.iter().filter(|ask| ask.id == id).filter(child);
    let ask = mine.find(to_parent);
    let ask = ask.ok_or_else(|| Refusal::NotYourQuestion { ask: id.short() })?;
    if ask.answered_by == Some(Author::Agent(attempt.run)) && ask.answer.as_deref() == Some(body) {
        return Ok((Writes::default(), Fenced::Applied(ask.clone())));
    }
    let row = answered(aggregate, ask, body, Author::Agent(attempt.run), now)?;
    let mut draft = Draft::of(aggregate, now);
    for known in draft.asks.iter_mut().filter(|known| known.id == id) {
        known.clone_from(&row);
    }
    Ok((draft.finish(), Fenced::Applied(row)))
}
