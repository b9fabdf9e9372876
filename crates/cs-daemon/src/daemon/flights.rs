//! What is in flight: attempts and landings, each carried by a task of its own.

use std::sync::Arc;

use cs_fence::{Attempt, LandingAttempt};
use cs_model::{CardId, Epoch, LandingId, RunId};
use tokio::task::Id;

use super::Daemon;
use crate::attempt::{Carried, Trouble, Work, carry};
use crate::executions::{StopLevel, StopSwitch};
use crate::landing::{LandingTrouble, LandingWork, land};
use crate::report::chain;

/// An attempt that a task carries.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) epoch: Epoch,
    pub(super) card: CardId,
    pub(super) stop: StopSwitch,
    pub(super) task: Id,
}

/// A landing that a task carries out.
#[derive(Debug)]
pub(super) struct LandingFlight {
    pub(super) attempt: LandingAttempt,
    pub(super) card: CardId,
    pub(super) stop: StopSwitch,
    pub(super) task: Id,
}

/// What a task brings back.
#[derive(Debug)]
pub(super) enum Back {
    Run(RunId, Result<Carried, Trouble>),
    Landing(LandingId, Result<(), LandingTrouble>),
}

impl Daemon {
    /// Carries on an attempt of which nothing runs yet, unless an older one of its run is still to be ended here. Then it waits in
    /// the ledger, from where a later pass takes it: dropping it gives it back. The older one counts no more, so it is ended.
    pub(super) fn launch_next(&mut self, attempt: &Attempt, card: CardId, work: Work) {
        if let Some(flight) = self.flights.get(&attempt.run) {
            if flight.epoch < attempt.epoch {
                flight.stop.raise(StopLevel::Ladder);
            }
        } else if let Some(other) = self.cx.journal.running_beside(attempt) {
            tracing::info!(%attempt, %other, "an attempt waits for the end of the one before it");
        } else if self.sweep.has(card) {
            tracing::info!(%attempt, "an attempt waits for the end of the sweep of its tree");
        } else {
            self.launch(attempt.run, card, work);
        }
    }

    /// Carries work on in a task of its own. The attempt is in the map before this returns (CJ-23).
    pub(super) fn launch(&mut self, run: RunId, card: CardId, work: Work) {
        let stop = StopSwitch::new();
        if self.is_awaited(&work) {
            stop.raise(StopLevel::Ladder);
        }
        let epoch = work.epoch();
        let (cx, asked) = (Arc::clone(&self.cx), stop.clone());
        let handle = self
            .tasks
            .spawn(async move { Back::Run(run, carry(cx, work, asked).await) });
        self.flights.insert(
            run,
            Flight {
                epoch,
                card,
                stop,
                task: handle.id(),
            },
        );
    }

    pub(super) fn launch_landing(&mut self, work: LandingWork) {
        let (landing, card, attempt) = (work.row().landing, work.row().card, work.attempt());
        let (cx, stop) = (Arc::clone(&self.cx), StopSwitch::new());
        if self.stopped_landings.contains(&landing) {
            stop.raise(StopLevel::Ladder);
        }
        let asked = stop.clone();
        let handle = self
            .tasks
            .spawn(async move { Back::Landing(landing, land(cx, work, asked).await) });
        let task = handle.id();
        let flight = LandingFlight {
            attempt,
            card,
            stop,
            task,
        };
        self.landings.insert(landing, flight);
    }

    /// Takes back what a task brings. One that panicked is reported like one that failed; its work stays in the ledger.
    pub(super) fn take_back(&mut self, back: Result<(Id, Back), tokio::task::JoinError>) {
        match back {
            Ok((_, Back::Run(run, result))) => {
                let flight = self.flights.remove(&run);
                match result {
                    Ok(Carried::Over) => {
                        self.said_left.remove(&run);
                        self.strain.is_over();
                    }
                    Ok(Carried::Incomplete(incomplete)) => {
                        self.strain.is_over();
                        self.keep_incomplete(run, *incomplete);
                    }
                    Err(error) => self.run_troubled(run, flight.map(|flight| flight.card), &error),
                }
            }
            Ok((_, Back::Landing(landing, result))) => {
                let flight = self.landings.remove(&landing);
                self.sweep.ask();
                self.remove_throwaways();
                match result {
                    Ok(()) => self.strain.is_over(),
                    Err(error) => self.landing_troubled(landing, flight.map(|flight| flight.card), &error),
                }
            }
            Err(error) => {
                let task = error.id();
                self.landings.retain(|_, landing| landing.task != task);
                let flight = self.flights.iter().find(|(_, flight)| flight.task == task);
                match flight.map(|(run, flight)| (*run, flight.card)) {
                    Some((run, card)) => {
                        self.flights.remove(&run);
                        self.run_troubled(run, Some(card), &error);
                    }
                    None => self.troubled("a task".to_owned(), &error),
                }
            }
        }
    }

    pub(super) fn run_troubled(
        &mut self,
        run: RunId,
        card: Option<CardId>,
        error: &(dyn std::error::Error + 'static),
    ) {
        // Should it have been a leftover, it is looked at again.
        self.left_alone.retain(|(known, _)| *known != run);
        let of = card.map_or_else(String::new, |card| format!(" of card {}", card.short()));
        self.troubled(format!("run {}{of}", run.short()), error);
        if let Some(card) = card {
            self.note_trouble(card, format!("run {}: {}", run.short(), chain(error)));
        }
    }

    pub(super) fn landing_troubled(
        &mut self,
        landing: LandingId,
        card: Option<CardId>,
        error: &LandingTrouble,
    ) {
        self.troubled(format!("landing {}", landing.short()), error);
        if let Some(card) = card {
            self.note_trouble(card, format!("landing {}: {}", landing.short(), chain(error)));
        }
    }

    pub(super) fn troubled(&mut self, what: String, error: &(dyn std::error::Error + 'static)) {
        tracing::error!(error, "{what} could not be carried on");
        self.cx.said(&format!(
            "{what} could not be carried on now, it is tried again: {}",
            chain(error)
        ));
        self.strain.add(what);
    }
}
