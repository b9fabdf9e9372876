//! Loads whole aggregates: five statements, sent together, for any number of cards.

use cs_model::CardId;
use cs_record::{Aggregate, Ask, Card, Gather, Landing, Listed, Run, StoreError, TurnMark};
use serde::Serialize;
use sqlx::SqliteConnection;

use crate::row_asks::AskRow;
use crate::row_cards::{CardRow, MarkRow, parse};
use crate::row_runs::{LandingRow, RunRow};
use crate::script::{self, script};

/// Writes a value as the JSON text that `json_each` reads.
pub(crate) fn json<T: Serialize + ?Sized>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Corrupt(format!("rows cannot be written as JSON: {error}")))
}

/// Loads what belongs to the cards, and the rows with the named ids whatever their state. The order of the cards is kept; one of
/// which a row does not decode is told, and stops none of the others.
pub(crate) async fn aggregates(
    connection: &mut SqliteConnection,
    cards: Vec<CardRow>,
    named: &[String],
) -> Result<Listed<Aggregate>, StoreError> {
    let ids: Vec<String> = cards.iter().map(|row| row.id.clone()).collect();
    let cards = cards.into_iter().map(Card::try_from);
    let mut found = Gather::new(ids.iter().cloned().zip(cards));
    if ids.is_empty() {
        return Ok(found.finish());
    }
    let ids = json(&ids)?;
    let named = json(named)?;
    let sql = script!(
        "load_runs",
        "load_turns",
        "load_asks",
        "load_landings",
        "load_dependencies"
    );
    let [runs, turns, asks, landings, dependencies] =
        script::run(connection, sql.0, sqlx::query(sql.1).bind(ids).bind(named)).await?;
    let table = "card_dependencies";
    for (card, after) in script::read::<(String, String)>("load_dependencies", dependencies)? {
        let after = parse(table, &card, &after);
        found.add(&card, after, |it, after| it.waits_for.push(after))?;
    }
    for row in script::read::<RunRow>("load_runs", runs)? {
        let card = row.card_id.clone();
        found.add(&card, Run::try_from(row), |it, run| it.runs.push(run))?;
    }
    for row in script::read::<MarkRow>("load_turns", turns)? {
        let card = row.card_id.clone();
        found.add(&card, TurnMark::try_from(row), |it, mark| it.turns.push(mark))?;
    }
    for row in script::read::<AskRow>("load_asks", asks)? {
        let card = row.card_id.clone();
        found.add(&card, Ask::try_from(row), |it, ask| it.asks.push(ask))?;
    }
    for row in script::read::<LandingRow>("load_landings", landings)? {
        let card = row.card_id.clone();
        found.add(&card, Landing::try_from(row), |it, landing| {
            it.landings.push(landing)
        })?;
    }
    Ok(found.finish())
}

/// Reads which of the cards in a JSON array wait for which that are not done, by id.
pub(crate) async fn dependencies(
    connection: &mut SqliteConnection,
    ids: &str,
) -> Result<Vec<(CardId, CardId)>, StoreError> {
    let table = "card_dependencies";
    let query = sqlx::query(include_str!("../queries/load_dependencies.sql")).bind(ids);
    let rows: Vec<(String, String)> = script::all(connection, "load_dependencies", query).await?;
    let pair =
        |(card, after): (String, String)| Ok((parse(table, &card, &card)?, parse(table, &after, &after)?));
    rows.into_iter().map(pair).collect()
}
