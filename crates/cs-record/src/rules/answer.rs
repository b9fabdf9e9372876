//! An attempt ends with success.

use std::borrow::Cow;

use cs_fence::{Attempt, Fenced, Verdict, judge};
use cs_model::{AskState, Author, Ending, IdSource, RunId, RunKind, RunState, Time, TurnId, TurnState};
use cs_settle::{Answer, Answered};

use super::MAX_TURN_BYTES;
use super::ask::new_ask;
use super::used::count;
use crate::aggregate::{Draft, Words};
use crate::{Aggregate, Ask, Route, Run, RunText, Unpark, Writes};

/// Writes the words, as a turn or as the report of a worker, settles the turns, answers and children that the attempt was given,
/// and begins new counts of tries and starts. The run is `asked` when it ends with a question, or has a question open, or has an
/// answer that came too late for this attempt; otherwise it is finished. A success says that its route works: a park that is
/// older than the attempt ends.
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
        Verdict::Asked if run.settled < run.epoch => {}
        Verdict::Asked => {
            return repeated(aggregate, attempt, answer)
                .map_or_else(stale, |result| (Writes::default(), Fenced::Applied(result)));
        }
        Verdict::Over | Verdict::Stale => return stale(),
    }
    let mut draft = Draft::of(aggregate, now);
    let turn = answer
        .text
        .as_ref()
        .and_then(|text| speak(&mut draft, run, &within_limit(text), ids));
    if let Some(ask) = &answer.ask
        && !draft.asks.iter().any(|known| known.id == ask.id)
    {
        let row = new_ask(&draft, attempt.run, ask, turn);
        draft.asks.push(row);
    }
    count(&mut draft, attempt, &answer.used);
    draft.unparks.push(Unpark {
        route: Route {
            machine: run.machine,
            agent: run.agent.clone(),
        },
        began_at: run.resumed_at.unwrap_or(run.started_at),
    });
    let asked = settle(&mut draft, attempt.run);
    (draft.finish(), Fenced::Applied(Answered { turn, asked }))
}

/// Cuts words that are longer than a turn may be, and says so; the transcript has all of them.
fn within_limit(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_TURN_BYTES {
        return Cow::Borrowed(text);
    }
    let note = format!("\n\n[cut: {} bytes in all, the transcript has them]", text.len());
    let mut end = MAX_TURN_BYTES - note.len();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Cow::Owned(format!("{}{note}", &text[..end]))
}

/// Writes what a run says where its kind says it.
fn speak(draft: &mut Draft<'_>, run: &Run, text: &str, ids: &dyn IdSource) -> Option<TurnId> {
    match run.kind {
        RunKind::Launcher | RunKind::Owner => {
            let id = TurnId::from_uuid(ids.uuid_v7());
            draft.say(Words {
                id,
                author: Author::Agent(run.id),
                body: text.to_owned(),
                state: TurnState::Settled,
                run: Some(run.id),
            });
            Some(id)
        }
        RunKind::Worker | RunKind::Issue => {
            draft.texts.push(RunText {
                run: run.id,
                epoch: run.epoch,
                body: text.to_owned(),
            });
            None
        }
    }
}

/// Settles what the attempt was given, and ends it; says whether its run waits for an answer.
pub(super) fn settle(draft: &mut Draft<'_>, id: RunId) -> bool {
    draft.settle(id);
    let asked = draft.asks.iter().any(|ask| ask.run == id && waits(ask));
    if asked {
        if let Some(run) = draft.run_mut(id) {
            run.state = RunState::Asked;
        }
    } else {
        draft.end_run(id, RunState::Ended(Ending::Finished));
    }
    asked
}

/// Says whether a run must be started again for this ask, now or when its answer comes.
fn waits(ask: &Ask) -> bool {
    match ask.state {
        AskState::Open | AskState::Accepted => true,
        AskState::Answered => !ask.delivered,
        AskState::Withdrawn => false,
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
