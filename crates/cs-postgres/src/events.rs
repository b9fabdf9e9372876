//! Rows of what happened, both ways, and their reads.

use cs_model::{CardId, MachineId, RunId, Time};
use cs_record::{Event, EventPlace, StoreError, What};
use serde::Deserialize;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::undecodable;
use crate::row_cards::{epoch_opt, integer, number, parse};
use crate::statement::Statement;
use crate::store::sql;

const TABLE: &str = "events";

/// An event as it is written.
struct EventRow<'a> {
    event: &'a Event,
    kind: String,
    details: String,
    place: i64,
}

/// Adds the events of a write.
pub(crate) fn add(statement: &mut Statement, events: &[Event]) -> Result<(), StoreError> {
    let rows = events.iter().zip(0..).map(|(event, place)| {
        let (kind, details) = event.what.to_stored()?;
        Ok(EventRow {
            event,
            kind,
            details,
            place,
        })
    });
    let rows = rows.collect::<Result<Vec<_>, StoreError>>()?;
    statement
        .counted(sql!("write_new_events"), rows.len())
        .add(&rows, |row| row.event.card.as_uuid())
        .add(&rows, |row| row.event.run.map(RunId::as_uuid))
        .add(&rows, |row| row.event.epoch.map(|epoch| i64::from(epoch.get())))
        .add(&rows, |row| row.event.machine.map(MachineId::as_uuid))
        .add(&rows, |row| row.event.at.unix_micros())
        .add(&rows, |row| row.kind.as_str())
        .add(&rows, |row| row.details.as_str())
        .add(&rows, |row| row.place);
    Ok(())
}

#[derive(Deserialize)]
struct PlaceRow {
    id: i64,
    era: i64,
    xid: String,
    at: i64,
}

impl TryFrom<PlaceRow> for EventPlace {
    type Error = StoreError;
    fn try_from(row: PlaceRow) -> Result<Self, StoreError> {
        Ok(Self {
            era: number(TABLE, row.id, "era", row.era)?,
            transaction: parse(TABLE, row.id, &row.xid)?,
            number: number(TABLE, row.id, "id", row.id)?,
            at: Time::from_unix_micros(row.at),
        })
    }
}

#[derive(Deserialize)]
struct StoredEvent {
    id: i64,
    era: i64,
    xid: String,
    card_id: Uuid,
    run_id: Option<Uuid>,
    epoch: Option<i64>,
    machine_id: Option<Uuid>,
    at: i64,
    kind: String,
    details: String,
}

impl TryFrom<StoredEvent> for (EventPlace, Event) {
    type Error = StoreError;
    fn try_from(row: StoredEvent) -> Result<Self, StoreError> {
        let what = What::from_stored(&row.kind, &row.details);
        let event = Event {
            card: CardId::from_uuid(row.card_id),
            run: row.run_id.map(RunId::from_uuid),
            epoch: epoch_opt(TABLE, row.id, "epoch", row.epoch)?,
            machine: row.machine_id.map(MachineId::from_uuid),
            at: Time::from_unix_micros(row.at),
            what: what.map_err(|error| undecodable(TABLE, row.id, error))?,
        };
        let place = PlaceRow {
            id: row.id,
            era: row.era,
            xid: row.xid,
            at: row.at,
        };
        Ok((place.try_into()?, event))
    }
}

#[derive(Deserialize)]
struct EventsRow {
    known: bool,
    events: Vec<StoredEvent>,
}

pub(crate) async fn read(
    store: &PostgresStore,
    after: Option<EventPlace>,
    of: Option<CardId>,
    limit: u32,
) -> Result<Option<Vec<(EventPlace, Event)>>, StoreError> {
    // An era that no record has is of no event.
    let era = after.map(|place| i32::try_from(place.era).unwrap_or(i32::MAX));
    let sql = match of {
        None => sql!("read_events"),
        Some(_) => sql!("read_events_of_card"),
    };
    let row: EventsRow = store
        .read_one(sql, |query| {
            let query = query
                .bind(era)
                .bind(after.map(|place| place.transaction.to_string()))
                .bind(after.map(|place| integer(place.number)))
                .bind(after.map(|place| place.at.unix_micros()))
                .bind(i64::from(limit));
            match of {
                None => query,
                Some(card) => query.bind(card.as_uuid()),
            }
        })
        .await?;
    if !row.known {
        return Ok(None);
    }
    let events = row.events.into_iter().map(TryInto::try_into);
    events.collect::<Result<_, _>>().map(Some)
}

pub(crate) async fn last(store: &PostgresStore) -> Result<Option<EventPlace>, StoreError> {
    let row: Option<PlaceRow> = store.read(sql!("last_event"), |query| query).await?;
    row.map(EventPlace::try_from).transpose()
}
