//! Rows of cards, turns and asks, both ways.

use std::fmt::Display;
use std::str::FromStr;

use cs_model::{AskId, Author, CardId, CodebaseId, Epoch, MachineId, Priority, RunId, Time, TurnId};
use cs_record::{Ask, Card, Readiness, ReadyFor, StoreError, Turn, TurnMark};
use cs_settle::{Offer, Usage};
use serde::Deserialize;
use uuid::Uuid;

use crate::error::undecodable;
use crate::text::{read, stored, stored_opt};

/// Reads a stored text.
pub(crate) fn parse<T: FromStr<Err: Display>>(
    table: &'static str,
    id: impl Display,
    text: &str,
) -> Result<T, StoreError> {
    text.parse()
        .map_err(|error: T::Err| undecodable(table, id, error))
}

/// Reads a stored free text.
pub(crate) fn free(table: &'static str, id: impl Display, text: String) -> Result<String, StoreError> {
    read(text).ok_or_else(|| undecodable(table, id, "a text that is not stored as texts are"))
}

/// Reads a stored free text that may be missing.
pub(crate) fn free_opt(
    table: &'static str,
    id: impl Display,
    text: Option<String>,
) -> Result<Option<String>, StoreError> {
    text.map(|text| free(table, id, text)).transpose()
}

/// Reads a stored number of a narrower type.
pub(crate) fn number<T: TryFrom<i64, Error: Display>>(
    table: &'static str,
    id: impl Display,
    column: &'static str,
    number: i64,
) -> Result<T, StoreError> {
    T::try_from(number).map_err(|error| undecodable(table, id, format_args!("{column} is {number}: {error}")))
}

/// Reads a stored epoch that may be missing.
pub(crate) fn epoch_opt(
    table: &'static str,
    id: impl Display,
    column: &'static str,
    epoch: Option<i64>,
) -> Result<Option<Epoch>, StoreError> {
    let epoch = epoch.map(|epoch| number(table, id, column, epoch)).transpose()?;
    Ok(epoch.map(Epoch::new))
}

/// Turns a count into the widest integer that the schema has; the rules keep counts below its end.
pub(crate) fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Turns the sum of a column that has no other word for unknown than 0.
fn summed(sum: Option<u64>) -> i64 {
    sum.map_or(0, integer)
}

#[derive(Deserialize)]
pub(crate) struct CardRow {
    pub(crate) id: Uuid,
    pub(crate) title: String,
    pub(crate) state: String,
    pub(crate) reason: Option<String>,
    pub(crate) person: String,
    pub(crate) codebase_id: Option<Uuid>,
    pub(crate) base: Option<String>,
    pub(crate) agent: String,
    pub(crate) owner_id: Option<Uuid>,
    pub(crate) machine_id: Option<Uuid>,
    pub(crate) opening: String,
    pub(crate) priority: i16,
    pub(crate) not_before: Option<i64>,
    pub(crate) recovery: bool,
    pub(crate) done: bool,
    pub(crate) last_seq: i64,
    pub(crate) ready_for: String,
    pub(crate) ready_from: i64,
    pub(crate) usage_turns: i64,
    pub(crate) usage_input_tokens: i64,
    pub(crate) usage_output_tokens: i64,
    pub(crate) usage_cost_microusd: i64,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
    pub(crate) version: i64,
    pub(crate) landings_returned: i64,
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<String>,
    pub(crate) usage_cached_tokens: Option<i64>,
    pub(crate) usage_reasoning_tokens: Option<i64>,
}

impl From<&Card> for CardRow {
    fn from(card: &Card) -> Self {
        Self {
            id: card.id.as_uuid(),
            title: stored(&card.title).into_owned(),
            state: card.state.to_string(),
            reason: stored_opt(card.reason.as_deref()),
            person: card.person.to_string(),
            codebase_id: card.codebase.map(CodebaseId::as_uuid),
            base: stored_opt(card.base.as_deref()),
            agent: card.agent.to_string(),
            owner_id: card.owner.map(RunId::as_uuid),
            machine_id: card.machine.map(MachineId::as_uuid),
            opening: card.opening.to_string(),
            priority: card.priority.get(),
            not_before: card.not_before.map(Time::unix_micros),
            recovery: card.recovery,
            done: card.done,
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
            model: stored_opt(card.model.as_deref()),
            effort: stored_opt(card.effort.as_deref()),
            usage_cached_tokens: card.usage.cached_tokens.map(integer),
            usage_reasoning_tokens: card.usage.reasoning_tokens.map(integer),
        }
    }
}

