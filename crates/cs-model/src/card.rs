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

/// Whom a question goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum AskTo {
    /// A person.
    #[default]
    Person,
    /// The run that sent the asking one; when that one does not settle it, it goes to a person.
    Parent,
}

text_enum!(AskTo, "addressee of a question", { Person => "person", Parent => "parent" });

/// How new work on a card begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Opening {
    /// Its turns start its owner directly.
    #[default]
    Owner,
    /// Its turns start a launcher, which chooses the owner, until there is one.
    Launcher,
}

text_enum!(Opening, "opening of a card", { Owner => "owner", Launcher => "launcher" });

/// Which of two ready cards is taken first: the one with the larger number. -100 to 100, 0 unless somebody says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Priority(i16);

impl Priority {
    /// How far from 0 a priority may be.
    pub const MOST: i16 = 100;

    /// Wraps a number; nothing when it is outside of -100 to 100.
    #[must_use]
    pub const fn new(number: i16) -> Option<Self> {
        if number >= -Self::MOST && number <= Self::MOST {
            Some(Self(number))
        } else {
            None
        }
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> i16 {
        self.0
    }
}

impl std::fmt::Display for Priority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::str::FromStr for Priority {
    type Err = InvalidPriority;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = text.trim().parse().ok().and_then(Self::new);
        number.ok_or_else(|| InvalidPriority {
            text: text.chars().take(80).collect(),
        })
    }
}

/// Says why a text is no priority.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no priority, expected a whole number from -100 to 100; the larger one goes first")]
pub struct InvalidPriority {
    /// The text that was given.
    pub text: String,
}

/// What a closed gate lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum PauseKind {
    /// Nothing starts; what runs goes on.
    #[default]
    Pause,
    /// Cards that no machine has begun do not start; what was begun is carried to its end, with every later start that it takes.
    Drain,
}

text_enum!(PauseKind, "kind of pause", { Pause => "pause", Drain => "drain" });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_stays_within_its_bounds() {
        assert_eq!("-100".parse().map(Priority::get), Ok(-100));
        assert_eq!(" 7 ".parse().map(Priority::get), Ok(7));
        for text in ["101", "-101", "", "high", "1.5", "99999999999"] {
            assert!(text.parse::<Priority>().is_err(), "{text}");
        }
    }
}
