//! Pauses, numbers of live runs, and parked routes.

use cs_model::{MachineId, PauseKind, Person, Time};
use cs_record::{LiveLimit, Park, Pause, Route, Scope, StoreError};
use sqlx::postgres::PgArguments;
use sqlx::query::QueryScalar;
use sqlx::{PgConnection, Postgres};
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::{commit_error, store_error};
use crate::load::domain;
use crate::machines::run;
use crate::row_limits::{LimitRow, ParkRow, PauseRow};
use crate::store::{Sql, sql};
use crate::text::stored_opt;

type Number = QueryScalar<'static, Postgres, i64, PgArguments>;

/// Runs a statement that returns one number.
pub(crate) async fn number(
    connection: &mut PgConnection,
    Sql { name, text }: Sql,
    bind: impl FnOnce(Number) -> Number,
) -> Result<i64, StoreError> {
    let asked = bind(sqlx::query_scalar(text)).persistent(false);
    let answered = asked.fetch_one(connection).await;
    answered.map_err(|error| store_error(name, error))
}

/// The columns of a scope in `pauses`: its key, its machine, its codebase.
fn pause_columns(scope: Scope) -> (String, Option<Uuid>, Option<Uuid>) {
    match scope {
        Scope::Everything => ("everything".to_owned(), None, None),
        Scope::Machine(id) => (format!("machine {id}"), Some(id.as_uuid()), None),
        Scope::Codebase(id) => (format!("codebase {id}"), None, Some(id.as_uuid())),
    }
}

/// Waits until the takes that saw no pause are over: after this returned, no take commits that did not respect it.
pub(crate) async fn pause(
    store: &PostgresStore,
    scope: Scope,
    kind: PauseKind,
    reason: Option<&str>,
    by: &Person,
) -> Result<Pause, StoreError> {
    let mut tx = store.begin().await?;
    run(&mut tx, sql!("lock_pauses"), |query| query).await?;
    let (key, machine, codebase) = pause_columns(scope);
    let at = number(&mut tx, sql!("upsert_pause"), |query| {
        query
            .bind(key)
            .bind(machine)
            .bind(codebase)
            .bind(kind.to_string())
            .bind(stored_opt(reason))
            .bind(by.to_string())
            .bind(store.test_now())
    })
    .await?;
    tx.commit().await.map_err(commit_error)?;
    Ok(Pause {
        scope,
        kind,
        reason: reason.map(ToOwned::to_owned),
        by: by.clone(),
        at: Time::from_unix_micros(at),
    })
}

pub(crate) async fn unpause(store: &PostgresStore, scope: Scope) -> Result<bool, StoreError> {
    let (key, ..) = pause_columns(scope);
    let mut tx = store.begin().await?;
    let gone = number(&mut tx, sql!("delete_pause"), |query| query.bind(key)).await?;
    tx.commit().await.map_err(commit_error)?;
    Ok(gone > 0)
}

pub(crate) async fn pauses(store: &PostgresStore, machine: MachineId) -> Result<Vec<Pause>, StoreError> {
    let rows: Vec<PauseRow> = store
        .read_one(sql!("list_pauses"), |query| query.bind(machine.as_uuid()))
        .await?;
    domain(rows)
}

/// The key of a scope in `limits`.
fn limit_columns(scope: Scope) -> Result<(&'static str, Uuid), StoreError> {
    match scope {
        Scope::Machine(id) => Ok(("machine", id.as_uuid())),
        Scope::Codebase(id) => Ok(("codebase", id.as_uuid())),
        Scope::Everything => Err(StoreError::Corrupt(
            "a limit belongs to a machine or a codebase".to_owned(),
        )),
    }
}

/// Waits until the starts that saw another limit are over, so that none that comes later exceeds this one.
pub(crate) async fn limit(
    store: &PostgresStore,
    scope: Scope,
    most: Option<u32>,
    by: &Person,
) -> Result<(), StoreError> {
    let (kind, id) = limit_columns(scope)?;
    let mut tx = store.begin().await?;
    run(&mut tx, sql!("lock_limits"), |query| query).await?;
    match most {
        Some(most) => {
            number(&mut tx, sql!("upsert_limit"), |query| {
                query
                    .bind(kind)
                    .bind(id)
                    .bind(i64::from(most))
                    .bind(by.to_string())
                    .bind(store.test_now())
            })
            .await?;
        }
        None => {
            number(&mut tx, sql!("delete_limit"), |query| query.bind(kind).bind(id)).await?;
        }
    }
    tx.commit().await.map_err(commit_error)
}

pub(crate) async fn limits(store: &PostgresStore) -> Result<Vec<LiveLimit>, StoreError> {
    let rows: Vec<LimitRow> = store.read_one(sql!("list_limits"), |query| query).await?;
    domain(rows)
}

pub(crate) async fn parks(store: &PostgresStore, machine: MachineId) -> Result<Vec<Park>, StoreError> {
    let rows: Vec<ParkRow> = store
        .read_one(sql!("list_parks"), |query| query.bind(machine.as_uuid()))
        .await?;
    domain(rows)
}

pub(crate) async fn unpark(store: &PostgresStore, route: &Route) -> Result<bool, StoreError> {
    let mut tx = store.begin().await?;
    let gone = number(&mut tx, sql!("delete_park"), |query| {
        query.bind(route.machine.as_uuid()).bind(route.agent.to_string())
    })
    .await?;
    tx.commit().await.map_err(commit_error)?;
    Ok(gone > 0)
}
