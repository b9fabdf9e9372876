//! Rows of runs, landings and the journal, both ways.

use cs_fence::ProcessFact;
use cs_model::{AskId, CardId, CodebaseId, Epoch, LandingId, MachineId, OperationId, RunId, Time};
use cs_record::{
    Evidence, JournalEntry, JournalRow, Landing, LeftBehind, Run, RunText, RunUsage, StoreError,
};
use serde::Deserialize;
use uuid::Uuid;

use crate::error::undecodable;
use crate::row_cards::{epoch_opt, free, free_opt, integer, number, parse};
use crate::text::{stored, stored_opt};

#[derive(Deserialize)]
pub(crate) struct RunRow {
    pub(crate) id: Uuid,
    pub(crate) card_id: Uuid,
    pub(crate) kind: String,
    pub(crate) parent_id: Option<Uuid>,
    pub(crate) codebase_id: Option<Uuid>,
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<String>,
    pub(crate) state: String,
    pub(crate) epoch: i64,
    pub(crate) token: String,
    pub(crate) machine_id: Uuid,
    pub(crate) agent: String,
    pub(crate) pid: Option<i64>,
    pub(crate) start_ticks: Option<i64>,
    pub(crate) boot_id: Option<String>,
    pub(crate) started_at: i64,
    pub(crate) resumed_at: Option<i64>,
    pub(crate) ended_at: Option<i64>,
    pub(crate) again_at: Option<i64>,
    pub(crate) failure: Option<String>,
    pub(crate) failed_because: Option<String>,
    pub(crate) failures_in_row: i64,
    pub(crate) tries: i64,
    pub(crate) starts: i64,
    pub(crate) settled: i64,
    pub(crate) given: Option<i64>,
    pub(crate) read_back: bool,
    pub(crate) handed_back_at: Option<i64>,
    pub(crate) fresh: bool,
    pub(crate) left_behind: Option<String>,
    pub(crate) left_at: Option<i64>,
    pub(crate) used: Option<String>,
}

impl From<&Run> for RunRow {
    fn from(run: &Run) -> Self {
        let process = run.process.as_ref();
        Self {
            id: run.id.as_uuid(),
            card_id: run.card.as_uuid(),
            kind: run.kind.to_string(),
            parent_id: run.parent.map(RunId::as_uuid),
            codebase_id: run.codebase.map(CodebaseId::as_uuid),
            model: stored_opt(run.model.as_deref()),
            effort: stored_opt(run.effort.as_deref()),
            state: run.state.to_string(),
            epoch: run.epoch.get().into(),
            token: run.token.to_string(),
            machine_id: run.machine.as_uuid(),
            agent: run.agent.to_string(),
            pid: process.map(|process| process.pid.into()),
            start_ticks: process.map(|process| integer(process.start_ticks)),
            boot_id: process.map(|process| stored(&process.boot_id).into_owned()),
            started_at: run.started_at.unix_micros(),
            resumed_at: run.resumed_at.map(Time::unix_micros),
            ended_at: run.ended_at.map(Time::unix_micros),
            again_at: run.again_at.map(Time::unix_micros),
            failure: run.failure.map(|class| class.to_string()),
            failed_because: stored_opt(run.failed_because.as_deref()),
            failures_in_row: run.failures_in_row.into(),
            tries: run.tries.into(),
            starts: run.starts.into(),
            settled: run.settled.get().into(),
            given: run.given.map(|epoch| epoch.get().into()),
            read_back: run.read_back,
            handed_back_at: run.handed_back_at.map(Time::unix_micros),
            fresh: run.fresh,
            left_behind: stored_opt(run.left_behind.as_ref().map(|mark| mark.what.as_str())),
            left_at: run.left_behind.as_ref().map(|mark| mark.since.unix_micros()),
            used: run.used.as_ref().map(RunUsage::to_json),
        }
    }
}

impl TryFrom<RunRow> for Run {
    type Error = StoreError;
    fn try_from(row: RunRow) -> Result<Self, StoreError> {
        let (table, id) = ("runs", row.id);
        let process = match (row.pid, row.start_ticks, row.boot_id) {
            (None, None, None) => None,
            (Some(pid), Some(ticks), Some(boot_id)) => Some(ProcessFact {
                pid: number(table, id, "pid", pid)?,
                start_ticks: number(table, id, "start_ticks", ticks)?,
                boot_id: free(table, id, boot_id)?,
            }),
            _ => return Err(undecodable(table, id, "half a process")),
        };
        let left_behind = match (row.left_behind, row.left_at) {
            (None, None) => None,
            (Some(what), Some(at)) => Some(LeftBehind {
                what: free(table, id, what)?,
                since: Time::from_unix_micros(at),
            }),
            _ => return Err(undecodable(table, id, "half a mark of what was left")),
        };
        Ok(Self {
            id: RunId::from_uuid(id),
            card: CardId::from_uuid(row.card_id),
            kind: parse(table, id, &row.kind)?,
            parent: row.parent_id.map(RunId::from_uuid),
            codebase: row.codebase_id.map(CodebaseId::from_uuid),
            model: free_opt(table, id, row.model)?,
            effort: free_opt(table, id, row.effort)?,
            state: parse(table, id, &row.state)?,
            epoch: Epoch::new(number(table, id, "epoch", row.epoch)?),
            token: parse(table, id, &row.token)?,
            machine: MachineId::from_uuid(row.machine_id),
            agent: parse(table, id, &row.agent)?,
            process,
            left_behind,
            started_at: Time::from_unix_micros(row.started_at),
            resumed_at: row.resumed_at.map(Time::from_unix_micros),
            ended_at: row.ended_at.map(Time::from_unix_micros),
            again_at: row.again_at.map(Time::from_unix_micros),
            failure: row.failure.map(|class| parse(table, id, &class)).transpose()?,
            failures_in_row: number(table, id, "failures_in_row", row.failures_in_row)?,
            tries: number(table, id, "tries", row.tries)?,
            starts: number(table, id, "starts", row.starts)?,
            settled: Epoch::new(number(table, id, "settled", row.settled)?),
            given: epoch_opt(table, id, "given", row.given)?,
            read_back: row.read_back,
            handed_back_at: row.handed_back_at.map(Time::from_unix_micros),
            fresh: row.fresh,
            used: row.used.as_deref().map(RunUsage::from_json).transpose()?,
            failed_because: free_opt(table, id, row.failed_because)?,
        })
    }
}

