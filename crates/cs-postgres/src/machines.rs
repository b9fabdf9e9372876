//! Machines and codebases.

use cs_fence::TokenHash;
use cs_model::{CodebaseId, MachineId, Time};
use cs_record::{Codebase, PRESENCE_LIFE, Present, Registered, StoreError};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::{commit_error, store_error};
use crate::load::from_json;
use crate::reads::CodebaseRow;
use crate::row_cards::parse;
use crate::store::{Sql, sql};
use crate::text::stored;

/// Says that a daemon is there: in one statement when it says nothing new.
pub(crate) async fn present(store: &PostgresStore, present: &Present) -> Result<Registered<()>, StoreError> {
    let renewed = store
        .write_alone(sql!("renew_machine"), |query| {
            said(query, present, store.test_now()).bind(codebases(present))
        })
        .await?;
    if renewed > 0 {
        return Ok(Registered::Written(()));
    }
    introduce(store, present).await
}

/// Binds what a daemon says of itself, the time and how long it counts.
fn said(query: Query, present: &Present, now: Option<i64>) -> Query {
    query
        .bind(present.machine.as_uuid())
        .bind(stored(&present.name).into_owned())
        .bind(present.person.as_str().to_owned())
        .bind(stored(&present.boot_id).into_owned())
        .bind(present.daemon.to_string())
        .bind(now)
        .bind(i64::try_from(PRESENCE_LIFE.as_micros()).unwrap_or(i64::MAX))
        .bind(present.serves_everyone)
}

fn codebases(present: &Present) -> Vec<Uuid> {
    present.codebases.iter().map(|id| id.as_uuid()).collect()
}

/// Writes what a daemon says, unless another one is present.
async fn introduce(store: &PostgresStore, present: &Present) -> Result<Registered<()>, StoreError> {
    let mut tx = store.begin().await?;
    let now = store.test_now();
    let machine = present.machine.as_uuid();
    run(&mut tx, sql!("insert_machine"), |query| query.bind(machine)).await?;
    let Sql { name, text } = sql!("holds_machine");
    let (daemon, seen_at, is_present): (String, i64, bool) = sqlx::query_as(text)
        .persistent(false)
        .bind(machine)
        .bind(now)
        .fetch_one(&mut *tx)
        .await
        .map_err(|error| store_error(name, error))?;
    if is_present && !present.may_follow(&parse("machines", machine, &daemon)?) {
        store.end(tx).await?;
        return Ok(Registered::Taken(Time::from_unix_micros(seen_at)));
    }
    run(&mut tx, sql!("update_machine"), |query| said(query, present, now)).await?;
    let codebases = codebases(present);
    run(&mut tx, sql!("delete_machine_codebases"), |query| {
        query.bind(machine).bind(codebases.clone())
    })
    .await?;
    has_codebases(&mut tx, machine, codebases).await?;
    tx.commit().await.map_err(commit_error)?;
    Ok(Registered::Written(()))
}

pub(crate) type Query = sqlx::query::Query<'static, sqlx::Postgres, sqlx::postgres::PgArguments>;

/// Runs a statement for its effect. These acts are rare, so that none of their statements is kept prepared.
pub(crate) async fn run(
    connection: &mut PgConnection,
    Sql { name, text }: Sql,
    bind: impl FnOnce(Query) -> Query,
) -> Result<(), StoreError> {
    let done = bind(sqlx::query(text))
        .persistent(false)
        .execute(connection)
        .await;
    done.map(drop).map_err(|error| store_error(name, error))
}

async fn has_codebases(
    connection: &mut PgConnection,
    machine: Uuid,
    codebases: Vec<Uuid>,
) -> Result<(), StoreError> {
    run(connection, sql!("insert_machine_codebases"), |query| {
        query.bind(machine).bind(codebases)
    })
    .await
}

pub(crate) async fn leave(
    store: &PostgresStore,
    machine: MachineId,
    daemon: TokenHash,
) -> Result<(), StoreError> {
    let now = store.test_now();
    let left = store.write_alone(sql!("leave_machine"), |query| {
        query.bind(machine.as_uuid()).bind(daemon.to_string()).bind(now)
    });
    left.await.map(drop)
}

pub(crate) async fn add_codebase(
    store: &PostgresStore,
    id: CodebaseId,
    name: &str,
    machine: MachineId,
) -> Result<Registered<Codebase>, StoreError> {
    let mut tx = store.begin().await?;
    run(&mut tx, sql!("lock_codebases"), |query| query).await?;
    let found = find_codebase(&mut tx, id, name).await?;
    let codebase = match found {
        Some(found) if found.id == id => found,
        Some(other) => {
            store.end(tx).await?;
            return Ok(Registered::Taken(other.created_at));
        }
        None => insert_codebase(&mut tx, id, name, store.test_now()).await?,
    };
    has_codebases(&mut tx, machine.as_uuid(), vec![id.as_uuid()]).await?;
    run(&mut tx, sql!("notify_record"), |query| query).await?;
    tx.commit().await.map_err(commit_error)?;
    Ok(Registered::Written(codebase))
}

async fn find_codebase(
    connection: &mut PgConnection,
    id: CodebaseId,
    codebase: &str,
) -> Result<Option<Codebase>, StoreError> {
    let Sql { name, text } = sql!("find_codebase");
    let found: Option<String> = sqlx::query_scalar(text)
        .persistent(false)
        .bind(id.as_uuid())
        .bind(stored(codebase).into_owned())
        .fetch_optional(connection)
        .await
        .map_err(|error| store_error(name, error))?;
    found.map(|json| codebase_of(&json)).transpose()
}

async fn insert_codebase(
    connection: &mut PgConnection,
    id: CodebaseId,
    codebase: &str,
    now: Option<i64>,
) -> Result<Codebase, StoreError> {
    let Sql { name, text } = sql!("insert_codebase");
    let json: String = sqlx::query_scalar(text)
        .persistent(false)
        .bind(id.as_uuid())
        .bind(stored(codebase).into_owned())
        .bind(now)
        .fetch_one(connection)
        .await
        .map_err(|error| store_error(name, error))?;
    codebase_of(&json)
}

fn codebase_of(json: &str) -> Result<Codebase, StoreError> {
    from_json::<CodebaseRow>("codebases", json)?.try_into()
}
