//! The rows.

use std::collections::{BTreeMap, BTreeSet};

use cs_model::{AskId, CardId, CodebaseId, LandingId, MachineId, OperationId, RunId, Time, TurnId};
use cs_model::{AskState, TurnState};
use cs_record::{
    Aggregate, Ask, Card, Codebase, JournalRow, Landing, Machine, Pause, PauseScope, Run, Turn, TurnMark,
};

/// All rows, each table by its primary key.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Tables {
    pub(super) cards: BTreeMap<CardId, Card>,
    pub(super) runs: BTreeMap<RunId, Run>,
    pub(super) turns: BTreeMap<TurnId, Turn>,
    pub(super) asks: BTreeMap<AskId, Ask>,
    pub(super) landings: BTreeMap<LandingId, Landing>,
    pub(super) journal: BTreeMap<OperationId, JournalRow>,
    pub(super) codebases: BTreeMap<CodebaseId, Codebase>,
    pub(super) checkouts: BTreeSet<(MachineId, CodebaseId)>,
    /// Each with the end of its presence.
    pub(super) machines: BTreeMap<MachineId, (Machine, Time)>,
    pub(super) pauses: BTreeMap<PauseScope, Pause>,
}

/// The rows that are loaded whatever their state.
#[derive(Debug, Clone, Default)]
pub(super) struct Named {
    pub(super) runs: Vec<RunId>,
    pub(super) turn: Option<TurnId>,
    pub(super) ask: Option<AskId>,
    pub(super) landing: Option<LandingId>,
}

impl Tables {
    /// Copies a card and what a decision looks at.
    pub(super) fn aggregate(&self, card: &Card, named: &Named) -> Aggregate {
        let id = card.id;
        let run = |run: &&Run| {
            run.card == id
                && (card.owner == Some(run.id) || run.state.is_live() || named.runs.contains(&run.id))
        };
        let turn = |turn: &&Turn| {
            let waits = matches!(turn.state, TurnState::Pending | TurnState::Leased);
            turn.card == id && (waits || named.turn == Some(turn.id))
        };
        let ask = |ask: &&Ask| {
            let waits = match ask.state {
                AskState::Open | AskState::Accepted => true,
                AskState::Answered => !ask.delivered,
                AskState::Withdrawn => false,
            };
            ask.card == id && (waits || named.ask == Some(ask.id))
        };
        let landing = |landing: &&Landing| {
            landing.card == id && (!landing.state.is_over() || named.landing == Some(landing.id))
        };
        let mut turns: Vec<_> = self.turns.values().filter(turn).map(TurnMark::from).collect();
        turns.sort_by_key(|turn| turn.seq);
        Aggregate {
            card: card.clone(),
            runs: self.runs.values().filter(run).cloned().collect(),
            turns,
            asks: self.asks.values().filter(ask).cloned().collect(),
            landings: self.landings.values().filter(landing).cloned().collect(),
        }
    }

    pub(super) fn codebase_name(&self, card: &Card) -> Option<String> {
        card.codebase
            .and_then(|id| self.codebases.get(&id))
            .map(|codebase| codebase.name.clone())
    }

    pub(super) fn is_paused(&self, machine: MachineId) -> bool {
        self.pauses.contains_key(&PauseScope::Everything)
            || self.pauses.contains_key(&PauseScope::Machine(machine))
    }
}
