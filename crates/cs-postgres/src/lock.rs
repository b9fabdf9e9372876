//! Begins transactions. One function of the schema inserts the journal row, locks, and loads in later statements than it locked.

use cs_model::{CardId, MachineId, OperationId, Time};
use cs_record::{Earlier, Facts, JournalRow, Offer, Select, StoreError, Unreadable};
use serde::Deserialize;
use sqlx::postgres::PgArguments;
use sqlx::query::QueryAs;
use sqlx::{FromRow, PgConnection, Postgres};
use uuid::Uuid;

use crate::attachments;
use crate::error::store_error;
use crate::load::{Loaded, from_json};
use crate::row_limits::RoomRow;
use crate::row_runs::JournalStored;
use crate::settings::Sessions;

/// What was found: a stored journal row, or what was read under the locks.
pub(crate) enum Read {
    Journaled(JournalRow),
    /// The facts with the cards that decode, and what is said of the others.
    Locked(Facts, Vec<Unreadable>),
}

#[derive(FromRow)]
struct LockedRow {
    journaled: Option<String>,
    now: Option<i64>,
    limits: Option<String>,
    earlier: Option<String>,
    loaded: Option<String>,
}

#[derive(Deserialize)]
struct EarlierRow {
    card: Uuid,
    waits_for_it: bool,
}

impl From<EarlierRow> for Earlier {
    fn from(row: EarlierRow) -> Self {
        Self {
            card: CardId::from_uuid(row.card),
            waits_for_it: row.waits_for_it,
        }
    }
}

type Asked = QueryAs<'static, Postgres, LockedRow, PgArguments>;

/// Locks and reads what was selected. `now` is the time of a test; without it the server's own is taken.
pub(crate) async fn read(
    connection: &mut PgConnection,
    operation: Option<(MachineId, OperationId)>,
    select: &Select,
    now: Option<i64>,
    sessions: Sessions,
) -> Result<Read, StoreError> {
    let asked = ask(operation, select, now);
    let row = asked
        .persistent(sessions.keep_statements())
        .fetch_one(&mut *connection)
        .await
        .map_err(|error| store_error("lock", error))?;
    if let Some(json) = row.journaled {
        let stored: JournalStored = from_json("journal", &json)?;
        return JournalRow::try_from(stored).map(Read::Journaled);
    }
    let (Some(now), Some(loaded)) = (row.now, row.loaded) else {
        return Err(StoreError::Corrupt("a lock answered with half a row".to_owned()));
    };
    let limits = row
        .limits
        .map(|json| from_json::<RoomRow>("limits", &json)?.try_into());
    let earlier: Option<Vec<EarlierRow>> = row
        .earlier
        .map(|json| from_json("card_dependencies", &json))
        .transpose()?;
    let loaded = from_json::<Loaded>("lock", &loaded)?.into_aggregates()?;
    // After the lock, so that what others attached before it is seen.
    let attached = match select.card_of_files() {
        Some(card) => attachments::read(connection, card).await?,
        None => Vec::new(),
    };
    let facts = Facts {
        now: Time::from_unix_micros(now),
        limits: limits.transpose()?.unwrap_or_default(),
        earlier: earlier.into_iter().flatten().map(Earlier::from).collect(),
        attached,
        cards: loaded.rows,
    };
    Ok(Read::Locked(facts, loaded.unreadable))
}

fn ask(operation: Option<(MachineId, OperationId)>, select: &Select, now: Option<i64>) -> Asked {
    let begun = operation.map(|(_, operation)| operation.as_uuid());
    let owner = operation.map(|(machine, _)| machine.as_uuid());
    let named = |sql: &'static str| sqlx::query_as(sql).bind(now).bind(begun);
    let cards_of = |what: &'static str, ids: Vec<Uuid>| {
        named(include_str!("../queries/lock_cards_of.sql"))
            .bind(owner)
            .bind(what)
            .bind(ids)
    };
    let card = |card: Uuid, ids: Vec<Uuid>| {
        named(include_str!("../queries/lock_cards.sql"))
            .bind(owner)
            .bind(vec![card])
            .bind(ids)
    };
    match select {
        Select::Ready {
            what,
            machine,
            agents,
            limit,
        } => named(include_str!("../queries/lock_ready.sql"))
            .bind(machine.as_uuid())
            .bind(match what {
                Offer::Ready(what) => what.as_str(),
                Offer::Recovery => "recovery",
            })
            .bind(agents.clone())
            .bind(i64::from(*limit)),
        Select::Landings { machine, limit } => named(include_str!("../queries/lock_landings.sql"))
            .bind(machine.as_uuid())
            .bind(i64::from(*limit)),
        Select::Start { machine, run } => named(include_str!("../queries/lock_start.sql"))
            .bind(machine.as_uuid())
            .bind(run.as_uuid()),
        Select::Runs(runs) => cards_of("runs", runs.iter().map(|run| run.as_uuid()).collect()),
        Select::Card(id) | Select::Files(id) => card(id.as_uuid(), Vec::new()),
        Select::Send {
            card, turn, after, ..
        } => named(include_str!("../queries/lock_send.sql"))
            .bind(owner)
            .bind(card.as_uuid())
            .bind(turn.as_uuid())
            .bind(after.iter().map(|card| card.as_uuid()).collect::<Vec<Uuid>>()),
        Select::CardLanding(id, landing) => card(id.as_uuid(), vec![landing.as_uuid()]),
        Select::Ask(ask) => cards_of("asks", vec![ask.as_uuid()]),
        Select::Landing(landing) => cards_of("landings", vec![landing.as_uuid()]),
    }
}
