//! Loads whole aggregates: five statements for any number of cards.

use std::collections::BTreeMap;

use cs_model::CardId;
use cs_record::{Aggregate, Ask, Card, Landing, Run, StoreError, TurnMark};
use serde::Serialize;
use sqlx::SqliteConnection;

use crate::error::{store_error, undecodable};
use crate::row_asks::AskRow;
use crate::row_cards::{CardRow, MarkRow, parse};
use crate::row_runs::{LandingRow, RunRow};

/// Writes a value as the JSON text that `json_each` reads.
pub(crate) fn json<T: Serialize + ?Sized>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Corrupt(format!("rows cannot be written as JSON: {error}")))
}

/// Loads what belongs to the cards, and the rows with the named ids whatever their state. The order of the cards is kept.
pub(crate) async fn aggregates(
    connection: &mut SqliteConnection,
    cards: Vec<CardRow>,
    named: &[String],
) -> Result<Vec<Aggregate>, StoreError> {
    let mut found = Found::new(cards)?;
    if found.order.is_empty() {
        return Ok(Vec::new());
    }
    let ids = json(&found.order)?;
    let named = json(named)?;
    let runs: Vec<RunRow> = sqlx::query_as(include_str!("../queries/load_runs.sql"))
        .bind(&ids)
        .bind(&named)
        .fetch_all(&mut *connection)
        .await
        .map_err(|error| store_error("load_runs", error))?;
    let turns: Vec<MarkRow> = sqlx::query_as(include_str!("../queries/load_turns.sql"))
        .bind(&ids)
        .bind(&named)
        .fetch_all(&mut *connection)
        .await
        .map_err(|error| store_error("load_turns", error))?;
    let asks: Vec<AskRow> = sqlx::query_as(include_str!("../queries/load_asks.sql"))
        .bind(&ids)
        .bind(&named)
        .fetch_all(&mut *connection)
        .await
        .map_err(|error| store_error("load_asks", error))?;
    let landings: Vec<LandingRow> = sqlx::query_as(include_str!("../queries/load_landings.sql"))
        .bind(&ids)
        .bind(&named)
        .fetch_all(&mut *connection)
        .await
        .map_err(|error| store_error("load_landings", error))?;
    for (card, after) in dependencies(&mut *connection, &ids).await? {
        found.card(card)?.waits_for.push(after);
    }
    for row in runs {
        let run = Run::try_from(row)?;
        found.card(run.card)?.runs.push(run);
    }
    for row in turns {
        let card = parse("turns", &row.card_id, &row.card_id)?;
        let mark = TurnMark::try_from(row)?;
        found.card(card)?.turns.push(mark);
    }
    for row in asks {
        let ask = Ask::try_from(row)?;
        found.card(ask.card)?.asks.push(ask);
    }
    for row in landings {
        let landing = Landing::try_from(row)?;
        found.card(landing.card)?.landings.push(landing);
    }
    Ok(found.into_order())
}

/// Reads which of the cards in a JSON array wait for which that are not done, by id.
pub(crate) async fn dependencies(
    connection: &mut SqliteConnection,
    ids: &str,
) -> Result<Vec<(CardId, CardId)>, StoreError> {
    let table = "card_dependencies";
    let rows: Vec<(String, String)> = sqlx::query_as(include_str!("../queries/load_dependencies.sql"))
        .bind(ids)
        .fetch_all(connection)
        .await
        .map_err(|error| store_error("load_dependencies", error))?;
    let pair =
        |(card, after): (String, String)| Ok((parse(table, &card, &card)?, parse(table, &after, &after)?));
    rows.into_iter().map(pair).collect()
}

/// Cards by id, and the order in which they were selected.
struct Found {
    order: Vec<CardId>,
    cards: BTreeMap<CardId, Aggregate>,
}

impl Found {
    fn new(rows: Vec<CardRow>) -> Result<Self, StoreError> {
        let (mut order, mut cards) = (Vec::with_capacity(rows.len()), BTreeMap::new());
        for row in rows {
            let card = Card::try_from(row)?;
            order.push(card.id);
            let aggregate = Aggregate {
                card,
                runs: Vec::new(),
                turns: Vec::new(),
                asks: Vec::new(),
                landings: Vec::new(),
                waits_for: Vec::new(),
            };
            cards.insert(aggregate.card.id, aggregate);
        }
        Ok(Self { order, cards })
    }

    fn card(&mut self, id: CardId) -> Result<&mut Aggregate, StoreError> {
        self.cards.get_mut(&id).ok_or_else(|| {
            undecodable(
                "cards",
                &id.to_string(),
                "a child of a card that was not asked for",
            )
        })
    }

    fn into_order(mut self) -> Vec<Aggregate> {
        self.order.iter().filter_map(|id| self.cards.remove(id)).collect()
    }
}
