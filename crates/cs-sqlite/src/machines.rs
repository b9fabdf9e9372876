//! Machines and codebases.

use cs_fence::TokenHash;
use cs_model::{CodebaseId, MachineId, Time};
use cs_record::{Codebase, PRESENCE_LIFE, Present, Registered, StoreError};
use sqlx::SqliteConnection;

use crate::SqliteStore;
use crate::error::{commit_error, store_error};
use crate::load::json;
use crate::reads::CodebaseRow;
use crate::row_cards::parse;

/// Says that a daemon is there: in one statement when it says nothing new.
pub(crate) async fn present(store: &SqliteStore, present: &Present) -> Result<Registered<()>, StoreError> {
    if is_renewed(store, present).await? {
        return Ok(Registered::Written(()));
    }
    introduce(store, present).await
}

async fn is_renewed(store: &SqliteStore, present: &Present) -> Result<bool, StoreError> {
    let renewal = sqlx::query(include_str!("../queries/renew_machine.sql"));
    let done = said(renewal, present, store.now())
        .bind(json(&present.codebases)?)
        .execute(&store.writer)
        .await
        .map_err(|error| store_error("renew_machine", error))?;
    Ok(done.rows_affected() > 0)
}

type Query<'q> = sqlx::query::Query<'q, sqlx::Sqlite, sqlx::sqlite::SqliteArguments>;

/// Binds what a daemon says of itself, the time and until when it counts.
fn said<'q>(query: Query<'q>, present: &'q Present, now: Time) -> Query<'q> {
    query
        .bind(present.machine.to_string())
        .bind(&present.name)
        .bind(present.person.as_str())
        .bind(&present.boot_id)
        .bind(present.daemon.to_string())
        .bind(now.unix_micros())
        .bind(now.plus(PRESENCE_LIFE).unix_micros())
        .bind(present.serves_everyone)
}

/// Writes what a daemon says, unless another one is present.
async fn introduce(store: &SqliteStore, present: &Present) -> Result<Registered<()>, StoreError> {
    let mut tx = store.begin().await?;
    let now = store.now();
    let machine = present.machine.to_string();
    let held: Option<(String, i64)> = sqlx::query_as(include_str!("../queries/holds_machine.sql"))
        .bind(&machine)
        .bind(now.unix_micros())
        .fetch_optional(&mut *tx)
        .await
        .map_err(|error| store_error("holds_machine", error))?;
    let other = match held {
        Some((daemon, seen_at)) => {
            (!present.may_follow(&parse("machines", &machine, &daemon)?)).then_some(seen_at)
        }
        None => None,
    };
    if let Some(seen_at) = other {
        tx.rollback()
            .await
            .map_err(|error| store_error("rollback", error))?;
        return Ok(Registered::Taken(Time::from_unix_micros(seen_at)));
    }
    said(
        sqlx::query(include_str!("../queries/upsert_machine.sql")),
        present,
        now,
    )
    .execute(&mut *tx)
    .await
    .map_err(|error| store_error("upsert_machine", error))?;
    let codebases = json(&present.codebases)?;
    sqlx::query(include_str!("../queries/delete_machine_codebases.sql"))
        .bind(&machine)
        .bind(&codebases)
        .execute(&mut *tx)
        .await
        .map_err(|error| store_error("delete_machine_codebases", error))?;
    has_codebases(&mut tx, &machine, &codebases).await?;
    tx.commit().await.map_err(commit_error)?;
    Ok(Registered::Written(()))
}

async fn has_codebases(
    connection: &mut SqliteConnection,
    machine: &str,
    codebases: &str,
) -> Result<(), StoreError> {
    sqlx::query(include_str!("../queries/insert_machine_codebases.sql"))
        .bind(machine)
        .bind(codebases)
        .execute(connection)
        .await
        .map_err(|error| store_error("insert_machine_codebases", error))?;
    Ok(())
}

pub(crate) async fn leave(
    store: &SqliteStore,
    machine: MachineId,
    daemon: TokenHash,
) -> Result<(), StoreError> {
    let mut tx = store.begin().await?;
    sqlx::query(include_str!("../queries/leave_machine.sql"))
        .bind(machine.to_string())
        .bind(daemon.to_string())
        .bind(store.now().unix_micros())
        .execute(&mut *tx)
        .await
        .map_err(|error| store_error("leave_machine", error))?;
    tx.commit().await.map_err(commit_error)
}

pub(crate) async fn add_codebase(
    store: &SqliteStore,
    id: CodebaseId,
    name: &str,
    machine: MachineId,
) -> Result<Registered<Codebase>, StoreError> {
    let mut tx = store.begin().await?;
    let found: Option<CodebaseRow> = sqlx::query_as(include_str!("../queries/find_codebase.sql"))
        .bind(id.to_string())
        .bind(name)
        .fetch_optional(&mut *tx)
        .await
        .map_err(|error| store_error("find_codebase", error))?;
    let codebase = match found.map(codebase).transpose()? {
        Some(found) if found.id == id => found,
        Some(other) => {
            tx.rollback()
                .await
                .map_err(|error| store_error("rollback", error))?;
            return Ok(Registered::Taken(other.created_at));
        }
        None => insert_codebase(&mut tx, id, name, store.now()).await?,
    };
    has_codebases(&mut tx, &machine.to_string(), &json(&[id])?).await?;
    tx.commit().await.map_err(commit_error)?;
    Ok(Registered::Written(codebase))
}

async fn insert_codebase(
    connection: &mut SqliteConnection,
    id: CodebaseId,
    name: &str,
    created_at: Time,
) -> Result<Codebase, StoreError> {
    sqlx::query(include_str!("../queries/insert_codebase.sql"))
        .bind(id.to_string())
        .bind(name)
        .bind(created_at.unix_micros())
        .execute(connection)
        .await
        .map_err(|error| store_error("insert_codebase", error))?;
    Ok(Codebase {
        id,
        name: name.to_owned(),
        created_at,
    })
}

fn codebase(row: CodebaseRow) -> Result<Codebase, StoreError> {
    Ok(Codebase {
        id: parse("codebases", &row.id, &row.id)?,
        name: row.name,
        created_at: Time::from_unix_micros(row.created_at),
    })
}

pub(crate) async fn codebases(store: &SqliteStore) -> Result<Vec<Codebase>, StoreError> {
    let rows: Vec<CodebaseRow> = sqlx::query_as(include_str!("../queries/list_codebases.sql"))
        .fetch_all(&store.readers)
        .await
        .map_err(|error| store_error("list_codebases", error))?;
    rows.into_iter().map(codebase).collect()
}
