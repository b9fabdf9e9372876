//! Files of cards as JSON.

use cs_model::{AttachmentId, CardId, Time};
use cs_record::Attachment;
use serde::Serialize;

/// A file of a card.
#[derive(Debug, Serialize)]
pub(crate) struct AttachmentWire {
    pub(crate) id: AttachmentId,
    pub(crate) card: CardId,
    pub(crate) name: String,
    pub(crate) media_type: String,
    pub(crate) is_picture: bool,
    pub(crate) size_bytes: u64,
    pub(crate) sha256: String,
    pub(crate) by: String,
    pub(crate) at: Time,
}

impl From<&Attachment> for AttachmentWire {
    fn from(one: &Attachment) -> Self {
        Self {
            id: one.id,
            card: one.card,
            name: one.name.clone(),
            media_type: one.media_type.clone(),
            is_picture: one.is_picture(),
            size_bytes: one.size_bytes,
            sha256: one.sha256.to_string(),
            by: one.by.to_string(),
            at: one.at,
        }
    }
}