impl TryFrom<CardRow> for Card {
    type Error = StoreError;
    fn try_from(row: CardRow) -> Result<Self, StoreError> {
        const TABLE: &str = "cards";
        let id = row.id;
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
            id: CardId::from_uuid(id),
            state: parse(TABLE, id, &row.state)?,
            person: parse(TABLE, id, &row.person)?,
            codebase: row.codebase_id.map(CodebaseId::from_uuid),
            agent: parse(TABLE, id, &row.agent)?,
            owner: row.owner_id.map(RunId::from_uuid),
            machine: row.machine_id.map(MachineId::from_uuid),
            opening: parse(TABLE, id, &row.opening)?,
            priority: Priority::new(row.priority)
                .ok_or_else(|| undecodable(TABLE, id, "a priority that cannot be"))?,
            not_before: row.not_before.map(Time::from_unix_micros),
            recovery: row.recovery,
            done: row.done,
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
            model: free_opt(TABLE, id, row.model)?,
            effort: free_opt(TABLE, id, row.effort)?,
            title: free(TABLE, id, row.title)?,
            base: free_opt(TABLE, id, row.base)?,
            reason: free_opt(TABLE, id, row.reason)?,
        })
    }
}

#[derive(Deserialize)]
pub(crate) struct MarkRow {
    pub(crate) id: Uuid,
    pub(crate) card_id: Uuid,
    pub(crate) seq: i64,
    pub(crate) state: String,
    pub(crate) run_id: Option<Uuid>,
    pub(crate) said_at: i64,
}

impl From<&TurnMark> for MarkRow {
    fn from(mark: &TurnMark) -> Self {
        Self {
            id: mark.id.as_uuid(),
            card_id: Uuid::nil(), // no statement that writes a mark asks for it
            seq: mark.seq.get().into(),
            state: mark.state.to_string(),
            run_id: mark.run.map(RunId::as_uuid),
            said_at: mark.said_at.unix_micros(),
        }
    }
}

impl TryFrom<MarkRow> for TurnMark {
    type Error = StoreError;
    fn try_from(row: MarkRow) -> Result<Self, StoreError> {
        let (table, id) = ("turns", row.id);
        Ok(Self {
            id: TurnId::from_uuid(id),
            seq: cs_model::TurnSeq::new(number(table, id, "seq", row.seq)?),
            state: parse(table, id, &row.state)?,
            run: row.run_id.map(RunId::from_uuid),
            said_at: Time::from_unix_micros(row.said_at),
        })
    }
}

#[derive(Deserialize)]
pub(crate) struct TurnRow {
    pub(crate) id: Uuid,
    pub(crate) card_id: Uuid,
    pub(crate) seq: i64,
    pub(crate) author_kind: String,
    pub(crate) author: Option<String>,
    pub(crate) body: String,
    pub(crate) state: String,
    pub(crate) run_id: Option<Uuid>,
    pub(crate) said_at: i64,
}

impl From<&Turn> for TurnRow {
    fn from(turn: &Turn) -> Self {
        let (author_kind, author) = author_columns(&turn.author);
        Self {
            id: turn.id.as_uuid(),
            card_id: turn.card.as_uuid(),
            seq: turn.seq.get().into(),
            author_kind: author_kind.to_owned(),
            author,
            body: stored(&turn.body).into_owned(),
            state: turn.state.to_string(),
            run_id: turn.run.map(RunId::as_uuid),
            said_at: turn.said_at.unix_micros(),
        }
    }
}

