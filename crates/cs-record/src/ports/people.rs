//! What people do to the record.

use std::fmt;

use async_trait::async_trait;
use cs_model::{
    AgentName, AskId, CardId, CodebaseId, LandMethod, LandingId, MachineId, Opening, Person, Priority, Time,
    TurnId, TurnSeq,
};

use crate::{Ask, Codebase, Landing, NewAttachment, RecordError};

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
    /// When its card starts. What is not said stays as it is.
    pub plan: Plan,
    /// What its card's agent is to work with. What is not said stays as it is.
    pub choice: Choice,
    /// Files for the card's agent: all are attached with the turn, or nothing is written.
    pub attachments: Vec<NewAttachment>,
}

/// When a card starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Cards that have to be done first, beside those that were named before: landed, closed, or, without a codebase, answered.
    pub after: Vec<CardId>,
    /// Nothing of the card starts before this time.
    pub not_before: Option<Time>,
    /// Which of two ready cards goes first.
    pub priority: Option<Priority>,
}

/// What the agent of a card is to work with, from its next attempt on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// The model; at most 200 bytes.
    pub model: Option<Chosen>,
    /// How much the model is to think; at most 200 bytes.
    pub effort: Option<Chosen>,
}

/// One thing that a person chooses for the agent of a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// What the agent itself is set to.
    OfTheAgent,
    /// This, as the agent names it.
    This(String),
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
            plan: Plan::default(),
            choice: Choice::default(),
            attachments: Vec::new(),
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
        /// How work on it begins.
        opening: Opening,
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
            opening: Opening::Owner,
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
    /// The branch to land on in the place of the card's base, without `refs/heads/`; at most 200 bytes.
    pub onto: Option<String>,
    /// How the commits come onto it in the place of what the codebase says.
    pub method: Option<LandMethod>,
}

impl AcceptLanding {
    /// Accepts that the work of a card lands on its base, as the codebase has it.
    #[must_use]
    pub const fn new(landing: LandingId, card: CardId, person: Person) -> Self {
        Self {
            landing,
            card,
            person,
            onto: None,
            method: None,
        }
    }
}

/// Gives the work of a card free for another route, or for another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandBack {
    /// The card.
    pub card: CardId,
    /// The route that is to go on; nothing leaves it as it is. What was chosen for the agent of another route is given back.
    pub agent: Option<AgentName>,
    /// Whether any machine may go on. Only for a card without a codebase: the tree of another one is on its machine.
    pub to_any_machine: bool,
    /// Who says so.
    pub person: Person,
}

/// Acts of people. Each is one transaction under the card's lock, and only writes the record: the next pass of a daemon acts.
#[async_trait]
pub trait PeopleActs: fmt::Debug + std::marker::Send + Sync {
    /// Puts a turn on a new or an existing card.
    ///
    /// # Errors
    /// Refused for an empty or too long text, for a closed card, and when the card would wait for itself, at once or over
    /// others; not found for an unknown card, also one that is to be done first.
    async fn send(&self, send: &Send) -> Result<Sent, RecordError>;

    /// Answers an open question. The first answer wins; the second is told by whom and when.
    ///
    /// # Errors
    /// Refused when the question is not open, the card is stopped or closed, or the text is none of the choices.
    async fn answer_ask(&self, answer: &AnswerAsk) -> Result<Ask, RecordError>;

    /// Accepts the landing of a card's work: writes the landing row that a daemon takes.
    ///
    /// # Errors
    /// Refused while an agent works on the card, a landing is under way, the card has no codebase or was never worked on, or the name
    /// of the branch is too long.
    async fn accept_landing(&self, accept: &AcceptLanding) -> Result<Landing, RecordError>;

    /// Ends the live runs of a card at once, before any process dies; the turns that they held are handed back. The card is
    /// `stopped` until a retry or a new turn. Says whether anything was live or pending; a closed or landed card stays as it is, and
    /// so does a failed or stopped one of which nothing is live.
    ///
    /// # Errors
    /// Not found for an unknown card.
    async fn stop_card(&self, card: CardId, person: &Person) -> Result<bool, RecordError>;

    /// Tries a card again: one that failed or was stopped opens with new counts of tries and starts; one that waits for a
    /// retry, its time, other cards or a parked route goes on now, on the parked route too, once. Says whether there is anything
    /// to do now.
    ///
    /// # Errors
    /// Refused for a landed or closed card; not found for an unknown one.
    async fn retry_card(&self, card: CardId, person: &Person) -> Result<bool, RecordError>;

    /// Closes a card for good: its questions are withdrawn, its pending turns stay unanswered. Closing twice is harmless.
    ///
    /// # Errors
    /// Refused while an agent works on it or a landing is under way; not found for an unknown card.
    async fn close_card(&self, card: CardId, person: &Person) -> Result<(), RecordError>;

    /// Gives the work of a card free for another route or machine, between two starts.
    ///
    /// # Errors
    /// Refused while an agent works on it or a landing is under way, for a closed card, and for any machine when the card has a
    /// tree; not found for an unknown card.
    async fn hand_back(&self, hand_back: &HandBack) -> Result<(), RecordError>;
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
