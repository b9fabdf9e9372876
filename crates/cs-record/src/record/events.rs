//! Reads of what happened.

use async_trait::async_trait;
use cs_model::CardId;

use super::Record;
use crate::store::RowStore;
use crate::{Cursor, Event, Events, MAX_EVENTS, RecordError, Refusal};

#[async_trait]
impl<S: RowStore> Events for Record<S> {
    async fn events(
        &self,
        after: Cursor,
        of: Option<CardId>,
        limit: u32,
    ) -> Result<Vec<(Cursor, Event)>, RecordError> {
        let limit = limit.min(MAX_EVENTS);
        let found = self.store.events(after.place(), of, limit).await?;
        let found = found.ok_or_else(|| Refusal::UnknownCursor {
            cursor: after.to_string(),
        })?;
        let events = found.into_iter();
        Ok(events
            .map(|(place, event)| (Cursor::after(place), event))
            .collect())
    }

    async fn events_end(&self) -> Result<Cursor, RecordError> {
        let last = self.store.last_event().await?;
        Ok(last.map_or(Cursor::START, Cursor::after))
    }
}
