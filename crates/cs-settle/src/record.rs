//! The port through which an outcome is written on the record.

use std::fmt;

use async_trait::async_trait;
use cs_fence::{Attempt, Fenced};
use cs_model::{AskId, AskTo, Cap, FailureClass, Time, TurnId};

/// What was used up, as far as a harness said so: a number that nobody told is nothing, and not zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Turns of the agent with its model.
    pub turns: Option<u64>,
    /// Tokens read, those that the provider had kept included.
    pub input_tokens: Option<u64>,
    /// Those of them that the provider had kept from before.
    pub cached_tokens: Option<u64>,
    /// Tokens written, those of reasoning included.
    pub output_tokens: Option<u64>,
    /// Those of them that went into reasoning.
    pub reasoning_tokens: Option<u64>,
    /// Money in millionths of a US dollar.
    pub cost_microusd: Option<u64>,
}

impl Usage {
    /// Returns both together, up to the largest numbers that every store can hold. What only one of them knows counts as it stands.
    #[must_use]
    pub fn plus(&self, more: &Self) -> Self {
        let plus = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => {
                let sum = a.unwrap_or(0).saturating_add(b.unwrap_or(0));
                Some(sum.min(i64::MAX.unsigned_abs()))
            }
        };
        Self {
            turns: plus(self.turns, more.turns),
            input_tokens: plus(self.input_tokens, more.input_tokens),
            cached_tokens: plus(self.cached_tokens, more.cached_tokens),
            output_tokens: plus(self.output_tokens, more.output_tokens),
            reasoning_tokens: plus(self.reasoning_tokens, more.reasoning_tokens),
            cost_microusd: plus(self.cost_microusd, more.cost_microusd),
        }
    }
}

/// What one attempt used up, and with what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Used {
    /// The numbers.
    pub usage: Usage,
    /// The agent's own name of its conversation, where it told one.
    pub session: Option<String>,
    /// The model that it worked with, where that is known.
    pub model: Option<String>,
}

/// A question with which an attempt ends its work for now. The id is made before the durable outcome, so that a repeated
/// settlement asks once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAsk {
    /// The id of the ask.
    pub id: AskId,
    /// The question; of an offer the summary of the work.
    pub question: String,
    /// Answers to choose from; empty for a free text.
    pub choices: Vec<String>,
    /// Whether this is an offer to land the card's work, and the message of the merge if the agent gave one.
    pub offer: Option<Offer>,
    /// Whom it goes to. A question to the parent of a run that has none goes to a person.
    pub to: AskTo,
}

/// An offer to land.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offer {
    /// The subject and body of the merge; nothing leaves it to the title of the card.
    pub message: Option<String>,
}

/// A successful end of an attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The words, redacted: a turn of an owner or launcher, the report of a worker; nothing when this run does not speak or has
    /// nothing to say.
    pub text: Option<String>,
    /// The question with which it ended, if it did.
    pub ask: Option<NewAsk>,
    /// What the attempt used up.
    pub used: Used,
}

impl Answer {
    /// An answer of these words that asks nothing and used up nothing that is known.
    #[must_use]
    pub fn words(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }
}

/// What an answer did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answered {
    /// The turn that holds the words; nothing when there were none, or they are a report.
    pub turn: Option<TurnId>,
    /// Whether the run now waits for an answer; otherwise it is finished.
    pub asked: bool,
}

/// A failed end of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GiveUp {
    /// Why it failed, as far as it decides what happens next.
    pub class: FailureClass,
    /// The reason for people: no local path, no secret, no raw text of a provider.
    pub reason: String,
    /// From when the provider takes work again, where it said so. It is used for a rate limit only.
    pub until: Option<Time>,
    /// What the attempt used up.
    pub used: Used,
    /// What it is about.
    pub about: About,
}

/// What a failure is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum About {
    /// This attempt, as far as its class says nothing else.
    #[default]
    Attempt,
    /// The agent program of this machine, which cannot work before a person has mended it: every attempt on its route would fail
    /// so.
    Route,
}

