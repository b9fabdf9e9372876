//! A call of a tool, and what it says.

use cs_model::{Epoch, RunId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The attempt that calls: this process life of this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Caller {
    /// Its run.
    pub run: RunId,
    /// Which of the run's process lives it is.
    pub epoch: Epoch,
}

/// Names a call among those of its attempt. The same name is the same call, however often it arrives.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CallId(String);

/// Says why a text names no call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a call is named by 1 to {max} characters without spaces, not by {length} bytes", max = CallId::MAX_BYTES)]
pub struct BadCallId {
    /// How many bytes it had.
    pub length: usize,
}

impl CallId {
    /// No agent's own name of a call comes near.
    pub const MAX_BYTES: usize = 256;

    /// Takes a text for the name of a call.
    ///
    /// # Errors
    /// It is empty, longer than [`CallId::MAX_BYTES`], or holds something that does not print.
    pub fn new(text: impl Into<String>) -> Result<Self, BadCallId> {
        let text = text.into();
        let is_name =
            (1..=Self::MAX_BYTES).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        if is_name {
            Ok(Self(text))
        } else {
            Err(BadCallId { length: text.len() })
        }
    }

    /// The name itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// An id for what the call does, the same each time: a row under it is written once. Two attempts, or two kinds of what one call
    /// does, never share one.
    #[must_use]
    pub fn effect(&self, caller: &Caller, what: &str) -> Uuid {
        let mut hash = Sha256::new();
        for part in [
            caller.run.as_uuid().as_bytes(),
            &caller.epoch.get().to_be_bytes()[..],
            what.as_bytes(),
        ] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hash.update(self.0.as_bytes());
        let hash: [u8; 32] = hash.finalize().into();
        let mut id = [0; 16];
        id.copy_from_slice(&hash[..16]);
        Uuid::new_v8(id)
    }
}

impl TryFrom<String> for CallId {
    type Error = BadCallId;

    fn try_from(text: String) -> Result<Self, BadCallId> {
        Self::new(text)
    }
}

impl From<CallId> for String {
    fn from(id: CallId) -> Self {
        id.0
    }
}

/// One call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Its name.
    pub id: CallId,
    /// The name of the tool.
    pub tool: String,
    /// What the tool is to be told.
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

/// What a call says to the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The words.
    pub text: String,
    /// Whether nothing was done.
    #[serde(default)]
    pub is_error: bool,
}

impl Answer {
    /// It was done.
    #[must_use]
    pub fn done(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_error: false,
        }
    }

    /// It was not done, and this is why.
    #[must_use]
    pub fn refused(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_error: true,
        }
    }
}
