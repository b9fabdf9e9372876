//! What happened, for whoever follows it.

use std::fmt;

use async_trait::async_trait;
use cs_model::CardId;

use crate::{Cursor, Event, RecordError};

/// The most events that one read returns.
pub const MAX_EVENTS: u32 = 1_000;

/// Reads the record's own journal: what happened to its cards, in an order that stays.
///
/// Events are never removed and never change, and none comes to be before one that was read: who reads on from the cursor of the last
/// one misses nothing. On a Postgres server that has a price. Transactions end there in another order than they begin, so what one of them wrote
/// is read once every transaction that wrote and began before it has ended, also one of another database of the same server: one that
/// stays open keeps the events of later ones back, and loses none. After a restore the events are read as they were.
#[async_trait]
pub trait Events: fmt::Debug + Send + Sync {
    /// Returns events after a cursor, in order, at most `limit` and [`MAX_EVENTS`], of one card or of all. Fewer than that: there are no
    /// more now.
    ///
    /// # Errors
    /// Refused for a cursor whose event this record does not hold: it is of another record, or of one that was restored from an
    /// older copy.
    async fn events(
        &self,
        after: Cursor,
        of: Option<CardId>,
        limit: u32,
    ) -> Result<Vec<(Cursor, Event)>, RecordError>;

    /// Returns the cursor after the last event that can be read now.
    ///
    /// # Errors
    /// When the record cannot answer.
    async fn events_end(&self) -> Result<Cursor, RecordError>;
}
