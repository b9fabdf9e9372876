//! What can happen in a state.

use cs_journal::Task;
use cs_journal::pure::{RunKey, Stage};
use cs_model::{Epoch, OperationId};

use crate::machine::{Exec, Flight, Hand, Machine, Outcome, Take};
use crate::seams::{self, Variant};
use crate::state::State;

/// What becomes of a request and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Both arrive.
    Good,
    /// The request never arrives.
    Lost,
    /// It is carried out, and the answer never arrives.
    AnswerLost,
    /// It has not arrived when the sender gives up, and may arrive at any time after.
    Late,
    /// It is carried out and answered, and may arrive once more.
    Doubled,
}

const TROUBLE: [Fate; 4] = [Fate::Lost, Fate::AnswerLost, Fate::Late, Fate::Doubled];

/// One step. `at` is a place among the hands of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// A person says another turn.
    Say,
    /// A person stops the card.
    Stop,
    /// A person gives the card free for any machine.
    HandBack,
    /// A late request arrives.
    Arrive { message: usize },
    /// A machine writes the intent of a claim.
    Begin { on: usize, take: Take },
    /// It sends the claim.
    Send {
        on: usize,
        operation: OperationId,
        fate: Fate,
    },
    /// It asks what became of an operation, and writes the answer into its ledger.
    Confirm {
        on: usize,
        operation: OperationId,
        fate: Fate,
    },
    /// The window of a claim is over, and nobody has adopted this attempt.
    DropWindow { on: usize, at: usize },
    /// A start takes the attempt out of the window.
    Adopt { on: usize, at: usize },
    /// A pass finds an attempt that nobody holds.
    Recover { on: usize, key: RunKey },
    /// A task makes the next step that only one answer is possible to.
    Step { on: usize, at: usize },
    /// It notes that the attempt cannot be started.
    FailStart { on: usize, at: usize },
    /// It tells the record an outcome.
    Tell { on: usize, at: usize, fate: Fate },
    /// It reports that the attempt was cut short.
    Report { on: usize, at: usize, fate: Fate },
    /// An agent ends.
    End {
        on: usize,
        exec: (Epoch, u8),
        outcome: Outcome,
    },
    /// An execution is cut short and closed.
    Cut { on: usize, exec: (Epoch, u8) },
    /// The process dies and is started again.
    Crash { on: usize },
}

/// How large the model is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Attempts that claims may begin.
    pub(crate) attempts: u32,
    /// Claims that each machine may begin.
    pub(crate) claims: u8,
    /// Crashes of each machine.
    pub(crate) crashes: u8,
    pub(crate) left: crate::state::Left,
}

/// What happens by itself when nothing goes wrong and no person does anything.
pub(crate) fn progress(bounds: &Bounds, variant: Variant, state: &State, acts: &mut Vec<Act>) {
    for on in 0..2 {
        let machine = &*state.machines[on];
        begin(bounds, state, on, acts);
        for (operation, flight) in &machine.flights {
            acts.push(match flight {
                Flight::Begun => Act::Send {
                    on,
                    operation: *operation,
                    fate: Fate::Good,
                },
                Flight::Answered => Act::Confirm {
                    on,
                    operation: *operation,
                    fate: Fate::Good,
                },
            });
        }
        for (operation, _) in machine.holds.pending(&machine.ledger) {
            acts.push(Act::Confirm {
                on,
                operation,
                fate: Fate::Good,
            });
        }
        if let Some(key) = next_free(machine) {
            acts.push(Act::Recover { on, key });
        }
        for (at, (key, hand)) in machine.hands.iter().enumerate() {
            if *hand == Hand::Window {
                let is_unheld = !machine.holds.is_held(*key);
                if !machine.is_busy() || is_unheld {
                    acts.push(Act::Adopt { on, at });
                }
                if !is_unheld {
                    acts.push(Act::DropWindow { on, at });
                }
            } else {
                acts.extend(next_step(variant, machine, on, at));
            }
        }
        for (exec, what) in &machine.execs {
            if *what == Exec::Works {
                for outcome in [Outcome::Answer, Outcome::Failure] {
                    acts.push(Act::End {
                        on,
                        exec: *exec,
                        outcome,
                    });
                }
            }
        }
    }
}

