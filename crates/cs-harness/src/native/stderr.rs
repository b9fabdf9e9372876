use cs_model::FailureClass;

use super::classify::{ErrorFacts, classify};
use crate::{FailureCause, Seen};

/// Why a program ended with a code that is not zero and said nothing of its task: programs that do not get as far as their first
/// message write the reason on standard error.
///
/// Nothing but lines that a program writes about its own start is looked at, and only where it did nothing yet.
pub(super) fn reason(code: i32, seen: &Seen) -> (FailureClass, FailureCause) {
    let cause = FailureCause::ExitCode(code);
    if seen.has_spoken() {
        return (FailureClass::Agent, cause);
    }
    let mut lines = seen.stderr().lines().map(str::trim);
    let known = lines.find_map(|line| {
        let own = KNOWN.iter().find(|(words, ..)| line.contains(words));
        own.map(|(_, class, cause)| (*class, *cause))
    });
    if let Some((class, own_cause)) = known {
        return (class, own_cause.unwrap_or(cause));
    }
    let errors = seen.stderr().lines().map(str::trim);
    let errors = errors.filter(|line| line.starts_with("Error") || line.starts_with("error"));
    let classes = errors.map(|message| {
        classify(&ErrorFacts {
            message,
            ..ErrorFacts::default()
        })
        .0
    });
    let class = classes.reduce(|first, next| if first == FailureClass::Agent { next } else { first });
    (class.unwrap_or(FailureClass::Agent), cause)
}

const KNOWN: &[(&str, FailureClass, Option<FailureCause>)] = &[
    (
        "no rollout found for thread id",
        FailureClass::Agent,
        Some(FailureCause::NoSuchSession),
    ),
    (
        "No conversation found with session ID",
        FailureClass::Agent,
        Some(FailureCause::NoSuchSession),
    ),
    (
        "Session not found",
        FailureClass::Agent,
        Some(FailureCause::NoSuchSession),
    ),
    (
        "No session found matching",
        FailureClass::Agent,
        Some(FailureCause::NoSuchSession),
    ),
    (
        "required MCP servers failed to initialize",
        FailureClass::Infrastructure,
        None,
    ),
    ("Error loading config", FailureClass::InvalidRequest, None),
    ("Error finding codex home", FailureClass::InvalidRequest, None),
    ("error: unknown option", FailureClass::InvalidRequest, None),
    ("error: unexpected argument", FailureClass::InvalidRequest, None),
    ("error: invalid value", FailureClass::InvalidRequest, None),
];
