//! Invariant 1, of writes: what was really the present attempt may write, and no other changes anything, whatever the record says.
//!
//! Every write of a daemon comes here with the rows just before and just after it. Whether the attempt that writes was the live one is
//! compared here, with the rows themselves; the product's own judgement is what is on trial.

use std::collections::BTreeSet;

use cs_fence::{Attempt, InterruptOutcome, Interruption, LandingAttempt, ProcessFact};
use cs_model::{CardId, Ending, Epoch, LandingId, LandingState, MachineId, OperationId, RunId, RunState};
use cs_record::{Landing, LeftProcess, Run};
use cs_testkit::Rows;

use super::{Deed, Event, Fact, Invariant, Moment, Write};

/// Invariant 1, of writes.
#[derive(Debug, Default)]
pub(super) struct Fenced {
    /// Attempts whose outcome was taken: told again, the record may say so again.
    told: BTreeSet<(RunId, Epoch)>,
}

impl Invariant for Fenced {
    fn name(&self) -> &'static str {
        "1. a write of an attempt that is not the present one changes nothing, and is told so"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        let Event::Wrote(write) = moment.event else {
            return Ok(());
        };
        let mut rights = Rights::of(write);
        if let Some(Deed::Told {
            attempt,
            applied: true,
            ..
        }) = write.deed
            && !self.told.insert((attempt.run, attempt.epoch))
        {
            rights.says_wrong = None;
        }
        let changed = changed(&write.before, moment.rows);
        if let Some(what) = &changed.elsewhere(rights.card, &write.before) {
            return Err(format!("{what} was changed by {:?}", write.deed));
        }
        if !rights.may_change && changed.anything() {
            return Err(format!(
                "{changed:?} was changed by {:?}, which may not write any more",
                write.deed
            ));
        }
        match rights.says_wrong {
            Some(wrong) => Err(format!("{wrong}: {:?}", write.deed)),
            None => Ok(()),
        }
    }
}

/// What a write may do by the rows before it.
#[derive(Debug, Default)]
struct Rights {
    may_change: bool,
    card: Option<CardId>,
    says_wrong: Option<String>,
}

impl Rights {
    fn of(write: &Write) -> Self {
        let before = &write.before;
        match &write.deed {
            None | Some(Deed::Kept) => Self::default(),
            Some(Deed::Told { attempt, applied, .. }) => {
                Self::of_present(before, attempt, *applied, may_be_told)
            }
            Some(Deed::Counted { attempt, applied }) => {
                Self::when(has_begun(before, attempt), *applied, card_of(before, attempt.run))
            }
            Some(Deed::Noted {
                attempt,
                fact,
                process,
                applied,
            }) => Self::of_present(before, attempt, *applied, |run| may_note(run, *fact, process)),
            Some(Deed::Interrupted {
                machine,
                operation,
                reports,
                outcomes,
            }) => Self::of_reports(before, (*machine, *operation), reports, outcomes),
            Some(Deed::Landed { attempt, applied, .. }) => {
                let landing = landing(before, attempt.landing);
                let may = landing.is_some_and(|landing| is_present_landing(landing, attempt));
                Self::when(may, *applied, landing.map(|landing| landing.card))
            }
            Some(Deed::RunGivenBack {
                machine,
                run,
                epoch,
                applied,
            }) => {
                let row = before.runs.iter().find(|row| row.id == *run);
                let may = row.is_some_and(|row| is_traceless(row, *machine, *epoch));
                Self::when(may, *applied, card_of(before, *run))
            }
            Some(Deed::ProcessForgotten {
                machine,
                left,
                applied,
            }) => {
                let row = before.runs.iter().find(|row| row.id == left.run);
                let may = row.is_some_and(|row| has_left(row, *machine, left));
                Self::when(may, *applied, card_of(before, left.run))
            }
            Some(Deed::LandingGivenBack {
                machine,
                landing: id,
                epoch,
                applied,
            }) => {
                let row = landing(before, *id);
                let may = row.is_some_and(|row| lands_here(row, *machine, *epoch));
                Self::when(may, *applied, row.map(|row| row.card))
            }
        }
    }

    fn of_present(before: &Rows, attempt: &Attempt, applied: bool, may: impl Fn(&Run) -> bool) -> Self {
        let may = present(before, attempt).is_some_and(may);
        Self::when(may, applied, card_of(before, attempt.run))
    }

    fn when(may_change: bool, applied: bool, card: Option<CardId>) -> Self {
        let says_wrong = (may_change != applied)
            .then(|| format!("it may write: {may_change}, and hears that it was taken: {applied}"));
        Self {
            may_change,
            card,
            says_wrong,
        }
    }

    /// A report that comes again changes nothing.
    fn of_reports(
        before: &Rows,
        (machine, operation): (MachineId, OperationId),
        reports: &[Interruption],
        outcomes: &[(RunId, InterruptOutcome)],
    ) -> Self {
        let is_again = before.journal.iter().any(|row| row.operation == operation);
        let mut rights = Self::default();
        for (one, (run, outcome)) in reports.iter().zip(outcomes) {
            let right = outcome_of(before, machine, &one.attempt);
            rights.may_change |= !is_again && right == InterruptOutcome::Interrupted;
            rights.card = card_of(before, one.attempt.run).or(rights.card);
            if one.attempt.run != *run || (!is_again && right != *outcome) {
                rights.says_wrong = Some(format!("{} is {right:?}, and is told {outcome:?}", one.attempt));
            }
            if is_again && *outcome == InterruptOutcome::Interrupted {
                rights.says_wrong = Some(format!("{} is interrupted twice", one.attempt));
            }
        }
        rights
    }
}

