//! Begins transactions: the journal row first, then the limits, then the cards, then what belongs to them.

use cs_model::{MachineId, OperationId, Time};
use cs_record::{Aggregate, Facts, JournalRow, Limits, Select, StoreError};
use sqlx::SqliteConnection;

use crate::error::store_error;
use crate::load::{aggregates, json};
use crate::row_cards::{CardRow, parse};
use crate::row_runs::JournalStored;

/// The kind of a journal row whose transaction is not over; nobody else ever sees one.
pub(crate) const BEGUN: &str = "begun";

/// Inserts the journal row; returns the stored one when the operation is known.
pub(crate) async fn begin_operation(
    connection: &mut SqliteConnection,
    (machine, operation): (MachineId, OperationId),
    kind: &str,
    now: Time,
) -> Result<Option<JournalRow>, StoreError> {
    let inserted = sqlx::query(include_str!("../queries/insert_journal.sql"))
        .bind(operation.to_string())
        .bind(machine.to_string())
        .bind(kind)
        .bind(now.unix_micros())
        .execute(&mut *connection)
        .await
        .map_err(|error| store_error("insert_journal", error))?;
    if inserted.rows_affected() == 1 {
        return Ok(None);
    }
    let stored: JournalStored = sqlx::query_as(include_str!("../queries/read_journal.sql"))
        .bind(operation.to_string())
        .fetch_one(&mut *connection)
        .await
        .map_err(|error| store_error("read_journal", error))?;
    JournalRow::try_from(stored).map(Some)
}

/// Reads what was selected. The transaction holds the write lock of the whole file, so that nothing changes under it.
pub(crate) async fn read(
    connection: &mut SqliteConnection,
    select: &Select,
    now: Time,
) -> Result<Facts, StoreError> {
    let limits = match select {
        Select::Ready { machine, .. } | Select::Landings { machine, .. } => {
            limits(connection, *machine).await?
        }
        Select::Runs(_)
        | Select::Card(_)
        | Select::Turn(..)
        | Select::Ask(_)
        | Select::CardLanding(..)
        | Select::Landing(_) => Limits::default(),
    };
    let rows = cards(connection, select, now).await?;
    let cards: Vec<Aggregate> = aggregates(connection, rows, &named(select)).await?;
    Ok(Facts { now, limits, cards })
}

async fn limits(connection: &mut SqliteConnection, machine: MachineId) -> Result<Limits, StoreError> {
    let paused: bool = sqlx::query_scalar(include_str!("../queries/is_paused.sql"))
        .bind(machine.to_string())
        .fetch_one(&mut *connection)
        .await
        .map_err(|error| store_error("is_paused", error))?;
    let codebases: Vec<String> = sqlx::query_scalar(include_str!("../queries/list_machine_codebases.sql"))
        .bind(machine.to_string())
        .fetch_all(&mut *connection)
        .await
        .map_err(|error| store_error("list_machine_codebases", error))?;
    let codebases = codebases
        .iter()
        .map(|id| parse("machine_codebases", id, id))
        .collect::<Result<_, _>>()?;
    Ok(Limits { paused, codebases })
}

async fn cards(
    connection: &mut SqliteConnection,
    select: &Select,
    now: Time,
) -> Result<Vec<CardRow>, StoreError> {
    let query = match select {
        Select::Ready {
            what,
            machine,
            agents,
            limit,
        } => sqlx::query_as(include_str!("../queries/select_ready.sql"))
            .bind(what.as_str())
            .bind(now.unix_micros())
            .bind(machine.to_string())
            .bind(json(agents)?)
            .bind(i64::from(*limit)),
        Select::Landings { machine, limit } => sqlx::query_as(include_str!("../queries/select_landings.sql"))
            .bind(machine.to_string())
            .bind(i64::from(*limit)),
        Select::Runs(runs) => {
            sqlx::query_as(include_str!("../queries/select_cards_of_runs.sql")).bind(json(runs)?)
        }
        Select::Card(card) | Select::Turn(card, _) | Select::CardLanding(card, _) => {
            sqlx::query_as(include_str!("../queries/select_cards.sql")).bind(json(&[card])?)
        }
        Select::Ask(ask) => {
            sqlx::query_as(include_str!("../queries/select_card_of_ask.sql")).bind(ask.to_string())
        }
        Select::Landing(landing) => {
            sqlx::query_as(include_str!("../queries/select_card_of_landing.sql")).bind(landing.to_string())
        }
    };
    query
        .fetch_all(connection)
        .await
        .map_err(|error| store_error("select cards", error))
}

/// The ids of the rows that are loaded whatever their state.
fn named(select: &Select) -> Vec<String> {
    match select {
        Select::Ready { .. } | Select::Landings { .. } | Select::Card(_) => Vec::new(),
        Select::Runs(runs) => runs.iter().map(ToString::to_string).collect(),
        Select::Turn(_, turn) => vec![turn.to_string()],
        Select::Ask(ask) => vec![ask.to_string()],
        Select::CardLanding(_, landing) | Select::Landing(landing) => vec![landing.to_string()],
    }
}
