//! Reads: each one snapshot, without a lock.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use cs_model::{CardId, Epoch, MachineId, RunId, Time, TurnSeq};
use cs_record::{
    Ask, Card, CardDetail, CardFilter, CardSummary, Landing, Listed, Peeked, Redirect, Run, StoreError, Turn,
};
use serde::Deserialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, SqliteConnection};

use crate::SqliteStore;
use crate::load::{aggregates, dependencies, json};
use crate::row_asks::AskRow;
use crate::row_cards::{CardRow, TurnRow, parse};
use crate::row_runs::{LandingRow, RunRow};
use crate::script;
use crate::take::after;

/// Fetches the rows of a statement with one text to bind, as domain values.
pub(crate) async fn rows<R, T>(
    connection: &mut SqliteConnection,
    name: &'static str,
    sql: &'static str,
    bind: &str,
) -> Result<Vec<T>, StoreError>
where
    R: for<'r> FromRow<'r, SqliteRow> + Send + Unpin,
    T: TryFrom<R, Error = StoreError>,
{
    let rows: Vec<R> = script::all(connection, name, sqlx::query(sql).bind(bind)).await?;
    rows.into_iter().map(T::try_from).collect()
}

#[derive(FromRow)]
struct PeekRow {
    turns: bool,
    rearms: bool,
    resumes: bool,
    recovery: bool,
    landings: bool,
    to_close: bool,
    next_due: Option<i64>,
    redirects: String,
}

#[derive(Deserialize)]
struct RedirectRow {
    run: String,
    epoch: u32,
    card: String,
    codebase: Option<String>,
    is_due: bool,
}

impl TryFrom<RedirectRow> for Redirect {
    type Error = StoreError;

    fn try_from(row: RedirectRow) -> Result<Self, StoreError> {
        let codebase = row.codebase.map(|id| parse("cards", &row.card, &id));
        Ok(Self {
            run: parse("runs", &row.run, &row.run)?,
            epoch: Epoch::new(row.epoch),
            card: parse("cards", &row.card, &row.card)?,
            codebase: codebase.transpose()?,
            is_due: row.is_due,
        })
    }
}

pub(crate) async fn peek(
    store: &SqliteStore,
    machine: MachineId,
    agents: &[String],
) -> Result<Peeked, StoreError> {
    let left_out = still_left_out(store).await?;
    let row: PeekRow = script::only(
        &mut *store.snapshot().await?,
        "peek_work",
        sqlx::query(after!("take", "peek_work"))
            .bind(machine.to_string())
            .bind(json(agents)?)
            .bind(store.now().unix_micros())
            .bind(json(&left_out)?),
    )
    .await?;
    let redirects: Vec<RedirectRow> = serde_json::from_str(&row.redirects)
        .map_err(|error| StoreError::Corrupt(format!("the owners with news cannot be read: {error}")))?;
    Ok(Peeked {
        turns: row.turns,
        rearms: row.rearms,
        resumes: row.resumes,
        recovery: row.recovery,
        landings: row.landings,
        to_close: row.to_close,
        next_due: row.next_due.map(Time::from_unix_micros),
        redirects: redirects
            .into_iter()
            .map(Redirect::try_from)
            .collect::<Result<_, _>>()?,
    })
}

/// Looks whether the cards that takes leave out were mended. It asks nothing while there are none.
async fn still_left_out(store: &SqliteStore) -> Result<Vec<String>, StoreError> {
    let ids = store.left_out.ids();
    if ids.is_empty() {
        return Ok(ids);
    }
    let mut tx = store.snapshot().await?;
    let rows: Vec<CardRow> = script::all(
        &mut tx,
        "select_cards",
        sqlx::query(include_str!("../queries/select_cards.sql")).bind(json(&ids)?),
    )
    .await?;
    let found = aggregates(&mut tx, rows, &[]).await?;
    Ok(store.left_out.still(ids, &found.unreadable))
}

pub(crate) async fn run(store: &SqliteStore, run: RunId) -> Result<Option<Run>, StoreError> {
    read_run(&mut *store.snapshot().await?, run).await
}

pub(crate) async fn read_run(
    connection: &mut SqliteConnection,
    run: RunId,
) -> Result<Option<Run>, StoreError> {
    let sql = include_str!("../queries/read_run.sql");
    Ok(rows::<RunRow, Run>(connection, "read_run", sql, &run.to_string())
        .await?
        .pop())
}

pub(crate) async fn read_card(
    connection: &mut SqliteConnection,
    card: CardId,
) -> Result<Option<Card>, StoreError> {
    let sql = include_str!("../queries/select_cards.sql");
    Ok(
        rows::<CardRow, Card>(connection, "select_cards", sql, &json(&[card])?)
            .await?
            .pop(),
    )
}

pub(crate) async fn read_turns(
    connection: &mut SqliteConnection,
    card: CardId,
    after: TurnSeq,
    limit: u32,
) -> Result<Vec<Turn>, StoreError> {
    let rows: Vec<TurnRow> = script::all(
        connection,
        "read_turns",
        sqlx::query(include_str!("../queries/read_turns.sql"))
            .bind(card.to_string())
            .bind(i64::from(after.get()))
            .bind(i64::from(limit)),
    )
    .await?;
    rows.into_iter().map(Turn::try_from).collect()
}

pub(crate) async fn read_asks(
    connection: &mut SqliteConnection,
    card: CardId,
) -> Result<Vec<Ask>, StoreError> {
    let sql = include_str!("../queries/list_asks_of_card.sql");
    rows::<AskRow, Ask>(connection, "list_asks_of_card", sql, &card.to_string()).await
}

