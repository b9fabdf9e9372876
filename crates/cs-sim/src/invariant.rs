//! What must hold after every change, whatever died. The numbers are those of `docs/architecture.md`.

mod asks;
mod attempts;
mod claims;
mod landings;
mod limits;
mod outcomes;
mod rest;
mod starts;
mod turns;

use std::fmt;
use std::sync::Arc;

use cs_fence::Attempt;
use cs_journal::Receipt;
use cs_model::{CardId, Epoch, OperationId};
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
        Box::<attempts::OneOwner>::default(),
        Box::<attempts::OneProcess>::default(),
        Box::<claims::OnceTaken>::default(),
        Box::<claims::NoneLost>::default(),
        Box::<starts::NothingUnseen>::default(),
        Box::<starts::TreeIsFree>::default(),
        Box::<turns::NoTurnLost>::default(),
        Box::<turns::AnsweredOnce>::default(),
        Box::<asks::FirstAnswerWins>::default(),
        Box::<outcomes::NoOutcomeLost>::default(),
        Box::<landings::MovedOnce>::default(),
        Box::<limits::WhatWaitsWaits>::default(),
        Box::<limits::SlotsHold>::default(),
        Box::<rest::EverythingIsOver>::default(),
    ]
}

/// A change, and the world after it.
pub(crate) struct Moment<'a> {
    pub(crate) event: &'a Event,
    /// The record. At [`Event::Go`] and [`Event::TreeTouched`] just before the change.
    pub(crate) rows: &'a Rows,
    pub(crate) machines: &'a [Arc<Machine>],
}

/// What changed.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// Something of the record, of a tree or of an execution.
    Step,
    /// An operation was carried out.
    Claimed {
        operation: OperationId,
        receipt: Receipt,
    },
    /// Somebody was told that an operation takes nothing, for ever.
    Cancelled { operation: OperationId },
    /// A daemon read that an attempt is the present one.
    ReadAgain { attempt: Attempt },
    /// An agent is about to get its prompt.
    Go {
        machine: usize,
        attempt: Attempt,
        card: CardId,
    },
    /// The record took an outcome.
    Settled {
        attempt: Attempt,
        /// The epoch of the run just before.
        present: Option<Epoch>,
    },
    /// The tree of a card is about to be changed by its machine.
    TreeTouched {
        machine: usize,
        card: CardId,
        why: &'static str,
    },
    /// A person says when a card may start; without another card: now.
    Planned { card: CardId, after: Option<CardId> },
    /// A person ends what runs of a card.
    Stopped { card: CardId },
    /// The ledger of a machine is gone.
    LedgerLost { machine: usize },
    /// A daemon died.
    Crashed,
    /// The faults stopped long ago, and everything should be over.
    AtRest,
}
