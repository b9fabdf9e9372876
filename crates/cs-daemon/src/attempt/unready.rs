//! Why a run is not started.

use cs_harness::{HarnessKind, Hindrance};
use cs_model::FailureClass;
use cs_settle::About;

/// Why a run cannot be started.
#[derive(Debug)]
pub(crate) struct Unready {
    /// The class that decides about another try.
    pub(crate) class: FailureClass,
    /// The reason for people; no local path.
    pub(crate) reason: String,
    /// Whether only this attempt cannot be started, or none of its agent.
    pub(crate) about: About,
}

impl Unready {
    /// Something about this attempt.
    pub(crate) const fn new(class: FailureClass, reason: String) -> Self {
        Self {
            class,
            reason,
            about: About::Attempt,
        }
    }

    /// What keeps the agent from any work on this machine.
    pub(crate) fn of_route(hindrance: &Hindrance, kind: HarnessKind) -> Self {
        Self {
            class: hindrance.class(),
            reason: hindrance.public(kind),
            about: About::Route,
        }
    }
}
