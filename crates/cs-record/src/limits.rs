//! What limits the takes of a machine: pauses, numbers of live runs, parked routes, and whose cards it takes.

use std::collections::{BTreeMap, BTreeSet};

use cs_model::{AgentName, CardId, CodebaseId, FailureClass, MachineId, PauseKind, Person, Time};

use crate::Card;

/// What a pause or a limit covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Every machine.
    Everything,
    /// One machine.
    Machine(MachineId),
    /// One codebase, on every machine.
    Codebase(CodebaseId),
}

/// A pause: less or no new work starts where it covers. It is read by the take in its own transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// What it covers.
    pub scope: Scope,
    /// What it still lets through.
    pub kind: PauseKind,
    /// Why, for people.
    pub reason: Option<String>,
    /// Who paused.
    pub by: Person,
    /// Since when.
    pub at: Time,
}

/// How many runs may be live at once where it covers, whoever starts them. A run counts until its process is proven gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveLimit {
    /// What it covers: a machine or a codebase.
    pub scope: Scope,
    /// How many; 0 starts nothing.
    pub most: u32,
    /// Who set it.
    pub by: Person,
    /// When.
    pub at: Time,
}

/// A harness on a machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// The machine.
    pub machine: MachineId,
    /// The agent as it is configured there.
    pub agent: AgentName,
}

/// A route that takes no work for now, since its provider refused: a limit, the credit, the sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Park {
    /// The route.
    pub route: Route,
    /// Why.
    pub class: FailureClass,
    /// Why, for people: no local path.
    pub reason: String,
    /// Since when.
    pub since: Time,
    /// Until when; nothing waits for a person or a success.
    pub until: Option<Time>,
}

/// Says that a route works: an attempt that began after it was parked has succeeded on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpark {
    /// The route.
    pub route: Route,
    /// When that attempt began: a park that is younger stays.
    pub began_at: Time,
}

impl Park {
    /// Says whether the route takes no work at this time.
    #[must_use]
    pub fn holds(&self, now: Time) -> bool {
        self.until.is_none_or(|until| until > now)
    }
}

/// A card that waits for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependency {
    /// The card that waits.
    pub card: CardId,
    /// The card that has to be done first.
    pub after: CardId,
}

/// Whose cards a machine takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Serves {
    /// Those of anybody.
    Everyone,
    /// Those of this person.
    Only(Person),
}

impl Serves {
    /// Says whether the cards of a person are among them.
    #[must_use]
    pub fn covers(&self, person: &Person) -> bool {
        match self {
            Self::Everyone => true,
            Self::Only(own) => own == person,
        }
    }
}

/// A codebase that the taking machine has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CodebaseLimits {
    /// The strictest pause that covers it.
    pub pause: Option<PauseKind>,
    /// How many more runs may be live on it; nothing when there is no limit.
    pub free: Option<u32>,
}

/// The rows beside the card that a take must respect, locked before the cards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The strictest pause that covers everything or the machine.
    pub pause: Option<PauseKind>,
    /// How many more runs may be live on the machine; nothing when there is no limit.
    pub free: Option<u32>,
    /// The codebases that the machine has.
    pub codebases: BTreeMap<CodebaseId, CodebaseLimits>,
    /// The agents of the machine whose route is parked.
    pub parked: BTreeSet<AgentName>,
    /// Whose cards the machine takes.
    pub serves: Serves,
}

impl Default for Limits {
    /// No limit, and no codebase.
    fn default() -> Self {
        Self {
            pause: None,
            free: None,
            codebases: BTreeMap::new(),
            parked: BTreeSet::new(),
            serves: Serves::Everyone,
        }
    }
}

impl Limits {
    /// Says whether work of this codebase may be started here, as far as codebases, pauses and numbers say.
    /// `begun`: whether a machine has begun the card already, which a drain lets through.
    #[must_use]
    pub fn leave_room(&self, codebase: Option<CodebaseId>, begun: bool) -> bool {
        let open = |pause: Option<PauseKind>| match pause {
            None => true,
            Some(PauseKind::Drain) => begun,
            Some(PauseKind::Pause) => false,
        };
        let here = open(self.pause) && self.free != Some(0);
        let there = codebase.is_none_or(|codebase| {
            let limits = self.codebases.get(&codebase);
            limits.is_some_and(|limits| open(limits.pause) && limits.free != Some(0))
        });
        here && there
    }

    /// Says whether the machine may start a card that is ready, apart from its time: room, its codebase (WT-1), its tree, its
    /// person, its route.
    #[must_use]
    pub fn let_through(&self, card: &Card, machine: MachineId, agents: &[String]) -> bool {
        self.leave_room(card.codebase, card.machine.is_some())
            && card.machine.is_none_or(|holder| holder == machine)
            && self.serves.covers(&card.person)
            && agents.iter().any(|agent| agent == card.agent.as_str())
    }

    /// Counts a run that was just started.
    pub fn count(&mut self, codebase: Option<CodebaseId>) {
        self.free = self.free.map(|free| free.saturating_sub(1));
        if let Some(limits) = codebase.and_then(|codebase| self.codebases.get_mut(&codebase)) {
            limits.free = limits.free.map(|free| free.saturating_sub(1));
        }
    }
}
