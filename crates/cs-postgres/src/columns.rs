//! The parameters of `write_rows.sql`, in its order: one array a column.

use cs_record::{Dependency, StoreError, Unpark};
use sqlx::postgres::{PgArguments, PgHasArrayType};
use sqlx::{Arguments, Encode, Postgres, Type};

use crate::row_cards::{AskRow, CardRow, MarkRow, TurnRow};
use crate::row_limits::ParkRow;
use crate::row_runs::{LandingRow, RunRow, TextRow};
use crate::write::Changed;

/// Parameters that are being put together, and the first error among them.
#[derive(Default)]
pub(crate) struct Columns {
    arguments: PgArguments,
    failed: Option<String>,
}

impl Columns {
    /// Adds a column of all rows.
    fn add<'r, R, T>(&mut self, rows: &'r [R], column: impl Fn(&'r R) -> T) -> &mut Self
    where
        T: Encode<'r, Postgres> + Type<Postgres> + PgHasArrayType,
    {
        self.value(rows.iter().map(column).collect::<Vec<T>>())
    }

    /// Adds one value.
    pub(crate) fn value<'r, T: Encode<'r, Postgres> + Type<Postgres>>(&mut self, value: T) -> &mut Self {
        if let Err(error) = self.arguments.add(value) {
            self.failed.get_or_insert_with(|| error.to_string());
        }
        self
    }

    pub(crate) fn finish(self) -> Result<PgArguments, StoreError> {
        match self.failed {
            None => Ok(self.arguments),
            Some(why) => Err(StoreError::Corrupt(format!("rows cannot be sent: {why}"))),
        }
    }
}

pub(crate) fn new_cards(columns: &mut Columns, rows: &[CardRow]) {
    columns
        .add(rows, |row| row.id)
        .add(rows, |row| row.title.as_str())
        .add(rows, |row| row.state.as_str())
        .add(rows, |row| row.reason.as_deref())
        .add(rows, |row| row.person.as_str())
        .add(rows, |row| row.codebase_id)
        .add(rows, |row| row.base.as_deref())
        .add(rows, |row| row.agent.as_str())
        .add(rows, |row| row.owner_id)
        .add(rows, |row| row.machine_id)
        .add(rows, |row| row.opening.as_str())
        .add(rows, |row| row.priority)
        .add(rows, |row| row.not_before)
        .add(rows, |row| row.recovery)
        .add(rows, |row| row.done)
        .add(rows, |row| row.last_seq)
        .add(rows, |row| row.ready_for.as_str())
        .add(rows, |row| row.ready_from)
        .add(rows, |row| row.usage_turns)
        .add(rows, |row| row.usage_input_tokens)
        .add(rows, |row| row.usage_output_tokens)
        .add(rows, |row| row.usage_cost_microusd)
        .add(rows, |row| row.created_at)
        .add(rows, |row| row.updated_at)
        .add(rows, |row| row.version);
}

pub(crate) fn changed_cards(columns: &mut Columns, rows: &[Changed<CardRow>]) {
    columns
        .add(rows, |row| row.now.id)
        .add(rows, |row| row.was.version)
        .add(rows, |row| row.now.state.as_str())
        .add(rows, |row| row.now.reason.as_deref())
        .add(rows, |row| row.now.codebase_id)
        .add(rows, |row| row.now.agent.as_str())
        .add(rows, |row| row.now.owner_id)
        .add(rows, |row| row.now.machine_id)
        .add(rows, |row| row.now.opening.as_str())
        .add(rows, |row| row.now.priority)
        .add(rows, |row| row.now.not_before)
        .add(rows, |row| row.now.recovery)
        .add(rows, |row| row.now.done)
        .add(rows, |row| row.now.last_seq)
        .add(rows, |row| row.now.ready_for.as_str())
        .add(rows, |row| row.now.ready_from)
        .add(rows, |row| row.now.usage_turns)
        .add(rows, |row| row.now.usage_input_tokens)
        .add(rows, |row| row.now.usage_output_tokens)
        .add(rows, |row| row.now.usage_cost_microusd)
        .add(rows, |row| row.now.updated_at)
        .add(rows, |row| row.now.version);
}

pub(crate) fn new_runs(columns: &mut Columns, rows: &[RunRow]) {
    columns
        .add(rows, |row| row.id)
        .add(rows, |row| row.card_id)
        .add(rows, |row| row.kind.as_str())
        .add(rows, |row| row.parent_id)
        .add(rows, |row| row.codebase_id)
        .add(rows, |row| row.model.as_deref())
        .add(rows, |row| row.effort.as_deref())
        .add(rows, |row| row.state.as_str())
        .add(rows, |row| row.epoch)
        .add(rows, |row| row.token.as_str())
        .add(rows, |row| row.machine_id)
        .add(rows, |row| row.agent.as_str())
        .add(rows, |row| row.pid)
        .add(rows, |row| row.start_ticks)
        .add(rows, |row| row.boot_id.as_deref())
        .add(rows, |row| row.started_at)
        .add(rows, |row| row.resumed_at)
        .add(rows, |row| row.ended_at)
        .add(rows, |row| row.again_at)
        .add(rows, |row| row.failure.as_deref())
        .add(rows, |row| row.failed_because.as_deref())
        .add(rows, |row| row.failures_in_row)
        .add(rows, |row| row.tries)
        .add(rows, |row| row.starts)
        .add(rows, |row| row.settled)
        .add(rows, |row| row.given)
        .add(rows, |row| row.read_back)
        .add(rows, |row| row.handed_back_at)
        .add(rows, |row| row.fresh);
}

pub(crate) fn changed_runs(columns: &mut Columns, rows: &[Changed<RunRow>]) {
    columns
        .add(rows, |row| row.now.id)
        .add(rows, |row| row.was.epoch)
        .add(rows, |row| row.was.token.as_str())
        .add(rows, |row| row.was.state.as_str())
        .add(rows, |row| row.now.state.as_str())
        .add(rows, |row| row.now.epoch)
        .add(rows, |row| row.now.token.as_str())
        .add(rows, |row| row.now.machine_id)
        .add(rows, |row| row.now.agent.as_str())
        .add(rows, |row| row.now.pid)
        .add(rows, |row| row.now.start_ticks)
        .add(rows, |row| row.now.boot_id.as_deref())
        .add(rows, |row| row.now.resumed_at)
        .add(rows, |row| row.now.ended_at)
        .add(rows, |row| row.now.again_at)
        .add(rows, |row| row.now.failure.as_deref())
        .add(rows, |row| row.now.failed_because.as_deref())
        .add(rows, |row| row.now.failures_in_row)
        .add(rows, |row| row.now.tries)
        .add(rows, |row| row.now.starts)
        .add(rows, |row| row.now.settled)
        .add(rows, |row| row.now.given)
        .add(rows, |row| row.now.read_back)
        .add(rows, |row| row.now.handed_back_at)
        .add(rows, |row| row.now.fresh);
}

pub(crate) fn new_turns(columns: &mut Columns, rows: &[TurnRow]) {
    columns
        .add(rows, |row| row.id)
        .add(rows, |row| row.card_id)
        .add(rows, |row| row.seq)
        .add(rows, |row| row.author_kind.as_str())
        .add(rows, |row| row.author.as_deref())
        .add(rows, |row| row.body.as_str())
        .add(rows, |row| row.state.as_str())
        .add(rows, |row| row.run_id)
        .add(rows, |row| row.said_at);
}

pub(crate) fn changed_turns(columns: &mut Columns, rows: &[Changed<MarkRow>]) {
    columns
        .add(rows, |row| row.now.id)
        .add(rows, |row| row.was.state.as_str())
        .add(rows, |row| row.was.run_id)
        .add(rows, |row| row.now.state.as_str())
        .add(rows, |row| row.now.run_id);
}

pub(crate) fn new_asks(columns: &mut Columns, rows: &[AskRow]) {
    columns
        .add(rows, |row| row.id)
        .add(rows, |row| row.card_id)
        .add(rows, |row| row.run_id)
        .add(rows, |row| row.question.as_str())
        .add(rows, |row| row.choices.as_str())
        .add(rows, |row| row.offer)
        .add(rows, |row| row.offer_message.as_deref())
        .add(rows, |row| row.addressee.as_str())
        .add(rows, |row| row.state.as_str())
        .add(rows, |row| row.answer.as_deref())
        .add(rows, |row| row.answered_by_kind.as_deref())
        .add(rows, |row| row.answered_by.as_deref())
        .add(rows, |row| row.asked_at)
        .add(rows, |row| row.answered_at)
        .add(rows, |row| row.delivered)
        .add(rows, |row| row.given)
        .add(rows, |row| row.turn_id);
}

pub(crate) fn changed_asks(columns: &mut Columns, rows: &[Changed<AskRow>]) {
    columns
        .add(rows, |row| row.now.id)
        .add(rows, |row| row.was.addressee.as_str())
        .add(rows, |row| row.was.state.as_str())
        .add(rows, |row| row.was.delivered)
        .add(rows, |row| row.now.addressee.as_str())
        .add(rows, |row| row.now.state.as_str())
        .add(rows, |row| row.now.answer.as_deref())
        .add(rows, |row| row.now.answered_by_kind.as_deref())
        .add(rows, |row| row.now.answered_by.as_deref())
        .add(rows, |row| row.now.answered_at)
        .add(rows, |row| row.now.delivered)
        .add(rows, |row| row.now.given);
}

pub(crate) fn new_landings(columns: &mut Columns, rows: &[LandingRow]) {
    columns
        .add(rows, |row| row.id)
        .add(rows, |row| row.card_id)
        .add(rows, |row| row.codebase_id)
        .add(rows, |row| row.ask_id)
        .add(rows, |row| row.message.as_deref())
        .add(rows, |row| row.state.as_str())
        .add(rows, |row| row.epoch)
        .add(rows, |row| row.token.as_deref())
        .add(rows, |row| row.machine_id)
        .add(rows, |row| row.accepted_by.as_str())
        .add(rows, |row| row.accepted_at)
        .add(rows, |row| row.commit_id.as_deref())
        .add(rows, |row| row.result.as_deref())
        .add(rows, |row| row.ended_at);
}

pub(crate) fn changed_landings(columns: &mut Columns, rows: &[Changed<LandingRow>]) {
    columns
        .add(rows, |row| row.now.id)
        .add(rows, |row| row.was.epoch)
        .add(rows, |row| row.was.token.as_deref())
        .add(rows, |row| row.was.state.as_str())
        .add(rows, |row| row.now.state.as_str())
        .add(rows, |row| row.now.epoch)
        .add(rows, |row| row.now.token.as_deref())
        .add(rows, |row| row.now.commit_id.as_deref())
        .add(rows, |row| row.now.result.as_deref())
        .add(rows, |row| row.now.ended_at);
}

pub(crate) fn new_texts(columns: &mut Columns, rows: &[TextRow]) {
    columns
        .add(rows, |row| row.run_id)
        .add(rows, |row| row.epoch)
        .add(rows, |row| row.body.as_str());
}

pub(crate) fn new_dependencies(columns: &mut Columns, rows: &[Dependency]) {
    columns
        .add(rows, |row| row.card.as_uuid())
        .add(rows, |row| row.after.as_uuid());
}

pub(crate) fn parks(columns: &mut Columns, rows: &[ParkRow]) {
    columns
        .add(rows, |row| row.machine_id)
        .add(rows, |row| row.agent.as_str())
        .add(rows, |row| row.class.as_str())
        .add(rows, |row| row.reason.as_str())
        .add(rows, |row| row.since)
        .add(rows, |row| row.until);
}

pub(crate) fn unparks(columns: &mut Columns, rows: &[Unpark]) {
    columns
        .add(rows, |row| row.route.machine.as_uuid())
        .add(rows, |row| row.route.agent.as_str());
}
