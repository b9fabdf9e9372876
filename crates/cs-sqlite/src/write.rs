//! Commits: every kind of row in one statement, every change with its fence, every statement counted, and all sent together.

use cs_model::OperationId;
use cs_record::{Attachment, Change, Content, Dependency, RunText, StoreError, Turn, Writes};
use serde::Serialize;
use sqlx::SqliteConnection;

use crate::events::EventRow;
use crate::load::json;
use crate::row_asks::AskRow;
use crate::row_cards::{CardRow, MarkRow, author_columns, integer};
use crate::row_limits::{ParkRow, UnparkRow};
use crate::row_runs::{LandingRow, RunRow};
use crate::script::Writing;
use crate::taken;

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

/// Adds the statement of a file over all rows, which must change as many.
macro_rules! batch {
    ($writing:expr, $name:literal, $rows:expr) => {
        batch($writing, $name, text!($name), $rows)
    };
}

/// The same, whatever it changes.
macro_rules! over {
    ($writing:expr, $name:literal, $rows:expr) => {
        over($writing, ($name, text!($name)), $rows, None)
    };
}

/// Adds the statement of a file, which must change one row.
macro_rules! single {
    ($writing:expr, $name:literal) => {
        $writing.add($name, text!($name), Some(1))
    };
}

macro_rules! text {
    ($name:literal) => {
        include_str!(concat!("../queries/", $name, ".sql"))
    };
}

/// Writes everything, each row after those that it refers to. The caller rolls back on any error.
pub(crate) async fn write(
    connection: &mut SqliteConnection,
    operation: Option<OperationId>,
    writes: &Writes,
) -> Result<(), StoreError> {
    let mut writing = Writing::default();
    write_runs_and_cards(&mut writing, writes)?;
    write_turns(&mut writing, writes)?;
    write_asks(&mut writing, writes)?;
    write_landings(&mut writing, writes)?;
    write_texts_and_dependencies(&mut writing, writes)?;
    write_parks(&mut writing, writes)?;
    write_events(&mut writing, writes)?;
    complete_journal(&mut writing, operation, writes)?;
    writing.send(connection).await
}

/// A run ends before another begins. A new run refers to its card, and a card to the run of its owner, which it never has from the beginning.
fn write_runs_and_cards(writing: &mut Writing, writes: &Writes) -> Result<(), StoreError> {
    let new: Vec<_> = writes.new_cards.iter().map(CardRow::from).collect();
    batch!(writing, "insert_cards", &new)?;
    let new: Vec<_> = writes.new_runs.iter().map(RunRow::from).collect();
    batch!(writing, "insert_runs", &new)?;
    let (taken, others) = taken::runs(&writes.runs);
    let others: Vec<_> = others.into_iter().map(changed::<_, RunRow>).collect();
    batch!(writing, "update_runs", &others)?;
    batch!(writing, "update_runs_taken", &taken)?;
    let (taken, others) = taken::cards(&writes.cards);
    let others: Vec<_> = others.into_iter().map(changed::<_, CardRow>).collect();
    batch!(writing, "update_cards", &others)?;
    batch!(writing, "update_cards_taken", &taken)
}

/// New turns and asks come one to a card and an operation, and no operation writes them to many cards: so they are single.
fn write_turns(writing: &mut Writing, writes: &Writes) -> Result<(), StoreError> {
    for turn in &writes.new_turns {
        insert_turn(writing, turn)?;
    }
    let turns: Vec<_> = writes.turns.iter().map(changed::<_, MarkRow>).collect();
    batch!(writing, "update_turns", &turns)
}

fn write_asks(writing: &mut Writing, writes: &Writes) -> Result<(), StoreError> {
    for ask in &writes.new_asks {
        insert_ask(writing, AskRow::try_from(ask)?)?;
    }
    let asks = writes
        .asks
        .iter()
        .map(changed_ask)
        .collect::<Result<Vec<_>, _>>()?;
    batch!(writing, "update_asks", &asks)
}

fn write_landings(writing: &mut Writing, writes: &Writes) -> Result<(), StoreError> {
    let new = writes.new_landings.iter().map(LandingRow::try_from);
    batch!(writing, "insert_landings", &new.collect::<Result<Vec<_>, _>>()?)?;
    let landings = writes
        .landings
        .iter()
        .map(changed_landing)
        .collect::<Result<Vec<_>, _>>()?;
    batch!(writing, "update_landings", &landings)
}

/// A brief or report comes one to an operation.
fn write_texts_and_dependencies(writing: &mut Writing, writes: &Writes) -> Result<(), StoreError> {
    for text in &writes.texts {
        insert_text(writing, text)?;
    }
    for gone in &writes.gone_attachments {
        single!(writing, "delete_attachment");
        writing.bind(gone.to_string())?;
    }
    for (attachment, content) in &writes.new_attachments {
        insert_attachment(writing, attachment, content)?;
    }
    let freed: Vec<_> = writes.freed.iter().map(ToString::to_string).collect();
    over!(writing, "delete_dependencies", &freed)?;
    let dependencies: Vec<_> = writes.dependencies.iter().map(DependencyRow::from).collect();
    over!(writing, "insert_dependencies", &dependencies)
}

