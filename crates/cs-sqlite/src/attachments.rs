//! Attachments of cards.

use cs_model::{AttachmentId, CardId, Time};
use cs_record::{Attachment, Content, StoreError};
use sqlx::{FromRow, SqliteConnection};

use crate::SqliteStore;
use crate::reads::read_card;
use crate::row_cards::{number, parse};
use crate::script;

#[derive(FromRow)]
struct AttachmentRow {
    id: String,
    card_id: String,
    name: String,
    media_type: String,
    size_bytes: i64,
    sha256: String,
    person: String,
    at: i64,
}

#[derive(FromRow)]
struct ContentRow {
    #[sqlx(flatten)]
    row: AttachmentRow,
    content: Vec<u8>,
}

impl TryFrom<AttachmentRow> for Attachment {
    type Error = StoreError;
    fn try_from(row: AttachmentRow) -> Result<Self, StoreError> {
        let (table, id) = ("attachments", row.id.as_str());
        Ok(Self {
            id: parse(table, id, id)?,
            card: parse(table, id, &row.card_id)?,
            size_bytes: number(table, id, "size_bytes", row.size_bytes)?,
            sha256: parse(table, id, &row.sha256)?,
            by: parse(table, id, &row.person)?,
            at: Time::from_unix_micros(row.at),
            name: row.name,
            media_type: row.media_type,
        })
    }
}

/// Reads the files of a card without what is in them, in the order in which they were attached.
pub(crate) async fn read(
    connection: &mut SqliteConnection,
    card: CardId,
) -> Result<Vec<Attachment>, StoreError> {
    let query = sqlx::query(include_str!("../queries/list_attachments.sql")).bind(card.to_string());
    let rows: Vec<AttachmentRow> = script::all(connection, "list_attachments", query).await?;
    rows.into_iter().map(Attachment::try_from).collect()
}

pub(crate) async fn list(store: &SqliteStore, card: CardId) -> Result<Option<Vec<Attachment>>, StoreError> {
    let mut tx = store.snapshot().await?;
    if read_card(&mut tx, card).await?.is_none() {
        return Ok(None);
    }
    read(&mut tx, card).await.map(Some)
}

pub(crate) async fn content(
    store: &SqliteStore,
    attachment: AttachmentId,
) -> Result<Option<(Attachment, Content)>, StoreError> {
    let query = sqlx::query(include_str!("../queries/read_attachment.sql")).bind(attachment.to_string());
    let mut tx = store.snapshot().await?;
    let found: Option<ContentRow> = script::optional(&mut tx, "read_attachment", query).await?;
    found
        .map(|found| Ok((found.row.try_into()?, Content::from(found.content))))
        .transpose()
}
