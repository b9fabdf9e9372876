//! Rows of what happened, both ways, and their reads.

use cs_model::{CardId, MachineId, RunId, Time};
use cs_record::{Event, EventPlace, StoreError, What};
use serde::Serialize;
use sqlx::{FromRow, SqliteConnection};

use crate::SqliteStore;
use crate::error::undecodable;
use crate::row_cards::{epoch_opt, integer, parse, parse_opt};
use crate::script;

const TABLE: &str = "events";

#[derive(FromRow, Serialize)]
pub(crate) struct EventRow {
    #[serde(skip)]
    number: i64,
    card_id: String,
    run_id: Option<String>,
    epoch: Option<i64>,
    machine_id: Option<String>,
    at: i64,
    kind: String,
    details: String,
}

impl TryFrom<&Event> for EventRow {
    type Error = StoreError;
    fn try_from(event: &Event) -> Result<Self, StoreError> {
        let (kind, details) = event.what.to_stored()?;
        Ok(Self {
            number: 0,
            card_id: event.card.to_string(),
            run_id: event.run.map(|run| run.to_string()),
            epoch: event.epoch.map(|epoch| epoch.get().into()),
            machine_id: event.machine.map(|machine| machine.to_string()),
            at: event.at.unix_micros(),
            kind,
            details,
        })
    }
}

impl TryFrom<EventRow> for (EventPlace, Event) {
    type Error = StoreError;
    fn try_from(row: EventRow) -> Result<Self, StoreError> {
        let id = row.number.to_string();
        let what = What::from_stored(&row.kind, &row.details);
        let event = Event {
            card: parse::<CardId>(TABLE, &id, &row.card_id)?,
            run: parse_opt::<RunId>(TABLE, &id, row.run_id.as_deref())?,
            epoch: epoch_opt(TABLE, &id, "epoch", row.epoch)?,
            machine: parse_opt::<MachineId>(TABLE, &id, row.machine_id.as_deref())?,
            at: Time::from_unix_micros(row.at),
            what: what.map_err(|error| undecodable(TABLE, &id, error))?,
        };
        Ok((place((row.number, row.at))?, event))
    }
}

/// The place of an event by its number and time.
fn place((number, at): (i64, i64)) -> Result<EventPlace, StoreError> {
    let id = number.to_string();
    Ok(EventPlace {
        era: 0,
        transaction: 0,
        number: crate::row_cards::number(TABLE, &id, "number", number)?,
        at: Time::from_unix_micros(at),
    })
}

pub(crate) async fn read(
    store: &SqliteStore,
    after: Option<EventPlace>,
    of: Option<CardId>,
    limit: u32,
) -> Result<Option<Vec<(EventPlace, Event)>>, StoreError> {
    let mut tx = store.snapshot().await?;
    if let Some(after) = after
        && find(&mut tx, integer(after.number)).await? != Some(after)
    {
        return Ok(None);
    }
    let after = after.map_or(0, |place| integer(place.number));
    let rows: Vec<EventRow> = match of {
        None => {
            let query = sqlx::query(include_str!("../queries/read_events.sql"));
            script::all(&mut tx, "read_events", query.bind(after).bind(limit)).await?
        }
        Some(card) => {
            let query = sqlx::query(include_str!("../queries/read_events_of_card.sql"));
            let query = query.bind(after).bind(limit).bind(card.to_string());
            script::all(&mut tx, "read_events_of_card", query).await?
        }
    };
    let events = rows.into_iter().map(TryInto::try_into);
    events.collect::<Result<_, _>>().map(Some)
}

async fn find(connection: &mut SqliteConnection, number: i64) -> Result<Option<EventPlace>, StoreError> {
    let query = sqlx::query(include_str!("../queries/find_event.sql")).bind(number);
    let found = script::optional(connection, "find_event", query).await?;
    found.map(place).transpose()
}

pub(crate) async fn last(store: &SqliteStore) -> Result<Option<EventPlace>, StoreError> {
    let query = sqlx::query(include_str!("../queries/last_event.sql"));
    let found = script::optional(&mut *store.snapshot().await?, "last_event", query).await?;
    found.map(place).transpose()
}
