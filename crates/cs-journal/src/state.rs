//! What the ledger says: a pure fold over its events.

use std::collections::{BTreeMap, BTreeSet};

use cs_fence::{Attempt, LandingAttempt};
use cs_model::{Epoch, LandingId, OperationId, RunId};

use crate::error::IllegalTransition;
use crate::event::{Event, LandingEvent, RunEvent};
use crate::{ClaimRequest, ClaimedLanding, ClaimedRun, Receipt};

mod landing;
mod run;
mod secrets;
#[cfg(test)]
mod tests;

pub use landing::LandingStage;
pub use run::{Execution, Stage};

/// Names one process life of a run.
pub type RunKey = (RunId, Epoch);
/// Names one life of a landing.
pub type LandingKey = (LandingId, Epoch);

/// An attempt that this machine owns, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEntry {
    /// The row that the claim gave.
    pub row: ClaimedRun,
    /// The attempt.
    pub attempt: Attempt,
    /// The operation that took it; nothing when it was imported.
    pub operation: Option<OperationId>,
    /// Who owns it.
    pub stage: Stage,
}

/// A landing that this machine owns, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandingEntry {
    /// The row that the claim gave.
    pub row: ClaimedLanding,
    /// The life of the landing.
    pub attempt: LandingAttempt,
    /// The operation that took it.
    pub operation: Option<OperationId>,
    /// Who owns it.
    pub stage: LandingStage,
}

/// Everything the ledger says. An operation owns what it may have taken until it is recorded; from then on each attempt
/// is in exactly one stage of `runs` or `landings`, which is its owner, until it is over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LedgerState {
    claims: BTreeMap<OperationId, ClaimRequest>,
    runs: BTreeMap<RunKey, RunEntry>,
    landings: BTreeMap<LandingKey, LandingEntry>,
    sessions: BTreeMap<RunId, String>,
    secrets: BTreeMap<RunKey, BTreeSet<String>>,
    imported: bool,
}

/// A decided event: what changes, and nothing else.
#[derive(Debug)]
pub(crate) enum Change {
    BeginClaim(OperationId, ClaimRequest),
    EndClaim {
        operation: OperationId,
        runs: Vec<RunEntry>,
        landings: Vec<LandingEntry>,
    },
    KeepRun(RunEntry),
    MoveRun {
        key: RunKey,
        stage: Option<Stage>,
        session: Option<String>,
    },
    KeepLanding(LandingEntry),
    MoveLanding {
        key: LandingKey,
        stage: Option<LandingStage>,
    },
    Session {
        run: RunId,
        session: Option<String>,
    },
    GiveSecret {
        key: RunKey,
        secret: String,
    },
    Import {
        complete: bool,
    },
}

impl LedgerState {
    /// Applies one event, or refuses it and stays as it is.
    ///
    /// # Errors
    /// [`IllegalTransition`] when the event cannot follow here.
    pub fn apply(&mut self, event: &Event) -> Result<(), IllegalTransition> {
        let change = self.decide(event)?;
        self.enact(change);
        Ok(())
    }

    /// Decides what an event changes.
    pub(crate) fn decide(&self, event: &Event) -> Result<Change, IllegalTransition> {
        match event {
            Event::ClaimBegun { operation, request } => match self.claims.get(operation) {
                None => Ok(Change::BeginClaim(*operation, request.clone())),
                Some(_) => Err(refuse(format!("operation {operation}"), "begun", event.name())),
            },
            Event::ClaimRecorded { operation, receipt } => self.record(*operation, receipt),
            Event::ClaimCancelled { operation } => {
                self.begun(*operation, event.name()).map(|_| Change::EndClaim {
                    operation: *operation,
                    runs: Vec::new(),
                    landings: Vec::new(),
                })
            }
            Event::RunKept {
                row,
                attempt,
                operation,
            } => {
                let entry = RunEntry {
                    row: row.clone(),
                    attempt: *attempt,
                    operation: *operation,
                    stage: Stage::Claimed,
                };
                self.fresh_run(&entry, event.name())?;
                Ok(Change::KeepRun(entry))
            }
            Event::Run { run, epoch, did } => self.move_run((*run, *epoch), did),
            Event::LandingKept {
                row,
                attempt,
                operation,
            } => {
                let entry = LandingEntry {
                    row: row.clone(),
                    attempt: *attempt,
                    operation: *operation,
                    stage: LandingStage::Claimed,
                };
                self.fresh_landing(&entry, event.name())?;
                Ok(Change::KeepLanding(entry))
            }
            Event::Landing { landing, epoch, did } => self.move_landing((*landing, *epoch), did),
            Event::SessionKnown { run, session } => Ok(Change::Session {
                run: *run,
                session: Some(session.clone()),
            }),
            Event::SessionForgotten { run } => Ok(Change::Session {
                run: *run,
                session: None,
            }),
            Event::SecretGiven { run, epoch, secret } => self.give_secret((*run, *epoch), secret),
            Event::Imported => Ok(Change::Import { complete: true }),
            Event::TailLost { .. } => Ok(Change::Import { complete: false }),
        }
    }

