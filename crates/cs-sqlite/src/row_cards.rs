//! Rows of cards and turns, both ways, and what all rows are read with.

use std::fmt::Display;
use std::str::FromStr;

use cs_model::{Author, Epoch, Priority, Time};
use cs_record::{Card, Readiness, ReadyFor, StoreError, Turn, TurnMark};
use cs_settle::Usage;
use serde::Serialize;
use sqlx::FromRow;

use crate::error::undecodable;

/// Reads a stored text.
pub(crate) fn parse<T: FromStr<Err: Display>>(
    table: &'static str,
    id: &str,
    text: &str,
) -> Result<T, StoreError> {
    text.parse()
        .map_err(|error: T::Err| undecodable(table, id, error))
}

/// Reads a stored text that may be missing.
pub(crate) fn parse_opt<T: FromStr<Err: Display>>(
    table: &'static str,
    id: &str,
    text: Option<&str>,
) -> Result<Option<T>, StoreError> {
    text.map(|text| parse(table, id, text)).transpose()
}

/// Reads a stored number of a narrower type.
pub(crate) fn number<T: TryFrom<i64, Error: Display>>(
    table: &'static str,
    id: &str,
    column: &'static str,
    number: i64,
) -> Result<T, StoreError> {
    T::try_from(number).map_err(|error| undecodable(table, id, format_args!("{column} is {number}: {error}")))
}

/// Reads a stored epoch that may be missing.
pub(crate) fn epoch_opt(
    table: &'static str,
    id: &str,
    column: &'static str,
    epoch: Option<i64>,
) -> Result<Option<Epoch>, StoreError> {
    Ok(epoch
        .map(|epoch| number(table, id, column, epoch))
        .transpose()?
        .map(Epoch::new))
}

/// Turns a count into the only integer that SQLite has; the rules keep counts below its end.
pub(crate) fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Turns the sum of a column that has no other word for unknown than 0.
fn summed(sum: Option<u64>) -> i64 {
    sum.map_or(0, integer)
}

#[derive(FromRow, Serialize)]
pub(crate) struct CardRow {
    pub(crate) id: String,
    title: String,
    state: String,
    reason: Option<String>,
    person: String,
    codebase_id: Option<String>,
    base: Option<String>,
    agent: String,
    owner_id: Option<String>,
    machine_id: Option<String>,
    opening: String,
    priority: i64,
    not_before: Option<i64>,
    recovery: i64,
    done: i64,
    last_seq: i64,
    ready_for: String,
    ready_from: i64,
    usage_turns: i64,
    usage_input_tokens: i64,
    usage_output_tokens: i64,
    usage_cost_microusd: i64,
    created_at: i64,
    updated_at: i64,
    version: i64,
    landings_returned: i64,
    model: Option<String>,
    effort: Option<String>,
    usage_cached_tokens: Option<i64>,
    usage_reasoning_tokens: Option<i64>,
}

impl From<&Card> for CardRow {
    fn from(card: &Card) -> Self {
        Self {
            id: card.id.to_string(),
            title: card.title.clone(),
            state: card.state.to_string(),
            reason: card.reason.clone(),
            person: card.person.to_string(),
            codebase_id: card.codebase.map(|id| id.to_string()),
            base: card.base.clone(),
            agent: card.agent.to_string(),
            owner_id: card.owner.map(|id| id.to_string()),
            machine_id: card.machine.map(|id| id.to_string()),
            opening: card.opening.to_string(),
            priority: card.priority.get().into(),
            not_before: card.not_before.map(Time::unix_micros),
            recovery: card.recovery.into(),
            done: card.done.into(),
            last_seq: card.last_seq.get().into(),
            ready_for: card.ready.what.as_str().to_owned(),
            ready_from: card.ready.from.unix_micros(),
            usage_turns: summed(card.usage.turns),
            usage_input_tokens: summed(card.usage.input_tokens),
            usage_output_tokens: summed(card.usage.output_tokens),
            usage_cost_microusd: summed(card.usage.cost_microusd),
            created_at: card.created_at.unix_micros(),
            updated_at: card.updated_at.unix_micros(),
            version: integer(card.version),
            landings_returned: card.landings_returned.into(),
            model: card.model.clone(),
            effort: card.effort.clone(),
            usage_cached_tokens: card.usage.cached_tokens.map(integer),
            usage_reasoning_tokens: card.usage.reasoning_tokens.map(integer),
        }
    }
}

