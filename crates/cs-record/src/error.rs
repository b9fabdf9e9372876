//! What the ports of the record answer when they cannot do what was asked.

use cs_model::{CardState, LandingState, Time};

/// What a caller can do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// The state of the thing forbids it: exit code 3.
    Conflict,
    /// It is not there: exit code 1.
    NotFound,
    /// What was asked for can never be: exit code 2.
    Invalid,
    /// It may work later: the only class that is worth a retry.
    Transient,
    /// The record holds something that cannot be.
    Corrupt,
}

/// Why the rules refuse an act of a person: a value, with what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The message is empty.
    #[error("the message is empty, nothing was sent")]
    EmptyTurn,
    /// The rule is empty.
    #[error("the rule is empty: give its words, or take it away with `cs-panel rule rm`")]
    EmptyRule,
    /// The name of a file cannot be.
    #[error(
        "the name of an attachment is 1 to 255 bytes without slashes, line breaks and blanks at its ends, this one has {bytes}: give a copy \
         of the file with another name"
    )]
    BadAttachmentName {
        /// Its length in bytes.
        bytes: usize,
    },
    /// A file is too large.
    #[error(
        "attachment {name} has {bytes} bytes, the limit is 20 MiB: make it smaller, or put it where the agent can fetch it"
    )]
    AttachmentTooLarge {
        /// The file.
        name: String,
        /// Its length.
        bytes: u64,
    },
    /// The files of a card would be too large together, or too many.
    #[error(
        "card {card} would have {files} attachments of {bytes} bytes together, the limits are 200 and 100 MiB: take some away with \
         `cs-panel attachments rm`"
    )]
    CardTooFull {
        /// The card, short.
        card: String,
        /// How many there would be.
        files: usize,
        /// How many bytes.
        bytes: u64,
    },
    /// A text is over its limit.
    #[error("{what} is {bytes} bytes long, the limit is {limit_bytes}")]
    TooLong {
        /// Which text.
        what: &'static str,
        /// Its length.
        bytes: usize,
        /// The limit.
        limit_bytes: usize,
    },
    /// The title is empty, too long or more than one line.
    #[error("a title is one line of 1 to 200 characters, this one has {chars}")]
    BadTitle {
        /// Its length in characters.
        chars: usize,
    },
    /// The name of a codebase is empty, too long or more than one line.
    #[error("the name of a codebase is one line of 1 to 100 characters, this one has {chars}")]
    BadCodebaseName {
        /// Its length in characters.
        chars: usize,
    },
    /// The card is not there.
    #[error("there is no card `{card}`")]
    NoSuchCard {
        /// The card, short.
        card: String,
    },
    /// The card is in a state in which this cannot be done.
    #[error("card {card} is {state}: {cure}")]
    CardState {
        /// The card, short.
        card: String,
        /// Its state.
        state: CardState,
        /// What the person can do.
        cure: &'static str,
    },
    /// The question has its answer already. The first answer wins.
    #[error("question {ask} was already answered by {by} at {}", at.to_the_second())]
    AlreadyAnswered {
        /// The ask, short.
        ask: String,
        /// Who answered.
        by: String,
        /// When.
        at: Time,
    },
    /// The question is not open.
    #[error("question {ask} is not open any more ({state}): {cure}")]
    AskClosed {
        /// The ask, short.
        ask: String,
        /// Its state.
        state: cs_model::AskState,
        /// What the person can do.
        cure: &'static str,
    },
    /// The answer is none of the choices.
    #[error("question {ask} takes one of: {}", choices.join(", "))]
    NotAChoice {
        /// The ask, short.
        ask: String,
        /// What it takes.
        choices: Vec<String>,
    },
    /// An agent is at work, or is not proven gone.
    #[error("an agent works on card {card}: wait for it, or stop it with `cs-panel stop {card}`")]
    AgentAtWork {
        /// The card, short.
        card: String,
    },
    /// No agent is at work, and one is to go on by itself, at its time or when what it waits for is mended.
    #[error(
        "no agent works on card {card} now, and its work is to be tried again: `cs-panel show {card}` says when; to give it up, say \
         `cs-panel stop {card}`, and then this again"
    )]
    ToBeTriedAgain {
        /// The card, short.
        card: String,
    },
    /// The card has no codebase, so that there is nothing to land.
    #[error("card {card} has no codebase, there is nothing to land")]
    NoCodebase {
        /// The card, short.
        card: String,
    },
    /// No agent has worked on the card, so that there is nothing to land.
    #[error("no agent has worked on card {card} yet, there is nothing to land")]
    NeverWorkedOn {
        /// The card, short.
        card: String,
    },
    /// The card would have to wait for itself.
    #[error(
        "card {after} waits for card {card} already, or is the same card: they would wait for each other for ever; leave out `--after {after}`"
    )]
    WaitsForItself {
        /// The card that was to wait, short.
        card: String,
        /// The card that it was to wait for, short.
        after: String,
    },
    /// The tree of the card is on its machine.
    #[error(
        "card {card} has a tree on its machine, no other one can go on with it: land its work, or close it and send a new card"
    )]
    HasTree {
        /// The card, short.
        card: String,
    },
    /// The start of the attempt is not on the record yet.
    #[error("the start of this attempt is not on the record yet: ask again in a moment")]
    StartNotNoted,
    /// The question was not asked of this run.
    #[error("question {ask} is none that an agent of yours asked you: leave it, a person answers it")]
    NotYourQuestion {
        /// The ask, short.
        ask: String,
    },
    /// A limit belongs to a machine or a codebase.
    #[error("a limit covers a machine or a codebase; to start nothing anywhere, pause everything")]
    LimitOfEverything,
    /// A landing of the card is under way.
    #[error("a landing of card {card} is already under way ({state})")]
    LandingUnderWay {
        /// The card, short.
        card: String,
        /// Where it is.
        state: LandingState,
    },
    /// The event after which somebody wants to read on is not on the record.
    #[error(
        "the resume point `{cursor}` is of no event of this record: it is of another one, or this one was restored from an older copy; \
         read from `start`, or from now on"
    )]
    UnknownCursor {
        /// The cursor.
        cursor: String,
    },
    /// Another machine holds this machine's id.
    #[error(
        "this machine's id is in use by another daemon, last seen {}: if that one is gone, wait 90 s and try again",
        seen_at.to_the_second()
    )]
    MachineHeld {
        /// When the other was last seen.
        seen_at: Time,
    },
    /// A name is taken.
    #[error("the name `{name}` is already taken by another {what}")]
    NameTaken {
        /// What has it.
        what: &'static str,
        /// The name.
        name: String,
    },
}

