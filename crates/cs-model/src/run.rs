//! States of a run, and how it ends.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text::{UnknownValue, text_enum};

/// Counts the process lives of a run; the first is 1. It only grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(u32);

impl Epoch {
    /// The epoch of a run that has never been started.
    pub const NONE: Self = Self(0);

    /// Wraps a stored number.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns the next epoch, or nothing when the numbers are used up.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        match self.0.checked_add(1) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The place of a turn on its card; the first is 1, without gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TurnSeq(u32);

impl TurnSeq {
    /// The place before the first turn.
    pub const START: Self = Self(0);

    /// Wraps a stored number.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns the next place; the last number stays (a card cannot hold so many turns).
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for TurnSeq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What job a run does on its card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunKind {
    /// Receives a message and chooses who works on it (level 1).
    Launcher,
    /// Owns the conversation of the card (level 2).
    Owner,
    /// Works for an owner (level 3).
    Worker,
    /// Works on an issue of a tracker.
    Issue,
}

text_enum!(RunKind, "run kind", { Launcher => "launcher", Owner => "owner", Worker => "worker", Issue => "issue" });

/// Which budget ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cap {
    /// The number of turns.
    Turns,
    /// The wall-clock time, counted while the machine is awake.
    Wall,
    /// The money.
    Spend,
    /// The bytes of output.
    Output,
}

/// What an orphan's working tree holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OrphanTree {
    /// Everything in it is saved.
    Clean,
    /// It is the only copy of something.
    Dirty,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ending {
    /// It did its job.
    Finished,
    /// It failed for good.
    Failed,
    /// A person stopped it.
    Stopped,
    /// It was cut short through no fault of its own; it may go on under the next epoch.
    Interrupted,
    /// A budget ended it.
    Capped(Cap),
    /// It waits for a decision that is not its own.
    Blocked,
    /// Its process vanished unseen.
    Orphaned(OrphanTree),
}

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunState {
    /// An attempt of it is live.
    Running,
    /// It asked and waits; nothing of it runs.
    Asked,
    /// It is over, unless a later claim gives it its next epoch.
    Ended(Ending),
}

impl RunState {
    /// Holds every value, in the order in which they are stored.
    pub const ALL: &'static [Self] = &[
        Self::Running,
        Self::Asked,
        Self::Ended(Ending::Finished),
        Self::Ended(Ending::Failed),
        Self::Ended(Ending::Stopped),
        Self::Ended(Ending::Interrupted),
        Self::Ended(Ending::Capped(Cap::Turns)),
        Self::Ended(Ending::Capped(Cap::Wall)),
        Self::Ended(Ending::Capped(Cap::Spend)),
        Self::Ended(Ending::Capped(Cap::Output)),
        Self::Ended(Ending::Blocked),
        Self::Ended(Ending::Orphaned(OrphanTree::Clean)),
        Self::Ended(Ending::Orphaned(OrphanTree::Dirty)),
    ];

    /// Returns the text under which the state is stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Asked => "asked",
            Self::Ended(ending) => match ending {
                Ending::Finished => "finished",
                Ending::Failed => "failed",
                Ending::Stopped => "stopped",
                Ending::Interrupted => "interrupted",
                Ending::Capped(Cap::Turns) => "capped_turns",
                Ending::Capped(Cap::Wall) => "capped_wall",
                Ending::Capped(Cap::Spend) => "capped_spend",
                Ending::Capped(Cap::Output) => "capped_output",
                Ending::Blocked => "blocked",
                Ending::Orphaned(OrphanTree::Clean) => "orphaned_clean",
                Ending::Orphaned(OrphanTree::Dirty) => "orphaned_dirty",
            },
        }
    }

    /// Says whether the run still counts as live: running, or waiting for an answer.
    #[must_use]
    pub const fn is_live(self) -> bool {
        match self {
            Self::Running | Self::Asked => true,
            Self::Ended(_) => false,
        }
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for RunState {
    type Err = UnknownValue;
    fn from_str(text: &str) -> Result<Self, UnknownValue> {
        let known = Self::ALL.iter().copied().find(|state| state.as_str() == text);
        known.ok_or_else(|| UnknownValue {
            what: "run state",
            value: text.to_owned(),
        })
    }
}

/// Why an attempt failed, as far as it decides what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureClass {
    /// The agent itself failed.
    Agent,
    /// Nobody can say.
    Unknown,
    /// The verify command refused the work.
    Verify,
    /// The work conflicts with its base.
    Conflict,
    /// The session grew over the model's context.
    ContextOverflow,
    /// The provider asks to wait.
    RateLimit,
    /// The provider is overloaded.
    Overloaded,
    /// The machine, the network or a service between failed.
    Infrastructure,
    /// No capacity is left.
    Capacity,
    /// The account has no credit.
    Credit,
    /// The agent program is not signed in.
    Authentication,
    /// It was cut short through no fault of its own.
    Interrupted,
    /// What was asked for cannot work: a wrong command, model or setting.
    InvalidRequest,
    /// A person cancelled it.
    Cancelled,
}

text_enum!(FailureClass, "failure class", {
    Agent => "agent", Unknown => "unknown", Verify => "verify", Conflict => "conflict",
    ContextOverflow => "context_overflow", RateLimit => "rate_limit", Overloaded => "overloaded",
    Infrastructure => "infrastructure", Capacity => "capacity", Credit => "credit",
    Authentication => "authentication", Interrupted => "interrupted", InvalidRequest => "invalid_request",
    Cancelled => "cancelled",
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_state_survives_its_text() {
        for state in RunState::ALL {
            assert_eq!(state.as_str().parse(), Ok(*state));
        }
        assert!("Running".parse::<RunState>().is_err());
    }

    #[test]
    fn every_failure_class_survives_its_text() {
        for class in FailureClass::ALL {
            assert_eq!(class.as_str().parse(), Ok(*class));
        }
    }

    #[test]
    fn an_epoch_ends_instead_of_wrapping() {
        assert_eq!(Epoch::NONE.next(), Some(Epoch::new(1)));
        assert_eq!(Epoch::new(u32::MAX).next(), None);
    }
}
