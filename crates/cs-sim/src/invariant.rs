//! What must hold after every change, whatever died. The numbers are those of `docs/architecture.md`.

mod asks;
mod attempts;
mod claims;
mod landings;
mod limits;
mod outcomes;
mod rest;
mod starts;
mod told;
mod turns;
mod writes;

use std::fmt;
use std::sync::Arc;

use cs_fence::{Attempt, InterruptOutcome, Interruption, LandingAttempt, ProcessFact};
use cs_journal::Receipt;
use cs_model::{AskId, CardId, Epoch, FailureClass, LandingId, MachineId, OperationId, RunId, Time};
use cs_record::{LandingResult, LeftProcess, Scope};
use cs_settle::Answer;
use cs_testkit::Rows;

use crate::machine::Machine;

pub(crate) use rest::at_rest;

/// Something that must hold. It sees every change, in order, and may keep what it saw.
pub(crate) trait Invariant: fmt::Debug + Send {
    /// Says it in one line.
    fn name(&self) -> &'static str;

    /// Looks at a moment; an error says what does not fit.
    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String>;
}

/// All invariants. Another one joins in here.
pub(crate) fn all() -> Vec<Box<dyn Invariant>> {
    vec![
        Box::<attempts::OneAttempt>::default(),
        Box::<writes::Fenced>::default(),
        Box::<attempts::OneOwner>::default(),
        Box::<attempts::OneProcess>::default(),
        Box::<claims::OnceTaken>::default(),
        Box::<claims::NoneLost>::default(),
        Box::<starts::NothingUnseen>::default(),
        Box::<starts::TreeIsFree>::default(),
        Box::<turns::NoTurnLost>::default(),
        Box::<turns::AnsweredOnce>::default(),
        Box::<asks::FirstAnswerWins>::default(),
        Box::<outcomes::OutcomeIsTrue>::default(),
        Box::<outcomes::NoOutcomeLost>::default(),
        Box::<told::NoPath>::default(),
        Box::<landings::MovedOnce>::default(),
        Box::<limits::WhatWaitsWaits>::default(),
        Box::<limits::SlotsHold>::default(),
        Box::<limits::LimitsHold>::default(),
        Box::<rest::EverythingIsOver>::default(),
    ]
}

/// A change, and the world after it.
pub(crate) struct Moment<'a> {
    pub(crate) event: &'a Event,
    /// The record. At [`Event::Go`] and [`Event::TreeTouched`] just before the change.
    pub(crate) rows: &'a Rows,
    pub(crate) machines: &'a [Arc<Machine>],
    /// By the record's clock.
    pub(crate) now: Time,
}

/// A daemon's write: what it was to do, and the record just before it did whatever it really did.
#[derive(Debug, Clone)]
pub(crate) struct Write {
    /// Whose daemon wrote.
    pub(crate) machine: usize,
    /// What, and what the daemon is to hear of it; nothing when the record could not answer.
    pub(crate) deed: Option<Deed>,
    /// The record just before.
    pub(crate) before: Box<Rows>,
}

/// What a daemon writes.
#[derive(Debug, Clone)]
pub(crate) enum Deed {
    /// The outcome of an attempt.
    Told {
        attempt: Attempt,
        told: Told,
        applied: bool,
    },
    /// What an attempt used, apart from its outcome.
    Counted { attempt: Attempt, applied: bool },
    /// A fact of the process of an attempt.
    Noted {
        attempt: Attempt,
        fact: Fact,
        process: ProcessFact,
        applied: bool,
    },
    /// Attempts that were cut short.
    Interrupted {
        machine: MachineId,
        operation: OperationId,
        reports: Vec<Interruption>,
        outcomes: Vec<(RunId, InterruptOutcome)>,
    },
    /// The result of a landing.
    Landed {
        attempt: LandingAttempt,
        result: LandingResult,
        applied: bool,
    },
    /// A run of which a machine without its ledger finds nothing.
    RunGivenBack {
        machine: MachineId,
        run: RunId,
        epoch: Epoch,
        applied: bool,
    },
    /// A process of which a machine finds nothing but what the record says.
    ProcessForgotten {
        machine: MachineId,
        left: LeftProcess,
        applied: bool,
    },
    /// A landing of which a machine without its ledger knows nothing.
    LandingGivenBack {
        machine: MachineId,
        landing: LandingId,
        epoch: Epoch,
        applied: bool,
    },
    /// Nothing of a card: presence, and old operations.
    Kept,
}

/// The outcome of an attempt, as its daemon tells it.
#[derive(Debug, Clone)]
pub(crate) enum Told {
    Answer(Box<Answer>),
    Failure(FailureClass),
    Capped,
}

/// What a daemon says of the process of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fact {
    Runs,
    Gone,
    LeftBehind,
}

/// What changed.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// Something of a tree or of an execution.
    Step,
    /// A daemon's write reached the record.
    Wrote(Write),
    /// A person did something to the record.
    Acted,
    /// An operation was carried out.
    Claimed {
        machine: MachineId,
        operation: OperationId,
        receipt: Receipt,
        /// Whether the record did not know it before.
        is_new: bool,
    },
    /// Somebody was told that an operation takes nothing, for ever.
    Cancelled { operation: OperationId },
    /// A daemon was told by the record that an attempt is the present one.
    ReadAgain { attempt: Attempt },
    /// An agent is about to get its prompt.
    Go {
        machine: usize,
        attempt: Attempt,
        card: CardId,
    },
    /// The tree of a card is about to be changed by its machine.
    TreeTouched {
        machine: usize,
        card: CardId,
        why: &'static str,
    },
    /// A person says when a card may start: after another one, and not before a time. Without either: now.
    Planned {
        card: CardId,
        after: Option<CardId>,
        not_before: Option<Time>,
    },
    /// A person pauses, so that nothing starts there.
    Paused { scope: Scope },
    /// A person ends that.
    Unpaused { scope: Scope },
    /// A person says how many runs may be live.
    Limited { scope: Scope, most: u32 },
    /// A disk is full, or has room again.
    Full { machine: usize, is_full: bool },
    /// The record took the answer of a person to a question.
    Answered { ask: AskId, body: String },
    /// The ledger of a machine is gone.
    LedgerLost { machine: usize },
    /// A daemon died.
    Crashed,
    /// The faults stopped long ago, and everything should be over.
    AtRest,
}