impl TryFrom<TurnRow> for Turn {
    type Error = StoreError;
    fn try_from(row: TurnRow) -> Result<Self, StoreError> {
        let (table, id) = ("turns", row.id);
        Ok(Self {
            id: TurnId::from_uuid(id),
            card: CardId::from_uuid(row.card_id),
            seq: cs_model::TurnSeq::new(number(table, id, "seq", row.seq)?),
            author: author(table, id, &row.author_kind, row.author.as_deref())?,
            state: parse(table, id, &row.state)?,
            run: row.run_id.map(RunId::from_uuid),
            said_at: Time::from_unix_micros(row.said_at),
            body: free(table, id, row.body)?,
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

fn author(table: &'static str, id: Uuid, kind: &str, name: Option<&str>) -> Result<Author, StoreError> {
    match (kind, name) {
        ("person", Some(name)) => Ok(Author::Person(parse(table, id, name)?)),
        ("agent", Some(run)) => Ok(Author::Agent(parse(table, id, run)?)),
        ("system", None) => Ok(Author::System),
        (kind, _) => Err(undecodable(table, id, format_args!("unknown author `{kind}`"))),
    }
}

#[derive(Deserialize)]
pub(crate) struct AskRow {
    pub(crate) id: Uuid,
    pub(crate) card_id: Uuid,
    pub(crate) run_id: Uuid,
    pub(crate) question: String,
    pub(crate) choices: String,
    pub(crate) offer: bool,
    pub(crate) offer_message: Option<String>,
    pub(crate) addressee: String,
    pub(crate) state: String,
    pub(crate) answer: Option<String>,
    pub(crate) answered_by_kind: Option<String>,
    pub(crate) answered_by: Option<String>,
    pub(crate) asked_at: i64,
    pub(crate) answered_at: Option<i64>,
    pub(crate) delivered: bool,
    pub(crate) given: Option<i64>,
    pub(crate) turn_id: Option<Uuid>,
}

impl TryFrom<&Ask> for AskRow {
    type Error = StoreError;
    fn try_from(ask: &Ask) -> Result<Self, StoreError> {
        let by = ask.answered_by.as_ref().map(author_columns);
        let choices = serde_json::to_string(&ask.choices);
        Ok(Self {
            id: ask.id.as_uuid(),
            card_id: ask.card.as_uuid(),
            run_id: ask.run.as_uuid(),
            question: stored(&ask.question).into_owned(),
            choices: choices.map_err(|error| undecodable("asks", ask.id, error))?,
            offer: ask.offer.is_some(),
            offer_message: stored_opt(ask.offer.as_ref().and_then(|offer| offer.message.as_deref())),
            addressee: ask.to.to_string(),
            state: ask.state.to_string(),
            answer: stored_opt(ask.answer.as_deref()),
            answered_by_kind: by.as_ref().map(|(kind, _)| (*kind).to_owned()),
            answered_by: by.and_then(|(_, name)| name),
            asked_at: ask.asked_at.unix_micros(),
            answered_at: ask.answered_at.map(Time::unix_micros),
            delivered: ask.delivered,
            given: ask.given.map(|epoch| epoch.get().into()),
            turn_id: ask.turn.map(TurnId::as_uuid),
        })
    }
}

impl TryFrom<AskRow> for Ask {
    type Error = StoreError;
    fn try_from(row: AskRow) -> Result<Self, StoreError> {
        let (table, id) = ("asks", row.id);
        let by = row.answered_by_kind.as_deref();
        let message = free_opt(table, id, row.offer_message)?;
        Ok(Self {
            id: AskId::from_uuid(id),
            card: CardId::from_uuid(row.card_id),
            run: RunId::from_uuid(row.run_id),
            choices: serde_json::from_str(&row.choices).map_err(|error| undecodable(table, id, error))?,
            offer: row.offer.then_some(Offer { message }),
            to: parse(table, id, &row.addressee)?,
            state: parse(table, id, &row.state)?,
            answered_by: by
                .map(|kind| author(table, id, kind, row.answered_by.as_deref()))
                .transpose()?,
            asked_at: Time::from_unix_micros(row.asked_at),
            answered_at: row.answered_at.map(Time::from_unix_micros),
            delivered: row.delivered,
            given: epoch_opt(table, id, "given", row.given)?,
            turn: row.turn_id.map(TurnId::from_uuid),
            question: free(table, id, row.question)?,
            answer: free_opt(table, id, row.answer)?,
        })
    }
}
