//! Commits: all rows in one statement, each change with its fence, each kind counted. Foreign keys are checked at its end.

use std::collections::BTreeMap;

use cs_model::OperationId;
use cs_record::{Card, Change, JournalEntry, Park, ReadyFor, Route, StoreError, Writes};
use sqlx::{AssertSqlSafe, PgConnection};

use crate::error::store_error;
use crate::row_cards::{AskRow, CardRow, MarkRow, TurnRow};
use crate::row_limits::ParkRow;
use crate::row_runs::{LandingRow, RunRow, TextRow};
use crate::settings::Sessions;
use crate::statement::{Counted, Statement};
use crate::store::sql;
use crate::{columns, events};

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
    let mut statement = Statement::default();
    add_cards(&mut statement, writes);
    add_runs(&mut statement, writes);
    add_turns(&mut statement, writes);
    add_asks(&mut statement, writes)?;
    add_landings(&mut statement, writes)?;
    add_texts(&mut statement, writes);
    add_limits(&mut statement, writes);
    events::add(&mut statement, &writes.events)?;
    add_journal(&mut statement, operation, writes)?;
    let (text, arguments, expected) = statement.finish(wakes_others(writes))?;
    // All of it is of our own files.
    let changed: Vec<i64> = sqlx::query_scalar_with(AssertSqlSafe(text), arguments)
        .persistent(sessions.keep_statements())
        .fetch_one(connection)
        .await
        .map_err(|error| store_error("write", error))?;
    check(&changed, &expected)
}

fn check(changed: &[i64], expected: &[Counted]) -> Result<(), StoreError> {
    if changed.len() != expected.len() {
        return Err(StoreError::Corrupt(
            "a write counted other kinds of rows".to_owned(),
        ));
    }
    for (changed, Counted { part, rows }) in changed.iter().zip(expected) {
        if usize::try_from(*changed) != Ok(*rows) {
            return Err(StoreError::Corrupt(format!(
                "{part} changed {changed} rows where {rows} were decided on; nothing was written"
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

fn add_cards(statement: &mut Statement, writes: &Writes) {
    let new: Vec<_> = writes.new_cards.iter().map(CardRow::from).collect();
    columns::new_cards(statement, &new);
    let changes: Vec<_> = writes.cards.iter().map(changed::<_, CardRow>).collect();
    columns::changed_cards(statement, &changes);
}

fn add_runs(statement: &mut Statement, writes: &Writes) {
    let new: Vec<_> = writes.new_runs.iter().map(RunRow::from).collect();
    columns::new_runs(statement, &new);
    let changes: Vec<_> = writes.runs.iter().map(changed::<_, RunRow>).collect();
    columns::changed_runs(statement, &changes);
}

fn add_turns(statement: &mut Statement, writes: &Writes) {
    let new: Vec<_> = writes.new_turns.iter().map(TurnRow::from).collect();
    columns::new_turns(statement, &new);
    let changes: Vec<_> = writes.turns.iter().map(changed::<_, MarkRow>).collect();
    columns::changed_turns(statement, &changes);
}

fn add_asks(statement: &mut Statement, writes: &Writes) -> Result<(), StoreError> {
    let new = writes.new_asks.iter().map(AskRow::try_from);
    columns::new_asks(statement, &new.collect::<Result<Vec<_>, _>>()?);
    let changes = writes.asks.iter().map(|change| {
        Ok::<_, StoreError>(Changed {
            was: AskRow::try_from(&change.was)?,
            now: AskRow::try_from(&change.now)?,
        })
    });
    columns::changed_asks(statement, &changes.collect::<Result<Vec<_>, _>>()?);
    Ok(())
}

fn add_landings(statement: &mut Statement, writes: &Writes) -> Result<(), StoreError> {
    let new = writes.new_landings.iter().map(LandingRow::try_from);
    columns::new_landings(statement, &new.collect::<Result<Vec<_>, _>>()?);
    let changes = writes.landings.iter().map(|change| {
        Ok::<_, StoreError>(Changed {
            was: LandingRow::try_from(&change.was)?,
            now: LandingRow::try_from(&change.now)?,
        })
    });
    columns::changed_landings(statement, &changes.collect::<Result<Vec<_>, _>>()?);
    Ok(())
}

fn add_texts(statement: &mut Statement, writes: &Writes) {
    let texts: Vec<_> = writes.texts.iter().map(TextRow::from).collect();
    columns::new_texts(statement, &texts);
    columns::gone_attachments(statement, &writes.gone_attachments);
    columns::new_attachments(statement, &writes.new_attachments);
    columns::new_dependencies(statement, &writes.dependencies);
    columns::gone_dependencies(statement, &writes.freed);
}

/// Adds the last park of each route that the same write does not end again.
fn add_limits(statement: &mut Statement, writes: &Writes) {
    let parks: BTreeMap<&Route, &Park> = writes.parks.iter().map(|park| (&park.route, park)).collect();
    let rows: Vec<_> = parks.into_values().map(ParkRow::from).collect();
    columns::new_parks(statement, &rows);
    columns::gone_parks(statement, &writes.unparks);
}

fn changed<'a, T, R: From<&'a T>>(change: &'a Change<T>) -> Changed<R> {
    Changed {
        was: R::from(&change.was),
        now: R::from(&change.now),
    }
}

/// An operation must have an entry, and an entry an operation.
fn add_journal(
    statement: &mut Statement,
    operation: Option<OperationId>,
    writes: &Writes,
) -> Result<(), StoreError> {
    match (operation, &writes.journal) {
        (None, None) => Ok(()),
        (Some(operation), Some(entry)) => {
            statement
                .counted(sql!("write_journal"), 1)
                .value(operation.as_uuid())
                .value(entry.kind())
                .value(entry.to_json()?);
            Ok(())
        }
        (Some(_), None) | (None, Some(_)) => Err(StoreError::Corrupt(
            "an operation and its journal entry come together".to_owned(),
        )),
    }
}
