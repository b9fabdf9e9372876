//! What people do to the record.

use std::fmt;

use async_trait::async_trait;
use cs_model::{AgentName, AskId, CardId, CodebaseId, LandingId, MachineId, Person, TurnId, TurnSeq};

use crate::{Ask, Codebase, Landing, RecordError};

/// A turn of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Send {
    /// The id of the turn, made by the caller: sending it twice writes it once.
    pub turn: TurnId,
    /// Where it goes.
    pub to: SendTo,
    /// Who says it.
    pub person: Person,
    /// The words: 1 byte to 1 MiB, not only white space.
    pub body: String,
}

impl Send {
    /// A turn with these words.
    #[must_use]
    pub fn new(turn: TurnId, to: SendTo, person: Person, body: impl Into<String>) -> Self {
        Self {
            turn,
            to,
            person,
            body: body.into(),
        }
    }
}

/// Where a turn goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendTo {
    /// A new card.
    NewCard {
        /// The id of the card, made by the caller.
        card: CardId,
        /// What people call it; 1 to 200 characters, one line.
        title: String,
        /// The codebase that its owner works on.
        codebase: Option<CodebaseId>,
        /// The branch of that codebase that its work starts from and lands on, without `refs/heads/`; at most 200 bytes.
        base: Option<String>,
        /// The route that runs its owner.
        agent: AgentName,
    },
    /// A card that is there. It opens again when it had failed, was stopped or has landed; a closed card refuses.
    Card(CardId),
}

impl SendTo {
    /// A new card that works on no codebase.
    #[must_use]
    pub fn new_card(card: CardId, title: impl Into<String>, agent: AgentName) -> Self {
        Self::NewCard {
            card,
            title: title.into(),
            codebase: None,
            base: None,
            agent,
        }
    }
}

/// What a turn became.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// The card.
    pub card: CardId,
    /// The turn.
    pub turn: TurnId,
    /// Its place on the card.
    pub seq: TurnSeq,
    /// Whether questions of the card are open, which this turn did not answer.
    pub open_asks: u32,
}

/// An answer of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerAsk {
    /// The question.
    pub ask: AskId,
    /// The words: 1 byte to 1 MiB; one of the choices where there are any.
    pub body: String,
    /// Who answers.
    pub person: Person,
}

/// The acceptance of a landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptLanding {
    /// The id of the landing, made by the caller: accepting it twice writes it once.
    pub landing: LandingId,
    /// The card whose work is to land. An open offer of it is accepted with it.
    pub card: CardId,
    /// Who accepts.
    pub person: Person,
}

/// Acts of people. Each is one transaction under the card's lock, and only writes the record: the next pass of a daemon acts.
#[async_trait]
pub trait PeopleActs: fmt::Debug + std::marker::Send + Sync {
    /// Puts a turn on a new or an existing card.
    ///
    /// # Errors
    /// Refused for an empty or too long text and for a closed card; not found for an unknown card.
    async fn send(&self, send: &Send) -> Result<Sent, RecordError>;

    /// Answers an open question. The first answer wins; the second is told by whom and when.
    ///
    /// # Errors
    /// Refused when the question is not open, the card is stopped or closed, or the text is none of the choices.
    async fn answer_ask(&self, answer: &AnswerAsk) -> Result<Ask, RecordError>;

    /// Accepts the landing of a card's work: writes the landing row that a daemon takes.
    ///
    /// # Errors
    /// Refused while an agent works on the card, a landing is under way, or the card has no codebase or was never worked on.
    async fn accept_landing(&self, accept: &AcceptLanding) -> Result<Landing, RecordError>;

    /// Ends the live runs of a card at once, before any process dies; the turns that they held are handed back. The card is
    /// `stopped` until a new turn. Says whether anything was live or pending; a closed or landed card stays as it is.
    ///
    /// # Errors
    /// Not found for an unknown card.
    async fn stop_card(&self, card: CardId, person: &Person) -> Result<bool, RecordError>;
}

/// The codebases of the record. Local paths never come here: a machine only says which it has.
#[async_trait]
pub trait Codebases: fmt::Debug + std::marker::Send + Sync {
    /// Registers a codebase under a name, and says that this machine has it. Repeating it with the same id is harmless.
    ///
    /// # Errors
    /// Refused when another codebase has the name.
    async fn add_codebase(
        &self,
        id: CodebaseId,
        name: &str,
        machine: MachineId,
    ) -> Result<Codebase, RecordError>;

    /// Lists all codebases, by name.
    ///
    /// # Errors
    /// When the record cannot answer.
    async fn codebases(&self) -> Result<Vec<Codebase>, RecordError>;
}
