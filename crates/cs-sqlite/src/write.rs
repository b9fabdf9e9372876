//! Commits: every kind of row in one statement, every change with its fence, every statement counted.

use cs_model::OperationId;
use cs_record::{Change, Dependency, RunText, StoreError, Turn, Writes};
use serde::Serialize;
use sqlx::SqliteConnection;

use crate::error::store_error;
use crate::load::json;
use crate::row_asks::AskRow;
use crate::row_cards::{CardRow, MarkRow, author_columns};
use crate::row_limits::{ParkRow, UnparkRow};
use crate::row_runs::{LandingRow, RunRow};

/// A row before and after, as the update statements read it.
#[derive(Serialize)]
struct Changed<R> {
    was: R,
    now: R,
}

#[derive(Serialize)]
struct DependencyRow {
    card_id: String,
    after_id: String,
}

impl From<&Dependency> for DependencyRow {
    fn from(dependency: &Dependency) -> Self {
        Self {
            card_id: dependency.card.to_string(),
            after_id: dependency.after.to_string(),
        }
    }
}

/// Runs the statement of a file over all rows, and checks that it changed as many.
macro_rules! batch {
    ($connection:expr, $name:literal, $rows:expr) => {
        batch(
            $connection,
            $name,
            include_str!(concat!("../queries/", $name, ".sql")),
            $rows,
        )
    };
}

/// Writes everything, each row after those that it refers to. The caller rolls back on any error.
pub(crate) async fn write(
    connection: &mut SqliteConnection,
    operation: Option<OperationId>,
    writes: &Writes,
) -> Result<(), StoreError> {
    write_runs_and_cards(connection, writes).await?;
    write_turns(connection, writes).await?;
    write_asks(connection, writes).await?;
    write_landings(connection, writes).await?;
    write_texts_and_dependencies(connection, writes).await?;
    write_parks(connection, writes).await?;
    complete_journal(connection, operation, writes).await
}

/// A new run refers to its card, and a card to the run of its owner, which it never has from the beginning.
async fn write_runs_and_cards(connection: &mut SqliteConnection, writes: &Writes) -> Result<(), StoreError> {
    let new: Vec<_> = writes.new_cards.iter().map(CardRow::from).collect();
    batch!(connection, "insert_cards", &new).await?;
    let new: Vec<_> = writes.new_runs.iter().map(RunRow::from).collect();
    batch!(connection, "insert_runs", &new).await?;
    let runs: Vec<_> = writes.runs.iter().map(changed::<_, RunRow>).collect();
    batch!(connection, "update_runs", &runs).await?;
    let cards: Vec<_> = writes.cards.iter().map(changed::<_, CardRow>).collect();
    batch!(connection, "update_cards", &cards).await
}

/// New turns and asks come one to a card and an operation, and no operation writes them to many cards: so they are single.
async fn write_turns(connection: &mut SqliteConnection, writes: &Writes) -> Result<(), StoreError> {
    for turn in &writes.new_turns {
        insert_turn(connection, turn).await?;
    }
    let turns: Vec<_> = writes.turns.iter().map(changed::<_, MarkRow>).collect();
    batch!(connection, "update_turns", &turns).await
}

async fn write_asks(connection: &mut SqliteConnection, writes: &Writes) -> Result<(), StoreError> {
    for ask in &writes.new_asks {
        insert_ask(connection, AskRow::try_from(ask)?).await?;
    }
    let asks = writes
        .asks
        .iter()
        .map(changed_ask)
        .collect::<Result<Vec<_>, _>>()?;
    batch!(connection, "update_asks", &asks).await
}

async fn write_landings(connection: &mut SqliteConnection, writes: &Writes) -> Result<(), StoreError> {
    let new: Vec<_> = writes.new_landings.iter().map(LandingRow::from).collect();
    batch!(connection, "insert_landings", &new).await?;
    let landings: Vec<_> = writes.landings.iter().map(changed::<_, LandingRow>).collect();
    batch!(connection, "update_landings", &landings).await
}

/// A brief or report comes one to an operation.
async fn write_texts_and_dependencies(
    connection: &mut SqliteConnection,
    writes: &Writes,
) -> Result<(), StoreError> {
    for text in &writes.texts {
        insert_text(connection, text).await?;
    }
    let freed: Vec<_> = writes.freed.iter().map(ToString::to_string).collect();
    let sql = include_str!("../queries/delete_dependencies.sql");
    run_over(connection, "delete_dependencies", sql, &freed).await?;
    let dependencies: Vec<_> = writes.dependencies.iter().map(DependencyRow::from).collect();
    let sql = include_str!("../queries/insert_dependencies.sql");
    run_over(connection, "insert_dependencies", sql, &dependencies).await?;
    Ok(())
}

async fn write_parks(connection: &mut SqliteConnection, writes: &Writes) -> Result<(), StoreError> {
    let parks: Vec<_> = writes.parks.iter().map(ParkRow::from).collect();
    batch!(connection, "upsert_parked_routes", &parks).await?;
    let routes: Vec<_> = writes.unparks.iter().map(UnparkRow::from).collect();
    let sql = include_str!("../queries/delete_parked_routes.sql");
    run_over(connection, "delete_parked_routes", sql, &routes).await?;
    Ok(())
}

