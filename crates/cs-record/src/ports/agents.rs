//! What a running agent does to the record through its tools, apart from sending a child, which is a claim.

use std::fmt;

use async_trait::async_trait;
use cs_fence::{Attempt, Fenced};
use cs_model::AskId;
use cs_settle::NewAsk;

use crate::{Ask, RecordError};

/// Acts of a running attempt. Each is one transaction under its fence; nothing is written for one that is not current.
#[async_trait]
pub trait AgentActs: fmt::Debug + Send + Sync {
    /// Asks, while the agent still runs: its run is `asked` from now on. The attempt is expected to end soon, and its words are
    /// taken by [`answer`](cs_settle::SettlementRecord::answer) as ever. The same ask again changes nothing.
    ///
    /// # Errors
    /// Refused for an empty or too long question, and, to be tried again, before the process of the attempt was recorded.
    async fn ask(&self, attempt: &Attempt, ask: &NewAsk) -> Result<Fenced<()>, RecordError>;

    /// Answers a question that a child of this attempt's run asked it. The first answer wins.
    ///
    /// # Errors
    /// Refused when the question is not open, is not one of a child, or the text is none of the choices; not found.
    async fn settle_ask(&self, attempt: &Attempt, ask: AskId, body: &str)
    -> Result<Fenced<Ask>, RecordError>;
}