#[derive(FromRow)]
pub(crate) struct CodebaseRow {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) created_at: i64,
}

/// Returns the names of all codebases by id.
pub(crate) async fn codebase_names(
    connection: &mut SqliteConnection,
) -> Result<BTreeMap<String, String>, StoreError> {
    let rows: Vec<CodebaseRow> = script::all(
        connection,
        "list_codebases",
        sqlx::query(include_str!("../queries/list_codebases.sql")),
    )
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.name)).collect())
}

pub(crate) fn name_of(names: &BTreeMap<String, String>, card: &Card) -> Option<String> {
    card.codebase.and_then(|id| names.get(&id.to_string()).cloned())
}

pub(crate) async fn machine_runs(store: &SqliteStore, machine: MachineId) -> Result<Listed<Run>, StoreError> {
    let rows: Vec<RunRow> = script::all(
        &mut *store.snapshot().await?,
        "list_machine_runs",
        sqlx::query(include_str!("../queries/list_machine_runs.sql")).bind(machine.to_string()),
    )
    .await?;
    let mut listed = Listed::of(Vec::with_capacity(rows.len()));
    for row in rows {
        let card = row.card_id.clone();
        listed.push(&card, Run::try_from(row));
    }
    Ok(listed)
}

pub(crate) async fn ids_ending<Id: FromStr<Err: Display>>(
    store: &SqliteStore,
    sql: &'static str,
    digits: &str,
) -> Result<Vec<Id>, StoreError> {
    let ids: Vec<(String,)> = script::all(
        &mut *store.snapshot().await?,
        "find by digits",
        sqlx::query(sql).bind(digits),
    )
    .await?;
    ids.iter().map(|(id,)| parse("ids", id, id)).collect()
}

pub(crate) async fn cards(
    store: &SqliteStore,
    filter: CardFilter,
) -> Result<Listed<CardSummary>, StoreError> {
    let mut tx = store.snapshot().await?;
    let all = match filter {
        CardFilter::Current => false,
        CardFilter::All => true,
    };
    let cards: Vec<CardRow> = script::all(
        &mut tx,
        "list_cards",
        sqlx::query(include_str!("../queries/list_cards.sql")).bind(all),
    )
    .await?;
    let names = codebase_names(&mut tx).await?;
    let ids: Vec<&String> = cards.iter().map(|row| &row.id).collect();
    let last = last_landings(&mut tx, &json(&ids)?).await?;
    let found = aggregates(&mut tx, cards, &[]).await?;
    let mut listed = Listed {
        rows: Vec::with_capacity(found.rows.len()),
        unreadable: found.unreadable,
    };
    for aggregate in found.rows {
        let id = aggregate.card.id;
        let codebase = name_of(&names, &aggregate.card);
        let state = last.get(&id.to_string());
        let state = state.map(|state| parse("landings", &id.to_string(), state));
        let summary = state
            .transpose()
            .map(|state| CardSummary::of(aggregate, codebase, state));
        listed.push(&id, summary);
    }
    Ok(listed)
}

/// Reads how the last landing stands of each of these cards, by the texts of both.
async fn last_landings(
    connection: &mut SqliteConnection,
    ids: &str,
) -> Result<BTreeMap<String, String>, StoreError> {
    let query = sqlx::query(include_str!("../queries/list_last_landings.sql")).bind(ids);
    let rows: Vec<(String, String)> = script::all(connection, "list_last_landings", query).await?;
    Ok(rows.into_iter().collect())
}

pub(crate) async fn card(store: &SqliteStore, card: CardId) -> Result<Option<CardDetail>, StoreError> {
    let mut tx = store.snapshot().await?;
    let Some(card) = read_card(&mut tx, card).await? else {
        return Ok(None);
    };
    let id = card.id.to_string();
    let names = codebase_names(&mut tx).await?;
    let waits_for = dependencies(&mut tx, &json(&[card.id])?).await?;
    let runs = include_str!("../queries/list_runs_of_card.sql");
    let landings = include_str!("../queries/list_landings_of_card.sql");
    Ok(Some(CardDetail {
        codebase: name_of(&names, &card),
        runs: rows::<RunRow, Run>(&mut tx, "list_runs_of_card", runs, &id).await?,
        asks: read_asks(&mut tx, card.id).await?,
        landings: rows::<LandingRow, Landing>(&mut tx, "list_landings_of_card", landings, &id).await?,
        waits_for: waits_for.into_iter().map(|(_, after)| after).collect(),
        card,
    }))
}

pub(crate) async fn turns(
    store: &SqliteStore,
    card: CardId,
    after: TurnSeq,
    limit: u32,
) -> Result<Option<Vec<Turn>>, StoreError> {
    let mut tx = store.snapshot().await?;
    if read_card(&mut tx, card).await?.is_none() {
        return Ok(None);
    }
    read_turns(&mut tx, card, after, limit).await.map(Some)
}

#[derive(FromRow)]
struct OpenAskRow {
    #[sqlx(flatten)]
    ask: AskRow,
    card_title: String,
}

pub(crate) async fn open_asks(store: &SqliteStore) -> Result<Listed<(Ask, String)>, StoreError> {
    let rows: Vec<OpenAskRow> = script::all(
        &mut *store.snapshot().await?,
        "list_open_asks",
        sqlx::query(include_str!("../queries/list_open_asks.sql")),
    )
    .await?;
    let mut listed = Listed::of(Vec::with_capacity(rows.len()));
    for OpenAskRow { ask, card_title } in rows {
        let card = ask.card_id.clone();
        listed.push(&card, Ask::try_from(ask).map(|ask| (ask, card_title)));
    }
    Ok(listed)
}