fn changed<'a, T, R: From<&'a T>>(change: &'a Change<T>) -> Changed<R> {
    Changed {
        was: R::from(&change.was),
        now: R::from(&change.now),
    }
}

fn changed_ask(change: &Change<cs_record::Ask>) -> Result<Changed<AskRow>, StoreError> {
    Ok(Changed {
        was: AskRow::try_from(&change.was)?,
        now: AskRow::try_from(&change.now)?,
    })
}

/// Runs a statement over all rows and checks that it changed as many.
///
/// The statements take the array apart with `jsonb_each`: with `json_each` every column of a row would read the text of that row
/// again, which is three times the time for 100 cards.
async fn batch<R: Serialize + Sync>(
    connection: &mut SqliteConnection,
    name: &'static str,
    sql: &'static str,
    rows: &[R],
) -> Result<(), StoreError> {
    let changed = run_over(connection, name, sql, rows).await?;
    counted(name, changed, rows.len())
}

/// Runs a statement over all rows, if there are any, and returns how many changed.
async fn run_over<R: Serialize + Sync>(
    connection: &mut SqliteConnection,
    name: &'static str,
    sql: &'static str,
    rows: &[R],
) -> Result<u64, StoreError> {
    if rows.is_empty() {
        return Ok(0);
    }
    let done = sqlx::query(sql).bind(json(rows)?).execute(&mut *connection).await;
    Ok(done.map_err(|error| store_error(name, error))?.rows_affected())
}

fn counted(name: &'static str, changed: u64, expected: usize) -> Result<(), StoreError> {
    if usize::try_from(changed) == Ok(expected) {
        return Ok(());
    }
    Err(StoreError::Corrupt(format!(
        "{name} changed {changed} rows where {expected} were decided on; nothing was written"
    )))
}

async fn insert_turn(connection: &mut SqliteConnection, turn: &Turn) -> Result<(), StoreError> {
    let name = "insert_turn";
    let (kind, author) = author_columns(&turn.author);
    let done = sqlx::query(include_str!("../queries/insert_turn.sql"))
        .bind(turn.id.to_string())
        .bind(turn.card.to_string())
        .bind(i64::from(turn.seq.get()))
        .bind(kind)
        .bind(author)
        .bind(&turn.body)
        .bind(turn.state.as_str())
        .bind(turn.run.map(|run| run.to_string()))
        .bind(turn.said_at.unix_micros())
        .execute(connection)
        .await;
    counted(
        name,
        done.map_err(|error| store_error(name, error))?.rows_affected(),
        1,
    )
}

async fn insert_ask(connection: &mut SqliteConnection, ask: AskRow) -> Result<(), StoreError> {
    let name = "insert_ask";
    let done = sqlx::query(include_str!("../queries/insert_ask.sql"))
        .bind(ask.id)
        .bind(ask.card_id)
        .bind(ask.run_id)
        .bind(ask.question)
        .bind(ask.choices)
        .bind(ask.offer)
        .bind(ask.offer_message)
        .bind(ask.addressee)
        .bind(ask.state)
        .bind(ask.answer)
        .bind(ask.answered_by_kind)
        .bind(ask.answered_by)
        .bind(ask.asked_at)
        .bind(ask.answered_at)
        .bind(ask.delivered)
        .bind(ask.given)
        .bind(ask.turn_id)
        .execute(connection)
        .await;
    counted(
        name,
        done.map_err(|error| store_error(name, error))?.rows_affected(),
        1,
    )
}

async fn insert_text(connection: &mut SqliteConnection, text: &RunText) -> Result<(), StoreError> {
    let name = "insert_run_text";
    let done = sqlx::query(include_str!("../queries/insert_run_text.sql"))
        .bind(text.run.to_string())
        .bind(i64::from(text.epoch.get()))
        .bind(&text.body)
        .execute(connection)
        .await;
    counted(
        name,
        done.map_err(|error| store_error(name, error))?.rows_affected(),
        1,
    )
}

/// Gives the journal row its kind and result. An operation must have an entry, and an entry an operation.
async fn complete_journal(
    connection: &mut SqliteConnection,
    operation: Option<OperationId>,
    writes: &Writes,
) -> Result<(), StoreError> {
    let name = "complete_journal";
    let (operation, entry) = match (operation, &writes.journal) {
        (None, None) => return Ok(()),
        (Some(operation), Some(entry)) => (operation, entry),
        (Some(_), None) | (None, Some(_)) => {
            return Err(StoreError::Corrupt(
                "an operation and its journal entry come together".to_owned(),
            ));
        }
    };
    let done = sqlx::query(include_str!("../queries/complete_journal.sql"))
        .bind(operation.to_string())
        .bind(entry.kind())
        .bind(entry.to_json()?)
        .execute(connection)
        .await;
    counted(
        name,
        done.map_err(|error| store_error(name, error))?.rows_affected(),
        1,
    )
}
