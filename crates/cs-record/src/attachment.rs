//! Files of a card, and what is in them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use cs_model::{AttachmentId, CardId, Person, Time};
use sha2::{Digest, Sha256};

/// A file that a person gave to the agents of a card, without what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The id.
    pub id: AttachmentId,
    /// Its card.
    pub card: CardId,
    /// Its name: 1 to 255 bytes, without a slash; no other file of the card has it.
    pub name: String,
    /// What kind of file it is, as `type/subtype`.
    pub media_type: String,
    /// How long it is.
    pub size_bytes: u64,
    /// The hash of what is in it.
    pub sha256: ContentHash,
    /// Who attached it.
    pub by: Person,
    /// When.
    pub at: Time,
}

impl Attachment {
    /// Says whether it is a picture of a kind that agents can look at.
    #[must_use]
    pub fn is_picture(&self) -> bool {
        ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&self.media_type.as_str())
    }
}

/// A file to attach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAttachment {
    /// The id, made by the caller: attaching it twice writes it once.
    pub id: AttachmentId,
    /// Its name.
    pub name: String,
    /// What kind of file it is.
    pub media_type: String,
    /// What is in it: at most 20 MiB.
    pub content: Content,
}

/// What is in a file. Clones share it.
#[derive(Clone, PartialEq, Eq)]
pub struct Content(Arc<[u8]>);

impl Content {
    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// How many there are.
    #[must_use]
    pub fn len_bytes(&self) -> u64 {
        self.0.len() as u64
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Content({} bytes)", self.0.len())
    }
}

/// The SHA-256 of what is in a file; as text, 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// Hashes bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHash({self})")
    }
}

/// A text is no hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a hash of 64 hexadecimal digits")]
pub struct ParseHashError;

impl FromStr for ContentHash {
    type Err = ParseHashError;
    fn from_str(text: &str) -> Result<Self, ParseHashError> {
        if text.len() != 64 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(ParseHashError);
        }
        let mut hash = [0; 32];
        for (at, byte) in hash.iter_mut().enumerate() {
            let digits = text.get(2 * at..2 * at + 2).ok_or(ParseHashError)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| ParseHashError)?;
        }
        Ok(Self(hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_read_as_it_is_written() {
        let hash = ContentHash::of(b"abc");
        let text = hash.to_string();
        assert!(text.starts_with("ba7816bf") && text.len() == 64, "{text}");
        assert_eq!(text.parse(), Ok(hash));
        for bad in ["", "ba78", &"g".repeat(64), &"\u{e9}".repeat(32)] {
            assert!(bad.parse::<ContentHash>().is_err(), "{bad}");
        }
    }
}
