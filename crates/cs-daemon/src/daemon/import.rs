//! Making up for a lost ledger: what the record holds for running here, and the ledger does not know (RC-4).
//!
//! A claim whose daemon has lost its ledger may come to the record only when the next daemon has made up for that loss. So it is looked
//! for at the start of every daemon, and now and then while one stays.
//!
//! The token of an attempt is beside its execution, so that what was begun is taken up. What never got that far has left no
//! trace: it is given back. A landing is given back as well, since git knows what became of its move.

use std::collections::BTreeSet;
use std::time::Duration;

use cs_model::{LandingId, LandingState, RunId};
use cs_record::{CardFilter, HeldProcess};

use tokio::time::Instant;

use super::Daemon;
use crate::attempt::{Trouble, lost, unlisted};
use crate::borders::Border;

/// How often a daemon that stays looks for what nothing on its disk answers for.
const COMPARE_EVERY: Duration = Duration::from_secs(10 * 60);

impl Daemon {
    /// Takes in what the ledger does not know. Says whether it took in anything. Every claim of this machine is confirmed or cancelled
    /// by then: what the record holds for running here and nothing answers for is lost.
    pub(super) async fn import(&mut self) -> Result<bool, Trouble> {
        let is_compared = self.compared_at.is_some_and(|at| at.elapsed() < COMPARE_EVERY);
        if is_compared && !self.cx.journal.import_needed() {
            return Ok(false);
        }
        // What is carried now may be over before the record is read.
        let carried: BTreeSet<RunId> = self.flights.keys().copied().collect();
        let landed: BTreeSet<LandingId> = self.landings.keys().copied().collect();
        let mut any = false;
        for held in self
            .cx
            .deps
            .record
            .reads
            .running_runs(self.cx.deps.machine.id)
            .await?
        {
            if carried.contains(&held.run) {
                continue;
            }
            any |= self.import_run(&held).await?;
            self.cx.deps.borders.reach(Border::P23);
        }
        self.hand_back_landings(&landed).await?;
        if self.cx.journal.import_needed() {
            self.cx.journal.import_complete()?;
        }
        self.compared_at = Some(Instant::now());
        Ok(any)
    }

    async fn import_run(&self, held: &HeldProcess) -> Result<bool, Trouble> {
        if self.cx.journal.holds_run(held.run) {
            return Ok(false);
        }
        let executions = &self.cx.deps.executions;
        let names = executions.names(held.run, held.epoch).await.map_err(unlisted)?;
        let last = match names.last() {
            Some(name) => executions.attempt(name).await.map(|file| (name, file)),
            None => None,
        };
        if let Some((name, file)) = last {
            let Some(claimed) = self.cx.journal.import(&file.row, &file.attempt)? else {
                return Ok(false);
            };
            // What the shim says decides: it is adopted when it runs, and given back when it never did.
            drop(claimed.prepare(name)?.registered("null")?);
            return Ok(true);
        }
        // Nothing here says that it ever ran: the system does.
        let is_gone = lost(&self.cx, held).await?;
        let (run, card) = (held.run.short(), held.card.short());
        let machine = self.cx.deps.machine.id;
        if is_gone
            && self
                .cx
                .deps
                .record
                .machines
                .hand_back_run(machine, held.run, held.epoch)
                .await?
        {
            self.cx.said(&format!(
                "run {run} of card {card} left no trace here: it is given back and starts again"
            ));
        } else {
            self.cx.said(&format!(
                "run {run} of card {card} ran here, and it is not proven that it is over: `cs-panel stop {card}` tries to end it"
            ));
        }
        Ok(false)
    }

    async fn hand_back_landings(&self, carried: &BTreeSet<LandingId>) -> Result<(), Trouble> {
        let machine = self.cx.deps.machine.id;
        // A card that lands is not over. One that cannot be read holds up no other: it is looked at again with the next comparison.
        let cards = self.cx.deps.record.cards.cards(CardFilter::Current).await?;
        for summary in cards.rows {
            let Some(landing) = summary.landing else { continue };
            let is_ours = landing.machine == machine && landing.state == LandingState::Running;
            if is_ours
                && !carried.contains(&landing.id)
                && !self.cx.journal.holds_landing(landing.id)
                && self
                    .cx
                    .deps
                    .record
                    .machines
                    .hand_back_landing(machine, landing.id, landing.epoch)
                    .await?
            {
                self.cx.said(&format!(
                    "the landing of card {} begins anew",
                    landing.card.short()
                ));
            }
        }
        Ok(())
    }
}
