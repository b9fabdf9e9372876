//! What the tools need of whoever runs the agents.

use async_trait::async_trait;
use cs_model::AskId;
use serde::{Deserialize, Serialize};

use crate::call::{Answer, CallId, Caller};

/// How an attempt stands now, as the record says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It may act.
    Current,
    /// A later attempt of its run, or a person, has taken its place.
    Stale,
    /// Its run is over.
    Over,
}

/// A question to the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The text.
    pub text: String,
    /// What they can choose from; empty for a free answer.
    pub choices: Vec<String>,
}

/// An offer to land the work of a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// What was done, for the person.
    pub summary: String,
    /// How it was tried out, and what came of it.
    pub evidence: String,
}

/// What an agent can look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// Its card: what it is about, and how it stands.
    Card,
    /// What was said on its card, the newest last.
    Turns,
    /// Its own run.
    Run,
    /// The runs that it has sent.
    Children,
    /// A file that was attached to its card.
    Attachment(String),
}

/// Why a host did not do something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The attempt is not the current one any more.
    #[error("this attempt is not the current one")]
    Stale,
    /// Its run is over.
    #[error("the run of this attempt is over")]
    Over,
    /// It is not allowed or not possible, and this is the reason, in words for the agent: no path, no secret.
    #[error("{0}")]
    Refused(String),
    /// The record or something else cannot be reached now. The same call may be made again.
    #[error("{0}")]
    NotNow(String),
}

/// Does what the tools ask for. Every act is under the fence of its caller, and the same act under the same id is done once: after a
/// crash it is asked for again.
#[async_trait]
pub trait Host: std::fmt::Debug + Send + Sync {
    /// How the caller stands.
    async fn standing(&self, caller: &Caller) -> Result<Standing, HostError>;

    /// What a call of this name was answered, where it changed something and its answer was kept.
    async fn recall(&self, caller: &Caller, id: &CallId) -> Result<Option<Answer>, HostError>;

    /// Keeps what a call that changed something is answered, durably, before the agent has it.
    async fn keep(&self, caller: &Caller, id: &CallId, answer: &Answer) -> Result<(), HostError>;

    /// Asks the person.
    async fn ask(&self, caller: &Caller, id: AskId, question: &Question) -> Result<(), HostError>;

    /// Offers the work of the caller's card for landing.
    async fn offer_landing(&self, caller: &Caller, id: AskId, offer: &Offer) -> Result<(), HostError>;

    /// Says how far the work is. Only the last word counts.
    async fn report_progress(&self, caller: &Caller, text: &str) -> Result<(), HostError>;

    /// Gives a text about something of the caller's.
    async fn show(&self, caller: &Caller, what: &Shown) -> Result<String, HostError>;

    /// Gives the value of a secret of the caller's codebase, after it was noted that the caller has it.
    async fn secret(&self, caller: &Caller, name: &str) -> Result<String, HostError>;

    /// Says what became of the last landing of the caller's card, and what is to be done about it.
    async fn last_landing(&self, caller: &Caller) -> Result<String, HostError>;
}
