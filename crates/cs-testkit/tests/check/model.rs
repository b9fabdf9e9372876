//! The model: two machines, one card, the production rules and the production ledger, and every order of what can happen.

use std::sync::Arc;

use cs_journal::pure::Stage;
use cs_model::{Author, Epoch, RunState, TurnState};
use cs_record::JournalEntry;
use stateright::{Model, Property};

use crate::act::{Act, Bounds, faulty, progress, trouble};
use crate::machine::{Exec, Machine};
use crate::record::Rows;
use crate::seams::Variant;
use crate::state::{Facts, State, Violation};
use crate::step::step;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Claims {
    pub(crate) bounds: Bounds,
    pub(crate) variant: Variant,
}

impl Model for Claims {
    type State = State;
    type Action = Act;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            rows: Rows::new(),
            machines: [Arc::new(Machine::default()), Arc::new(Machine::default())],
            late: Vec::new(),
            left: self.bounds.left,
            facts: Facts::default(),
            violation: None,
        }]
    }

    fn actions(&self, state: &State, acts: &mut Vec<Act>) {
        if state.violation.is_some() {
            return;
        }
        progress(&self.bounds, self.variant, state, acts);
        if state.left.faults > 0 {
            let bad = faulty(acts);
            acts.extend(bad);
        }
        trouble(&self.bounds, state, acts);
    }

    fn next_state(&self, state: &State, act: Act) -> Option<State> {
        step(self.variant, state, act)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no effect of a stale attempt", |_, state: &State| {
                state.violation != Some(Violation::StaleEffect)
            }),
            Property::always(
                "an operation takes once, and cancelled never",
                |_, state: &State| state.violation != Some(Violation::TwiceOrCancelled),
            ),
            Property::always(
                "an attempt settles only the turns that its claim gave it",
                |_, state: &State| state.violation != Some(Violation::ForeignTurn),
            ),
            Property::always("an attempt is answered for once", |_, state: &State| {
                state.violation != Some(Violation::AnsweredTwice)
            }),
            Property::always(
                "the ledger takes every step of its own process",
                |_, state: &State| state.violation != Some(Violation::Refused),
            ),
            Property::always("the record takes what its rules decide", |_, state: &State| {
                state.violation != Some(Violation::Corrupt)
            }),
            Property::always("a run has one execution on a machine", |_, state: &State| {
                state.machines.iter().all(|machine| runs_once(machine))
            }),
            Property::always("every attempt has one owner on disk", |_, state: &State| {
                has_one_owner(state)
            }),
            Property::always(
                "an outcome is in the ledger until the record has answered",
                |_, state: &State| keeps_outcomes(state),
            ),
            Property::always(
                "a turn waits, or is held by a run that goes on, or is answered",
                |_, state: &State| keeps_turns(state),
            ),
            Property::always("what stops is at rest", |model: &Self, state: &State| {
                is_at_rest(model, state)
            }),
            Property::sometimes(
                "the last attempt answers everything",
                |model: &Self, state: &State| {
                    state.rows.epoch().get() == model.bounds.attempts
                        && state.left.turns == 0
                        && state
                            .rows
                            .turns
                            .iter()
                            .all(|turn| turn.state == TurnState::Settled)
                },
            ),
            Property::sometimes("the card goes to the other machine", |_, state: &State| {
                state
                    .machines
                    .iter()
                    .all(|machine| !machine.ledger.runs().is_empty())
            }),
        ]
    }
}

fn runs_once(machine: &Machine) -> bool {
    let live = machine
        .execs
        .values()
        .filter(|exec| matches!(exec, Exec::Held | Exec::Works));
    live.count() <= 1
}

/// Invariant 5. A running attempt is in exactly one ledger: as an attempt, or behind the operation that took it.
fn has_one_owner(state: &State) -> bool {
    let Some(run) = &state.rows.run else {
        return true;
    };
    let owners = |epoch: Epoch| {
        let entries = |machine: &Machine| {
            machine
                .ledger
                .runs()
                .keys()
                .filter(|(_, at)| *at == epoch)
                .count()
        };
        let pending = |machine: &Machine| {
            let took = |entry: &JournalEntry| match entry {
                JournalEntry::Claimed { receipt, .. } => receipt.runs.iter().any(|row| row.epoch == epoch),
                JournalEntry::Interrupted(_) | JournalEntry::Cancelled => false,
            };
            let claims = machine.ledger.claims().keys();
            claims
                .filter(|operation| state.rows.entry(**operation).is_some_and(took))
                .count()
        };
        let of = |machine: &Arc<Machine>| entries(machine) + pending(machine);
        state.machines.iter().map(of).sum::<usize>()
    };
    let all = (1..=run.epoch.get()).all(|epoch| owners(Epoch::new(epoch)) <= 1);
    all && (run.state != RunState::Running || owners(run.epoch) == 1)
}

/// Invariant 8.
fn keeps_outcomes(state: &State) -> bool {
    let mut told = state.facts.told.difference(&state.facts.heard);
    told.all(|epoch| {
        let mut entries = state.machines.iter().flat_map(|machine| machine.ledger.runs());
        entries.any(|((_, at), entry)| {
            at == epoch && matches!(entry.stage, Stage::Settling { .. } | Stage::Failed { .. })
        })
    })
}

/// Invariant 9.
fn keeps_turns(state: &State) -> bool {
    let goes_on = state.rows.run.as_ref().is_some_and(cs_record::Run::goes_on);
    let of_people = |turn: &&cs_record::Turn| matches!(turn.author, Author::Person(_));
    let mut turns = state.rows.turns.iter().filter(of_people);
    turns.all(|turn| match turn.state {
        _ if state.facts.answered_turns.contains(&turn.id) => turn.state == TurnState::Settled,
        TurnState::Pending => true,
        TurnState::Leased => goes_on,
        // Only an answer settles: no failure, stop, claim or report does.
        TurnState::Settled => false,
    })
}

/// Invariant 4. Where nothing happens any more by itself, nothing is under way: no claim, no attempt, no execution.
fn is_at_rest(model: &Claims, state: &State) -> bool {
    let rests = |machine: &Arc<Machine>| {
        machine.ledger.claims().is_empty() && machine.ledger.runs().is_empty() && machine.execs.is_empty()
    };
    let running = state
        .rows
        .run
        .as_ref()
        .is_some_and(|run| run.state == RunState::Running);
    if state.violation.is_some() || state.machines.iter().all(rests) && !running {
        return true;
    }
    let mut acts = Vec::new();
    progress(&model.bounds, model.variant, state, &mut acts);
    !acts.is_empty()
}
