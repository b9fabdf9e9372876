//! Machines and codebases.

use cs_fence::TokenHash;
use cs_model::{CodebaseId, MachineId, Time};
use cs_record::{Codebase, PRESENCE_LIFE, Present, Registered, StoreError};
use sqlx::SqliteConnection;

use crate::SqliteStore;
use crate::load::json;
use crate::reads::CodebaseRow;
use crate::row_cards::parse;
use crate::script;

/// Says that a daemon is there: in one statement when it says nothing new.
pub(crate) async fn present(store: &SqliteStore, present: &Present) -> Result<Registered<()>, StoreError> {
    if is_renewed(store, present).await? {
        return Ok(Registered::Written(()));
    }
    introduce(store, present).await
}

async fn is_renewed(store: &SqliteStore, present: &Present) -> Result<bool, StoreError> {
    let mut tx = store.begin().await?;
    let renewal = sqlx::query(include_str!("../queries/renew_machine.sql"));
    let query = said(renewal, present, store.now()).bind(json(&present.codebases)?);
    let done = script::changes(&mut tx, "renew_machine", query).await?;
    tx.commit().await?;
    Ok(done > 0)
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
    let query = sqlx::query(include_str!("../queries/holds_machine.sql"))
        .bind(&machine)
        .bind(now.unix_micros());
    let held: Option<(String, i64)> = script::optional(&mut tx, "holds_machine", query).await?;
    let other = match held {
        Some((daemon, seen_at)) => {
            (!present.may_follow(&parse("machines", &machine, &daemon)?)).then_some(seen_at)
        }
        None => None,
    };
    if let Some(seen_at) = other {
        tx.rollback().await?;
        return Ok(Registered::Taken(Time::from_unix_micros(seen_at)));
    }
    let upsert = sqlx::query(include_str!("../queries/upsert_machine.sql"));
    script::changes(&mut tx, "upsert_machine", said(upsert, present, now)).await?;
    let codebases = json(&present.codebases)?;
    let query = sqlx::query(include_str!("../queries/delete_machine_codebases.sql"))
        .bind(&machine)
        .bind(&codebases);
    script::changes(&mut tx, "delete_machine_codebases", query).await?;
    has_codebases(&mut tx, &machine, &codebases).await?;
    tx.commit().await?;
    Ok(Registered::Written(()))
}

async fn has_codebases(
    connection: &mut SqliteConnection,
    machine: &str,
    codebases: &str,
) -> Result<(), StoreError> {
    script::changes(
        connection,
        "insert_machine_codebases",
        sqlx::query(include_str!("../queries/insert_machine_codebases.sql"))
            .bind(machine)
            .bind(codebases),
    )
    .await?;
    Ok(())
}

pub(crate) async fn leave(
    store: &SqliteStore,
    machine: MachineId,
    daemon: TokenHash,
) -> Result<(), StoreError> {
    let mut tx = store.begin().await?;
    script::changes(
        &mut tx,
        "leave_machine",
        sqlx::query(include_str!("../queries/leave_machine.sql"))
            .bind(machine.to_string())
            .bind(daemon.to_string())
            .bind(store.now().unix_micros()),
    )
    .await?;
    tx.commit().await
}

pub(crate) async fn add_codebase(
    store: &SqliteStore,
    id: CodebaseId,
    name: &str,
    machine: MachineId,
) -> Result<Registered<Codebase>, StoreError> {
    let mut tx = store.begin().await?;
    let found: Option<CodebaseRow> = script::optional(
        &mut tx,
        "find_codebase",
        sqlx::query(include_str!("../queries/find_codebase.sql"))
            .bind(id.to_string())
            .bind(name),
    )
    .await?;
    let codebase = match found.map(codebase).transpose()? {
        Some(found) if found.id == id => found,
        Some(other) => {
            tx.rollback().await?;
            return Ok(Registered::Taken(other.created_at));
        }
        None => insert_codebase(&mut tx, id, name, store.now()).await?,
    };
    has_codebases(&mut tx, &machine.to_string(), &json(&[id])?).await?;
    tx.commit().await?;
    Ok(Registered::Written(codebase))
}

async fn insert_codebase(
    connection: &mut SqliteConnection,
    id: CodebaseId,
    name: &str,
    created_at: Time,
) -> Result<Codebase, StoreError> {
    script::changes(
        connection,
        "insert_codebase",
        sqlx::query(include_str!("../queries/insert_codebase.sql"))
            .bind(id.to_string())
            .bind(name)
            .bind(created_at.unix_micros()),
    )
    .await?;
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
    let rows: Vec<CodebaseRow> = script::all(
        &mut *store.snapshot().await?,
        "list_codebases",
        sqlx::query(include_str!("../queries/list_codebases.sql")),
    )
    .await?;
    rows.into_iter().map(codebase).collect()
}
