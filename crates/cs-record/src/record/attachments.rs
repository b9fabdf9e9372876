//! Attachments of cards.

use async_trait::async_trait;
use cs_model::{AttachmentId, CardId};

use super::Record;
use super::people::{no_card, the_card};
use crate::store::{Facts, RowStore, Select};
use crate::{Attach, Attachment, Attachments, Content, ContentHash, RecordError, rules};

#[async_trait]
impl<S: RowStore> Attachments for Record<S> {
    async fn attach(&self, attach: &Attach) -> Result<Vec<Attachment>, RecordError> {
        let rule = |facts: &Facts| {
            let card = the_card(facts, attach.card)?;
            let (files, person) = (&attach.files, &attach.person);
            Ok(rules::attach(card, &facts.attached, files, person, facts.now)?)
        };
        self.decide_plain(&Select::Files(attach.card), rule).await?
    }

    async fn attachments(&self, card: CardId) -> Result<Vec<Attachment>, RecordError> {
        let found = self.store.attachments(card).await?;
        found.ok_or_else(|| no_card(card))
    }

    async fn attached(&self, attachment: AttachmentId) -> Result<Content, RecordError> {
        self.content(attachment).await
    }

    async fn detach(&self, card: CardId, attachment: AttachmentId) -> Result<bool, RecordError> {
        let rule = |facts: &Facts| {
            let card = the_card(facts, card)?;
            Ok(rules::detach(card, &facts.attached, attachment, facts.now))
        };
        self.decide_plain(&Select::Files(card), rule).await?
    }
}

impl<S: RowStore> Record<S> {
    /// Reads what is in a file, and makes sure that it is what was attached.
    pub(super) async fn content(&self, attachment: AttachmentId) -> Result<Content, RecordError> {
        let found = self.store.attached(attachment).await?;
        let (row, content) = found.ok_or_else(|| RecordError::NotFound {
            what: "attachment",
            name: attachment.to_string(),
        })?;
        if row.sha256 != ContentHash::of(content.bytes()) {
            return Err(RecordError::Corrupt(format!(
                "attachments: row {attachment} holds other bytes than were attached"
            )));
        }
        Ok(content)
    }
}
