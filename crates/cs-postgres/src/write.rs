//! Commits: every row of every kind in one statement, each change with its fence, each kind counted.

use std::collections::BTreeMap;

use cs_model::OperationId;
use cs_record::{Card, Change, JournalEntry, Park, ReadyFor, Route, StoreError, Writes};
use sqlx::PgConnection;

use crate::columns::{self, Columns};
use crate::error::store_error;
use crate::row_cards::{AskRow, CardRow, MarkRow, TurnRow};
use crate::row_limits::ParkRow;
use crate::row_runs::{LandingRow, RunRow, TextRow};
use crate::settings::Sessions;

/// A row before and after.
pub(crate) struct Changed<R> {
    pub(crate) was: R,
    pub(crate) now: R,
}

/// Writes everything. The caller rolls back on any error.
pub(crate) async fn write(
    connection: &mut PgConnection,
    operation: Option<OperationId>,
    writes: &Writes,
    sessions: Sessions,
) -> Result<(), StoreError> {
    let mut columns = Columns::default();
    let mut expected = Vec::with_capacity(COUNTED.len());
    add_cards(&mut columns, writes);
    expected.extend([writes.new_cards.len(), writes.cards.len()]);
    add_runs(&mut columns, writes);
    expected.extend([writes.new_runs.len(), writes.runs.len()]);
    add_turns(&mut columns, writes);
    expected.extend([writes.new_turns.len(), writes.turns.len()]);
    add_asks(&mut columns, writes)?;
    expected.extend([writes.new_asks.len(), writes.asks.len()]);
    add_landings(&mut columns, writes);
    expected.extend([writes.new_landings.len(), writes.landings.len()]);
    add_texts(&mut columns, writes);
    expected.push(writes.texts.len());
    expected.push(add_limits(&mut columns, writes));
    add_journal(&mut columns, operation, writes)?;
    expected.push(operation.into_iter().count());
    columns.value(wakes_others(writes));
    columns.value(writes.freed.iter().map(|card| card.as_uuid()).collect::<Vec<_>>());
    columns.value(
        writes
            .unparks
            .iter()
            .map(|unpark| unpark.began_at.unix_micros())
            .collect::<Vec<_>>(),
    );
    let sql = include_str!("../queries/write_rows.sql");
    let changed: Vec<i64> = sqlx::query_scalar_with(sql, columns.finish()?)
        .persistent(sessions.keep_statements())
        .fetch_one(connection)
        .await
        .map_err(|error| store_error("write_rows", error))?;
    counted(&changed, &expected)
}

/// What the statement counts, in its order.
const COUNTED: [&str; 13] = [
    "new cards",
    "cards",
    "new runs",
    "runs",
    "new turns",
    "turns",
    "new asks",
    "asks",
    "new landings",
    "landings",
    "texts",
    "parked routes",
    "journal rows",
];

fn counted(changed: &[i64], expected: &[usize]) -> Result<(), StoreError> {
    if changed.len() != expected.len() {
        return Err(StoreError::Corrupt(
            "a write counted other kinds of rows".to_owned(),
        ));
    }
    for ((what, changed), expected) in COUNTED.iter().zip(changed).zip(expected) {
        if usize::try_from(*changed) != Ok(*expected) {
            return Err(StoreError::Corrupt(format!(
                "{changed} {what} changed where {expected} were decided on; nothing was written"
            )));
        }
    }
    Ok(())
}

/// Whether somebody else may have something to do now. A claim takes work away from others; they are told of it only where its card
/// is ready for something more.
fn wakes_others(writes: &Writes) -> bool {
    let more = |change: &Change<Card>| change.now.ready.what != ReadyFor::Nothing;
    !matches!(&writes.journal, Some(JournalEntry::Claimed { .. })) || writes.cards.iter().any(more)
}

fn add_cards(columns: &mut Columns, writes: &Writes) {
    let new: Vec<_> = writes.new_cards.iter().map(CardRow::from).collect();
    columns::new_cards(columns, &new);
    let changes: Vec<_> = writes.cards.iter().map(changed::<_, CardRow>).collect();
    columns::changed_cards(columns, &changes);
}

fn add_runs(columns: &mut Columns, writes: &Writes) {
    let new: Vec<_> = writes.new_runs.iter().map(RunRow::from).collect();
    columns::new_runs(columns, &new);
    let changes: Vec<_> = writes.runs.iter().map(changed::<_, RunRow>).collect();
    columns::changed_runs(columns, &changes);
}

fn add_turns(columns: &mut Columns, writes: &Writes) {
    let new: Vec<_> = writes.new_turns.iter().map(TurnRow::from).collect();
    columns::new_turns(columns, &new);
    let changes: Vec<_> = writes.turns.iter().map(changed::<_, MarkRow>).collect();
    columns::changed_turns(columns, &changes);
}

fn add_asks(columns: &mut Columns, writes: &Writes) -> Result<(), StoreError> {
    let new = writes.new_asks.iter().map(AskRow::try_from);
    columns::new_asks(columns, &new.collect::<Result<Vec<_>, _>>()?);
    let changes = writes.asks.iter().map(|change| {
        Ok::<_, StoreError>(Changed {
            was: AskRow::try_from(&change.was)?,
            now: AskRow::try_from(&change.now)?,
        })
    });
    columns::changed_asks(columns, &changes.collect::<Result<Vec<_>, _>>()?);
    Ok(())
}

fn add_landings(columns: &mut Columns, writes: &Writes) {
    let new: Vec<_> = writes.new_landings.iter().map(LandingRow::from).collect();
    columns::new_landings(columns, &new);
    let changes: Vec<_> = writes.landings.iter().map(changed::<_, LandingRow>).collect();
    columns::changed_landings(columns, &changes);
}

fn add_texts(columns: &mut Columns, writes: &Writes) {
    let texts: Vec<_> = writes.texts.iter().map(TextRow::from).collect();
    columns::new_texts(columns, &texts);
    columns::new_dependencies(columns, &writes.dependencies);
}

/// Adds the last park of each route that the same write does not end again, and returns how many there are.
fn add_limits(columns: &mut Columns, writes: &Writes) -> usize {
    let parks: BTreeMap<&Route, &Park> = writes.parks.iter().map(|park| (&park.route, park)).collect();
    let rows: Vec<_> = parks.into_values().map(ParkRow::from).collect();
    columns::parks(columns, &rows);
    columns::unparks(columns, &writes.unparks);
    rows.len()
}

fn changed<'a, T, R: From<&'a T>>(change: &'a Change<T>) -> Changed<R> {
    Changed {
        was: R::from(&change.was),
        now: R::from(&change.now),
    }
}

/// An operation must have an entry, and an entry an operation.
fn add_journal(
    columns: &mut Columns,
    operation: Option<OperationId>,
    writes: &Writes,
) -> Result<(), StoreError> {
    let (kind, result) = match (operation, &writes.journal) {
        (None, None) => (None, None),
        (Some(_), Some(entry)) => (Some(entry.kind()), Some(entry.to_json()?)),
        (Some(_), None) | (None, Some(_)) => {
            return Err(StoreError::Corrupt(
                "an operation and its journal entry come together".to_owned(),
            ));
        }
    };
    columns.value(operation.map(OperationId::as_uuid));
    columns.value(kind);
    columns.value(result);
    Ok(())
}
