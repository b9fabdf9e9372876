//! Rows of runs, landings and the journal, both ways.

use cs_fence::ProcessFact;
use cs_model::{Epoch, Time};
use cs_record::{Evidence, JournalEntry, JournalRow, Landing, LeftBehind, Run, RunUsage, StoreError};
use serde::Serialize;
use sqlx::FromRow;

use crate::error::undecodable;
use crate::row_cards::{epoch_opt, integer, number, parse, parse_opt};

#[derive(FromRow, Serialize)]
pub(crate) struct RunRow {
    id: String,
    pub(crate) card_id: String,
    kind: String,
    parent_id: Option<String>,
    codebase_id: Option<String>,
    model: Option<String>,
    effort: Option<String>,
    state: String,
    epoch: i64,
    token: String,
    machine_id: String,
    agent: String,
    pid: Option<i64>,
    start_ticks: Option<i64>,
    boot_id: Option<String>,
    started_at: i64,
    resumed_at: Option<i64>,
    ended_at: Option<i64>,
    again_at: Option<i64>,
    failure: Option<String>,
    failed_because: Option<String>,
    failures_in_row: i64,
    tries: i64,
    starts: i64,
    settled: i64,
    given: Option<i64>,
    read_back: i64,
    handed_back_at: Option<i64>,
    fresh: i64,
    left_behind: Option<String>,
    left_at: Option<i64>,
    used: Option<String>,
}

impl From<&Run> for RunRow {
    fn from(run: &Run) -> Self {
        let process = run.process.as_ref();
        Self {
            id: run.id.to_string(),
            card_id: run.card.to_string(),
            kind: run.kind.to_string(),
            parent_id: run.parent.map(|id| id.to_string()),
            codebase_id: run.codebase.map(|id| id.to_string()),
            model: run.model.clone(),
            effort: run.effort.clone(),
            state: run.state.to_string(),
            epoch: run.epoch.get().into(),
            token: run.token.to_string(),
            machine_id: run.machine.to_string(),
            agent: run.agent.to_string(),
            pid: process.map(|process| process.pid.into()),
            start_ticks: process.map(|process| integer(process.start_ticks)),
            boot_id: process.map(|process| process.boot_id.clone()),
            started_at: run.started_at.unix_micros(),
            resumed_at: run.resumed_at.map(Time::unix_micros),
            ended_at: run.ended_at.map(Time::unix_micros),
            again_at: run.again_at.map(Time::unix_micros),
            failure: run.failure.map(|class| class.to_string()),
            failed_because: run.failed_because.clone(),
            failures_in_row: run.failures_in_row.into(),
            tries: run.tries.into(),
            starts: run.starts.into(),
            settled: run.settled.get().into(),
            given: run.given.map(|epoch| epoch.get().into()),
            read_back: run.read_back.into(),
            handed_back_at: run.handed_back_at.map(Time::unix_micros),
            fresh: run.fresh.into(),
            left_behind: run.left_behind.as_ref().map(|mark| mark.what.clone()),
            left_at: run.left_behind.as_ref().map(|mark| mark.since.unix_micros()),
            used: run.used.as_ref().map(RunUsage::to_json),
        }
    }
}

impl TryFrom<RunRow> for Run {
    type Error = StoreError;
    fn try_from(row: RunRow) -> Result<Self, StoreError> {
        let (table, id) = ("runs", row.id.as_str());
        let process = match (row.pid, row.start_ticks, row.boot_id) {
            (None, None, None) => None,
            (Some(pid), Some(ticks), Some(boot_id)) => Some(ProcessFact {
                pid: number(table, id, "pid", pid)?,
                start_ticks: number(table, id, "start_ticks", ticks)?,
                boot_id,
            }),
            _ => return Err(undecodable(table, id, "half a process")),
        };
        let left_behind = match (row.left_behind, row.left_at) {
            (None, None) => None,
            (Some(what), Some(at)) => Some(LeftBehind {
                what,
                since: Time::from_unix_micros(at),
            }),
            _ => return Err(undecodable(table, id, "half a mark of what was left")),
        };
        Ok(Self {
            id: parse(table, id, id)?,
            card: parse(table, id, &row.card_id)?,
            kind: parse(table, id, &row.kind)?,
            parent: parse_opt(table, id, row.parent_id.as_deref())?,
            codebase: parse_opt(table, id, row.codebase_id.as_deref())?,
            state: parse(table, id, &row.state)?,
            epoch: Epoch::new(number(table, id, "epoch", row.epoch)?),
            token: parse(table, id, &row.token)?,
            machine: parse(table, id, &row.machine_id)?,
            agent: parse(table, id, &row.agent)?,
            process,
            left_behind,
            started_at: Time::from_unix_micros(row.started_at),
            resumed_at: row.resumed_at.map(Time::from_unix_micros),
            ended_at: row.ended_at.map(Time::from_unix_micros),
            again_at: row.again_at.map(Time::from_unix_micros),
            failure: parse_opt(table, id, row.failure.as_deref())?,
            failures_in_row: number(table, id, "failures_in_row", row.failures_in_row)?,
            tries: number(table, id, "tries", row.tries)?,
            starts: number(table, id, "starts", row.starts)?,
            settled: Epoch::new(number(table, id, "settled", row.settled)?),
            given: epoch_opt(table, id, "given", row.given)?,
            read_back: row.read_back == 1,
            handed_back_at: row.handed_back_at.map(Time::from_unix_micros),
            fresh: row.fresh == 1,
            used: row.used.as_deref().map(RunUsage::from_json).transpose()?,
            failed_because: row.failed_because,
            model: row.model,
            effort: row.effort,
        })
    }
}

