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

/// At most one agent works for a run, wherever. Only where a person has ended a former attempt on the record may its agent still work when
/// the next one begins elsewhere: its machine has not heard of it yet, and a record that it does not reach cannot tell it.
#[derive(Debug, Default)]
pub(super) struct OneProcess {
    gone: BTreeSet<(RunId, Epoch)>,
    ended: EndedByPeople,
}

/// The attempts that were live until a person acted.
#[derive(Debug, Default)]
pub(super) struct EndedByPeople {
    live: BTreeSet<(RunId, Epoch)>,
    ended: BTreeSet<(RunId, Epoch)>,
}

impl EndedByPeople {
    /// Takes a change in. To be told of each.
    pub(super) fn see(&mut self, moment: &Moment<'_>) {
        let runs = moment.rows.runs.iter();
        let running = runs.filter(|run| run.state == RunState::Running);
        let live = running.map(|run| (run.id, run.epoch)).collect();
        if let Event::Acted = moment.event {
            self.ended.extend(self.live.difference(&live));
        }
        self.live = live;
    }

    pub(super) fn has(&self, attempt: (RunId, Epoch)) -> bool {
        self.ended.contains(&attempt)
    }
}

impl Invariant for OneProcess {
    fn name(&self) -> &'static str {
        "1. an attempt has one process, once, and no two attempts work at once unless a person ended one of them"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        self.ended.see(moment);
        let Event::Go {
            machine,
            attempt,
            card,
        } = moment.event
        else {
            return Ok(());
        };
        if !self.gone.insert((attempt.run, attempt.epoch)) {
            return Err(format!("{attempt} got its prompt twice"));
        }
        for other in moment.machines {
            for (key, at_work) in other.attempts_at_work() {
                let is_elsewhere = other.index != *machine;
                if at_work == *card && !(is_elsewhere && self.ended.has(key)) {
                    return Err(format!(
                        "{attempt} got its prompt on machine {machine} while {}.{} works on card {} on machine {}",
                        key.0.short(),
                        key.1,
                        card.short(),
                        other.index
                    ));
                }
            }
        }
        Ok(())
    }
}
