//! Invariants 1 and 2, and that one process at most works for a run.

use std::collections::{BTreeMap, BTreeSet};

use cs_fence::TokenHash;
use cs_model::{CardId, Epoch, RunId, RunKind, RunState};

use super::{Event, Invariant, Moment};

/// Invariant 1.
#[derive(Debug, Default)]
pub(super) struct OneAttempt {
    known: BTreeMap<RunId, (Epoch, TokenHash, RunState)>,
}

impl Invariant for OneAttempt {
    fn name(&self) -> &'static str {
        "1. a run has one live attempt, its epoch only grows, and no other attempt changes anything"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        if let Event::Settled { attempt, present } = moment.event
            && *present != Some(attempt.epoch)
        {
            return Err(format!(
                "{attempt} was taken while {present:?} was the present one"
            ));
        }
        for run in &moment.rows.runs {
            let now = (run.epoch, run.token, run.state);
            let Some((epoch, token, state)) = self.known.insert(run.id, now) else {
                continue;
            };
            if run.epoch < epoch {
                return Err(format!(
                    "run {} went from {epoch} to {}",
                    run.id.short(),
                    run.epoch
                ));
            }
            if run.epoch == epoch && run.token != token {
                return Err(format!(
                    "two attempts of run {} have the epoch {epoch}",
                    run.id.short()
                ));
            }
            let began = run.state == RunState::Running && state != RunState::Running;
            if began && run.epoch == epoch {
                return Err(format!("run {} went on in its epoch {epoch}", run.id.short()));
            }
        }
        Ok(())
    }
}

/// Invariant 2.
#[derive(Debug, Default)]
pub(super) struct OneOwner {
    owners: BTreeMap<CardId, RunId>,
}

impl Invariant for OneOwner {
    fn name(&self) -> &'static str {
        "2. a card has one owner's run for its whole life"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for run in moment.rows.runs.iter().filter(|run| run.kind == RunKind::Owner) {
            let owner = *self.owners.entry(run.card).or_insert(run.id);
            if owner != run.id {
                return Err(format!(
                    "card {} has the owners {} and {}",
                    run.card.short(),
                    owner.short(),
                    run.id.short()
                ));
            }
        }
        Ok(())
    }
}

/// At most one process works for the present attempt of a run, wherever. What a former one left may still run until its machine
/// is told.
#[derive(Debug, Default)]
pub(super) struct OneProcess {
    gone: BTreeSet<(RunId, Epoch)>,
}

impl Invariant for OneProcess {
    fn name(&self) -> &'static str {
        "1. an attempt has one process, once"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        if let Event::Go {
            machine,
            attempt,
            card,
            ..
        } = moment.event
        {
            if !self.gone.insert((attempt.run, attempt.epoch)) {
                return Err(format!("{attempt} got its prompt twice"));
            }
            let here = moment.machines.iter().filter(|other| other.index == *machine);
            if here
                .into_iter()
                .any(|machine| machine.cards_at_work().contains(card))
            {
                return Err(format!(
                    "{attempt} got its prompt while another agent works on card {} here",
                    card.short()
                ));
            }
        }
        Ok(())
    }
}