/// The row of a brief or a report.
pub(crate) struct TextRow {
    pub(crate) run_id: Uuid,
    pub(crate) epoch: i64,
    pub(crate) body: String,
}

impl From<&RunText> for TextRow {
    fn from(text: &RunText) -> Self {
        Self {
            run_id: text.run.as_uuid(),
            epoch: text.epoch.get().into(),
            body: stored(&text.body).into_owned(),
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct LandingRow {
    pub(crate) id: Uuid,
    pub(crate) card_id: Uuid,
    pub(crate) codebase_id: Uuid,
    pub(crate) ask_id: Option<Uuid>,
    pub(crate) message: Option<String>,
    pub(crate) state: String,
    pub(crate) epoch: i64,
    pub(crate) token: Option<String>,
    pub(crate) machine_id: Uuid,
    pub(crate) accepted_by: String,
    pub(crate) accepted_at: i64,
    pub(crate) commit_id: Option<String>,
    pub(crate) result: Option<String>,
    pub(crate) ended_at: Option<i64>,
    pub(crate) base: Option<String>,
    pub(crate) method: Option<String>,
    pub(crate) evidence: Option<String>,
}

impl TryFrom<&Landing> for LandingRow {
    type Error = StoreError;
    fn try_from(landing: &Landing) -> Result<Self, StoreError> {
        Ok(Self {
            id: landing.id.as_uuid(),
            card_id: landing.card.as_uuid(),
            codebase_id: landing.codebase.as_uuid(),
            ask_id: landing.ask.map(AskId::as_uuid),
            message: stored_opt(landing.message.as_deref()),
            state: landing.state.to_string(),
            epoch: landing.epoch.get().into(),
            token: landing.token.map(|token| token.to_string()),
            machine_id: landing.machine.as_uuid(),
            accepted_by: landing.accepted_by.to_string(),
            accepted_at: landing.accepted_at.unix_micros(),
            commit_id: landing.commit.clone(),
            result: stored_opt(landing.result.as_deref()),
            ended_at: landing.ended_at.map(Time::unix_micros),
            base: stored_opt(landing.base.as_deref()),
            method: landing.method.map(|method| method.to_string()),
            evidence: landing.evidence.as_ref().map(Evidence::to_json).transpose()?,
        })
    }
}

impl TryFrom<LandingRow> for Landing {
    type Error = StoreError;
    fn try_from(row: LandingRow) -> Result<Self, StoreError> {
        let (table, id) = ("landings", row.id);
        Ok(Self {
            id: LandingId::from_uuid(id),
            card: CardId::from_uuid(row.card_id),
            codebase: CodebaseId::from_uuid(row.codebase_id),
            ask: row.ask_id.map(AskId::from_uuid),
            state: parse(table, id, &row.state)?,
            epoch: Epoch::new(number(table, id, "epoch", row.epoch)?),
            token: row.token.map(|token| parse(table, id, &token)).transpose()?,
            machine: MachineId::from_uuid(row.machine_id),
            accepted_by: parse(table, id, &row.accepted_by)?,
            accepted_at: Time::from_unix_micros(row.accepted_at),
            ended_at: row.ended_at.map(Time::from_unix_micros),
            base: free_opt(table, id, row.base)?,
            method: row.method.map(|method| parse(table, id, &method)).transpose()?,
            evidence: row.evidence.as_deref().map(Evidence::from_json).transpose()?,
            message: free_opt(table, id, row.message)?,
            commit: row.commit_id,
            result: free_opt(table, id, row.result)?,
        })
    }
}

#[derive(Deserialize)]
pub(crate) struct JournalStored {
    pub(crate) operation_id: Uuid,
    pub(crate) machine_id: Uuid,
    pub(crate) kind: String,
    pub(crate) result: String,
}

impl TryFrom<JournalStored> for JournalRow {
    type Error = StoreError;
    fn try_from(row: JournalStored) -> Result<Self, StoreError> {
        Ok(Self {
            operation: OperationId::from_uuid(row.operation_id),
            machine: MachineId::from_uuid(row.machine_id),
            entry: JournalEntry::from_stored(&row.kind, &row.result)?,
        })
    }
}
