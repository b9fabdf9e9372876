//! Which cards a selection locks.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use cs_model::{CardId, CardState, LandingState, MachineId, PauseKind, Time};
use cs_record::{Aggregate, Card, Earlier, Facts, Landing, Limits, Offer, ReadyFor, Scope, Select};

use super::tables::{Named, Tables};

impl Tables {
    /// Reads what a selection locks.
    pub(super) fn facts(&self, select: &Select, now: Time) -> Facts {
        let limits = match select {
            Select::Ready { machine, .. }
            | Select::Landings { machine, .. }
            | Select::Start { machine, .. } => self.limits_of(*machine, now),
            Select::Runs(_)
            | Select::Card(_)
            | Select::Files(_)
            | Select::Send { .. }
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
        Facts {
            now,
            limits,
            earlier: self.earlier(select),
            attached: select
                .card_of_files()
                .map(|card| self.attachments_of(card))
                .unwrap_or_default(),
            cards,
        }
    }

    fn earlier(&self, select: &Select) -> Vec<Earlier> {
        let Select::Send { card, after, .. } = select else {
            return Vec::new();
        };
        let known: BTreeSet<CardId> = after
            .iter()
            .copied()
            .filter(|id| self.cards.contains_key(id))
            .collect();
        let earlier = |after: CardId| Earlier {
            card: after,
            waits_for_it: self.reaches(after, *card),
        };
        known.into_iter().map(earlier).collect()
    }

    fn selected(&self, select: &Select, now: Time) -> Vec<CardId> {
        match select {
            Select::Ready {
                what,
                machine,
                agents,
                limit,
            } => {
                let limits = self.limits_of(*machine, now);
                let mut ready: Vec<_> = self
                    .offered(*machine, agents, &limits)
                    .filter(|card| is_offered(card, *what, &limits) && card.ready.from <= now)
                    .map(|card| (Reverse(card.priority), card.ready.from, card.id))
                    .collect();
                ready.sort();
                ready
                    .into_iter()
                    .map(|(_, _, id)| id)
                    .take(count(*limit))
                    .collect()
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
            Select::Start { run, .. } => self.runs.get(run).map(|run| run.card).into_iter().collect(),
            Select::Card(card)
            | Select::Files(card)
            | Select::Send { card, .. }
            | Select::CardLanding(card, _) => vec![*card],
            Select::Ask(ask) => self.asks.get(ask).map(|ask| ask.card).into_iter().collect(),
            Select::Landing(landing) => self
                .landings
                .get(landing)
                .map(|landing| landing.card)
                .into_iter()
                .collect(),
        }
    }

    /// The cards that are ready for anything, that a machine may have, and that wait for no other.
    pub(super) fn offered<'a>(
        &'a self,
        machine: MachineId,
        agents: &'a [String],
        limits: &'a Limits,
    ) -> impl Iterator<Item = &'a Card> {
        self.cards.values().filter(move |card| {
            card.state == CardState::Open
                && card.ready.what != ReadyFor::Nothing
                && limits.let_through(card, machine, agents)
                && self.waits_for(card.id).is_empty()
        })
    }

    /// The landings that a machine may take now: the first accepted of each base of a codebase that has none
    /// running.
    pub(super) fn takeable_landings(&self, machine: MachineId) -> Vec<&Landing> {
        let accepted =
            |landing: &&Landing| landing.state == LandingState::Accepted && landing.machine == machine;
        let same_base =
            |one: &Landing, other: &Landing| one.codebase == other.codebase && one.base == other.base;
        let first = |landing: &&Landing| {
            let others = self.landings.values().filter(accepted);
            let mut earlier = others.filter(|other| same_base(landing, other));
            earlier.all(|other| (landing.accepted_at, landing.id) <= (other.accepted_at, other.id))
        };
        let free = |landing: &&Landing| {
            let mut same = self.landings.values().filter(|other| same_base(landing, other));
            same.all(|other| other.state != LandingState::Running)
        };
        let proven_gone = |landing: &&Landing| {
            let mut runs = self.runs.values().filter(|run| run.card == landing.card);
            runs.all(|run| run.process.is_none())
        };
        let open = |landing: &&Landing| {
            let scopes = [
                Scope::Everything,
                Scope::Machine(machine),
                Scope::Codebase(landing.codebase),
            ];
            let mut pauses = scopes.iter().filter_map(|scope| self.pauses.get(scope));
            pauses.all(|pause| pause.kind != PauseKind::Pause)
        };
        self.landings
            .values()
            .filter(accepted)
            .filter(first)
            .filter(free)
            .filter(proven_gone)
            .filter(open)
            .collect()
    }
}

/// Says whether a ready card is among those that a selection asks for.
pub(super) fn is_offered(card: &Card, what: Offer, limits: &Limits) -> bool {
    match what {
        Offer::Ready(what) => card.ready.what == what && !limits.parked.contains(&card.agent),
        Offer::Recovery => card.recovery,
    }
}

fn count(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

fn named(select: &Select) -> Named {
    let mut named = Named::default();
    match select {
        Select::Ready { .. } | Select::Landings { .. } | Select::Card(_) | Select::Files(_) => {}
        Select::Runs(runs) => named.runs.clone_from(runs),
        Select::Start { run, .. } => named.runs.push(*run),
        Select::Send { turn, .. } => named.turn = Some(*turn),
        Select::Ask(ask) => named.ask = Some(*ask),
        Select::CardLanding(_, landing) | Select::Landing(landing) => named.landing = Some(*landing),
    }
    named
}