/// What goes wrong, and what people do.
pub(crate) fn trouble(bounds: &Bounds, state: &State, acts: &mut Vec<Act>) {
    let left = &state.left;
    if left.turns > 0 {
        acts.push(Act::Say);
    }
    if left.stops > 0 {
        acts.push(Act::Stop);
    }
    if left.hand_backs > 0 {
        acts.push(Act::HandBack);
    }
    acts.extend((0..state.late.len()).map(|message| Act::Arrive { message }));
    for on in 0..2 {
        let machine = &*state.machines[on];
        if machine.crashes < bounds.crashes && is_worth_a_crash(machine) {
            acts.push(Act::Crash { on });
        }
        for (at, (key, hand)) in machine.hands.iter().enumerate() {
            let is_starting = matches!(machine.stage(*key), Some(Stage::Claimed | Stage::Prepared { .. }));
            if left.failures > 0 && *hand != Hand::Window && is_starting && machine.exec(*key).is_none() {
                acts.push(Act::FailStart { on, at });
            }
        }
        for (exec, what) in &machine.execs {
            let is_stopped = || {
                let entry = machine
                    .ledger
                    .runs()
                    .iter()
                    .find(|((_, epoch), _)| *epoch == exec.0);
                entry.is_some_and(|(_, entry)| !seams::is_current(&state.rows, &entry.attempt))
            };
            if *what == Exec::Works && (left.cuts > 0 || is_stopped()) {
                acts.push(Act::Cut { on, exec: *exec });
            }
        }
    }
}

/// Each request of the good acts with each thing that may happen to it.
pub(crate) fn faulty(good: &[Act]) -> Vec<Act> {
    let with = |act: &Act| {
        let act = *act;
        TROUBLE.into_iter().filter_map(move |bad| match act {
            Act::Send { on, operation, .. } => Some(Act::Send {
                on,
                operation,
                fate: bad,
            }),
            Act::Confirm { on, operation, .. } => Some(Act::Confirm {
                on,
                operation,
                fate: bad,
            }),
            Act::Tell { on, at, .. } => Some(Act::Tell { on, at, fate: bad }),
            // A lost report changes nothing: it is sent again.
            Act::Report { .. } if bad == Fate::Lost => None,
            Act::Report { on, at, .. } => Some(Act::Report { on, at, fate: bad }),
            _ => None,
        })
    };
    good.iter().flat_map(with).collect()
}

fn begin(bounds: &Bounds, state: &State, on: usize, acts: &mut Vec<Act>) {
    let machine = &*state.machines[on];
    let may = machine.begun < bounds.claims
        && state.rows.epoch().get() < bounds.attempts
        && machine.flights.is_empty()
        && machine.holds.pending(&machine.ledger).is_empty();
    let (turns, resumes) = state.rows.offers[on];
    for (there, take) in [(turns, Take::Turns), (resumes, Take::Resumes)] {
        if may && there {
            acts.push(Act::Begin { on, take });
        }
    }
}

/// Which attempt a pass takes up next: what is to be told first, then what runs, then what is only starting; one at a time.
fn next_free(machine: &Machine) -> Option<RunKey> {
    if machine.is_busy() {
        return None;
    }
    let free = machine
        .ledger
        .runs()
        .iter()
        .filter(|(key, _)| !machine.holds.is_held(**key));
    let rank = |stage: &Stage| match stage {
        Stage::Settling { .. }
        | Stage::Acknowledged(_)
        | Stage::Failed { .. }
        | Stage::Interrupted { .. } => 0,
        Stage::Started(_) => 1,
        Stage::Registered { .. } => 2,
        Stage::Prepared { .. } => 3,
        Stage::Claimed => 4,
    };
    free.min_by_key(|(key, entry)| (rank(&entry.stage), **key))
        .map(|(key, _)| *key)
}

fn next_step(variant: Variant, machine: &Machine, on: usize, at: usize) -> Option<Act> {
    let (key, _) = machine.hands[at];
    let exec = machine.exec(key).map(|(_, exec)| exec);
    match machine.stage(key)? {
        Stage::Claimed | Stage::Prepared { .. } | Stage::Registered { .. } | Stage::Acknowledged(_) => {
            Some(Act::Step { on, at })
        }
        Stage::Started(_) => match exec {
            Some(Exec::Ended(_)) if variant == Variant::OutcomeAfterTelling => Some(Act::Tell {
                on,
                at,
                fate: Fate::Good,
            }),
            Some(Exec::Ended(_) | Exec::Gone) | None => Some(Act::Step { on, at }),
            Some(Exec::Held | Exec::Works) => None,
        },
        Stage::Settling { .. } | Stage::Failed { .. } => Some(Act::Tell {
            on,
            at,
            fate: Fate::Good,
        }),
        Stage::Interrupted { .. } => Some(Act::Report {
            on,
            at,
            fate: Fate::Good,
        }),
    }
}

/// A process that has begun nothing loses nothing.
fn is_worth_a_crash(machine: &Machine) -> bool {
    !machine.flights.is_empty()
        || !machine.hands.is_empty()
        || machine.execs.values().any(|exec| *exec != Exec::Works)
}

pub(crate) fn take_of(task: &Task) -> Take {
    match task {
        Task::Resumes => Take::Resumes,
        Task::Turns
        | Task::Rearms
        | Task::Recovery
        | Task::Landings
        | Task::Resume(_)
        | Task::Activate(_)
        | Task::Child(_) => Take::Turns,
    }
}
