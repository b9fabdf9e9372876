//! Invariants 7 and 8, of outcomes: what the record is told of an attempt is what its execution really came to, is in the ledger before,
//! and reaches the record in the end.

use std::collections::BTreeSet;

use cs_fence::InterruptOutcome;
use cs_model::{Author, Epoch, FailureClass, RunId, TurnState};
use cs_settle::Answer;
use cs_supervise::Limit;
use cs_testkit::Rows;

use super::attempts::EndedByPeople;
use super::{Deed, Event, Invariant, Moment, Told, Write};
use crate::execution::{End, Truth};
use crate::ledger;
use crate::machine::Machine;

type Key = (RunId, Epoch);

/// What an execution has to come to on the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    Answer,
    Failure,
    Capped,
    Interruption,
}

/// What an ended agent is due: what it wanted counts whatever its process did afterwards, and words count unless it says by its exit
/// that it failed.
fn due(end: &End) -> Due {
    use cs_supervise::AgentExit::{Exited, NeverStarted, Signalled, SpawnFailed, Unknown};
    if end.asked || end.offered {
        return Due::Answer;
    }
    match end.limit {
        Some(Limit::Lease) if !end.answered => return Due::Interruption,
        Some(Limit::Awake | Limit::SpoolBytes) if !end.answered => return Due::Capped,
        Some(_) | None => {}
    }
    match &end.exit {
        Exited(0) | Signalled(_) | Unknown if end.answered => Due::Answer,
        Unknown if !end.stopped => Due::Interruption,
        Exited(_) | Signalled(_) | Unknown | SpawnFailed(_) | NeverStarted => Due::Failure,
    }
}

/// Invariants 7 and 8: at the moment at which the record takes it.
#[derive(Debug, Default)]
pub(super) struct OutcomeIsTrue {
    without_ledger: BTreeSet<usize>,
}

impl Invariant for OutcomeIsTrue {
    fn name(&self) -> &'static str {
        "8. what the record takes of an attempt is what its execution came to, and is in the ledger"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        if let Event::LedgerLost { machine } = moment.event {
            self.without_ledger.insert(*machine);
        }
        let Event::Wrote(Write {
            machine,
            deed,
            before,
        }) = moment.event
        else {
            return Ok(());
        };
        let Some(machine) = moment.machines.get(*machine) else {
            return Ok(());
        };
        match deed {
            Some(Deed::Told {
                attempt,
                told,
                applied: true,
            }) => {
                let key = (attempt.run, attempt.epoch);
                let of = |rows: &Rows| rows.runs.iter().find(|run| run.id == key.0).cloned();
                if of(before) == of(moment.rows) {
                    // It was taken before, and is told again.
                    return Ok(());
                }
                is_true(machine, key, told, moment)?;
                self.is_in_ledger(machine, key)
            }
            Some(Deed::Interrupted {
                reports, outcomes, ..
            }) => {
                let taken = reports.iter().zip(outcomes);
                let taken = taken.filter(|(_, (_, outcome))| *outcome == InterruptOutcome::Interrupted);
                taken.into_iter().try_for_each(|(one, _)| {
                    let key = (one.attempt.run, one.attempt.epoch);
                    was_cut_short(machine, key, before)
                })
            }
            Some(Deed::RunGivenBack {
                run,
                epoch,
                applied: true,
                ..
            }) => match machine.truth_of(*run, *epoch) {
                Truth::NeverStarted => Ok(()),
                truth @ (Truth::Works | Truth::Ended(_)) => Err(format!(
                    "run {} {epoch} was given back, and {truth:?}",
                    run.short()
                )),
            },
            Some(_) | None => Ok(()),
        }
    }
}

impl OutcomeIsTrue {
    /// A ledger that was lost may take its outcome with it: then the execution says it once more.
    fn is_in_ledger(&self, machine: &Machine, key: Key) -> Result<(), String> {
        let said = ledger::read(machine)?;
        if said.outcomes.contains(&key) || self.without_ledger.contains(&machine.index) {
            return Ok(());
        }
        Err(format!(
            "the record was told of run {} {} before the ledger had it",
            key.0.short(),
            key.1
        ))
    }
}