    /// Carries out a change that was decided on this very state.
    pub(crate) fn enact(&mut self, change: Change) {
        match change {
            Change::BeginClaim(operation, request) => {
                self.claims.insert(operation, request);
            }
            Change::EndClaim {
                operation,
                runs,
                landings,
            } => {
                self.claims.remove(&operation);
                self.runs
                    .extend(runs.into_iter().map(|entry| (entry.key(), entry)));
                self.landings
                    .extend(landings.into_iter().map(|entry| (entry.key(), entry)));
            }
            Change::KeepRun(entry) => {
                self.runs.insert(entry.key(), entry);
            }
            Change::MoveRun { key, stage, session } => {
                if let Some(session) = session {
                    self.sessions.insert(key.0, session);
                }
                match (stage, self.runs.get_mut(&key)) {
                    (Some(stage), Some(entry)) => entry.stage = stage,
                    (None, _) | (_, None) => {
                        self.runs.remove(&key);
                        self.secrets.remove(&key);
                    }
                }
            }
            Change::KeepLanding(entry) => {
                self.landings.insert(entry.key(), entry);
            }
            Change::MoveLanding { key, stage } => match (stage, self.landings.get_mut(&key)) {
                (Some(stage), Some(entry)) => entry.stage = stage,
                (None, _) | (_, None) => drop(self.landings.remove(&key)),
            },
            Change::Session {
                run,
                session: Some(session),
            } => {
                self.sessions.insert(run, session);
            }
            Change::Session { run, session: None } => {
                self.sessions.remove(&run);
            }
            Change::GiveSecret { key, secret } => {
                self.secrets.entry(key).or_default().insert(secret);
            }
            Change::Import { complete } => self.imported = complete,
        }
    }

    /// Returns the operations whose result is unknown.
    #[must_use]
    pub const fn claims(&self) -> &BTreeMap<OperationId, ClaimRequest> {
        &self.claims
    }

    /// Returns the attempts that this machine owns.
    #[must_use]
    pub const fn runs(&self) -> &BTreeMap<RunKey, RunEntry> {
        &self.runs
    }

    /// Returns another attempt of the same run of which something may run on this machine: while there is one, the next must
    /// not be prepared.
    #[must_use]
    pub fn running_beside(&self, key: RunKey) -> Option<&RunEntry> {
        let (run, epoch) = key;
        let mut others = self
            .runs
            .range((run, Epoch::NONE)..=(run, Epoch::new(u32::MAX)))
            .filter(|((_, other), _)| *other != epoch);
        others
            .find(|(_, entry)| entry.stage.may_run())
            .map(|(_, entry)| entry)
    }

    /// Returns the landings that this machine owns.
    #[must_use]
    pub const fn landings(&self) -> &BTreeMap<LandingKey, LandingEntry> {
        &self.landings
    }

    /// Returns the latest native session of a run.
    #[must_use]
    pub fn session(&self, run: RunId) -> Option<&str> {
        self.sessions.get(&run).map(String::as_str)
    }

    /// Says whether a native session is this run's: no older run has it, and no run whose agent may go on with it now.
    #[must_use]
    pub fn is_session_of(&self, run: RunId, session: &str) -> bool {
        let mut others = self.sessions.iter().filter(|(other, _)| **other != run);
        !others.any(|(other, known)| known == session && (*other < run || self.may_run(*other)))
    }

    /// Says whether an execution of a run is not proven closed.
    fn may_run(&self, run: RunId) -> bool {
        let mut attempts = self.runs.range((run, Epoch::NONE)..=(run, Epoch::new(u32::MAX)));
        attempts.any(|(_, entry)| entry.stage.may_run())
    }

    /// Says whether the import of this machine's unended runs is complete.
    #[must_use]
    pub const fn is_imported(&self) -> bool {
        self.imported
    }

