//! What stands in the way of a task, told from what is made for telling it: a status, a code, the message of an error.
//!
//! The words of the model and the output of its tools never come here: an agent that prints "401" is not signed out by it.

mod told;
mod wait;
mod words;

use cs_model::FailureClass;

use crate::text::cap_said;
use crate::{AskAgain, Matter, Trouble};

/// What an error says of itself, from structured fields only.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ErrorFacts<'a> {
    /// The status of the provider's answer, where it stands in a field of its own.
    pub(crate) status: Option<u16>,
    /// A code, a type or a name of the error: `rate_limit_error`, `insufficient_quota`, `ProviderAuthError`.
    pub(crate) word: Option<&'a str>,
    /// The message of the error, for people.
    pub(crate) message: &'a str,
    /// How long the provider wants to be left alone, where that stands in a field of its own.
    pub(crate) retry_after_ms: Option<u64>,
}

impl ErrorFacts<'_> {
    /// The trouble that these facts tell of.
    pub(crate) fn trouble(&self) -> Trouble {
        let (class, status, again) = classify(self);
        Trouble {
            class,
            status,
            again,
            said: cap_said(self.message),
            matter: Matter::Provider,
        }
    }

    /// The trouble that these facts tell of, where the agent tries again by itself: an agent does that for its provider and the
    /// way to it, so what is not known is one of them.
    pub(crate) fn passing_trouble(&self) -> Trouble {
        let mut trouble = self.trouble();
        if trouble.class == FailureClass::Agent {
            trouble.class = FailureClass::Infrastructure;
        }
        trouble
    }
}

/// The first of some codes that is known, from the most exact one on.
pub(crate) fn known_code<'a>(codes: &[Option<&'a str>]) -> Option<&'a str> {
    let mut codes = codes.iter().copied().flatten();
    codes.find(|code| told::by_code(code) != told::Told::Nothing)
}

/// Of a message so many bytes are looked at: what it is about stands at its beginning.
const MESSAGE_LOOKED_AT_BYTES: usize = 4096;

/// Finds the class of an error, the status of the provider's answer, and when it wants to be asked again.
///
/// In this order: the code, the status, a status that stands in the message in a known place. The words of the message decide
/// where none of these says more than that the request was refused, and where there is none of them.
pub(crate) fn classify(facts: &ErrorFacts<'_>) -> (FailureClass, Option<u16>, Option<AskAgain>) {
    let message = &facts.message[..facts.message.floor_char_boundary(MESSAGE_LOOKED_AT_BYTES)];
    let message = message.to_ascii_lowercase();
    let status = facts.status.or_else(|| words::status(&message));
    let again = facts.retry_after_ms.map(AskAgain::AfterMs);
    let again = again.or_else(|| wait::stated(&message));
    let class = class(facts.word, status, &message, again.is_some());
    (class, status, again)
}

fn class(word: Option<&str>, status: Option<u16>, message: &str, is_time_stated: bool) -> FailureClass {
    let by_words = || match words::class(message) {
        // Google speaks of plan and billing in every limit. What passes by itself is one of time, not of money.
        Some(FailureClass::Credit) if is_time_stated => Some(FailureClass::RateLimit),
        class => class,
    };
    let code = word.map_or(told::Told::Nothing, told::by_code);
    let by_status = status.map_or(told::Told::Nothing, told::by_status);
    match (code, by_status) {
        (told::Told::Surely(class), _) | (told::Told::Nothing, told::Told::Surely(class)) => class,
        // A code that says no more than "refused" beside a status that says what for.
        (told::Told::Roughly(_), told::Told::Surely(class)) => class,
        (told::Told::Roughly(class), _) | (told::Told::Nothing, told::Told::Roughly(class)) => {
            by_words().unwrap_or(class)
        }
        (told::Told::Nothing, told::Told::Nothing) => by_words().unwrap_or(FailureClass::Agent),
    }
}

#[cfg(test)]
mod tests;
