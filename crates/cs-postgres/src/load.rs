//! Reads what the server sends as JSON: whole aggregates in one text.

use std::collections::BTreeMap;

use cs_model::CardId;
use cs_record::{Aggregate, Ask, Card, Landing, Run, StoreError, TurnMark};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::error::undecodable;
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
    /// Puts together what belongs to each card; the order of the cards is kept.
    pub(crate) fn into_aggregates(self) -> Result<Vec<Aggregate>, StoreError> {
        let mut found = Found::new(self.cards)?;
        for row in self.runs {
            let run = Run::try_from(row)?;
            found.card(run.card)?.runs.push(run);
        }
        for row in self.turns {
            let card = CardId::from_uuid(row.card_id);
            let mark = TurnMark::try_from(row)?;
            found.card(card)?.turns.push(mark);
        }
        for row in self.asks {
            let ask = Ask::try_from(row)?;
            found.card(ask.card)?.asks.push(ask);
        }
        for row in self.landings {
            let landing = Landing::try_from(row)?;
            found.card(landing.card)?.landings.push(landing);
        }
        for row in self.waits_for {
            let after = CardId::from_uuid(row.after_id);
            found.card(CardId::from_uuid(row.card_id))?.waits_for.push(after);
        }
        Ok(found.aggregates)
    }
}

/// Cards in the order in which they were selected, and where each one is.
struct Found {
    aggregates: Vec<Aggregate>,
    places: BTreeMap<CardId, usize>,
}

impl Found {
    fn new(rows: Vec<CardRow>) -> Result<Self, StoreError> {
        let (mut aggregates, mut places) = (Vec::with_capacity(rows.len()), BTreeMap::new());
        for row in rows {
            let card = Card::try_from(row)?;
            places.insert(card.id, aggregates.len());
            aggregates.push(Aggregate {
                card,
                runs: Vec::new(),
                turns: Vec::new(),
                asks: Vec::new(),
                landings: Vec::new(),
                waits_for: Vec::new(),
            });
        }
        Ok(Self { aggregates, places })
    }

    fn card(&mut self, id: CardId) -> Result<&mut Aggregate, StoreError> {
        let place = self.places.get(&id).copied();
        place
            .and_then(|place| self.aggregates.get_mut(place))
            .ok_or_else(|| undecodable("cards", id, "a child of a card that was not asked for"))
    }
}
