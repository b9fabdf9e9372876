//! An attempt ends with success.

use cs_fence::{Attempt, Fenced, Verdict, judge};
use cs_model::{AskState, Author, Ending, IdSource, RunId, RunState, Time, TurnId, TurnState};
use cs_settle::{Answer, Answered, NewAsk, Usage};

use crate::aggregate::{Draft, Words};
use crate::{Aggregate, Ask, Card, Writes};

/// Writes the words as a turn, settles the turns and answers that the attempt was given, and begins new counts of tries and
/// starts. The run is `asked` when it ends with a question, or has a question open, or has an answer that came too late for
/// this attempt; otherwise it is finished.
///
/// The same answer again finds its ask and gives the same result (crash point P14); without an ask it is stale.
pub fn answer(
    aggregate: &Aggregate,
    attempt: &Attempt,
    answer: &Answer,
    now: Time,
    ids: &dyn IdSource,
) -> (Writes, Fenced<Answered>) {
    let stale = || (Writes::default(), Fenced::Stale(aggregate.standing(attempt.run)));
    let Some(run) = aggregate.run(attempt.run) else {
        return stale();
    };
    match judge(&run.fence(), attempt) {
        Verdict::Running => {}
        Verdict::Asked => {
            return repeated(aggregate, attempt, answer)
                .map_or_else(stale, |result| (Writes::default(), Fenced::Applied(result)));
        }
        Verdict::Over | Verdict::Stale => return stale(),
    }
    let mut draft = Draft::of(aggregate, now);
    draft.move_leased(attempt.run, TurnState::Settled);
    for ask in &mut draft.asks {
        if ask.run == attempt.run && ask.state == AskState::Answered && ask.given == Some(attempt.epoch) {
            ask.delivered = true;
        }
    }
    let turn = answer.text.as_ref().map(|text| {
        let id = TurnId::from_uuid(ids.uuid_v7());
        draft.say(Words {
            id,
            author: Author::Agent(attempt.run),
            body: text.clone(),
            state: TurnState::Settled,
            run: Some(attempt.run),
        });
        id
    });
    if let Some(ask) = &answer.ask {
        let row = new_ask(&draft.card, attempt.run, ask, turn, now);
        draft.asks.push(row);
    }
    let asked = draft.asks.iter().any(|ask| ask.run == attempt.run && waits(ask));
    settle(&mut draft, attempt.run, asked, &answer.usage);
    (draft.finish(), Fenced::Applied(Answered { turn, asked }))
}

/// Says whether a run must be started again for this ask, now or when its answer comes.
fn waits(ask: &Ask) -> bool {
    match ask.state {
        AskState::Open | AskState::Accepted => true,
        AskState::Answered => !ask.delivered,
        AskState::Withdrawn => false,
    }
}

fn settle(draft: &mut Draft<'_>, run: RunId, asked: bool, usage: &Usage) {
    let now = draft.now;
    draft.card.tries = 0;
    draft.card.starts = 0;
    add_usage(&mut draft.card, usage);
    if let Some(run) = draft.run_mut(run) {
        run.failure = None;
        run.failed_because = None;
        run.failures_in_row = 0;
        run.again_at = None;
        if asked {
            run.state = RunState::Asked;
        } else {
            run.state = RunState::Ended(Ending::Finished);
            run.ended_at = Some(now);
        }
    }
}

/// Adds what an attempt used up to the sums of the card.
pub(super) fn add_usage(card: &mut Card, usage: &Usage) {
    let sum = &mut card.usage;
    sum.turns = capped(sum.turns, usage.turns);
    sum.input_tokens = capped(sum.input_tokens, usage.input_tokens);
    sum.output_tokens = capped(sum.output_tokens, usage.output_tokens);
    sum.cost_microusd = capped(sum.cost_microusd, usage.cost_microusd);
}

/// Adds up to the largest number that every store can hold.
fn capped(sum: u64, more: u64) -> u64 {
    sum.saturating_add(more).min(i64::MAX.unsigned_abs())
}

fn new_ask(card: &Card, run: RunId, ask: &NewAsk, turn: Option<TurnId>, now: Time) -> Ask {
    Ask {
        id: ask.id,
        card: card.id,
        run,
        question: ask.question.clone(),
        choices: ask.choices.clone(),
        offer: ask.offer.clone(),
        state: AskState::Open,
        answer: None,
        answered_by: None,
        asked_at: now,
        answered_at: None,
        delivered: false,
        given: None,
        turn,
    }
}

/// Finds what the first of two equal answers did.
fn repeated(aggregate: &Aggregate, attempt: &Attempt, answer: &Answer) -> Option<Answered> {
    let id = answer.ask.as_ref()?.id;
    let ask = aggregate
        .asks
        .iter()
        .find(|ask| ask.id == id && ask.run == attempt.run)?;
    Some(Answered {
        turn: ask.turn,
        asked: true,
    })
}
