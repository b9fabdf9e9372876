//! Rows of pauses, limits and parked routes, both ways.

use cs_model::Time;
use cs_record::{LiveLimit, Park, Pause, Route, Scope, StoreError, Unpark};
use serde::Serialize;
use sqlx::FromRow;

use crate::error::undecodable;
use crate::row_cards::{number, parse, parse_opt};

#[derive(FromRow)]
pub(crate) struct PauseRow {
    kind: String,
    machine_id: Option<String>,
    codebase_id: Option<String>,
    reason: Option<String>,
    person: String,
    at: i64,
}

impl TryFrom<PauseRow> for Pause {
    type Error = StoreError;
    fn try_from(row: PauseRow) -> Result<Self, StoreError> {
        let table = "pauses";
        let id = row.machine_id.as_deref().or(row.codebase_id.as_deref());
        let id = id.unwrap_or("everything");
        let machine = parse_opt(table, id, row.machine_id.as_deref())?;
        let codebase = parse_opt(table, id, row.codebase_id.as_deref())?;
        let scope = match (machine, codebase) {
            (None, None) => Scope::Everything,
            (Some(machine), None) => Scope::Machine(machine),
            (None, Some(codebase)) => Scope::Codebase(codebase),
            (Some(_), Some(_)) => return Err(undecodable(table, id, "two scopes")),
        };
        Ok(Self {
            scope,
            kind: parse(table, id, &row.kind)?,
            by: parse(table, id, &row.person)?,
            at: Time::from_unix_micros(row.at),
            reason: row.reason,
        })
    }
}

#[derive(FromRow)]
pub(crate) struct LimitRow {
    kind: String,
    id: String,
    most: i64,
    person: String,
    at: i64,
}

impl TryFrom<LimitRow> for LiveLimit {
    type Error = StoreError;
    fn try_from(row: LimitRow) -> Result<Self, StoreError> {
        let (table, id) = ("limits", row.id.as_str());
        let scope = match row.kind.as_str() {
            "machine" => Scope::Machine(parse(table, id, id)?),
            "codebase" => Scope::Codebase(parse(table, id, id)?),
            kind => return Err(undecodable(table, id, format_args!("a limit of a `{kind}`"))),
        };
        Ok(Self {
            scope,
            most: number(table, id, "most", row.most)?,
            by: parse(table, id, &row.person)?,
            at: Time::from_unix_micros(row.at),
        })
    }
}

#[derive(FromRow, Serialize)]
pub(crate) struct ParkRow {
    machine_id: String,
    agent: String,
    class: String,
    reason: String,
    since: i64,
    until: Option<i64>,
}

impl From<&Park> for ParkRow {
    fn from(park: &Park) -> Self {
        Self {
            machine_id: park.route.machine.to_string(),
            agent: park.route.agent.to_string(),
            class: park.class.to_string(),
            reason: park.reason.clone(),
            since: park.since.unix_micros(),
            until: park.until.map(Time::unix_micros),
        }
    }
}

impl TryFrom<ParkRow> for Park {
    type Error = StoreError;
    fn try_from(row: ParkRow) -> Result<Self, StoreError> {
        let (table, id) = ("parked_routes", row.agent.as_str());
        Ok(Self {
            route: Route {
                machine: parse(table, id, &row.machine_id)?,
                agent: parse(table, id, id)?,
            },
            class: parse(table, id, &row.class)?,
            since: Time::from_unix_micros(row.since),
            until: row.until.map(Time::from_unix_micros),
            reason: row.reason,
        })
    }
}

/// The key of a parked route, and from when on a park of it stays.
#[derive(Serialize)]
pub(crate) struct UnparkRow {
    machine_id: String,
    agent: String,
    /// Nothing: it goes, however young it is.
    began_at: Option<i64>,
}

impl From<&Route> for UnparkRow {
    fn from(route: &Route) -> Self {
        Self {
            machine_id: route.machine.to_string(),
            agent: route.agent.to_string(),
            began_at: None,
        }
    }
}

impl From<&Unpark> for UnparkRow {
    fn from(unpark: &Unpark) -> Self {
        Self {
            began_at: Some(unpark.began_at.unix_micros()),
            ..Self::from(&unpark.route)
        }
    }
}
