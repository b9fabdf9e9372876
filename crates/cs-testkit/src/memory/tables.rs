//! The rows.

use std::collections::{BTreeMap, BTreeSet};

use cs_model::{
    AskId, AskState, AttachmentId, CardId, CodebaseId, Epoch, LandingId, MachineId, OperationId, PauseKind,
    RuleId, RunId, RunState, Time, TurnId, TurnState,
};
use cs_record::{
    Aggregate, Ask, Attachment, Card, Codebase, CodebaseLimits, Content, Dependency, JournalRow, Landing,
    Limits, LiveLimit, Machine, Park, Pause, Route, Run, Scope, Serves, StandingRule, Turn, TurnMark,
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
    pub(super) pauses: BTreeMap<Scope, Pause>,
    pub(super) limits: BTreeMap<Scope, LiveLimit>,
    pub(super) parks: BTreeMap<Route, Park>,
    pub(super) dependencies: BTreeSet<Dependency>,
    /// The machines that take everybody's cards.
    pub(super) everyones: BTreeSet<MachineId>,
    /// Briefs and reports by run and epoch.
    pub(super) texts: BTreeMap<(RunId, Epoch), String>,
    pub(super) attachments: BTreeMap<AttachmentId, (Attachment, Content)>,
    pub(super) standing: BTreeMap<RuleId, StandingRule>,
    /// When each journal row was written.
    pub(super) journaled_at: BTreeMap<OperationId, Time>,
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
            let unread = run.parent.is_some() && !run.read_back;
            let busy = run.goes_on() || run.process.is_some();
            run.card == id && (card.owner == Some(run.id) || busy || unread || named.runs.contains(&run.id))
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
            waits_for: self.waits_for(id),
        }
    }

    /// The cards that a card waits for and that are not done.
    pub(super) fn waits_for(&self, card: CardId) -> Vec<CardId> {
        let earlier = self
            .dependencies
            .iter()
            .filter(|dependency| dependency.card == card);
        let waits = |after: &CardId| self.cards.get(after).is_some_and(|card| !card.done);
        earlier.map(|dependency| dependency.after).filter(waits).collect()
    }

    /// Says whether a card waits for another one, over any number of others.
    pub(super) fn reaches(&self, from: CardId, to: CardId) -> bool {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(card) = next.pop() {
            if card == to {
                return true;
            }
            if seen.insert(card) {
                let earlier = self
                    .dependencies
                    .iter()
                    .filter(|dependency| dependency.card == card);
                next.extend(earlier.map(|dependency| dependency.after));
            }
        }
        false
    }

    pub(super) fn codebase_name(&self, card: &Card) -> Option<String> {
        card.codebase
            .and_then(|id| self.codebases.get(&id))
            .map(|codebase| codebase.name.clone())
    }

    /// The strictest pause of these scopes.
    fn pause_of(&self, scopes: &[Scope]) -> Option<PauseKind> {
        let kinds = scopes
            .iter()
            .filter_map(|scope| self.pauses.get(scope))
            .map(|pause| pause.kind);
        kinds.min_by_key(|kind| match kind {
            PauseKind::Pause => 0,
            PauseKind::Drain => 1,
        })
    }

    /// How many more runs may be live in a scope.
    fn free(&self, scope: Scope) -> Option<u32> {
        let limit = self.limits.get(&scope)?;
        let live = self.runs.values().filter(|run| {
            let here = match scope {
                Scope::Everything => true,
                Scope::Machine(machine) => run.machine == machine,
                Scope::Codebase(codebase) => run.codebase == Some(codebase),
            };
            here && (run.state == RunState::Running || run.process.is_some())
        });
        let live = u32::try_from(live.count()).unwrap_or(u32::MAX);
        Some(limit.most.saturating_sub(live))
    }

    /// What limits the takes of a machine.
    pub(super) fn limits_of(&self, machine: MachineId, now: Time) -> Limits {
        let mine = self.checkouts.iter().filter(|(owner, _)| *owner == machine);
        let limits = |codebase: CodebaseId| CodebaseLimits {
            pause: self.pause_of(&[Scope::Codebase(codebase)]),
            free: self.free(Scope::Codebase(codebase)),
        };
        let parks = self
            .parks
            .values()
            .filter(|park| park.route.machine == machine && park.holds(now));
        Limits {
            pause: self.pause_of(&[Scope::Everything, Scope::Machine(machine)]),
            free: self.free(Scope::Machine(machine)),
            codebases: mine.map(|(_, codebase)| (*codebase, limits(*codebase))).collect(),
            parked: parks.map(|park| park.route.agent.clone()).collect(),
            serves: match self.machines.get(&machine) {
                Some((row, _)) if !self.everyones.contains(&machine) => Serves::Only(row.person.clone()),
                Some(_) | None => Serves::Everyone,
            },
        }
    }
}
