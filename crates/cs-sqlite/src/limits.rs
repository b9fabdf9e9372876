//! Pauses, limits and parked routes.

use cs_model::{MachineId, PauseKind, Person};
use cs_record::{LiveLimit, Park, Pause, Route, Scope, StoreError};

use crate::SqliteStore;
use crate::load::json;
use crate::row_limits::{LimitRow, ParkRow, PauseRow, UnparkRow};
use crate::script;

/// Returns the key of a scope, its machine and its codebase.
fn scope_columns(scope: Scope) -> (String, Option<String>, Option<String>) {
    match scope {
        Scope::Everything => ("everything".to_owned(), None, None),
        Scope::Machine(id) => (format!("machine:{id}"), Some(id.to_string()), None),
        Scope::Codebase(id) => (format!("codebase:{id}"), None, Some(id.to_string())),
    }
}

pub(crate) async fn pause(
    store: &SqliteStore,
    scope: Scope,
    kind: PauseKind,
    reason: Option<&str>,
    by: &Person,
) -> Result<Pause, StoreError> {
    let mut tx = store.begin().await?;
    let at = store.now();
    let (key, machine, codebase) = scope_columns(scope);
    script::changes(
        &mut tx,
        "upsert_pause",
        sqlx::query(include_str!("../queries/upsert_pause.sql"))
            .bind(key)
            .bind(kind.as_str())
            .bind(machine)
            .bind(codebase)
            .bind(reason)
            .bind(by.as_str())
            .bind(at.unix_micros()),
    )
    .await?;
    tx.commit().await?;
    Ok(Pause {
        scope,
        kind,
        reason: reason.map(ToOwned::to_owned),
        by: by.clone(),
        at,
    })
}

pub(crate) async fn unpause(store: &SqliteStore, scope: Scope) -> Result<bool, StoreError> {
    let mut tx = store.begin().await?;
    let done = script::changes(
        &mut tx,
        "delete_pause",
        sqlx::query(include_str!("../queries/delete_pause.sql")).bind(scope_columns(scope).0),
    )
    .await?;
    tx.commit().await?;
    Ok(done > 0)
}

pub(crate) async fn pauses(store: &SqliteStore, machine: MachineId) -> Result<Vec<Pause>, StoreError> {
    let rows: Vec<PauseRow> = script::all(
        &mut *store.snapshot().await?,
        "list_pauses",
        sqlx::query(include_str!("../queries/list_pauses.sql")).bind(machine.to_string()),
    )
    .await?;
    rows.into_iter().map(Pause::try_from).collect()
}

/// Returns the key of a limit.
fn limit_columns(scope: Scope) -> Result<(&'static str, String), StoreError> {
    match scope {
        Scope::Machine(id) => Ok(("machine", id.to_string())),
        Scope::Codebase(id) => Ok(("codebase", id.to_string())),
        Scope::Everything => Err(StoreError::Corrupt(
            "a limit belongs to a machine or a codebase, not to everything".to_owned(),
        )),
    }
}

pub(crate) async fn limit(
    store: &SqliteStore,
    scope: Scope,
    most: Option<u32>,
    by: &Person,
) -> Result<(), StoreError> {
    let (kind, id) = limit_columns(scope)?;
    let mut tx = store.begin().await?;
    match most {
        Some(most) => {
            script::changes(
                &mut tx,
                "upsert_limit",
                sqlx::query(include_str!("../queries/upsert_limit.sql"))
                    .bind(kind)
                    .bind(id)
                    .bind(i64::from(most))
                    .bind(by.as_str())
                    .bind(store.now().unix_micros()),
            )
            .await?
        }
        None => {
            script::changes(
                &mut tx,
                "delete_limit",
                sqlx::query(include_str!("../queries/delete_limit.sql"))
                    .bind(kind)
                    .bind(id),
            )
            .await?
        }
    };
    tx.commit().await
}

pub(crate) async fn limits(store: &SqliteStore) -> Result<Vec<LiveLimit>, StoreError> {
    let rows: Vec<LimitRow> = script::all(
        &mut *store.snapshot().await?,
        "list_limits",
        sqlx::query(include_str!("../queries/list_limits.sql")),
    )
    .await?;
    rows.into_iter().map(LiveLimit::try_from).collect()
}

pub(crate) async fn parks(store: &SqliteStore, machine: MachineId) -> Result<Vec<Park>, StoreError> {
    let rows: Vec<ParkRow> = script::all(
        &mut *store.snapshot().await?,
        "list_parked_routes",
        sqlx::query(include_str!("../queries/list_parked_routes.sql")).bind(machine.to_string()),
    )
    .await?;
    rows.into_iter().map(Park::try_from).collect()
}

pub(crate) async fn unpark(store: &SqliteStore, route: &Route) -> Result<bool, StoreError> {
    let mut tx = store.begin().await?;
    let done = script::changes(
        &mut tx,
        "delete_parked_routes",
        sqlx::query(include_str!("../queries/delete_parked_routes.sql"))
            .bind(json(&[UnparkRow::from(route)])?),
    )
    .await?;
    tx.commit().await?;
    Ok(done > 0)
}
