//! A state of the model, and the small text by which it is known again.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use cs_fence::Attempt;
use cs_journal::pure::Stage;
use cs_model::{Ending, Epoch, OperationId, RunState, TurnId, TurnState};
use cs_record::JournalEntry;

use crate::act::take_of;
use crate::machine::{Exec, Machine, Outcome, Take, parts};
use crate::record::{Rows, machine};

/// A request that a machine has given up on, or that was sent twice: it may still arrive, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message {
    Claim {
        from: usize,
        operation: OperationId,
        take: Take,
    },
    Reconcile {
        from: usize,
        operation: OperationId,
    },
    Tell {
        from: usize,
        attempt: Attempt,
        outcome: Outcome,
    },
    Report {
        from: usize,
        attempt: Attempt,
    },
}

/// What must never happen, found in the step in which it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Violation {
    /// A write of an attempt that is not the current one changed something.
    StaleEffect,
    /// A cancelled operation took something, or an operation took twice.
    TwiceOrCancelled,
    /// An attempt settled a turn that its claim had not given it.
    ForeignTurn,
    /// An attempt was answered for twice.
    AnsweredTwice,
    /// The ledger refused an event of its own process.
    Refused,
    /// The record refused what its rules decided, or contradicted itself.
    Corrupt,
}

/// What is left of what may go wrong and of what people do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Left {
    /// Requests that are lost, late or doubled, and answers that are lost.
    pub(crate) faults: u8,
    /// Starts that fail.
    pub(crate) failures: u8,
    /// Executions that are cut short.
    pub(crate) cuts: u8,
    /// Turns that a person still says.
    pub(crate) turns: u8,
    pub(crate) stops: u8,
    /// How often a person gives the card free for any machine.
    pub(crate) hand_backs: u8,
}

/// Facts that nobody in the system knows, to judge it by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Operations that a machine was told are cancelled.
    pub(crate) cancelled: BTreeSet<OperationId>,
    /// The turns that the claim of each epoch gave.
    pub(crate) given: Vec<Vec<TurnId>>,
    /// Attempts of which the record was told an outcome, and those of which the machine knows what the record said.
    pub(crate) told: BTreeSet<Epoch>,
    pub(crate) heard: BTreeSet<Epoch>,
    /// Attempts whose outcome the record has taken.
    pub(crate) answered: BTreeSet<Epoch>,
    /// Turns that the record settled with an answer.
    pub(crate) answered_turns: BTreeSet<TurnId>,
}

#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) rows: Arc<Rows>,
    pub(crate) machines: [Arc<Machine>; 2],
    pub(crate) late: Vec<Message>,
    pub(crate) left: Left,
    pub(crate) facts: Facts,
    pub(crate) violation: Option<Violation>,
}

/// The machines are alike: a state and its mirror image are one.
impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let (plain, mirrored) = (self.text(false), self.text(true));
        plain.min(mirrored).hash(hasher);
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.text(false) == other.text(false)
    }
}

impl State {
    pub(crate) fn machine_mut(&mut self, number: usize) -> &mut Machine {
        Arc::make_mut(&mut self.machines[number])
    }

    /// Everything that can make a difference later, in bytes. Times stand still, and versions, names and words decide nothing.
    fn text(&self, mirror: bool) -> Vec<u8> {
        let mut text = Text {
            bytes: Vec::with_capacity(160),
            mirror,
        };
        text.bytes.extend(self.rows.text(mirror));
        for number in 0..2 {
            text.machine(&self.machines[if mirror { 1 - number } else { number }]);
        }
        let mut late: Vec<Vec<u8>> = self.late.iter().map(|message| text.message(message)).collect();
        late.sort_unstable();
        for message in late {
            text.bytes.extend(message);
        }
        let left = &self.left;
        text.bytes.extend([
            0xfe,
            left.faults,
            left.failures,
            left.cuts,
            left.turns,
            left.stops,
            left.hand_backs,
        ]);
        text.facts(&self.facts);
        text.bytes
            .push(self.violation.map_or(0, |violation| 1 + violation as u8));
        text.bytes
    }
}

/// The part of a state's text that is the record's.
pub(crate) fn rows_text(rows: &Rows, mirror: bool) -> Vec<u8> {
    let mut text = Text {
        bytes: Vec::with_capacity(64),
        mirror,
    };
    text.rows(rows);
    text.bytes
}

struct Text {
    bytes: Vec<u8>,
    mirror: bool,
}

impl Text {
    fn machine_of(&self, number: usize) -> u8 {
        u8::try_from(if self.mirror { 1 - number } else { number }).expect("two machines")
    }

    /// An operation of the model in one byte: claim or report, machine, number.
    fn operation(&self, id: OperationId) -> u8 {
        let (kind, machine, number) = parts(id);
        64 * kind + 16 * self.machine_of(machine) + number
    }

    fn turn(id: TurnId) -> u8 {
        id.as_uuid().as_bytes()[15]
    }

