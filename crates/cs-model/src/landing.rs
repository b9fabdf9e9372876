//! States of a landing.

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
    /// It could not be done as things are; the person was told what to do, the offer stays open.
    Refused,
}

impl LandingState {
    /// Says whether the landing is over.
    #[must_use]
    pub const fn is_over(self) -> bool {
        match self {
            Self::Accepted | Self::Running => false,
            Self::Landed | Self::Conflict | Self::VerifyFailed | Self::Refused => true,
        }
    }
}

text_enum!(LandingState, "landing state", {
    Accepted => "accepted", Running => "running", Landed => "landed",
    Conflict => "conflict", VerifyFailed => "verify_failed", Refused => "refused",
});