impl GiveUp {
    /// A failure of this class for this reason; nothing is known of a time or of what it used up.
    #[must_use]
    pub fn new(class: FailureClass, reason: impl Into<String>) -> Self {
        Self {
            class,
            reason: reason.into(),
            until: None,
            used: Used::default(),
            about: About::Attempt,
        }
    }

    /// A failure of this class after which nothing can work on its route before a person has mended it.
    #[must_use]
    pub fn of_route(class: FailureClass, reason: impl Into<String>) -> Self {
        Self {
            about: About::Route,
            ..Self::new(class, reason)
        }
    }
}

/// An end of an attempt by one of its budgets, before it had said what it wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capped {
    /// Which budget.
    pub cap: Cap,
    /// The reason for people, with the budget and what goes on: no local path, no secret.
    pub reason: String,
    /// What the attempt used up.
    pub used: Used,
}

/// What a failure led to. The record decides it by the tables of this crate, under the card's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GaveUp {
    /// The run goes on under its next epoch, not before this time.
    Again {
        /// From when it is ready.
        not_before: Time,
        /// How many tries are used up, out of [`MAX_TRIES`](crate::MAX_TRIES).
        tries: u32,
    },
    /// The run waits for its route, which is parked now: until a person or a success says that the cause is gone. It keeps what
    /// it holds, and the wait counts no try.
    Parked,
    /// The run had asked before it failed: its question stands, and what it was given is settled (ST-4).
    Asked,
    /// The run failed for good. An owner's or launcher's card keeps its turns and the reason, and waits for a retry or a new
    /// turn; a worker's parent reads it back.
    Failed {
        /// How many tries were used up.
        tries: u32,
    },
}

/// Why the record could not take an outcome.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    /// The record cannot be reached, or its answer was lost; the same call may be repeated.
    #[error("the record is away")]
    Away(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The record holds something that cannot be; nothing was written.
    #[error("the record is corrupt: {0}")]
    Corrupt(String),
}

/// Takes outcomes. Every method is one transaction under the fence of the attempt; repeating a call that was applied gives
/// [`Fenced::Stale`] or the same answer, and writes nothing more.
#[async_trait]
pub trait SettlementRecord: fmt::Debug + Send + Sync {
    /// Ends a running attempt with success: writes the words as a turn, settles the turns that the run had taken, counts a
    /// new delivery, and finishes the run; with a question of it open the run is `asked` instead.
    ///
    /// # Errors
    /// [`SettleError`] when the record cannot answer.
    async fn answer(&self, attempt: &Attempt, answer: &Answer) -> Result<Fenced<Answered>, SettleError>;

    /// Ends a running attempt with failure, and decides by the retry table whether the run goes on. When it does not:
    ///
    /// * what an owner held is handed back to the card, and the card is `failed` with the reason (ST-3, ST-8);
    /// * what a launcher held stays with it, so that no new one is started for ever, and the card is `failed` unless an owner
    ///   has become responsible for it;
    /// * a worker's failure is read back by its parent.
    ///
    /// The kind of the run decides, not the caller: there is one way to end a run with failure.
    ///
    /// # Errors
    /// [`SettleError`] when the record cannot answer.
    async fn give_up(&self, attempt: &Attempt, failure: &GiveUp) -> Result<Fenced<GaveUp>, SettleError>;

    /// Ends a running attempt that has used up a budget. Its run ends `capped` and does not go on by itself, since it would only use up
    /// the next one; it counts no try. What that means for the card follows from the run's kind, as after a failure for good: an
    /// owner's card keeps its turns and the reason, and waits for a retry or a new turn, whose attempt has a budget of its own.
    ///
    /// # Errors
    /// [`SettleError`] when the record cannot answer.
    async fn capped(&self, attempt: &Attempt, capped: &Capped) -> Result<Fenced<GaveUp>, SettleError>;

    /// Writes what an attempt used up, whatever became of it: it was cut short, its run is over, or has gone on without it. An attempt is
    /// counted once, with its outcome or here, and never before one of the same run that was counted already. Stale is an attempt that
    /// the record has never begun.
    ///
    /// # Errors
    /// [`SettleError`] when the record cannot answer.
    async fn used(&self, attempt: &Attempt, used: &Used) -> Result<Fenced<()>, SettleError>;
}
