//! Files that people give to the agents of a card.

use std::fmt;

use async_trait::async_trait;
use cs_model::{AttachmentId, CardId, Person};

use crate::{Attachment, Content, NewAttachment, RecordError};

/// Files for a card that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attach {
    /// The card.
    pub card: CardId,
    /// The files.
    pub files: Vec<NewAttachment>,
    /// Who attaches them.
    pub person: Person,
}

/// The attachments of cards. Nothing starts for them: an agent gets those that are there with its next start.
#[async_trait]
pub trait Attachments: fmt::Debug + Send + Sync {
    /// Attaches files to a card, all or none, and returns what they became: one whose name is taken got a number. What is attached
    /// already, by its id, stays as it is.
    ///
    /// # Errors
    /// Refused for a closed card, a bad name, a file over 20 MiB, and a card that would have over 100 MiB or over 200 files; not found
    /// for an unknown card.
    async fn attach(&self, attach: &Attach) -> Result<Vec<Attachment>, RecordError>;

    /// Lists the files of a card in the order in which they were attached, those of one act by name.
    ///
    /// # Errors
    /// Not found for an unknown card.
    async fn attachments(&self, card: CardId) -> Result<Vec<Attachment>, RecordError>;

    /// Reads a file.
    ///
    /// # Errors
    /// Not found; corrupt when it is not what was attached.
    async fn attached(&self, attachment: AttachmentId) -> Result<Content, RecordError>;

    /// Takes a file of a card away; says whether it was there.
    ///
    /// # Errors
    /// Not found for an unknown card.
    async fn detach(&self, card: CardId, attachment: AttachmentId) -> Result<bool, RecordError>;
}
