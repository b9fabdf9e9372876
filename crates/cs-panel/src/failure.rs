//! Why a command did not do what it was asked for, and the exit code that says so.

use std::fmt;

use cs_record::{ErrorClass, RecordError};

/// The end of a command that did not succeed. Its text names the thing, what was expected and what to do.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something went wrong: exit code 1.
    Failed(anyhow::Error),
    /// What was asked for can never be: exit code 2.
    Usage(String),
    /// The state of the thing forbids it: exit code 3.
    Refused(String),
    /// Everything was said already; only the exit code is left.
    Said(u8),
}

impl Failure {
    /// A failure with a cause.
    pub(crate) fn failed(
        cause: impl Into<anyhow::Error>,
        what: impl fmt::Display + Send + Sync + 'static,
    ) -> Self {
        Self::Failed(cause.into().context(what))
    }

    /// A failure without a cause of its own.
    pub(crate) fn plain(what: impl Into<String>) -> Self {
        Self::Failed(anyhow::Error::msg(what.into()))
    }

    /// Returns the exit code.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Usage(_) => 2,
            Self::Refused(_) => 3,
            Self::Said(code) => *code,
        }
    }

    /// Returns what to tell the person; nothing when it was told.
    pub(crate) fn text(&self) -> Option<String> {
        match self {
            Self::Failed(error) => Some(chain(error)),
            Self::Usage(text) | Self::Refused(text) => Some(text.clone()),
            Self::Said(_) => None,
        }
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        let cure = match &error {
            RecordError::NotFound { what: "card", .. } => {
                "; give its id, or four or more of the digits that `cs-panel cards --all` shows, the first or the last of them"
            }
            RecordError::NotFound {
                what: "question" | "ask",
                ..
            } => "; `cs-panel asks` lists the open ones",
            RecordError::NotFound { what: "codebase", .. } => "; `cs-panel codebase list` lists them",
            RecordError::NotFound { what: "rule", .. } => "; `cs-panel rule list` lists them",
            RecordError::Ambiguous { .. } => "; give more of its digits",
            RecordError::Away(_) => "; nothing was written that is not whole, try again",
            RecordError::Corrupt(_) => {
                "; nothing was written: if a newer cs-panel wrote it use that one, else mend the row or go back to a copy of the database"
            }
            RecordError::NotFound { .. } | RecordError::Refused(_) => "",
        };
        match error.class() {
            ErrorClass::Conflict => Self::Refused(format!("{error}{cure}")),
            ErrorClass::Invalid => Self::Usage(format!("{error}{cure}")),
            ErrorClass::NotFound | ErrorClass::Transient | ErrorClass::Corrupt => {
                Self::plain(format!("{}{cure}", chain(&anyhow::Error::new(error))))
            }
        }
    }
}

/// Returns an error with its causes. Some libraries say the cause in their own text as well: it is said once.
fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use cs_record::Refusal;

    #[test]
    fn the_exit_code_follows_from_the_class() {
        let not_found = RecordError::NotFound {
            what: "card",
            name: "beef".to_owned(),
        };
        let cases = [
            (Failure::from(not_found), 1),
            (Failure::from(RecordError::Refused(Refusal::EmptyTurn)), 2),
            (
                Failure::from(RecordError::Refused(Refusal::NoCodebase {
                    card: "beef".to_owned(),
                })),
                3,
            ),
            (Failure::from(RecordError::Corrupt("a row".to_owned())), 1),
            (Failure::from(RecordError::Away("disk".into())), 1),
            (Failure::Said(3), 3),
        ];
        for (failure, code) in cases {
            assert_eq!(failure.exit_code(), code, "{failure:?}");
        }
    }

    #[test]
    fn a_cause_is_part_of_the_text() {
        let text = Failure::from(RecordError::Away("disk is gone".into())).text();
        let text = text.unwrap_or_default();
        assert!(text.contains("the record is away: disk is gone"), "{text}");
    }

    #[test]
    fn a_cause_that_was_said_already_is_not_said_again() {
        let error = anyhow::anyhow!("gone")
            .context("no answer: gone")
            .context("the record is away");
        assert_eq!(chain(&error), "the record is away: no answer: gone");
    }
}