fn write_parks(writing: &mut Writing, writes: &Writes) -> Result<(), StoreError> {
    let parks: Vec<_> = writes.parks.iter().map(ParkRow::from).collect();
    batch!(writing, "upsert_parked_routes", &parks)?;
    let routes: Vec<_> = writes.unparks.iter().map(UnparkRow::from).collect();
    over!(writing, "delete_parked_routes", &routes)
}

fn write_events(writing: &mut Writing, writes: &Writes) -> Result<(), StoreError> {
    let events = writes.events.iter().map(EventRow::try_from);
    batch!(writing, "insert_events", &events.collect::<Result<Vec<_>, _>>()?)
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

fn changed_landing(change: &Change<cs_record::Landing>) -> Result<Changed<LandingRow>, StoreError> {
    Ok(Changed {
        was: LandingRow::try_from(&change.was)?,
        now: LandingRow::try_from(&change.now)?,
    })
}

/// Adds a statement over all rows, which must change as many.
///
/// The statements take the array apart with `jsonb_each`: with `json_each` every column of a row would read the text of that row
/// again, which is three times the time for 100 cards.
fn batch<R: Serialize>(
    writing: &mut Writing,
    name: &'static str,
    sql: &'static str,
    rows: &[R],
) -> Result<(), StoreError> {
    let expected = u64::try_from(rows.len()).unwrap_or(u64::MAX);
    over(writing, (name, sql), rows, Some(expected))
}

/// Adds a statement over all rows, if there are any.
fn over<R: Serialize>(
    writing: &mut Writing,
    (name, sql): (&'static str, &'static str),
    rows: &[R],
    expected: Option<u64>,
) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    writing.add(name, sql, expected);
    writing.bind(json(rows)?)
}

fn insert_turn(writing: &mut Writing, turn: &Turn) -> Result<(), StoreError> {
    let (kind, author) = author_columns(&turn.author);
    single!(writing, "insert_turn");
    writing.bind(turn.id.to_string())?;
    writing.bind(turn.card.to_string())?;
    writing.bind(i64::from(turn.seq.get()))?;
    writing.bind(kind)?;
    writing.bind(author)?;
    writing.bind(turn.body.clone())?;
    writing.bind(turn.state.as_str())?;
    writing.bind(turn.run.map(|run| run.to_string()))?;
    writing.bind(turn.said_at.unix_micros())
}

fn insert_ask(writing: &mut Writing, ask: AskRow) -> Result<(), StoreError> {
    single!(writing, "insert_ask");
    writing.bind(ask.id)?;
    writing.bind(ask.card_id)?;
    writing.bind(ask.run_id)?;
    writing.bind(ask.question)?;
    writing.bind(ask.choices)?;
    writing.bind(ask.offer)?;
    writing.bind(ask.offer_message)?;
    writing.bind(ask.addressee)?;
    writing.bind(ask.state)?;
    writing.bind(ask.answer)?;
    writing.bind(ask.answered_by_kind)?;
    writing.bind(ask.answered_by)?;
    writing.bind(ask.asked_at)?;
    writing.bind(ask.answered_at)?;
    writing.bind(ask.delivered)?;
    writing.bind(ask.given)?;
    writing.bind(ask.turn_id)
}

fn insert_text(writing: &mut Writing, text: &RunText) -> Result<(), StoreError> {
    single!(writing, "insert_run_text");
    writing.bind(text.run.to_string())?;
    writing.bind(i64::from(text.epoch.get()))?;
    writing.bind(text.body.clone())
}

fn insert_attachment(
    writing: &mut Writing,
    attachment: &Attachment,
    content: &Content,
) -> Result<(), StoreError> {
    single!(writing, "insert_attachment");
    writing.bind(attachment.id.to_string())?;
    writing.bind(attachment.card.to_string())?;
    writing.bind(attachment.name.clone())?;
    writing.bind(attachment.media_type.clone())?;
    writing.bind(integer(attachment.size_bytes))?;
    writing.bind(attachment.sha256.to_string())?;
    writing.bind(attachment.by.to_string())?;
    writing.bind(attachment.at.unix_micros())?;
    writing.bind(content.bytes().to_vec())
}

/// Gives the journal row its kind and result. An operation must have an entry, and an entry an operation.
fn complete_journal(
    writing: &mut Writing,
    operation: Option<OperationId>,
    writes: &Writes,
) -> Result<(), StoreError> {
    let (operation, entry) = match (operation, &writes.journal) {
        (None, None) => return Ok(()),
        (Some(operation), Some(entry)) => (operation, entry),
        (Some(_), None) | (None, Some(_)) => {
            return Err(StoreError::Corrupt(
                "an operation and its journal entry come together".to_owned(),
            ));
        }
    };
    single!(writing, "complete_journal");
    writing.bind(entry.kind())?;
    writing.bind(entry.to_json()?)?;
    writing.bind(operation.to_string())
}
