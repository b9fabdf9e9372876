//! What the benches of the stores share: a record and hand-written statements over the same rows, that take turns.
//!
//! A bench says what it measured in [`Line`]s, times and nothing else; whoever starts it takes medians and judges.

mod contest;
mod lines;
mod recorded;

pub use contest::{Desk, compare};
pub use lines::Line;
pub use recorded::{OverRecord, WallClock};

use std::fmt;

use async_trait::async_trait;

/// Takes and settles work, one way or another.
#[async_trait]
pub trait Contender: fmt::Debug + Send + Sync + 'static {
    /// What it knows of an attempt that it took.
    type Held: Send + 'static;

    /// Takes the turns of at most `limit` cards, with the journal row, in one commit.
    async fn take(&self, limit: u32) -> Vec<Self::Held>;

    /// Ends an attempt with an answer, in one commit.
    async fn settle(&self, held: Self::Held);
}

/// The rows over which the contenders compete. What it does is not measured.
#[async_trait]
pub trait Stage: fmt::Debug + Send + Sync {
    /// Puts a turn on so many cards on which nothing waits; each call takes other cards, until all had their turn.
    async fn make_ready(&self, cards: usize);

    /// Ends every attempt that is running.
    async fn settle_all(&self);
}

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Everything, in some minutes.
    Full,
    /// As much of the takes and settlements of a small record, and nothing else.
    Takes,
    /// Everything with fewer cards and rounds, in seconds: it shows that the bench works.
    Short,
}

impl Size {
    /// Reads `full`, `takes` or `short`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "full" => Some(Self::Full),
            "takes" => Some(Self::Takes),
            "short" => Some(Self::Short),
            _ => None,
        }
    }

    /// Returns the second number for the short size and the first for the others.
    #[must_use]
    pub const fn pick(self, full: usize, short: usize) -> usize {
        match self {
            Self::Full | Self::Takes => full,
            Self::Short => short,
        }
    }

    /// How many cards the small record has.
    #[must_use]
    pub const fn small_cards(self) -> usize {
        self.pick(1_000, 1_000)
    }

    /// How many cards the large record has, where one is measured.
    #[must_use]
    pub const fn large_cards(self) -> Option<usize> {
        match self {
            Self::Full => Some(1_000_000),
            Self::Takes => None,
            Self::Short => Some(20_000),
        }
    }
}