/// Why a port of the record has no result.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// There is no such thing.
    #[error("there is no {what} `{name}`")]
    NotFound {
        /// What was looked for.
        what: &'static str,
        /// What was given.
        name: String,
    },
    /// A short id fits several things.
    #[error("`{given}` fits several {what}s: {}", fits.join(", "))]
    Ambiguous {
        /// What was looked for.
        what: &'static str,
        /// What was given.
        given: String,
        /// The full ids that it fits.
        fits: Vec<String>,
    },
    /// The rules refuse it; nothing was written.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The record cannot be reached, or its answer was lost.
    #[error("the record is away")]
    Away(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The record holds something that cannot be; nothing was written.
    #[error("the record is corrupt: {0}")]
    Corrupt(String),
}

impl RecordError {
    /// Says what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::NotFound { .. } => ErrorClass::NotFound,
            Self::Ambiguous { .. } => ErrorClass::Invalid,
            Self::Refused(refusal) => refusal.class(),
            Self::Away(_) => ErrorClass::Transient,
            Self::Corrupt(_) => ErrorClass::Corrupt,
        }
    }
}

impl Refusal {
    /// Says what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::EmptyTurn
            | Self::EmptyRule
            | Self::BadAttachmentName { .. }
            | Self::AttachmentTooLarge { .. }
            | Self::TooLong { .. }
            | Self::BadTitle { .. }
            | Self::BadCodebaseName { .. }
            | Self::NotAChoice { .. }
            | Self::WaitsForItself { .. }
            | Self::NotYourQuestion { .. }
            | Self::LimitOfEverything
            | Self::NameTaken { .. } => ErrorClass::Invalid,
            Self::NoSuchCard { .. } => ErrorClass::NotFound,
            Self::CardState { .. }
            | Self::AlreadyAnswered { .. }
            | Self::AskClosed { .. }
            | Self::AgentAtWork { .. }
            | Self::ToBeTriedAgain { .. }
            | Self::NoCodebase { .. }
            | Self::NeverWorkedOn { .. }
            | Self::HasTree { .. }
            | Self::CardTooFull { .. }
            | Self::StartNotNoted
            | Self::UnknownCursor { .. }
            | Self::LandingUnderWay { .. }
            | Self::MachineHeld { .. } => ErrorClass::Conflict,
        }
    }
}
