//! Rows of asks, both ways.

use cs_model::Time;
use cs_record::{Ask, StoreError};
use cs_settle::Offer;
use serde::Serialize;
use sqlx::FromRow;

use crate::error::undecodable;
use crate::row_cards::{author, author_columns, epoch_opt, parse, parse_opt};

#[derive(FromRow, Serialize)]
pub(crate) struct AskRow {
    pub(crate) id: String,
    pub(crate) card_id: String,
    pub(crate) run_id: String,
    pub(crate) question: String,
    pub(crate) choices: String,
    pub(crate) offer: i64,
    pub(crate) offer_message: Option<String>,
    pub(crate) addressee: String,
    pub(crate) state: String,
    pub(crate) answer: Option<String>,
    pub(crate) answered_by_kind: Option<String>,
    pub(crate) answered_by: Option<String>,
    pub(crate) asked_at: i64,
    pub(crate) answered_at: Option<i64>,
    pub(crate) delivered: i64,
    pub(crate) given: Option<i64>,
    pub(crate) turn_id: Option<String>,
}

impl TryFrom<&Ask> for AskRow {
    type Error = StoreError;
    fn try_from(ask: &Ask) -> Result<Self, StoreError> {
        let by = ask.answered_by.as_ref().map(author_columns);
        let choices = serde_json::to_string(&ask.choices);
        Ok(Self {
            id: ask.id.to_string(),
            card_id: ask.card.to_string(),
            run_id: ask.run.to_string(),
            question: ask.question.clone(),
            choices: choices.map_err(|error| undecodable("asks", &ask.id.to_string(), error))?,
            offer: ask.offer.is_some().into(),
            offer_message: ask.offer.as_ref().and_then(|offer| offer.message.clone()),
            addressee: ask.to.to_string(),
            state: ask.state.to_string(),
            answer: ask.answer.clone(),
            answered_by_kind: by.as_ref().map(|(kind, _)| (*kind).to_owned()),
            answered_by: by.and_then(|(_, name)| name),
            asked_at: ask.asked_at.unix_micros(),
            answered_at: ask.answered_at.map(Time::unix_micros),
            delivered: ask.delivered.into(),
            given: ask.given.map(|epoch| epoch.get().into()),
            turn_id: ask.turn.map(|id| id.to_string()),
        })
    }
}

impl TryFrom<AskRow> for Ask {
    type Error = StoreError;
    fn try_from(row: AskRow) -> Result<Self, StoreError> {
        let (table, id) = ("asks", row.id.as_str());
        let by = row.answered_by_kind.as_deref();
        let message = row.offer_message;
        Ok(Self {
            id: parse(table, id, id)?,
            card: parse(table, id, &row.card_id)?,
            run: parse(table, id, &row.run_id)?,
            choices: serde_json::from_str(&row.choices).map_err(|error| undecodable(table, id, error))?,
            offer: (row.offer == 1).then_some(Offer { message }),
            to: parse(table, id, &row.addressee)?,
            state: parse(table, id, &row.state)?,
            answered_by: by
                .map(|kind| author(table, id, kind, row.answered_by.as_deref()))
                .transpose()?,
            asked_at: Time::from_unix_micros(row.asked_at),
            answered_at: row.answered_at.map(Time::from_unix_micros),
            delivered: row.delivered == 1,
            given: epoch_opt(table, id, "given", row.given)?,
            turn: parse_opt(table, id, row.turn_id.as_deref())?,
            question: row.question,
            answer: row.answer,
        })
    }
}
