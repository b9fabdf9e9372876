//! One machine of the model: its ledger, the holds of its process, and what runs on it.

use std::collections::BTreeMap;

use cs_fence::TokenSeed;
use cs_journal::pure::{Event, Holds, LedgerState, RunEvent, RunKey, Stage};
use cs_journal::{ClaimRequest, Task};
use cs_model::{Epoch, OperationId};

use crate::record::{AGENT, id};

/// A claim on its way, in the process that sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Flight {
    /// Its intent is durable; the request has not been sent.
    Begun,
    /// It was answered; the confirmation has not been asked for.
    Answered,
}

/// An attempt in the hands of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Hand {
    /// In the window of its claim; no start was begun.
    Window,
    /// Its start was begun, or it was found by a recovery.
    Taken,
    /// This process has prepared it.
    Prepared,
    /// The row was read again: it is current.
    Checked,
}

/// What is left of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Exec {
    /// The shim waits for the prompt. It ends with the daemon that holds it.
    Held,
    /// The agent works, daemon or no daemon.
    Works,
    /// The agent has ended; the answer is in the daemon's memory or in the spool.
    Ended(Outcome),
    /// It is closed, and nobody knows how it ended.
    Gone,
}

/// How an agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Outcome {
    /// With an answer.
    Answer,
    /// With a failure that is tried again at once.
    Failure,
}

impl Outcome {
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Failure => "failure",
        }
    }

    pub(crate) fn read(text: &str) -> Self {
        if text == Self::Answer.text() {
            Self::Answer
        } else {
            Self::Failure
        }
    }
}

/// A machine. A crash takes `holds`, `flights` and `hands`; the rest stays.
#[derive(Debug, Clone, Default)]
pub(crate) struct Machine {
    pub(crate) ledger: LedgerState,
    pub(crate) holds: Holds,
    pub(crate) flights: BTreeMap<OperationId, Flight>,
    /// Each attempt that a task acts for. Two entries with one key are two tasks, which the holds forbid.
    pub(crate) hands: Vec<(RunKey, Hand)>,
    /// By attempt and number of the directory.
    pub(crate) execs: BTreeMap<(Epoch, u8), Exec>,
    /// Claims begun so far.
    pub(crate) begun: u8,
    pub(crate) crashes: u8,
}

/// What the process was refused: in the model a refusal is a fault of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Refused;

impl Machine {
    pub(crate) fn append(&mut self, event: &Event) -> Result<(), Refused> {
        self.ledger.apply(event).map_err(|_| Refused)
    }

    pub(crate) fn run_event(&mut self, key: RunKey, did: RunEvent) -> Result<(), Refused> {
        let (run, epoch) = key;
        self.append(&Event::Run { run, epoch, did })
    }

    pub(crate) fn stage(&self, key: RunKey) -> Option<&Stage> {
        self.ledger.runs().get(&key).map(|entry| &entry.stage)
    }

    /// The execution that the ledger names, if it is there.
    pub(crate) fn exec(&self, key: RunKey) -> Option<((Epoch, u8), Exec)> {
        let dir = match self.stage(key)? {
            Stage::Prepared { dir } | Stage::Registered { dir, .. } => dir,
            Stage::Started(execution)
            | Stage::Settling { execution, .. }
            | Stage::Acknowledged(execution) => &execution.dir,
            Stage::Claimed | Stage::Failed { .. } | Stage::Interrupted { .. } => return None,
        };
        let place = (key.1, dir.parse().expect("the model's own number"));
        self.execs.get(&place).map(|exec| (place, *exec))
    }

    /// Says whether a task other than one that only holds a window acts for a run.
    pub(crate) fn is_busy(&self) -> bool {
        self.hands.iter().any(|(_, hand)| *hand != Hand::Window)
    }

    pub(crate) fn set_hand(&mut self, at: usize, hand: Hand) {
        self.hands[at].1 = hand;
        self.hands.sort_unstable();
    }

    /// Ends a task: its attempt is over, or given back.
    pub(crate) fn let_go(&mut self, at: usize) {
        let (key, _) = self.hands.remove(at);
        self.holds.release_run(key);
    }

    /// The process dies, and its successor opens the ledger. A shim without a prompt ends with the daemon; an answer that was
    /// nowhere but in the daemon's memory is lost.
    pub(crate) fn crash(&mut self) {
        self.holds = Holds::default();
        self.flights.clear();
        self.hands.clear();
        self.execs.retain(|_, exec| *exec != Exec::Held);
        for exec in self.execs.values_mut() {
            if let Exec::Ended(_) = exec {
                *exec = Exec::Gone;
            }
        }
        self.crashes += 1;
    }
}

/// Which work a claim of the model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Take {
    Turns,
    Resumes,
}

/// The id of a machine's claim.
pub(crate) fn operation(machine: usize, number: u8) -> OperationId {
    OperationId::from_uuid(id(1_000 + 100 * machine as u64 + u64::from(number)))
}

/// The id under which a machine reports that an attempt was cut short.
pub(crate) fn report(machine: usize, epoch: Epoch) -> OperationId {
    OperationId::from_uuid(id(2_000 + 100 * machine as u64 + u64::from(epoch.get())))
}

/// Takes an operation's id apart: 0 for a claim or 1 for a report, the machine, the number.
pub(crate) fn parts(operation: OperationId) -> (u8, usize, u8) {
    let bytes = *operation.as_uuid().as_bytes();
    let number = u16::from_be_bytes([bytes[14], bytes[15]]);
    let small = |number: u16| u8::try_from(number).expect("the model's own number");
    (
        small(number / 1_000 - 1),
        usize::from(number % 1_000 / 100),
        small(number % 100),
    )
}

pub(crate) fn request(operation: OperationId, take: Take) -> ClaimRequest {
    let task = match take {
        Take::Turns => Task::Turns,
        Take::Resumes => Task::Resumes,
    };
    let mut seed = [0; 32];
    seed[..16].copy_from_slice(operation.as_uuid().as_bytes());
    ClaimRequest::one(task, AGENT, TokenSeed::from_bytes(seed))
}
