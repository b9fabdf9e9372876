//! Ids: UUIDv7 newtypes, one type for each thing, so that one cannot stand for another.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Says why a text is no id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no {what} id, expected a UUID such as 0197f3c2-7f4e-7a31-9c55-3d1f4f2a9c1b")]
pub struct ParseIdError {
    /// What the id was to name.
    pub what: &'static str,
    /// The text that was given.
    pub text: String,
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $what:literal;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps a UUID that an [`IdSource`](crate::IdSource) or a store gave.
            #[must_use]
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// Makes a new one.
            #[must_use]
            pub fn fresh(ids: &dyn crate::IdSource) -> Self {
                Self(ids.uuid_v7())
            }

            /// Returns the UUID, as stores and wires hold it.
            #[must_use]
            pub const fn as_uuid(self) -> Uuid {
                self.0
            }

            /// Returns the last eight hexadecimal digits: random, short enough to type, and the name that people see.
            #[must_use]
            pub fn short(self) -> String {
                let full = self.0.simple().to_string();
                full[full.len() - 8..].to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.short())
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;
            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                Uuid::parse_str(text).map(Self).map_err(|_| ParseIdError { what: $what, text: text.to_owned() })
            }
        }
    )* };
}

ids! {
    /// Names a card: one conversation about one piece of work.
    CardId = "card";
    /// Names a turn: one message on a card.
    TurnId = "turn";
    /// Names a run: one agent's job on a card.
    RunId = "run";
    /// Names an ask: a question of a run.
    AskId = "ask";
    /// Names one operation on the record; the key of its journal row on both sides. A retry carries the same id.
    OperationId = "operation";
    /// Names a machine; made once in its state directory.
    MachineId = "machine";
    /// Names a codebase: a git repository known to the record.
    CodebaseId = "codebase";
    /// Names a landing: one merge of a card's work into its base.
    LandingId = "landing";
    /// Names a standing rule: a text that agents are told at each of their starts.
    RuleId = "rule";
    /// Names an attachment: a file that a person gave to the agents of a card.
    AttachmentId = "attachment";
}

impl OperationId {
    /// Returns the time at which the id was made, in milliseconds since 1970, or nothing when it is no UUIDv7.
    #[must_use]
    pub fn made_at_unix_ms(self) -> Option<u64> {
        let (seconds, nanos) = self.0.get_timestamp()?.to_unix();
        Some(seconds * 1_000 + u64::from(nanos / 1_000_000))
    }
}
