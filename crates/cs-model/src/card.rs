//! States of cards, turns and asks.

use crate::RunId;
use crate::names::Person;
use crate::text::text_enum;

/// What a card waits for, apart from its live runs and open asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CardState {
    /// The conversation goes on: pending turns start its owner.
    Open,
    /// Its owner failed for good; it keeps its turns and the reason, and waits for a retry or a new turn.
    Failed,
    /// A person stopped it; it waits for a retry or a new turn.
    Stopped,
    /// Its work is in its base. A new turn opens it again.
    Landed,
    /// A person closed it. It is over.
    Closed,
}

text_enum!(CardState, "card state", {
    Open => "open", Failed => "failed", Stopped => "stopped", Landed => "landed", Closed => "closed",
});

/// Where a turn is on its way to an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TurnState {
    /// Nobody has taken it.
    Pending,
    /// A run has taken it and has not answered it yet.
    Leased,
    /// It was answered; also the state of every turn that asks for nothing (an agent's, the system's).
    Settled,
}

text_enum!(TurnState, "turn state", { Pending => "pending", Leased => "leased", Settled => "settled" });

/// Who wrote a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Author {
    /// A person.
    Person(Person),
    /// An agent, in this run.
    Agent(RunId),
    /// The system itself, such as the result of a landing.
    System,
}

/// Where a question is on its way to an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AskState {
    /// It waits for a person.
    Open,
    /// It offered a landing, the person accepted, and the landing is not over.
    Accepted,
    /// It has its answer.
    Answered,
    /// Its run or card ended before an answer came.
    Withdrawn,
}

text_enum!(AskState, "ask state", {
    Open => "open", Accepted => "accepted", Answered => "answered", Withdrawn => "withdrawn",
});