    fn rows(&mut self, rows: &Rows) {
        let of = |id| (0..2).find(|number| machine(*number) == id);
        let card = &rows.card;
        let home = card
            .machine
            .and_then(of)
            .map_or(9, |number| self.machine_of(number));
        self.bytes.extend([
            card.state as u8,
            home,
            u8::from(card.recovery),
            card.ready.what as u8,
        ]);
        if let Some(run) = &rows.run {
            let holder = of(run.machine).map_or(9, |number| self.machine_of(number));
            let state = match run.state {
                RunState::Running => 0,
                RunState::Asked => 1,
                RunState::Ended(Ending::Finished) => 2,
                RunState::Ended(Ending::Failed) => 3,
                RunState::Ended(Ending::Stopped) => 4,
                RunState::Ended(Ending::Interrupted) => 5,
                RunState::Ended(Ending::Capped(_) | Ending::Blocked | Ending::Orphaned(_)) => 6,
            };
            self.bytes.extend([
                state,
                holder,
                epoch(run.epoch),
                epoch(run.settled),
                u8::try_from(run.tries).expect("few"),
                u8::try_from(run.starts).expect("few"),
                u8::try_from(run.failures_in_row).expect("few"),
                u8::from(run.again_at.is_some()),
                u8::from(run.fresh),
                u8::from(run.handed_back_at.is_some()),
                run.failure.map_or(99, |class| class as u8),
            ]);
        }
        for turn in &rows.turns {
            let state = match turn.state {
                TurnState::Pending => 0,
                TurnState::Leased => 1,
                TurnState::Settled => 2,
            };
            self.bytes
                .extend([0xf0, Self::turn(turn.id), state, u8::from(turn.run.is_some())]);
        }
        let mut journal: Vec<[u8; 3]> = rows
            .journal
            .iter()
            .map(|row| {
                let (kind, what) = match &row.entry {
                    JournalEntry::Cancelled => (0, 0),
                    JournalEntry::Claimed { receipt, .. } => {
                        (1, receipt.runs.first().map_or(0, |run| epoch(run.epoch)))
                    }
                    JournalEntry::Interrupted(outcomes) => {
                        (2, outcomes.first().map_or(0, |(_, outcome)| *outcome as u8))
                    }
                };
                [self.operation(row.operation), kind, what]
            })
            .collect();
        journal.sort_unstable();
        self.bytes.extend(journal.into_iter().flatten());
    }

    fn machine(&mut self, machine: &Machine) {
        self.bytes.extend([0xf1, machine.begun, machine.crashes]);
        let claims = machine.ledger.claims().iter();
        let mut claims: Vec<[u8; 2]> = claims
            .map(|(id, request)| [self.operation(*id), take_of(&request.task) as u8])
            .collect();
        claims.sort_unstable();
        self.bytes.extend(claims.into_iter().flatten());
        for ((_, at), entry) in machine.ledger.runs() {
            self.bytes.extend([0xf2, epoch(*at)]);
            let (stage, dir) = match &entry.stage {
                Stage::Claimed => (0, "0"),
                Stage::Prepared { dir } => (1, dir.as_str()),
                Stage::Registered { dir, .. } => (2, dir.as_str()),
                Stage::Started(execution) => (3, execution.dir.as_str()),
                Stage::Settling { execution, outcome } => {
                    (4 + Outcome::read(outcome) as u8, execution.dir.as_str())
                }
                Stage::Acknowledged(execution) => (6, execution.dir.as_str()),
                Stage::Failed { .. } => (7, "0"),
                Stage::Interrupted { .. } => (8, "0"),
            };
            self.bytes.extend([stage, dir.as_bytes()[0]]);
        }
        for (id, flight) in &machine.flights {
            let operation = self.operation(*id);
            self.bytes.extend([0xf3, operation, *flight as u8]);
        }
        for (key, hand) in &machine.hands {
            let held = machine.holds.is_held(*key);
            self.bytes
                .extend([0xf4, epoch(key.1), *hand as u8, u8::from(held)]);
        }
        for ((at, dir), exec) in &machine.execs {
            let exec = match exec {
                Exec::Held => 0,
                Exec::Works => 1,
                Exec::Gone => 2,
                Exec::Ended(outcome) => 3 + *outcome as u8,
            };
            self.bytes.extend([0xf5, epoch(*at), *dir, exec]);
        }
    }

    fn message(&self, message: &Message) -> Vec<u8> {
        match message {
            Message::Claim {
                from,
                operation,
                take,
            } => {
                vec![
                    0xe0,
                    self.machine_of(*from),
                    self.operation(*operation),
                    *take as u8,
                ]
            }
            Message::Reconcile { from, operation } => {
                vec![0xe1, self.machine_of(*from), self.operation(*operation)]
            }
            Message::Tell {
                from,
                attempt,
                outcome,
            } => {
                vec![0xe2, self.machine_of(*from), epoch(attempt.epoch), *outcome as u8]
            }
            Message::Report { from, attempt } => vec![0xe3, self.machine_of(*from), epoch(attempt.epoch)],
        }
    }

    fn facts(&mut self, facts: &Facts) {
        let mut cancelled: Vec<u8> = facts.cancelled.iter().map(|id| self.operation(*id)).collect();
        cancelled.sort_unstable();
        self.bytes.extend(cancelled);
        for given in &facts.given {
            self.bytes.push(0xf6);
            self.bytes.extend(given.iter().map(|id| Self::turn(*id)));
        }
        for (mark, epochs) in [(0xf7, &facts.told), (0xf8, &facts.heard), (0xf9, &facts.answered)] {
            self.bytes.push(mark);
            self.bytes.extend(epochs.iter().map(|at| epoch(*at)));
        }
        self.bytes.push(0xfa);
        self.bytes
            .extend(facts.answered_turns.iter().map(|id| Self::turn(*id)));
    }
}

fn epoch(epoch: Epoch) -> u8 {
    u8::try_from(epoch.get()).expect("few attempts")
}
