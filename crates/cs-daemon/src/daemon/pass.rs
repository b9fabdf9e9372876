//! One pass: reconcile, close what was stopped, carry on, sweep, take.
//!
//! The order is what keeps it safe: what finished is told before anything is taken on top of it, what a person stopped goes before
//! new work, and the trees of finished cards are swept before anything can start in them.
//!
//! A pass never waits for a start: it puts the attempt in flight and goes on.

use std::sync::Arc;

use cs_journal::{LandingDone, Recovered};
use cs_model::CardId;
use cs_record::{Peeked, RecordError};
use tokio::task::JoinSet;

use super::{Daemon, DaemonError};
use crate::admission::Admission;
use crate::attempt::{ToTell, Trouble, Work, tell};
use crate::borders::Border;
use crate::landing::{LandingTrouble, LandingWork, settle_landing};

/// Why a pass did not come to its end.
#[derive(Debug, thiserror::Error)]
enum PassTrouble {
    #[error("presence")]
    Presence(#[source] RecordError),
    #[error("reconcile")]
    Reconcile(#[source] Trouble),
    #[error("reconcile a landing")]
    ReconcileLanding(#[source] LandingTrouble),
    #[error("close what was stopped")]
    Stops(#[source] Trouble),
    #[error("take work")]
    Take(#[source] Trouble),
    #[error("look at the record")]
    Look(#[source] RecordError),
}

impl Daemon {
    /// Makes one pass.
    pub(super) async fn pass(&mut self) -> Result<(), DaemonError> {
        self.steps()
            .await
            .map_err(|error| DaemonError::Pass(Box::new(error)))
    }

    /// Takes in hand what runs and could not be taken up: no lease ends because the record is away.
    pub(super) async fn take_in_hand(&self) {
        let found = self.cx.journal.recover();
        let started = found.started.iter().map(|one| one.dir());
        let registered = found.registered.iter().map(|one| one.dir());
        let mut surveys = JoinSet::new();
        for name in started.chain(registered) {
            let (executions, name) = (Arc::clone(&self.cx.deps.executions), name.to_owned());
            surveys.spawn(async move {
                // It is looked at again when it is carried on.
                if let Err(error) = executions.survey(&name).await {
                    tracing::debug!(
                        name,
                        error = &error as &dyn std::error::Error,
                        "not taken in hand"
                    );
                }
            });
        }
        while surveys.join_next().await.is_some() {}
    }

    async fn steps(&mut self) -> Result<(), PassTrouble> {
        // First of all: the record may be on the same disk.
        self.say_room();
        self.presence.say(&self.cx).await.map_err(PassTrouble::Presence)?;
        self.look_at_incomplete().await;
        let found = self.reconcile().await?;
        let peeked = self.peek().await.map_err(PassTrouble::Look)?;
        self.next_due = peeked.next_due;
        if peeked.to_close {
            self.close_stopped().await.map_err(PassTrouble::Stops)?;
        }
        self.carry_on(found);
        self.redirect(&peeked).await.map_err(PassTrouble::Look)?;
        self.begin_new(&peeked).await?;
        // A daemon without slots is there for a moment only.
        if self.cx.deps.settings.slots > 0 {
            self.publications.take_up(&self.cx);
        }
        self.forget_old().await;
        Ok(())
    }

    /// Sweeps and takes, while new work may start. Whether it may is asked only when there is something to do with it.
    async fn begin_new(&mut self, peeked: &Peeked) -> Result<(), PassTrouble> {
        self.admission = None;
        if !(self.sweep.is_due || self.could_take(peeked)) {
            return Ok(());
        }
        let admission = self.cx.admission(None).await.map_err(PassTrouble::Look)?;
        let is_open = admission == Admission::Open;
        self.admission = Some(admission);
        if is_open {
            self.sweep_trees().await;
            self.cx.deps.borders.reach(Border::P1);
            self.take_work(peeked).await.map_err(PassTrouble::Take)?;
        }
        Ok(())
    }

    /// Says when nothing starts any more since the machine is short of something, and when that is over: no person has said so anywhere.
    fn say_room(&mut self) {
        let reason = self.cx.shortage();
        match &reason {
            Some(reason) if !self.said_full => {
                tracing::error!(%reason, "no new work starts");
                let waits = match self.flights.is_empty() {
                    true => "",
                    false => "; what runs goes on, and what it says waits where it cannot be kept",
                };
                self.cx.said(&format!("no new work starts: {reason}{waits}"));
            }
            None if self.said_full => self.cx.said("there is room again: new work starts"),
            Some(_) | None => {}
        }
        self.said_full = reason.is_some();
    }

    /// Tells the record what it may not know and asks it what we do not know, in the order of RC-1. Gives back what is to be
    /// carried on.
    async fn reconcile(&mut self) -> Result<Recovered, PassTrouble> {
        let rests = self.strain.rest().is_some();
        let mut found = if rests {
            Recovered::default()
        } else {
            self.cx.journal.recover()
        };
        let outcomes = std::mem::take(&mut found.settling)
            .into_iter()
            .map(ToTell::Outcome);
        let closes = std::mem::take(&mut found.acknowledged)
            .into_iter()
            .map(ToTell::Close);
        let failed = std::mem::take(&mut found.failed).into_iter().map(ToTell::Failed);
        let receipts: Vec<_> = std::mem::take(&mut found.receipts);
        let mut all_told = true;
        for what in outcomes.chain(closes).chain(failed) {
            all_told &= self.told(what).await?;
        }
        for done in std::mem::take(&mut found.landings_done) {
            all_told &= self.landing_told(done).await?;
        }
        let pending = self.cx.journal.reconcile_pending().await;
        if pending.map_err(|error| PassTrouble::Reconcile(error.into()))? > 0 {
            let taken = self.cx.journal.recover();
            found.claimed.extend(taken.claimed);
            found.landings_claimed.extend(taken.landings_claimed);
        }
        if self.import().await.map_err(PassTrouble::Reconcile)? {
            found.registered.extend(self.cx.journal.recover().registered);
        }
        for receipt in receipts {
            all_told &= self.told(ToTell::Interrupted(receipt)).await?;
        }
        if !rests && all_told && found.is_empty() {
            // What could not be carried on before was brought to its end right here.
            self.strain.is_over();
        }
        Ok(found)
    }

    /// Tells the record one thing. Where the row that it is about cannot be read it stays in the ledger and is told later: says whether
    /// it was told.
    async fn told(&mut self, what: ToTell) -> Result<bool, PassTrouble> {
        let (run, card) = (what.row().run, what.row().card);
        match tell(&self.cx, what).await {
            Ok(()) => Ok(true),
            Err(trouble) if trouble.is_corrupt() => {
                self.run_troubled(run, Some(card), &trouble);
                Ok(false)
            }
            Err(trouble) => Err(PassTrouble::Reconcile(trouble)),
        }
    }

    /// Tells the record the result of a landing, as [`told`](Self::told) does it with what is told of a run.
    async fn landing_told(&mut self, done: LandingDone) -> Result<bool, PassTrouble> {
        let (landing, card) = (done.row().landing, done.row().card);
        match settle_landing(&self.cx, done).await {
            Ok(()) => Ok(true),
            Err(trouble) if trouble.is_corrupt() => {
                self.landing_troubled(landing, Some(card), &trouble);
                Ok(false)
            }
            Err(trouble) => Err(PassTrouble::ReconcileLanding(trouble)),
        }
    }

    /// Puts in flight what a former process left, or what this one could not carry on before. A daemon without slots starts
    /// nothing: it looks after what runs, and voids what was stopped.
    fn carry_on(&mut self, mut found: Recovered) {
        if self.cx.deps.settings.slots == 0 {
            let is_awaited = |card: CardId| self.waiters.iter().any(|waiter| waiter.card == card);
            found.claimed.retain(|one| is_awaited(one.row().card));
            found.prepared.retain(|one| is_awaited(one.row().card));
            found.landings_claimed.retain(|one| is_awaited(one.row().card));
        }
        let claimed = found
            .claimed
            .into_iter()
            .map(|one| (one.attempt(), one.row().card, Work::Claimed(one)));
        let prepared = found
            .prepared
            .into_iter()
            .map(|one| (one.attempt(), one.row().card, Work::Prepared(one)));
        let registered = found
            .registered
            .into_iter()
            .map(|one| (one.row().run, one.row().card, Work::Registered(one)));
        let started = found
            .started
            .into_iter()
            .map(|one| (one.row().run, one.row().card, Work::Started(one)));
        for (run, card, work) in started.chain(registered) {
            // One that is in flight goes first; the other comes again when it is over.
            if !self.flights.contains_key(&run) {
                self.launch(run, card, work);
            }
        }
        for (attempt, card, work) in prepared.chain(claimed) {
            self.launch_next(&attempt, card, work);
        }
        for one in found.landings_working {
            self.launch_landing(LandingWork::Working(one));
        }
        for one in found.landings_claimed {
            self.launch_landing(LandingWork::Claimed(one));
        }
    }

    /// Asks in one read for which steps the record has anything.
    pub(super) async fn peek(&self) -> Result<Peeked, RecordError> {
        self.cx
            .deps
            .record
            .reads
            .peek(self.cx.deps.machine.id, &self.agents())
            .await
    }

    /// The routes that this machine can drive.
    pub(super) fn agents(&self) -> Vec<String> {
        self.cx.deps.agents.now().keys().cloned().collect()
    }
}
