//! Attachments of cards.

use cs_model::{AttachmentId, CardId, Time};
use cs_record::{Attachment, Content, StoreError};
use serde::Deserialize;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::store_error;
use crate::load::{domain, from_json};
use crate::row_cards::{free, number, parse};
use crate::store::{Sql, sql};

#[derive(Deserialize)]
pub(crate) struct AttachmentRow {
    id: Uuid,
    card_id: Uuid,
    name: String,
    media_type: String,
    size_bytes: i64,
    sha256: String,
    person: String,
    at: i64,
}

impl TryFrom<AttachmentRow> for Attachment {
    type Error = StoreError;
    fn try_from(row: AttachmentRow) -> Result<Self, StoreError> {
        let (table, id) = ("attachments", row.id);
        Ok(Self {
            id: AttachmentId::from_uuid(id),
            card: CardId::from_uuid(row.card_id),
            name: free(table, id, row.name)?,
            media_type: free(table, id, row.media_type)?,
            size_bytes: number(table, id, "size_bytes", row.size_bytes)?,
            sha256: parse(table, id, &row.sha256)?,
            by: parse(table, id, &row.person)?,
            at: Time::from_unix_micros(row.at),
        })
    }
}

/// Reads the files of a card under its lock, without what is in them.
pub(crate) async fn read(connection: &mut PgConnection, card: CardId) -> Result<Vec<Attachment>, StoreError> {
    let Sql { name, text } = sql!("list_attachments");
    let json: Option<String> = sqlx::query_scalar(text)
        .persistent(false)
        .bind(card.as_uuid())
        .fetch_optional(connection)
        .await
        .map_err(|error| store_error(name, error))?;
    let rows: Option<Vec<AttachmentRow>> = json.map(|json| from_json(name, &json)).transpose()?;
    domain(rows.unwrap_or_default())
}

pub(crate) async fn list(store: &PostgresStore, card: CardId) -> Result<Option<Vec<Attachment>>, StoreError> {
    let rows: Option<Vec<AttachmentRow>> = store
        .read(sql!("list_attachments"), |query| query.bind(card.as_uuid()))
        .await?;
    rows.map(domain).transpose()
}

pub(crate) async fn content(
    store: &PostgresStore,
    attachment: AttachmentId,
) -> Result<Option<(Attachment, Content)>, StoreError> {
    let Sql { name, text } = sql!("read_attachment");
    let mut tx = store.begin().await?;
    let found: Option<(String, Vec<u8>)> = sqlx::query_as(text)
        .persistent(false)
        .bind(attachment.as_uuid())
        .fetch_optional(&mut *tx)
        .await
        .map_err(|error| store_error(name, error))?;
    store.end(tx).await?;
    found
        .map(|(json, content)| {
            let row: AttachmentRow = from_json(name, &json)?;
            Ok((row.try_into()?, Content::from(content)))
        })
        .transpose()
}
