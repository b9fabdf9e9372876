//! Taking work: a claim for each kind that the record has, as much as there are free slots.

use cs_journal::{Task, Want};
use cs_model::RunId;
use cs_record::Peeked;

use super::Daemon;
use crate::attempt::{Trouble, Work};
use crate::borders::Border;
use crate::landing::LandingWork;

/// How many landings are taken at once. Those of one base come one after the other all the same.
const LANDINGS_AT_ONCE: u32 = 4;

impl Daemon {
    /// Says whether the record has anything that this daemon may take.
    pub(super) fn could_take(&self, peeked: &Peeked) -> bool {
        let Peeked {
            turns,
            rearms,
            resumes,
            recovery,
            landings,
            to_close: _,
            next_due: _,
            redirects: _,
        } = peeked;
        self.cx.deps.settings.slots > 0 && (*turns || *rearms || *resumes || *recovery || *landings)
    }

    /// Takes what the record has: what a person wants tried, resumes, turns, re-arms, landings. Turns come before re-arms, which then see the fresh run
    /// and leave that card alone (TL-10).
    pub(super) async fn take_work(&mut self, peeked: &Peeked) -> Result<(), Trouble> {
        if self.cx.deps.settings.slots == 0 {
            return Ok(());
        }
        for (there, task) in [
            (peeked.recovery, Task::Recovery),
            (peeked.resumes, Task::Resumes),
            (peeked.turns, Task::Turns),
            (peeked.rearms, Task::Rearms),
        ] {
            let limit = self.free_slots();
            if there && limit > 0 {
                self.take_runs(task, limit).await?;
            }
        }
        let limit = LANDINGS_AT_ONCE.saturating_sub(u32::try_from(self.landings.len()).unwrap_or(u32::MAX));
        if peeked.landings && limit > 0 {
            self.take_landings(limit).await?;
        }
        Ok(())
    }

    /// How many more runs may be live. A run keeps its slot until its end is proven, also while nobody here can carry it on.
    fn free_slots(&self) -> u32 {
        let is_known = |run: &RunId| self.cx.journal.holds_run(*run);
        let leftovers = self.flights.keys().filter(|run| !is_known(run)).count();
        let taken = self.cx.journal.runs_held() + leftovers;
        self.cx
            .deps
            .settings
            .slots
            .saturating_sub(u32::try_from(taken).unwrap_or(u32::MAX))
    }

    async fn take_runs(&mut self, task: Task, limit: u32) -> Result<(), Trouble> {
        let want = Want {
            task,
            limit,
            agents: self.cx.agents(),
        };
        let journal = self.cx.journal.clone();
        let mut window = journal.claim(&want).await?;
        self.cx.deps.borders.reach(Border::P5);
        let adopted = window.adopt_all();
        if want.task == Task::Turns && !adopted.is_empty() {
            self.cx.deps.borders.reach(Border::P26);
        }
        for (place, claimed) in adopted.into_iter().enumerate() {
            if want.task == Task::Rearms && place == 1 {
                self.cx.deps.borders.reach(Border::P25);
            }
            let (attempt, card) = (claimed.attempt(), claimed.row().card);
            self.launch_next(&attempt, card, Work::Claimed(claimed));
        }
        window.finish();
        Ok(())
    }

    async fn take_landings(&mut self, limit: u32) -> Result<(), Trouble> {
        let want = Want {
            task: Task::Landings,
            limit,
            agents: Vec::new(),
        };
        let journal = self.cx.journal.clone();
        let mut window = journal.claim(&want).await?;
        for claimed in window.adopt_all_landings() {
            self.launch_landing(LandingWork::Claimed(claimed));
        }
        window.finish();
        Ok(())
    }
}
