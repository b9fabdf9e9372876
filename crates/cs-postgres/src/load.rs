//! Reads what the server sends as JSON: whole aggregates in one text.

use cs_model::CardId;
use cs_record::{Aggregate, Ask, Card, Gather, Landing, Listed, Run, StoreError, TurnMark};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::row_cards::{AskRow, CardRow, MarkRow};
use crate::row_runs::{LandingRow, RunRow};

/// Reads a JSON text of the server. `what` says what was asked for.
pub(crate) fn from_json<T: DeserializeOwned>(what: &'static str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| {
        StoreError::Corrupt(format!("{what}: a row is not as this cs-panel knows it: {error}"))
    })
}

/// Turns rows into domain values.
pub(crate) fn domain<R, T: TryFrom<R, Error = StoreError>>(rows: Vec<R>) -> Result<Vec<T>, StoreError> {
    rows.into_iter().map(T::try_from).collect()
}

/// What `load_rows` returns.
#[derive(Deserialize)]
pub(crate) struct Loaded {
    cards: Vec<CardRow>,
    runs: Vec<RunRow>,
    turns: Vec<MarkRow>,
    asks: Vec<AskRow>,
    landings: Vec<LandingRow>,
    waits_for: Vec<WaitRow>,
}

/// A card, and one that it waits for.
#[derive(Deserialize)]
struct WaitRow {
    card_id: Uuid,
    after_id: Uuid,
}

impl Loaded {
    /// Puts together what belongs to each card; the order of the cards is kept. One of which a row does not decode is told, and
    /// stops none of the others.
    pub(crate) fn into_aggregates(self) -> Result<Listed<Aggregate>, StoreError> {
        let card = |row: CardRow| (row.id, Card::try_from(row));
        let mut found = Gather::new(self.cards.into_iter().map(card));
        for row in self.runs {
            let card = row.card_id;
            found.add(&card, Run::try_from(row), |it, run| it.runs.push(run))?;
        }
        for row in self.turns {
            let card = row.card_id;
            found.add(&card, TurnMark::try_from(row), |it, mark| it.turns.push(mark))?;
        }
        for row in self.asks {
            let card = row.card_id;
            found.add(&card, Ask::try_from(row), |it, ask| it.asks.push(ask))?;
        }
        for row in self.landings {
            let card = row.card_id;
            found.add(&card, Landing::try_from(row), |it, landing| {
                it.landings.push(landing)
            })?;
        }
        for row in self.waits_for {
            let after = CardId::from_uuid(row.after_id);
            found.add(&row.card_id, Ok(after), |it, after| it.waits_for.push(after))?;
        }
        Ok(found.finish())
    }
}