impl TryFrom<CardRow> for Card {
    type Error = StoreError;
    fn try_from(row: CardRow) -> Result<Self, StoreError> {
        const TABLE: &str = "cards";
        let id = row.id.as_str();
        let what = [
            ReadyFor::Nothing,
            ReadyFor::Turns,
            ReadyFor::Rearm,
            ReadyFor::Resume,
        ]
        .into_iter()
        .find(|what| what.as_str() == row.ready_for)
        .ok_or_else(|| undecodable(TABLE, id, "unknown readiness"))?;
        // The older columns have no other word for what nobody told.
        let sum = |column, stored: Option<i64>| -> Result<Option<u64>, StoreError> {
            let sum = stored
                .map(|stored| number(TABLE, id, column, stored))
                .transpose()?;
            Ok(sum.filter(|sum| *sum > 0))
        };
        Ok(Self {
            id: parse(TABLE, id, id)?,
            state: parse(TABLE, id, &row.state)?,
            person: parse(TABLE, id, &row.person)?,
            codebase: parse_opt(TABLE, id, row.codebase_id.as_deref())?,
            agent: parse(TABLE, id, &row.agent)?,
            owner: parse_opt(TABLE, id, row.owner_id.as_deref())?,
            machine: parse_opt(TABLE, id, row.machine_id.as_deref())?,
            opening: parse(TABLE, id, &row.opening)?,
            priority: priority(id, row.priority)?,
            not_before: row.not_before.map(Time::from_unix_micros),
            recovery: row.recovery == 1,
            done: row.done == 1,
            last_seq: cs_model::TurnSeq::new(number(TABLE, id, "last_seq", row.last_seq)?),
            ready: Readiness {
                what,
                from: Time::from_unix_micros(row.ready_from),
            },
            usage: Usage {
                turns: sum("usage_turns", Some(row.usage_turns))?,
                input_tokens: sum("usage_input_tokens", Some(row.usage_input_tokens))?,
                cached_tokens: sum("usage_cached_tokens", row.usage_cached_tokens)?,
                output_tokens: sum("usage_output_tokens", Some(row.usage_output_tokens))?,
                reasoning_tokens: sum("usage_reasoning_tokens", row.usage_reasoning_tokens)?,
                cost_microusd: sum("usage_cost_microusd", Some(row.usage_cost_microusd))?,
            },
            created_at: Time::from_unix_micros(row.created_at),
            updated_at: Time::from_unix_micros(row.updated_at),
            version: number(TABLE, id, "version", row.version)?,
            landings_returned: number(TABLE, id, "landings_returned", row.landings_returned)?,
            title: row.title,
            base: row.base,
            reason: row.reason,
            model: row.model,
            effort: row.effort,
        })
    }
}

fn priority(card: &str, stored: i64) -> Result<Priority, StoreError> {
    Priority::new(number("cards", card, "priority", stored)?)
        .ok_or_else(|| undecodable("cards", card, format_args!("a priority of {stored}")))
}

#[derive(FromRow, Serialize)]
pub(crate) struct MarkRow {
    id: String,
    #[serde(skip)]
    pub(crate) card_id: String,
    seq: i64,
    state: String,
    run_id: Option<String>,
    said_at: i64,
}

impl From<&TurnMark> for MarkRow {
    fn from(mark: &TurnMark) -> Self {
        Self {
            id: mark.id.to_string(),
            card_id: String::new(),
            seq: mark.seq.get().into(),
            state: mark.state.to_string(),
            run_id: mark.run.map(|id| id.to_string()),
            said_at: mark.said_at.unix_micros(),
        }
    }
}

impl TryFrom<MarkRow> for TurnMark {
    type Error = StoreError;
    fn try_from(row: MarkRow) -> Result<Self, StoreError> {
        let (table, id) = ("turns", row.id.as_str());
        Ok(Self {
            id: parse(table, id, id)?,
            seq: cs_model::TurnSeq::new(number(table, id, "seq", row.seq)?),
            state: parse(table, id, &row.state)?,
            run: parse_opt(table, id, row.run_id.as_deref())?,
            said_at: Time::from_unix_micros(row.said_at),
        })
    }
}

#[derive(FromRow)]
pub(crate) struct TurnRow {
    id: String,
    card_id: String,
    seq: i64,
    author_kind: String,
    author: Option<String>,
    body: String,
    state: String,
    run_id: Option<String>,
    said_at: i64,
}

impl TryFrom<TurnRow> for Turn {
    type Error = StoreError;
    fn try_from(row: TurnRow) -> Result<Self, StoreError> {
        let (table, id) = ("turns", row.id.as_str());
        Ok(Self {
            id: parse(table, id, id)?,
            card: parse(table, id, &row.card_id)?,
            seq: cs_model::TurnSeq::new(number(table, id, "seq", row.seq)?),
            author: author(table, id, &row.author_kind, row.author.as_deref())?,
            state: parse(table, id, &row.state)?,
            run: parse_opt(table, id, row.run_id.as_deref())?,
            said_at: Time::from_unix_micros(row.said_at),
            body: row.body,
        })
    }
}

/// Returns the two columns of an author.
pub(crate) fn author_columns(author: &Author) -> (&'static str, Option<String>) {
    match author {
        Author::Person(person) => ("person", Some(person.to_string())),
        Author::Agent(run) => ("agent", Some(run.to_string())),
        Author::System => ("system", None),
    }
}

pub(crate) fn author(
    table: &'static str,
    id: &str,
    kind: &str,
    name: Option<&str>,
) -> Result<Author, StoreError> {
    match (kind, name) {
        ("person", Some(name)) => Ok(Author::Person(parse(table, id, name)?)),
        ("agent", Some(run)) => Ok(Author::Agent(parse(table, id, run)?)),
        ("system", None) => Ok(Author::System),
        (kind, _) => Err(undecodable(table, id, format_args!("unknown author `{kind}`"))),
    }
}