fn outcome_of(before: &Rows, machine: MachineId, attempt: &Attempt) -> InterruptOutcome {
    let run = before.runs.iter().find(|run| run.id == attempt.run);
    let Some(run) = run.filter(|run| run.machine == machine) else {
        return InterruptOutcome::Stale;
    };
    let is_present = run.epoch == attempt.epoch && run.token == attempt.token.hash();
    match run.state {
        RunState::Running if is_present => InterruptOutcome::Interrupted,
        RunState::Ended(Ending::Interrupted) if is_present => InterruptOutcome::AlreadyInterrupted,
        _ if run.epoch > attempt.epoch => InterruptOutcome::Continued,
        _ => InterruptOutcome::Stale,
    }
}

fn may_note(run: &Run, fact: Fact, process: &ProcessFact) -> bool {
    let holds = run.process.as_ref() == Some(process);
    match fact {
        Fact::Runs => run.state == RunState::Running,
        Fact::Gone => run.state != RunState::Running && holds,
        Fact::LeftBehind => holds,
    }
}

/// Whether an attempt is the present one of its run, or was: its money is spent, also where its run has gone on without it.
fn has_begun(before: &Rows, attempt: &Attempt) -> bool {
    let run = before.runs.iter().find(|run| run.id == attempt.run);
    run.is_some_and(|run| {
        attempt.epoch < run.epoch || (attempt.epoch == run.epoch && attempt.token.hash() == run.token)
    })
}

fn may_be_told(run: &Run) -> bool {
    match run.state {
        RunState::Running => true,
        RunState::Asked => run.settled < run.epoch,
        RunState::Ended(_) => false,
    }
}

fn has_left(run: &Run, machine: MachineId, left: &LeftProcess) -> bool {
    run.machine == machine && run.epoch == left.epoch && run.process.as_ref() == Some(&left.process)
}

fn lands_here(landing: &Landing, machine: MachineId, epoch: Epoch) -> bool {
    landing.machine == machine && landing.epoch == epoch && landing.state == LandingState::Running
}

fn is_traceless(run: &Run, machine: MachineId, epoch: Epoch) -> bool {
    run.machine == machine && run.epoch == epoch && run.state == RunState::Running && run.process.is_none()
}

fn is_present_landing(landing: &Landing, attempt: &LandingAttempt) -> bool {
    landing.state == LandingState::Running
        && landing.epoch == attempt.epoch
        && landing.token == Some(attempt.token.hash())
}

/// The run of an attempt, if this is its present one.
fn present<'a>(rows: &'a Rows, attempt: &Attempt) -> Option<&'a Run> {
    let run = rows.runs.iter().find(|run| run.id == attempt.run)?;
    (run.epoch == attempt.epoch && run.token == attempt.token.hash()).then_some(run)
}

fn card_of(rows: &Rows, run: RunId) -> Option<CardId> {
    rows.runs.iter().find(|row| row.id == run).map(|row| row.card)
}

fn landing(rows: &Rows, id: LandingId) -> Option<&Landing> {
    rows.landings.iter().find(|row| row.id == id)
}

/// The cards of which something was changed.
#[derive(Debug)]
struct Changed {
    /// A run, a turn, a question or a landing of these.
    within: Vec<CardId>,
    /// The rows of these cards.
    cards: Vec<CardId>,
}

impl Changed {
    fn anything(&self) -> bool {
        !self.within.is_empty() || !self.cards.is_empty()
    }

    /// Names what was changed of other cards. A card that waits for this one may become ready, which is its own row.
    fn elsewhere(&self, card: Option<CardId>, before: &Rows) -> Option<String> {
        let other = self.within.iter().find(|other| Some(**other) != card)?;
        let title = before.cards.iter().any(|row| row.id == *other);
        Some(format!("something of card {} (known: {title})", other.short()))
    }
}

fn changed(before: &Rows, after: &Rows) -> Changed {
    let mut within = Vec::new();
    within.extend(differing(&before.runs, &after.runs, |row| row.id, |row| row.card));
    within.extend(differing(
        &before.turns,
        &after.turns,
        |row| row.id,
        |row| row.card,
    ));
    within.extend(differing(&before.asks, &after.asks, |row| row.id, |row| row.card));
    within.extend(differing(
        &before.landings,
        &after.landings,
        |row| row.id,
        |row| row.card,
    ));
    Changed {
        within,
        cards: differing(&before.cards, &after.cards, |row| row.id, |row| row.id),
    }
}

/// The cards of rows that are not the same in both, or are in one only. Both are in the order of their ids.
fn differing<T: PartialEq, K: Ord>(
    before: &[T],
    after: &[T],
    id: impl Fn(&T) -> K,
    card: impl Fn(&T) -> CardId,
) -> Vec<CardId> {
    let (mut was, mut is) = (before.iter().peekable(), after.iter().peekable());
    let mut cards = Vec::new();
    loop {
        match (was.peek(), is.peek()) {
            (Some(old), Some(new)) if id(old) == id(new) => {
                if old != new {
                    cards.push(card(new));
                }
                was.next();
                is.next();
            }
            (Some(old), Some(new)) if id(old) < id(new) => {
                cards.push(card(old));
                was.next();
            }
            (Some(old), None) => {
                cards.push(card(old));
                was.next();
            }
            (_, Some(new)) => {
                cards.push(card(new));
                is.next();
            }
            (None, None) => return cards,
        }
    }
}