fn is_true(machine: &Machine, key: Key, told: &Told, moment: &Moment<'_>) -> Result<(), String> {
    let wrong = |truth: &Truth| format!("run {} {}: {told:?}, and {truth:?}", key.0.short(), key.1);
    let truth = machine.truth_of(key.0, key.1);
    let end = match &truth {
        Truth::NeverStarted if matches!(told, Told::Failure(_)) => return Ok(()),
        Truth::Ended(end) => end,
        Truth::Works | Truth::NeverStarted => return Err(wrong(&truth)),
    };
    let fits = match (due(end), told) {
        (Due::Answer, Told::Answer(answer)) => says(answer, end, key, moment),
        (Due::Failure, Told::Failure(class)) => end.stopped == (*class == FailureClass::Cancelled),
        (Due::Capped, Told::Capped) => true,
        (Due::Answer | Due::Failure | Due::Capped | Due::Interruption, _) => false,
    };
    if fits { Ok(()) } else { Err(wrong(&truth)) }
}

/// Says whether an answer, as it is told and as it is on the record then, is what the agent said.
fn says(answer: &Answer, end: &End, key: Key, moment: &Moment<'_>) -> bool {
    let words = format!("{}.{}", key.0, key.1);
    let is_spoken = end.answered && !end.asked;
    let on_record = moment.rows.turns.iter().any(|turn| turn.body == words);
    let text = answer.text.as_deref() == is_spoken.then_some(words.as_str()) && on_record == is_spoken;
    let ask = match &answer.ask {
        Some(ask) => ask.question == words && ask.offer.is_some() == (end.offered && !end.asked),
        None => !end.asked && !end.offered,
    };
    let asked = moment.rows.asks.iter().any(|ask| ask.question == words);
    text && ask && asked == answer.ask.is_some()
}

/// Says whether a person has said something to an owner since its attempt began: only then it is ended and goes on.
fn has_news(rows: &Rows, (run, epoch): Key) -> bool {
    let run = rows.runs.iter().find(|row| row.id == run && row.epoch == epoch);
    run.is_some_and(|run| {
        let began = run.resumed_at.unwrap_or(run.started_at);
        rows.turns.iter().any(|turn| {
            turn.card == run.card
                && turn.state == TurnState::Pending
                && matches!(turn.author, Author::Person(_))
                && turn.said_at > began
        })
    })
}

fn was_cut_short(machine: &Machine, key: Key, before: &Rows) -> Result<(), String> {
    let truth = machine.truth_of(key.0, key.1);
    let fits = match &truth {
        Truth::NeverStarted => true,
        Truth::Ended(end) => {
            let redirected = due(end) == Due::Failure && end.stopped && has_news(before, key);
            due(end) == Due::Interruption || redirected
        }
        Truth::Works => false,
    };
    if fits {
        return Ok(());
    }
    Err(format!(
        "run {} {} was cut short, and {truth:?}",
        key.0.short(),
        key.1
    ))
}

/// Invariant 8, in the end: no answer is missing, but of an attempt that somebody else ended while it was the present one.
#[derive(Debug, Default)]
pub(super) struct NoOutcomeLost {
    ended: EndedByPeople,
}

impl Invariant for NoOutcomeLost {
    fn name(&self) -> &'static str {
        "8. the answer of an agent that ended well reaches its card"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        self.ended.see(moment);
        let Event::AtRest = moment.event else {
            return Ok(());
        };
        self.at_rest(moment)
    }
}

impl NoOutcomeLost {
    fn at_rest(&self, moment: &Moment<'_>) -> Result<(), String> {
        let turns = moment.rows.turns.iter().map(|turn| turn.body.as_str());
        let asks = moment.rows.asks.iter().map(|ask| ask.question.as_str());
        let said: BTreeSet<&str> = turns.chain(asks).collect();
        for machine in moment.machines {
            for execution in machine.processes().values() {
                let Some(file) = execution.attempt() else {
                    continue;
                };
                let attempt = &file.attempt;
                let key = (attempt.run, attempt.epoch);
                let words = format!("{}.{}", attempt.run, attempt.epoch);
                if let Truth::Ended(end) = execution.truth()
                    && due(&end) == Due::Answer
                    && !self.ended.has(key)
                    && !said.contains(words.as_str())
                {
                    let card = file.row.card;
                    return Err(format!("the answer of {words} is not on card {}", card.short()));
                }
            }
        }
        Ok(())
    }
}
