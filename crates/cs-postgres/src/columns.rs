//! The parameters of the parts of a write, in the order of each: one array a column.

use cs_model::{AttachmentId, CardId};
use cs_record::{Attachment, Content, Dependency, Unpark};

use crate::row_cards::{AskRow, CardRow, MarkRow, TurnRow, integer};
use crate::row_limits::ParkRow;
use crate::row_runs::{LandingRow, RunRow, TextRow};
use crate::statement::Statement;
use crate::store::sql;
use crate::text::stored;
use crate::write::Changed;

pub(crate) fn new_cards(statement: &mut Statement, rows: &[CardRow]) {
    statement
        .counted(sql!("write_new_cards"), rows.len())
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
        .add(rows, |row| row.version)
        .add(rows, |row| row.landings_returned)
        .add(rows, |row| row.model.as_deref())
        .add(rows, |row| row.effort.as_deref())
        .add(rows, |row| row.usage_cached_tokens)
        .add(rows, |row| row.usage_reasoning_tokens);
}

pub(crate) fn changed_cards(statement: &mut Statement, rows: &[Changed<CardRow>]) {
    statement
        .counted(sql!("write_changed_cards"), rows.len())
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
        .add(rows, |row| row.now.version)
        .add(rows, |row| row.now.landings_returned)
        .add(rows, |row| row.now.model.as_deref())
        .add(rows, |row| row.now.effort.as_deref())
        .add(rows, |row| row.now.usage_cached_tokens)
        .add(rows, |row| row.now.usage_reasoning_tokens);
}

pub(crate) fn new_runs(statement: &mut Statement, rows: &[RunRow]) {
    statement
        .counted(sql!("write_new_runs"), rows.len())
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
        .add(rows, |row| row.fresh)
        .add(rows, |row| row.left_behind.as_deref())
        .add(rows, |row| row.left_at)
        .add(rows, |row| row.used.as_deref());
}

pub(crate) fn changed_runs(statement: &mut Statement, rows: &[Changed<RunRow>]) {
    statement
        .counted(sql!("write_changed_runs"), rows.len())
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
        .add(rows, |row| row.now.fresh)
        .add(rows, |row| row.now.left_behind.as_deref())
        .add(rows, |row| row.now.left_at)
        .add(rows, |row| row.now.model.as_deref())
        .add(rows, |row| row.now.effort.as_deref())
        .add(rows, |row| row.now.used.as_deref());
}

pub(crate) fn new_turns(statement: &mut Statement, rows: &[TurnRow]) {
    statement
        .counted(sql!("write_new_turns"), rows.len())
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

pub(crate) fn changed_turns(statement: &mut Statement, rows: &[Changed<MarkRow>]) {
    statement
        .counted(sql!("write_changed_turns"), rows.len())
        .add(rows, |row| row.now.id)
        .add(rows, |row| row.was.state.as_str())
        .add(rows, |row| row.was.run_id)
        .add(rows, |row| row.now.state.as_str())
        .add(rows, |row| row.now.run_id);
}

pub(crate) fn new_asks(statement: &mut Statement, rows: &[AskRow]) {
    statement
        .counted(sql!("write_new_asks"), rows.len())
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

pub(crate) fn changed_asks(statement: &mut Statement, rows: &[Changed<AskRow>]) {
    statement
        .counted(sql!("write_changed_asks"), rows.len())
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

pub(crate) fn new_landings(statement: &mut Statement, rows: &[LandingRow]) {
    statement
        .counted(sql!("write_new_landings"), rows.len())
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
        .add(rows, |row| row.ended_at)
        .add(rows, |row| row.base.as_deref())
        .add(rows, |row| row.method.as_deref())
        .add(rows, |row| row.evidence.as_deref());
}

pub(crate) fn changed_landings(statement: &mut Statement, rows: &[Changed<LandingRow>]) {
    statement
        .counted(sql!("write_changed_landings"), rows.len())
        .add(rows, |row| row.now.id)
        .add(rows, |row| row.was.epoch)
        .add(rows, |row| row.was.token.as_deref())
        .add(rows, |row| row.was.state.as_str())
        .add(rows, |row| row.now.state.as_str())
        .add(rows, |row| row.now.epoch)
        .add(rows, |row| row.now.token.as_deref())
        .add(rows, |row| row.now.commit_id.as_deref())
        .add(rows, |row| row.now.result.as_deref())
        .add(rows, |row| row.now.ended_at)
        .add(rows, |row| row.now.evidence.as_deref());
}

pub(crate) fn new_texts(statement: &mut Statement, rows: &[TextRow]) {
    statement
        .counted(sql!("write_new_texts"), rows.len())
        .add(rows, |row| row.run_id)
        .add(rows, |row| row.epoch)
        .add(rows, |row| row.body.as_str());
}

pub(crate) fn new_attachments(statement: &mut Statement, rows: &[(Attachment, Content)]) {
    statement
        .counted(sql!("write_new_attachments"), rows.len())
        .add(rows, |(row, _)| row.id.as_uuid())
        .add(rows, |(row, _)| row.card.as_uuid())
        .add(rows, |(row, _)| stored(&row.name).into_owned())
        .add(rows, |(row, _)| stored(&row.media_type).into_owned())
        .add(rows, |(row, _)| integer(row.size_bytes))
        .add(rows, |(row, _)| row.sha256.to_string())
        .add(rows, |(row, _)| row.by.as_str())
        .add(rows, |(row, _)| row.at.unix_micros())
        .add(rows, |(_, content)| content.bytes());
}

pub(crate) fn gone_attachments(statement: &mut Statement, rows: &[AttachmentId]) {
    statement
        .counted(sql!("write_gone_attachments"), rows.len())
        .add(rows, |row| row.as_uuid());
}

pub(crate) fn new_dependencies(statement: &mut Statement, rows: &[Dependency]) {
    statement
        .uncounted(sql!("write_new_dependencies"), rows.len())
        .add(rows, |row| row.card.as_uuid())
        .add(rows, |row| row.after.as_uuid());
}

pub(crate) fn gone_dependencies(statement: &mut Statement, cards: &[CardId]) {
    statement
        .uncounted(sql!("write_gone_dependencies"), cards.len())
        .add(cards, |card| card.as_uuid());
}

pub(crate) fn new_parks(statement: &mut Statement, rows: &[ParkRow]) {
    statement
        .counted(sql!("write_new_parks"), rows.len())
        .add(rows, |row| row.machine_id)
        .add(rows, |row| row.agent.as_str())
        .add(rows, |row| row.class.as_str())
        .add(rows, |row| row.reason.as_str())
        .add(rows, |row| row.since)
        .add(rows, |row| row.until);
}

pub(crate) fn gone_parks(statement: &mut Statement, rows: &[Unpark]) {
    statement
        .uncounted(sql!("write_gone_parks"), rows.len())
        .add(rows, |row| row.route.machine.as_uuid())
        .add(rows, |row| row.route.agent.as_str())
        .add(rows, |row| row.began_at.unix_micros());
}