#[derive(FromRow, Serialize)]
pub(crate) struct LandingRow {
    id: String,
    pub(crate) card_id: String,
    codebase_id: String,
    ask_id: Option<String>,
    message: Option<String>,
    state: String,
    epoch: i64,
    token: Option<String>,
    machine_id: String,
    accepted_by: String,
    accepted_at: i64,
    commit_id: Option<String>,
    result: Option<String>,
    ended_at: Option<i64>,
    base: Option<String>,
    method: Option<String>,
    evidence: Option<String>,
}

impl TryFrom<&Landing> for LandingRow {
    type Error = StoreError;
    fn try_from(landing: &Landing) -> Result<Self, StoreError> {
        Ok(Self {
            id: landing.id.to_string(),
            card_id: landing.card.to_string(),
            codebase_id: landing.codebase.to_string(),
            ask_id: landing.ask.map(|id| id.to_string()),
            message: landing.message.clone(),
            state: landing.state.to_string(),
            epoch: landing.epoch.get().into(),
            token: landing.token.map(|token| token.to_string()),
            machine_id: landing.machine.to_string(),
            accepted_by: landing.accepted_by.to_string(),
            accepted_at: landing.accepted_at.unix_micros(),
            commit_id: landing.commit.clone(),
            result: landing.result.clone(),
            ended_at: landing.ended_at.map(Time::unix_micros),
            base: landing.base.clone(),
            method: landing.method.map(|method| method.to_string()),
            evidence: landing.evidence.as_ref().map(Evidence::to_json).transpose()?,
        })
    }
}

impl TryFrom<LandingRow> for Landing {
    type Error = StoreError;
    fn try_from(row: LandingRow) -> Result<Self, StoreError> {
        let (table, id) = ("landings", row.id.as_str());
        Ok(Self {
            id: parse(table, id, id)?,
            card: parse(table, id, &row.card_id)?,
            codebase: parse(table, id, &row.codebase_id)?,
            ask: parse_opt(table, id, row.ask_id.as_deref())?,
            state: parse(table, id, &row.state)?,
            epoch: Epoch::new(number(table, id, "epoch", row.epoch)?),
            token: parse_opt(table, id, row.token.as_deref())?,
            machine: parse(table, id, &row.machine_id)?,
            accepted_by: parse(table, id, &row.accepted_by)?,
            accepted_at: Time::from_unix_micros(row.accepted_at),
            ended_at: row.ended_at.map(Time::from_unix_micros),
            method: parse_opt(table, id, row.method.as_deref())?,
            evidence: row.evidence.as_deref().map(Evidence::from_json).transpose()?,
            message: row.message,
            commit: row.commit_id,
            result: row.result,
            base: row.base,
        })
    }
}

#[derive(FromRow)]
pub(crate) struct JournalStored {
    operation_id: String,
    machine_id: String,
    kind: String,
    result: String,
}

impl TryFrom<JournalStored> for JournalRow {
    type Error = StoreError;
    fn try_from(row: JournalStored) -> Result<Self, StoreError> {
        let (table, id) = ("journal", row.operation_id.as_str());
        Ok(Self {
            operation: parse(table, id, id)?,
            machine: parse(table, id, &row.machine_id)?,
            entry: JournalEntry::from_stored(&row.kind, &row.result)?,
        })
    }
}
