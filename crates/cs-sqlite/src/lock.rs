//! Begins transactions: the journal row first, then the limits, then the cards, then what belongs to them.

use cs_model::{MachineId, OperationId, Time};
use cs_record::{Earlier, Facts, JournalRow, LeftOut, Limits, Offer, Select, Sift, StoreError};
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Sqlite, SqliteConnection};

use crate::load::{aggregates, json};
use crate::row_cards::{CardRow, parse};
use crate::row_runs::JournalStored;
use crate::take::{after, limits};
use crate::{attachments, script};

/// The kind of a journal row whose transaction is not over; nobody else ever sees one.
pub(crate) const BEGUN: &str = "begun";

/// Inserts the journal row; returns the stored one when the operation is known.
pub(crate) async fn begin_operation(
    connection: &mut SqliteConnection,
    (machine, operation): (MachineId, OperationId),
    kind: &str,
    now: Time,
) -> Result<Option<JournalRow>, StoreError> {
    let inserted = script::changes(
        connection,
        "insert_journal",
        sqlx::query(include_str!("../queries/insert_journal.sql"))
            .bind(operation.to_string())
            .bind(machine.to_string())
            .bind(kind)
            .bind(now.unix_micros()),
    )
    .await?;
    if inserted == 1 {
        return Ok(None);
    }
    let stored: JournalStored = script::only(
        connection,
        "read_journal",
        sqlx::query(include_str!("../queries/read_journal.sql")).bind(operation.to_string()),
    )
    .await?;
    JournalRow::try_from(stored).map(Some)
}

/// Reads what was selected. The transaction holds the write lock of the whole file, so that nothing changes under it.
pub(crate) async fn read(
    connection: &mut SqliteConnection,
    select: &Select,
    left_out: &LeftOut,
    now: Time,
) -> Result<Facts, StoreError> {
    let limits = match select {
        Select::Ready { machine, .. } | Select::Landings { machine, .. } | Select::Start { machine, .. } => {
            limits(connection, *machine, now).await?
        }
        Select::Runs(_)
        | Select::Card(_)
        | Select::Send { .. }
        | Select::Files(_)
        | Select::Ask(_)
        | Select::CardLanding(..)
        | Select::Landing(_) => Limits::default(),
    };
    let earlier = earlier(connection, select).await?;
    let mut sift = Sift::new(left_out, select);
    let cards = loop {
        let rows = cards(connection, &sift.select(), now).await?;
        let found = aggregates(connection, rows, &named(select)).await?;
        if let Some(cards) = sift.sift(found)? {
            break cards;
        }
    };
    let attached = match select.card_of_files() {
        Some(card) => attachments::read(connection, card).await?,
        None => Vec::new(),
    };
    Ok(Facts {
        now,
        limits,
        earlier,
        attached,
        cards,
    })
}

/// Reads the cards that a command wants done before its own one.
async fn earlier(connection: &mut SqliteConnection, select: &Select) -> Result<Vec<Earlier>, StoreError> {
    let (card, after) = match select {
        Select::Send { card, after, .. } if !after.is_empty() => (card, after),
        Select::Send { .. }
        | Select::Ready { .. }
        | Select::Start { .. }
        | Select::Landings { .. }
        | Select::Runs(_)
        | Select::Card(_)
        | Select::Files(_)
        | Select::Ask(_)
        | Select::CardLanding(..)
        | Select::Landing(_) => return Ok(Vec::new()),
    };
    let rows: Vec<(String, bool)> = script::all(
        connection,
        "find_earlier",
        sqlx::query(include_str!("../queries/find_earlier.sql"))
            .bind(card.to_string())
            .bind(json(after)?),
    )
    .await?;
    let earlier = |(id, waits_for_it): (String, bool)| {
        Ok(Earlier {
            card: parse("cards", &id, &id)?,
            waits_for_it,
        })
    };
    rows.into_iter().map(earlier).collect()
}

async fn cards(
    connection: &mut SqliteConnection,
    select: &Select,
    now: Time,
) -> Result<Vec<CardRow>, StoreError> {
    let query = match select {
        Select::Ready {
            what,
            machine,
            agents,
            limit,
        } => ready(*what, *machine, &json(agents)?, now, *limit),
        Select::Landings { machine, limit } => sqlx::query(after!("take", "select_landings"))
            .bind(machine.to_string())
            .bind("[]")
            .bind(now.unix_micros())
            .bind(i64::from(*limit)),
        Select::Runs(runs) => {
            sqlx::query(include_str!("../queries/select_cards_of_runs.sql")).bind(json(runs)?)
        }
        Select::Start { run, .. } => {
            sqlx::query(include_str!("../queries/select_cards_of_runs.sql")).bind(json(&[run])?)
        }
        Select::Card(card)
        | Select::Files(card)
        | Select::Send { card, .. }
        | Select::CardLanding(card, _) => {
            sqlx::query(include_str!("../queries/select_cards.sql")).bind(json(&[card])?)
        }
        Select::Ask(ask) => {
            sqlx::query(include_str!("../queries/select_card_of_ask.sql")).bind(ask.to_string())
        }
        Select::Landing(landing) => {
            sqlx::query(include_str!("../queries/select_card_of_landing.sql")).bind(landing.to_string())
        }
    };
    script::all(connection, "select cards", query).await
}

type CardQuery = Query<'static, Sqlite, SqliteArguments>;

fn ready(what: Offer, machine: MachineId, agents: &str, now: Time, limit: u32) -> CardQuery {
    let begin = |sql: &'static str| {
        sqlx::query(sql)
            .bind(machine.to_string())
            .bind(agents.to_owned())
            .bind(now.unix_micros())
    };
    match what {
        Offer::Ready(what) => begin(after!("take", "select_ready")).bind(what.as_str()),
        Offer::Recovery => begin(after!("take", "select_recovery")),
    }
    .bind(i64::from(limit))
}

/// The ids of the rows that are loaded whatever their state.
fn named(select: &Select) -> Vec<String> {
    match select {
        Select::Ready { .. } | Select::Landings { .. } | Select::Card(_) | Select::Files(_) => Vec::new(),
        Select::Runs(runs) => runs.iter().map(ToString::to_string).collect(),
        Select::Start { run, .. } => vec![run.to_string()],
        Select::Send { turn, .. } => vec![turn.to_string()],
        Select::Ask(ask) => vec![ask.to_string()],
        Select::CardLanding(_, landing) | Select::Landing(landing) => vec![landing.to_string()],
    }
}
