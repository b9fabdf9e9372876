//! What people see of the record.

use std::fmt;

use async_trait::async_trait;
use cs_model::{AskId, AskState, AskTo, CardId, LandingState, TurnSeq, TurnState};

use crate::{Aggregate, Ask, Card, Landing, LeftBehind, Listed, RecordError, Run, Turn, TurnMark};

/// Which cards to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardFilter {
    /// Those that are not over: everything but landed and closed ones.
    Current,
    /// All.
    All,
}

/// A card in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardSummary {
    /// The card.
    pub card: Card,
    /// The name of its codebase.
    pub codebase: Option<String>,
    /// The run that is live on it.
    pub live: Option<Run>,
    /// What of any of its runs, live or over, could not be ended.
    pub left_behind: Option<LeftBehind>,
    /// Whether the process of a run that is over is not proven gone: nothing starts on the card before it is.
    pub is_ending: bool,
    /// Its questions to people, oldest first.
    pub open_asks: Vec<Ask>,
    /// Its turns that nobody has answered.
    pub waiting_turns: u32,
    /// Its landing that is not over.
    pub landing: Option<Landing>,
    /// How the landing stands that was accepted last, over or not.
    pub last_landing: Option<LandingState>,
    /// The cards that it waits for and that are not done, by id.
    pub waits_for: Vec<CardId>,
}

/// A card with all that belongs to it but its turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardDetail {
    /// The card.
    pub card: Card,
    /// The name of its codebase.
    pub codebase: Option<String>,
    /// Its runs, oldest first.
    pub runs: Vec<Run>,
    /// Its questions, oldest first.
    pub asks: Vec<Ask>,
    /// Its landings, oldest first.
    pub landings: Vec<Landing>,
    /// The cards that it waits for and that are not done, by id.
    pub waits_for: Vec<CardId>,
}

/// Reads for people. A read locks nothing and is consistent within one call.
#[async_trait]
pub trait CardReads: fmt::Debug + Send + Sync {
    /// Finds a card by its full id, by 4 or more of the last hexadecimal digits of it, or by 4 or more of the first of its last eight.
    ///
    /// # Errors
    /// Not found; ambiguous when several cards fit.
    async fn find_card(&self, given: &str) -> Result<CardId, RecordError>;

    /// Finds a question the same way.
    ///
    /// # Errors
    /// Not found; ambiguous when several fit.
    async fn find_ask(&self, given: &str) -> Result<AskId, RecordError>;

    /// Lists cards, the one that changed last first, and those that are on the record and cannot be shown, with the reason.
    ///
    /// # Errors
    /// When the record cannot answer.
    async fn cards(&self, filter: CardFilter) -> Result<Listed<CardSummary>, RecordError>;

    /// Reads a card with its runs, questions and landings.
    ///
    /// # Errors
    /// Not found for an unknown card; corrupt when a row of it does not decode, which it names.
    async fn card(&self, card: CardId) -> Result<CardDetail, RecordError>;

    /// Reads turns of a card after a place, in order, at most `limit`.
    ///
    /// # Errors
    /// Not found for an unknown card.
    async fn turns(&self, card: CardId, after: TurnSeq, limit: u32) -> Result<Vec<Turn>, RecordError>;

    /// Lists open questions to people, oldest first, each with the title of its card, and the cards of those that cannot be
    /// shown.
    ///
    /// # Errors
    /// When the record cannot answer.
    async fn open_asks(&self) -> Result<Listed<(Ask, String)>, RecordError>;
}

impl CardSummary {
    /// Makes the summary of a card from its aggregate, the name of its codebase and what came of its last landing.
    #[must_use]
    pub fn of(aggregate: Aggregate, codebase: Option<String>, last_landing: Option<LandingState>) -> Self {
        let unanswered = |turn: &&TurnMark| matches!(turn.state, TurnState::Pending | TurnState::Leased);
        let waiting = aggregate.turns.iter().filter(unanswered).count();
        let landing = aggregate.live_landing().cloned();
        let left_behind = aggregate.runs.iter().find_map(|run| run.left_behind.clone());
        let is_ending = aggregate.runs.iter().any(is_ending);
        let mut open_asks = aggregate.asks;
        open_asks.retain(|ask| ask.state == AskState::Open && ask.to == AskTo::Person);
        open_asks.sort_by_key(|ask| (ask.asked_at, ask.id));
        Self {
            codebase,
            live: live_run(&aggregate.card, aggregate.runs),
            left_behind,
            is_ending,
            open_asks,
            waiting_turns: u32::try_from(waiting).unwrap_or(u32::MAX),
            landing,
            last_landing,
            waits_for: aggregate.waits_for,
            card: aggregate.card,
        }
    }
}

/// Whether a run is over and its process is not proven gone.
fn is_ending(run: &Run) -> bool {
    !run.state.is_live() && run.process.is_some()
}

/// The run that a list shows: the owner when it is live, else any that is.
fn live_run(card: &Card, runs: Vec<Run>) -> Option<Run> {
    let live = runs.into_iter().filter(|run| run.state.is_live());
    live.min_by_key(|run| (Some(run.id) != card.owner, run.id))
}
