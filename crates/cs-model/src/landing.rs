//! States of a landing, and the ways in which work lands.

use crate::text::text_enum;

/// Where a landing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LandingState {
    /// A person accepted it; no machine works on it.
    Accepted,
    /// A machine has taken it.
    Running,
    /// The base holds the work.
    Landed,
    /// The work and the base conflict; it went back to the agent.
    Conflict,
    /// The verify command failed on the merged result; it went back to the agent.
    VerifyFailed,
    /// The card's branch is at the remote; no base has moved, and the offer stays open.
    Published,
    /// It could not be done as things are; the person was told what to do, the offer stays open.
    Refused,
}

impl LandingState {
    /// Says whether the landing is over.
    #[must_use]
    pub const fn is_over(self) -> bool {
        match self {
            Self::Accepted | Self::Running => false,
            Self::Landed | Self::Conflict | Self::VerifyFailed | Self::Published | Self::Refused => true,
        }
    }
}

text_enum!(LandingState, "landing state", {
    Accepted => "accepted", Running => "running", Landed => "landed",
    Conflict => "conflict", VerifyFailed => "verify_failed",
    Published => "published", Refused => "refused",
});

/// How a card's commits come onto a base.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LandMethod {
    /// One merge commit, with the card's commits as its second parent.
    #[default]
    Merge,
    /// One commit with all that the card changes.
    Squash,
    /// The card's commits, made again one by one on top of the base.
    Rebase,
}

text_enum!(LandMethod, "way to land", {
    Merge => "merge", Squash => "squash", Rebase => "rebase",
});

/// What a landing is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LandingTarget {
    /// The base of the user's own repository.
    Local,
    /// The base of the remote, and then the user's own.
    Push,
    /// The card's branch at the remote, from which a person opens a pull request. No base moves.
    PullRequest,
}

text_enum!(LandingTarget, "landing target", {
    Local => "local", Push => "push", PullRequest => "pull_request",
});

/// When the branch of a card goes to the remote beside its landing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Publish {
    /// Not at all.
    #[default]
    Never,
    /// After each attempt of an agent.
    OnEnd,
    /// When its work has landed.
    OnLanding,
}

text_enum!(Publish, "time to publish", {
    Never => "never", OnEnd => "on_end", OnLanding => "on_landing",
});
