//! The sweep of what cards leave that are over: trees, attachments, and the names of their agents' conversations.

use std::collections::BTreeSet;
use std::sync::Arc;

use cs_model::{CardId, CardState};
use cs_record::{Card, CardFilter, CardSummary, RecordError};
use cs_settle::{DiskSpace, TreeFacts, TreeFate, tree_fate};
use tokio::task::JoinSet;

use super::Daemon;
use crate::attempt::sweep_attachments;
use crate::context::Context;
use crate::report::chain;
use crate::trees::TreeError;

/// When is swept, what is being swept, and what was said of it.
#[derive(Debug)]
pub(super) struct Sweep {
    /// Whether a card may have come to its end since the last one.
    is_due: bool,
    /// Brings the reasons why trees stay. Saving what is in a tree takes its time, and no pass waits for it.
    task: JoinSet<Vec<String>>,
    /// The cards whose trees the task may be sweeping.
    cards: BTreeSet<CardId>,
    /// What was said of trees that stay.
    said: BTreeSet<String>,
}

impl Default for Sweep {
    fn default() -> Self {
        Self {
            is_due: true,
            task: JoinSet::new(),
            cards: BTreeSet::new(),
            said: BTreeSet::new(),
        }
    }
}

impl Sweep {
    /// Says that a card may have come to its end.
    pub(super) const fn ask(&mut self) {
        self.is_due = true;
    }

    /// Says whether a sweep is to begin.
    pub(super) fn is_due(&self) -> bool {
        self.is_due && self.task.is_empty()
    }

    /// Says whether nothing is being swept.
    pub(super) fn is_idle(&self) -> bool {
        self.task.is_empty()
    }

    /// Ends the sweep; a tree that was on its way is found again by the next one.
    pub(super) async fn shutdown(&mut self) {
        self.task.shutdown().await;
    }

    /// Says whether the tree of a card may be on its way to the trash just now, so that nothing is to start in it.
    pub(super) fn has(&self, card: CardId) -> bool {
        self.cards.contains(&card)
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
    /// Forgets the conversations of closed cards, and begins to remove the attachments of cards that are over, which the record keeps, and
    /// to put their trees into the trash, once everything in them is saved. It looks at the start, after each landing and once a day. Until it is over no attempt of these cards starts here.
    pub(super) async fn sweep_over(&mut self) {
        if !self.sweep.is_due() {
            return;
        }
        self.sweep.is_due = false;
        let cards = match self.cx.deps.record.cards.cards(CardFilter::All).await {
            Ok(cards) => cards.rows,
            Err(error) => {
                return self
                    .say_not_swept(format!("trees of finished cards stay for now: {}", chain(&error)));
            }
        };
        self.forget_conversations(&cards);
        let over = cards.into_iter().filter(|summary| self.is_over(summary));
        let over: Vec<Card> = over.map(|summary| summary.card).collect();
        if over.is_empty() {
            return;
        }
        self.sweep.cards = over.iter().map(|card| card.id).collect();
        let cx = Arc::clone(&self.cx);
        self.sweep.task.spawn(async move {
            let stay = sweep(&cx, &over).await;
            cx.wake.notify_one();
            stay
        });
    }

    /// Takes back what a sweep brings, if one is over.
    pub(super) fn end_sweep(&mut self) {
        while let Some(swept) = self.sweep.task.try_join_next() {
            self.sweep.cards.clear();
            match swept {
                Ok(stay) => stay.into_iter().for_each(|why| self.say_not_swept(why)),
                Err(error) => self.troubled("the sweep of trees".to_owned(), &error),
            }
        }
    }

    /// Forgets which conversation the agents of closed cards had (OW-18). Should one be opened again, its agent is told all that was said.
    fn forget_conversations(&self, cards: &[CardSummary]) {
        let closed = cards
            .iter()
            .filter(|summary| summary.card.state == CardState::Closed);
        for owner in closed.filter_map(|summary| summary.card.owner) {
            if self.flights.contains_key(&owner) || self.cx.journal.holds_run(owner) {
                continue;
            }
            if let Err(error) = self.cx.journal.forget_session(owner) {
                tracing::warn!(%owner, error = &error as &dyn std::error::Error, "the conversation of a closed card is noted still");
            }
        }
    }

    fn is_over(&self, summary: &CardSummary) -> bool {
        let card = &summary.card;
        let is_over = match card.state {
            CardState::Landed | CardState::Closed => true,
            CardState::Open | CardState::Failed | CardState::Stopped => false,
        };
        let in_flight = card.owner.is_some_and(|owner| self.cx.journal.holds_run(owner));
        is_over && !in_flight && summary.live.is_none() && summary.landing.is_none()
    }

    /// Says it once, however often it is tried.
    fn say_not_swept(&mut self, why: String) {
        tracing::warn!(why, "a tree of a finished card was not swept");
        if self.sweep.said.insert(why.clone()) {
            self.cx.said(&why);
        }
    }
}

/// Sweeps what cards that are over have left here. Gives back why something stays.
async fn sweep(cx: &Context, over: &[Card]) -> Vec<String> {
    let mut stay = Vec::new();
    let ids = over.iter().map(|card| card.id).collect();
    if let Err(error) = sweep_attachments(&cx.state, ids).await {
        stay.push(format!("attachments of finished cards stay for now: {error}"));
    }
    for card in over
        .iter()
        .filter(|card| card.machine == Some(cx.deps.machine.id))
    {
        if let Err(error) = sweep_tree(cx, card).await {
            stay.push(format!(
                "the tree of card {}, which is over, stays for now: {}",
                card.id.short(),
                chain(&error)
            ));
        }
    }
    stay
}

async fn sweep_tree(cx: &Context, card: &Card) -> Result<(), SweepTrouble> {
    let Some(owner) = card.owner else {
        return Ok(());
    };
    if !cx.deps.trees.is_there(card).await? {
        return Ok(());
    }
    // What was read before may have changed; what changes from here on starts nothing here.
    let detail = cx.deps.record.cards.card(card.id).await?;
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
        TreeFate::SalvageThenTrash => Ok(cx.deps.trees.retire(card, run.id, run.epoch).await?),
        TreeFate::Keep | TreeFate::SalvageThenKeep => Ok(()),
    }
}
