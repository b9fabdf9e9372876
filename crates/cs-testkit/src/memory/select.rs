//! Which cards a selection locks.

use cs_model::{CardId, CardState, LandingState, MachineId, Time};
use cs_record::{Aggregate, Card, Facts, Landing, Limits, ReadyFor, Select};

use super::tables::{Named, Tables};

impl Tables {
    /// Reads what a selection locks.
    pub(super) fn facts(&self, select: &Select, now: Time) -> Facts {
        let limits = match select {
            Select::Ready { machine, .. } | Select::Landings { machine, .. } => self.limits(*machine),
            Select::Runs(_)
            | Select::Card(_)
            | Select::Turn(..)
            | Select::Ask(_)
            | Select::CardLanding(..)
            | Select::Landing(_) => Limits::default(),
        };
        let named = named(select);
        let found = self.selected(select, now);
        let cards: Vec<Aggregate> = found
            .iter()
            .filter_map(|id| self.cards.get(id))
            .map(|card| self.aggregate(card, &named))
            .collect();
        Facts { now, limits, cards }
    }

    fn limits(&self, machine: MachineId) -> Limits {
        let mine = self.checkouts.iter().filter(|(owner, _)| *owner == machine);
        Limits {
            paused: self.is_paused(machine),
            codebases: mine.map(|(_, codebase)| *codebase).collect(),
        }
    }

    fn selected(&self, select: &Select, now: Time) -> Vec<CardId> {
        match select {
            Select::Ready {
                what,
                machine,
                agents,
                limit,
            } => {
                let mut ready: Vec<_> = self
                    .offered(*machine, agents)
                    .filter(|card| card.ready.what == *what && card.ready.from <= now)
                    .map(|card| (card.ready.from, card.id))
                    .collect();
                ready.sort();
                ready.into_iter().map(|(_, id)| id).take(count(*limit)).collect()
            }
            Select::Landings { machine, limit } => {
                let mut landings = self.takeable_landings(*machine);
                landings.sort_by_key(|landing| (landing.accepted_at, landing.id));
                landings
                    .into_iter()
                    .map(|landing| landing.card)
                    .take(count(*limit))
                    .collect()
            }
            Select::Runs(runs) => {
                let mut cards: Vec<_> = runs
                    .iter()
                    .filter_map(|id| self.runs.get(id))
                    .map(|run| run.card)
                    .collect();
                cards.sort();
                cards.dedup();
                cards
            }
            Select::Card(card) | Select::Turn(card, _) | Select::CardLanding(card, _) => vec![*card],
            Select::Ask(ask) => self.asks.get(ask).map(|ask| ask.card).into_iter().collect(),
            Select::Landing(landing) => self
                .landings
                .get(landing)
                .map(|landing| landing.card)
                .into_iter()
                .collect(),
        }
    }

    /// The cards that are ready for anything and that a machine may have.
    pub(super) fn offered<'a>(
        &'a self,
        machine: MachineId,
        agents: &'a [String],
    ) -> impl Iterator<Item = &'a Card> {
        let paused = self.is_paused(machine);
        self.cards.values().filter(move |card| {
            !paused
                && card.state == CardState::Open
                && card.ready.what != ReadyFor::Nothing
                && card.machine.is_none_or(|holder| holder == machine)
                && card
                    .codebase
                    .is_none_or(|codebase| self.checkouts.contains(&(machine, codebase)))
                && agents.iter().any(|agent| agent == card.agent.as_str())
        })
    }

    /// The landings that a machine may take now: the first accepted of each codebase that has none running.
    pub(super) fn takeable_landings(&self, machine: MachineId) -> Vec<&Landing> {
        let accepted =
            |landing: &&Landing| landing.state == LandingState::Accepted && landing.machine == machine;
        let first = |landing: &&Landing| {
            let others = self.landings.values().filter(accepted);
            let mut earlier = others.filter(|other| other.codebase == landing.codebase);
            earlier.all(|other| (landing.accepted_at, landing.id) <= (other.accepted_at, other.id))
        };
        let free = |landing: &&Landing| {
            let mut same = self
                .landings
                .values()
                .filter(|other| other.codebase == landing.codebase);
            same.all(|other| other.state != LandingState::Running)
        };
        let proven_gone = |landing: &&Landing| {
            let owner = self.cards.get(&landing.card).and_then(|card| card.owner);
            owner
                .and_then(|owner| self.runs.get(&owner))
                .is_none_or(|run| run.process.is_none())
        };
        if self.is_paused(machine) {
            return Vec::new();
        }
        self.landings
            .values()
            .filter(accepted)
            .filter(first)
            .filter(free)
            .filter(proven_gone)
            .collect()
    }
}

fn count(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

fn named(select: &Select) -> Named {
    let mut named = Named::default();
    match select {
        Select::Ready { .. } | Select::Landings { .. } | Select::Card(_) => {}
        Select::Runs(runs) => named.runs.clone_from(runs),
        Select::Turn(_, turn) => named.turn = Some(*turn),
        Select::Ask(ask) => named.ask = Some(*ask),
        Select::CardLanding(_, landing) | Select::Landing(landing) => named.landing = Some(*landing),
    }
    named
}