    /// Returns events whose fold is this state again: what a compaction writes.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        for (operation, request) in &self.claims {
            events.push(Event::ClaimBegun {
                operation: *operation,
                request: request.clone(),
            });
        }
        for ((run, epoch), entry) in &self.runs {
            events.push(Event::RunKept {
                row: entry.row.clone(),
                attempt: entry.attempt,
                operation: entry.operation,
            });
            events.extend(entry.stage.events().into_iter().map(|did| Event::Run {
                run: *run,
                epoch: *epoch,
                did,
            }));
        }
        for ((landing, epoch), entry) in &self.landings {
            events.push(Event::LandingKept {
                row: entry.row.clone(),
                attempt: entry.attempt,
                operation: entry.operation,
            });
            events.extend(entry.stage.events().into_iter().map(|did| Event::Landing {
                landing: *landing,
                epoch: *epoch,
                did,
            }));
        }
        events.extend(self.secret_events());
        events.extend(self.sessions.iter().map(|(run, session)| Event::SessionKnown {
            run: *run,
            session: session.clone(),
        }));
        events.extend(self.imported.then_some(Event::Imported));
        events
    }

    fn begun(&self, operation: OperationId, event: &'static str) -> Result<&ClaimRequest, IllegalTransition> {
        let known = self.claims.get(&operation);
        known.ok_or_else(|| refuse(format!("operation {operation}"), "not begun", event))
    }

    fn record(&self, operation: OperationId, receipt: &Receipt) -> Result<Change, IllegalTransition> {
        const EVENT: &str = "claim_recorded";
        let seed = self.begun(operation, EVENT)?.seed;
        let mut runs: Vec<RunEntry> = Vec::new();
        for row in &receipt.runs {
            let entry = RunEntry {
                row: row.clone(),
                attempt: row.attempt(&seed),
                operation: Some(operation),
                stage: Stage::Claimed,
            };
            self.fresh_run(&entry, EVENT)?;
            if runs.iter().any(|other| other.key() == entry.key()) {
                return Err(refuse(format!("attempt {}", entry.attempt), "named twice", EVENT));
            }
            runs.push(entry);
        }
        let mut landings: Vec<LandingEntry> = Vec::new();
        for row in &receipt.landings {
            let entry = LandingEntry {
                row: row.clone(),
                attempt: row.attempt(&seed),
                operation: Some(operation),
                stage: LandingStage::Claimed,
            };
            self.fresh_landing(&entry, EVENT)?;
            if landings.iter().any(|other| other.key() == entry.key()) {
                return Err(refuse(format!("landing {}", entry.attempt), "named twice", EVENT));
            }
            landings.push(entry);
        }
        Ok(Change::EndClaim {
            operation,
            runs,
            landings,
        })
    }

    fn fresh_run(&self, entry: &RunEntry, event: &'static str) -> Result<(), IllegalTransition> {
        let subject = || format!("attempt {}", entry.attempt);
        if (entry.attempt.run, entry.attempt.epoch) != entry.key() {
            return Err(refuse(subject(), "not the row's", event));
        }
        match self.runs.get(&entry.key()) {
            None => Ok(()),
            Some(known) => Err(refuse(subject(), known.stage.name(), event)),
        }
    }

    fn fresh_landing(&self, entry: &LandingEntry, event: &'static str) -> Result<(), IllegalTransition> {
        let subject = || format!("landing {}", entry.attempt);
        if (entry.attempt.landing, entry.attempt.epoch) != entry.key() {
            return Err(refuse(subject(), "not the row's", event));
        }
        match self.landings.get(&entry.key()) {
            None => Ok(()),
            Some(known) => Err(refuse(subject(), known.stage.name(), event)),
        }
    }

    fn move_run(&self, key: RunKey, did: &RunEvent) -> Result<Change, IllegalTransition> {
        let Some(entry) = self.runs.get(&key) else {
            return Err(refuse(
                format!("attempt {}.{}", key.0.short(), key.1),
                "unknown",
                did.name(),
            ));
        };
        let Some(stage) = entry.stage.after(did) else {
            return Err(refuse(
                format!("attempt {}", entry.attempt),
                entry.stage.name(),
                did.name(),
            ));
        };
        Ok(Change::MoveRun {
            key,
            stage: stage.into_stage(),
            session: did.session().map(str::to_owned),
        })
    }

    fn move_landing(&self, key: LandingKey, did: &LandingEvent) -> Result<Change, IllegalTransition> {
        let Some(entry) = self.landings.get(&key) else {
            return Err(refuse(
                format!("landing {}.{}", key.0.short(), key.1),
                "unknown",
                did.name(),
            ));
        };
        let Some(stage) = entry.stage.after(did) else {
            return Err(refuse(
                format!("landing {}", entry.attempt),
                entry.stage.name(),
                did.name(),
            ));
        };
        Ok(Change::MoveLanding {
            key,
            stage: stage.into_stage(),
        })
    }
}

impl RunEntry {
    fn key(&self) -> RunKey {
        (self.row.run, self.row.epoch)
    }
}

impl LandingEntry {
    fn key(&self) -> LandingKey {
        (self.row.landing, self.row.epoch)
    }
}

/// Where an entry goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next<S> {
    /// To another stage, or to the same with other content.
    Stage(S),
    /// Out of the ledger: it is over.
    Over,
}

impl<S> Next<S> {
    fn into_stage(self) -> Option<S> {
        match self {
            Self::Stage(stage) => Some(stage),
            Self::Over => None,
        }
    }
}

fn refuse(subject: String, state: &'static str, event: &'static str) -> IllegalTransition {
    IllegalTransition {
        subject,
        state,
        event,
    }
}
