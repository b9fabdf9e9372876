//! One pass: its steps, and their order, which is what keeps it safe ([`Step::ORDER`]).
//!
//! A pass waits for nothing but the record and the ledger: an attempt, a landing, the sweep of a tree and a push are tasks of their own.

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

/// A step of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Room,
    Presence,
    Incomplete,
    Reconcile,
    Peek,
    Stopped,
    Recovered,
    Redirects,
    Admission,
    Over,
    Take,
    Publications,
    Forget,
}

impl Step {
    /// The steps in their order, each with what its place protects.
    const ORDER: &[(Self, &str)] = &[
        (
            Self::Room,
            "the record may be on the same disk as this machine's state",
        ),
        (Self::Presence, "nobody else is this machine while it acts"),
        (
            Self::Incomplete,
            "what somebody has ended frees its slot before the others are counted",
        ),
        (
            Self::Reconcile,
            "outcomes, claims and interruptions of before are known before anything is begun",
        ),
        (
            Self::Peek,
            "a claim is begun only for what the record has; it is a hint, the claim decides",
        ),
        (Self::Stopped, "the one thing that a person waits for"),
        (Self::Recovered, "what was taken goes before what is new"),
        (
            Self::Redirects,
            "an owner that is corrected ends before work of less weight is taken",
        ),
        (Self::Admission, "nothing is taken that may not start"),
        (
            Self::Over,
            "no tree of a card that is over is swept once its next attempt may work in it",
        ),
        (
            Self::Take,
            "resumes, then turns, then re-arms, which see the fresh run (TL-10), then landings",
        ),
        (
            Self::Publications,
            "what is pushed beside landings delays no work",
        ),
        (Self::Forget, "upkeep delays nothing"),
    ];
}

/// What the steps of one pass have found so far.
#[derive(Debug, Default)]
struct Found {
    recovered: Recovered,
    peeked: Peeked,
    is_open: bool,
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
        let mut found = Found::default();
        for (step, _) in Step::ORDER {
            self.step(*step, &mut found).await?;
        }
        Ok(())
    }

    async fn step(&mut self, step: Step, found: &mut Found) -> Result<(), PassTrouble> {
        match step {
            Step::Room => self.say_room(),
            Step::Presence => self.presence.say(&self.cx).await.map_err(PassTrouble::Presence)?,
            Step::Incomplete => {
                self.end_sweep();
                self.look_at_incomplete().await;
            }
            Step::Reconcile => found.recovered = self.reconcile().await?,
            Step::Peek => {
                found.peeked = self.cx.peek().await.map_err(PassTrouble::Look)?;
                self.next_due = found.peeked.next_due;
            }
            Step::Stopped if found.peeked.to_close => {
                self.close_stopped().await.map_err(PassTrouble::Stops)?;
            }
            Step::Stopped => {}
            Step::Recovered => self.carry_on(std::mem::take(&mut found.recovered)),
            Step::Redirects => self.redirect(&found.peeked).await.map_err(PassTrouble::Look)?,
            Step::Admission => found.is_open = self.admit(&found.peeked).await?,
            Step::Over if found.is_open => self.sweep_over().await,
            Step::Take if found.is_open => {
                self.cx.deps.borders.reach(Border::P1);
                self.take_work(&found.peeked).await.map_err(PassTrouble::Take)?;
            }
            Step::Over | Step::Take => {}
            // A daemon without slots is there for a moment only.
            Step::Publications if self.cx.deps.settings.slots > 0 => self.publications.take_up(&self.cx),
            Step::Publications => {}
            Step::Forget => self.forget_old().await,
        }
        Ok(())
    }

    /// Says whether new work may start. It is asked only when there is something to do with it.
    async fn admit(&mut self, peeked: &Peeked) -> Result<bool, PassTrouble> {
        self.admission = None;
        if !(self.sweep.is_due() || self.could_take(peeked)) {
            return Ok(false);
        }
        let admission = self.cx.admission(None).await.map_err(PassTrouble::Look)?;
        let is_open = admission == Admission::Open;
        self.admission = Some(admission);
        Ok(is_open)
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
}
