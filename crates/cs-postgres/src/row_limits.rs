//! Rows of what limits takes: parked routes, pauses and numbers of live runs, both ways, and what a lock reads of them.

use std::collections::BTreeMap;

use cs_model::{AgentName, CodebaseId, MachineId, PauseKind, Person, Time};
use cs_record::{CodebaseLimits, Limits, LiveLimit, Park, Pause, Route, Scope, Serves, StoreError};
use serde::Deserialize;
use uuid::Uuid;

use crate::error::undecodable;
use crate::row_cards::{free, free_opt, number, parse};
use crate::text::stored;

/// What `room_of` returns.
#[derive(Deserialize)]
pub(crate) struct RoomRow {
    pause: Option<String>,
    free: Option<i64>,
    person: Option<String>,
    parked: Vec<String>,
    codebases: Vec<CodebaseRoomRow>,
}

#[derive(Deserialize)]
struct CodebaseRoomRow {
    id: Uuid,
    pause: Option<String>,
    free: Option<i64>,
}

fn pause_kind(id: impl std::fmt::Display, kind: Option<&str>) -> Result<Option<PauseKind>, StoreError> {
    kind.map(|kind| parse("pauses", id, kind)).transpose()
}

fn count(id: impl std::fmt::Display, count: Option<i64>) -> Result<Option<u32>, StoreError> {
    count.map(|count| number("limits", id, "free", count)).transpose()
}

impl TryFrom<RoomRow> for Limits {
    type Error = StoreError;
    fn try_from(row: RoomRow) -> Result<Self, StoreError> {
        let mut codebases = BTreeMap::new();
        for codebase in row.codebases {
            let limits = CodebaseLimits {
                pause: pause_kind(codebase.id, codebase.pause.as_deref())?,
                free: count(codebase.id, codebase.free)?,
            };
            codebases.insert(CodebaseId::from_uuid(codebase.id), limits);
        }
        let agent = |agent: &String| parse::<AgentName>("parked_routes", "of a machine", agent);
        Ok(Self {
            pause: pause_kind("of a machine", row.pause.as_deref())?,
            free: count("of a machine", row.free)?,
            codebases,
            parked: row.parked.iter().map(agent).collect::<Result<_, _>>()?,
            serves: match row.person {
                Some(person) => Serves::Only(parse::<Person>("machines", "of a person", &person)?),
                None => Serves::Everyone,
            },
        })
    }
}

#[derive(Deserialize)]
pub(crate) struct ParkRow {
    pub(crate) machine_id: Uuid,
    pub(crate) agent: String,
    pub(crate) class: String,
    pub(crate) reason: String,
    pub(crate) since: i64,
    pub(crate) until: Option<i64>,
}

impl From<&Park> for ParkRow {
    fn from(park: &Park) -> Self {
        Self {
            machine_id: park.route.machine.as_uuid(),
            agent: park.route.agent.to_string(),
            class: park.class.to_string(),
            reason: stored(&park.reason).into_owned(),
            since: park.since.unix_micros(),
            until: park.until.map(Time::unix_micros),
        }
    }
}

impl TryFrom<ParkRow> for Park {
    type Error = StoreError;
    fn try_from(row: ParkRow) -> Result<Self, StoreError> {
        let (table, id) = ("parked_routes", row.machine_id);
        Ok(Self {
            route: Route {
                machine: MachineId::from_uuid(id),
                agent: parse(table, id, &row.agent)?,
            },
            class: parse(table, id, &row.class)?,
            reason: free(table, id, row.reason)?,
            since: Time::from_unix_micros(row.since),
            until: row.until.map(Time::from_unix_micros),
        })
    }
}

#[derive(Deserialize)]
pub(crate) struct PauseRow {
    machine_id: Option<Uuid>,
    codebase_id: Option<Uuid>,
    kind: String,
    reason: Option<String>,
    person: String,
    at: i64,
}

impl TryFrom<PauseRow> for Pause {
    type Error = StoreError;
    fn try_from(row: PauseRow) -> Result<Self, StoreError> {
        let (table, id) = ("pauses", row.machine_id.or(row.codebase_id).unwrap_or_default());
        let scope = match (row.machine_id, row.codebase_id) {
            (None, None) => Scope::Everything,
            (Some(machine), None) => Scope::Machine(MachineId::from_uuid(machine)),
            (None, Some(codebase)) => Scope::Codebase(CodebaseId::from_uuid(codebase)),
            (Some(_), Some(_)) => return Err(undecodable(table, id, "two scopes")),
        };
        Ok(Self {
            scope,
            kind: parse(table, id, &row.kind)?,
            reason: free_opt(table, id, row.reason)?,
            by: parse(table, id, &row.person)?,
            at: Time::from_unix_micros(row.at),
        })
    }
}

#[derive(Deserialize)]
pub(crate) struct LimitRow {
    kind: String,
    id: Uuid,
    most: i64,
    person: String,
    at: i64,
}

impl TryFrom<LimitRow> for LiveLimit {
    type Error = StoreError;
    fn try_from(row: LimitRow) -> Result<Self, StoreError> {
        let (table, id) = ("limits", row.id);
        let scope = match row.kind.as_str() {
            "machine" => Scope::Machine(MachineId::from_uuid(id)),
            "codebase" => Scope::Codebase(CodebaseId::from_uuid(id)),
            kind => return Err(undecodable(table, id, format_args!("unknown kind `{kind}`"))),
        };
        Ok(Self {
            scope,
            most: number(table, id, "most", row.most)?,
            by: parse(table, id, &row.person)?,
            at: Time::from_unix_micros(row.at),
        })
    }
}
