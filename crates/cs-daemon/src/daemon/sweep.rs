//! The sweep of trees whose cards are over.

use std::collections::BTreeSet;

use cs_model::CardState;
use cs_record::{Card, CardFilter, CardSummary, RecordError};
use cs_settle::{DiskSpace, TreeFacts, TreeFate, tree_fate};

use super::Daemon;
use crate::report::chain;
use crate::trees::TreeError;

/// When trees are swept, and what was said of it.
#[derive(Debug)]
pub(super) struct Sweep {
    /// Whether a card may have come to its end since the last one.
    pub(super) is_due: bool,
    /// What was said of trees that stay.
    said: BTreeSet<String>,
}

impl Default for Sweep {
    fn default() -> Self {
        Self {
            is_due: true,
            said: BTreeSet::new(),
        }
    }
}

/// Why a tree was not swept.
#[derive(Debug, thiserror::Error)]
enum SweepTrouble {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Tree(#[from] TreeError),
}

impl Daemon {
    /// Puts the trees of cards that are over into the trash, once everything in them is saved. It looks at the start and after
    /// each landing, and runs within the pass, so that nothing can be started in a tree while it goes.
    pub(super) async fn sweep_trees(&mut self) {
        if !std::mem::take(&mut self.sweep.is_due) {
            return;
        }
        let cards = match self.cx.deps.record.cards.cards(CardFilter::All).await {
            Ok(cards) => cards.rows,
            Err(error) => {
                return self
                    .say_not_swept(format!("trees of finished cards stay for now: {}", chain(&error)));
            }
        };
        self.sweep_attachments(&cards).await;
        let cards = cards.into_iter().filter(|summary| self.may_be_swept(summary));
        for summary in cards.collect::<Vec<_>>() {
            if let Err(error) = self.sweep_tree(&summary.card).await {
                let card = summary.card.id.short();
                self.say_not_swept(format!(
                    "the tree of card {card}, which is over, stays for now: {}",
                    chain(&error)
                ));
            }
        }
    }

    /// Removes the files of cards that are over from this machine; the record keeps them.
    async fn sweep_attachments(&mut self, cards: &[CardSummary]) {
        let is_over = |summary: &&CardSummary| {
            let state = summary.card.state;
            let in_flight = summary
                .card
                .owner
                .is_some_and(|owner| self.cx.journal.holds_run(owner));
            matches!(state, CardState::Landed | CardState::Closed) && summary.live.is_none() && !in_flight
        };
        let over = cards
            .iter()
            .filter(is_over)
            .map(|summary| summary.card.id)
            .collect();
        if let Err(error) = crate::attempt::sweep_attachments(&self.cx.state, over).await {
            self.say_not_swept(format!("attachments of finished cards stay for now: {error}"));
        }
    }

    fn may_be_swept(&self, summary: &CardSummary) -> bool {
        let card = &summary.card;
        let here = card.machine == Some(self.cx.deps.machine.id);
        let in_flight = card.owner.is_some_and(|owner| self.cx.journal.holds_run(owner));
        here && !in_flight && summary.live.is_none() && summary.landing.is_none()
    }

    async fn sweep_tree(&self, card: &Card) -> Result<(), SweepTrouble> {
        let Some(owner) = card.owner else {
            return Ok(());
        };
        if !self.cx.deps.trees.is_there(card).await? {
            return Ok(());
        }
        let detail = self.cx.deps.record.cards.card(card.id).await?;
        let Some(run) = detail.runs.iter().find(|run| run.id == owner) else {
            return Ok(());
        };
        let facts = TreeFacts {
            kind: run.kind,
            run: run.state,
            card: detail.card.state,
            space: DiskSpace::Enough,
        };
        match tree_fate(&facts) {
            TreeFate::SalvageThenTrash => Ok(self.cx.deps.trees.retire(card, run.id, run.epoch).await?),
            TreeFate::Keep | TreeFate::SalvageThenKeep => Ok(()),
        }
    }

    /// Says it once, however often it is tried.
    fn say_not_swept(&mut self, why: String) {
        tracing::warn!(why, "a tree of a finished card was not swept");
        if self.sweep.said.insert(why.clone()) {
            self.cx.said(&why);
        }
    }
}
