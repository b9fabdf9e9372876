//! The messages on the control socket: one JSON object on a line each way.

use cs_model::CardId;
use serde::{Deserialize, Serialize};

/// The longest line that either side reads, in bytes.
pub(super) const LINE_MAX_BYTES: u64 = 64 * 1024;

/// What a command asks for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(super) enum Ask {
    /// Look at the record now.
    Wake,
    /// Close what still runs of a card that was stopped on the record, and say when that is proven.
    Stop {
        /// The card.
        card: CardId,
    },
}

/// What the daemon answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(super) enum Reply {
    /// It looks.
    Waking,
    /// Nothing of the card runs any more.
    Closed {
        /// How many executions were closed for this request.
        executions: u32,
    },
    /// Something could not be proven closed.
    Incomplete {
        /// What is left, for people.
        left: Vec<String>,
    },
    /// The daemon ends and does nothing more; who asks must look for the next one.
    Leaving,
    /// The request was not understood.
    Refused {
        /// Why.
        why: String,
    },
}
