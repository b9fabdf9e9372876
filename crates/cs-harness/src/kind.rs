use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::Permissions;
use crate::native::OPENCODE_CONFIG;

/// Which agent program this is, and so how it is talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HarnessKind {
    /// Any command: the prompt is standard input, the answer is standard output.
    Plain,
    /// Any command that speaks our protocol: one JSON object per line, in both directions.
    JsonLines,
    /// Claude Code, `claude -p --output-format stream-json`.
    Claude,
    /// Codex, `codex exec --json`.
    Codex,
    /// opencode, `opencode run --format json`.
    Opencode,
    /// pi, `pi -p --mode json`.
    Pi,
    /// Any agent that speaks the Agent Client Protocol over its standard input and output.
    Acp,
}

/// A word that names no harness.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no harness: use one of {}", HarnessKind::words())]
pub struct UnknownHarness {
    /// The word as it was given.
    pub text: String,
}

impl HarnessKind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Plain,
        Self::JsonLines,
        Self::Claude,
        Self::Codex,
        Self::Opencode,
        Self::Pi,
        Self::Acp,
    ];

    /// The harness's word in tables and files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::JsonLines => "json-lines",
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Pi => "pi",
            Self::Acp => "acp",
        }
    }

    /// What people call the agent that it drives, in the middle of a sentence.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Plain | Self::JsonLines => "the agent's command",
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Opencode => "opencode",
            Self::Pi => "pi",
            Self::Acp => "the agent",
        }
    }

    /// The program that is started where nobody names another; nothing for a harness that drives any command.
    pub const fn program(self) -> Option<&'static str> {
        match self {
            Self::Plain | Self::JsonLines | Self::Acp => None,
            Self::Claude => Some("claude"),
            Self::Codex => Some("codex"),
            Self::Opencode => Some("opencode"),
            Self::Pi => Some("pi"),
        }
    }

    /// Whether an agent of this kind can be given tools that it calls over HTTP with a secret that stands in no argument and no variable.
    pub const fn takes_tools_over_http(self) -> bool {
        match self {
            Self::Claude | Self::Opencode | Self::Pi | Self::Acp => true,
            Self::Codex | Self::Plain | Self::JsonLines => false,
        }
    }

    /// Whether it drives any command, which a person has named and so agreed to.
    pub const fn is_command(self) -> bool {
        matches!(self, Self::Plain | Self::JsonLines)
    }

    /// Whether an agent of this kind can be held to these permissions. One that cannot knows [`Permissions::Full`] only: whoever
    /// names it has to agree to that.
    pub const fn knows(self, permissions: Permissions) -> bool {
        match (self, permissions) {
            (_, Permissions::Full) => true,
            (Self::Plain | Self::JsonLines | Self::Pi, Permissions::Edit) => false,
            (Self::Claude | Self::Codex | Self::Opencode | Self::Acp, Permissions::Edit) => true,
        }
    }

    /// Whether the person's own settings of the agent can be shut out. A command may be anything, and the Agent Client Protocol has no
    /// word for it.
    pub const fn shuts_out(self) -> bool {
        match self {
            Self::Plain | Self::JsonLines | Self::Acp => false,
            Self::Claude | Self::Codex | Self::Opencode | Self::Pi => true,
        }
    }

    /// Whether the value of a variable that a person has set is one part of what the agent is started with, not all of it: a part of
    /// its configuration.
    pub fn takes_in(self, variable: &str) -> bool {
        self == Self::Opencode && variable == OPENCODE_CONFIG
    }

    /// Whether such a value of a variable that is [taken in](Self::takes_in) can be read. One that cannot would be lost without a word.
    pub fn can_take_in(self, value: &str) -> bool {
        match self {
            Self::Opencode => {
                value.trim().is_empty() || serde_json::from_str::<Map<String, Value>>(value).is_ok()
            }
            Self::Plain | Self::JsonLines | Self::Claude | Self::Codex | Self::Pi | Self::Acp => true,
        }
    }

    /// Whether a conversation of this name can be handed back to an agent of this kind. One that cannot is not gone on with: a new one
    /// begins, and whoever starts it has to tell it what was said before.
    pub fn resumes(self, session: &str) -> bool {
        match self {
            // It has no conversations.
            Self::Plain => false,
            // A field of a message holds any name.
            Self::JsonLines | Self::Acp => true,
            // Any other word is searched for, or silently begins a new conversation.
            Self::Claude | Self::Codex => is_uuid(session),
            Self::Opencode | Self::Pi => is_word(session),
        }
    }

    /// Whether an agent of this kind can be told a model and an effort. A command of any other kind has them in its own words.
    pub const fn takes_choices(self) -> bool {
        match self {
            Self::Plain | Self::JsonLines => false,
            Self::Claude | Self::Codex | Self::Opencode | Self::Pi | Self::Acp => true,
        }
    }

    fn words() -> String {
        Self::ALL.map(|kind| format!("`{kind}`")).join(", ")
    }
}

/// Whether a text is a UUID as programs write it.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Whether a text is a name that no program takes for an option, a path or a search.
fn is_word(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !text.is_empty() && !text.starts_with('-') && text.bytes().all(is_plain)
}

impl fmt::Display for HarnessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for HarnessKind {
    type Err = UnknownHarness;

    fn from_str(text: &str) -> Result<Self, UnknownHarness> {
        let known = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        known.ok_or_else(|| UnknownHarness {
            text: text.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_has_no_rules_knows_full_permissions_only() {
        let full_only = HarnessKind::ALL
            .into_iter()
            .filter(|kind| !kind.knows(Permissions::Edit));
        let full_only: Vec<&str> = full_only.map(HarnessKind::as_str).collect();
        assert_eq!(full_only, ["plain", "json-lines", "pi"]);
        assert!(HarnessKind::ALL.iter().all(|kind| kind.knows(Permissions::Full)));
    }

    #[test]
    fn what_may_be_anything_has_no_settings_that_could_be_shut_out() {
        let never = HarnessKind::ALL.into_iter().filter(|kind| !kind.shuts_out());
        let never: Vec<&str> = never.map(HarnessKind::as_str).collect();
        assert_eq!(never, ["plain", "json-lines", "acp"]);
    }

    #[test]
    fn a_configuration_that_would_be_lost_without_a_word_is_known() {
        for good in ["", " \n", "{}", r#"{"provider": {}}"#] {
            assert!(HarnessKind::Opencode.can_take_in(good), "{good:?}");
        }
        for bad in ["{", "[1]", "{\"a\": 1,}", "{} // mine", "null"] {
            assert!(!HarnessKind::Opencode.can_take_in(bad), "{bad:?}");
        }
    }

    #[test]
    fn a_name_that_an_agent_could_take_for_something_else_is_not_handed_back() {
        let resuming = |session: &str| {
            let kinds = HarnessKind::ALL.into_iter().filter(|kind| kind.resumes(session));
            kinds.map(HarnessKind::as_str).collect::<Vec<_>>().join(" ")
        };
        for (session, kinds) in [
            (
                "01234567-89ab-4cde-8f01-23456789abcd",
                "json-lines claude codex opencode pi acp",
            ),
            ("ses_dd8c0c71bffeLoVyqKo12r9XlR", "json-lines opencode pi acp"),
            ("last", "json-lines opencode pi acp"),
            ("--last", "json-lines acp"),
            ("../elsewhere.jsonl", "json-lines acp"),
            ("two words", "json-lines acp"),
            ("", "json-lines acp"),
        ] {
            assert_eq!(resuming(session), kinds, "{session:?}");
        }
    }

    #[test]
    fn a_harness_is_read_as_it_is_written() {
        for kind in HarnessKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        let error = "jsonl".parse::<HarnessKind>().unwrap_err().to_string();
        assert_eq!(
            error,
            "\"jsonl\" is no harness: use one of `plain`, `json-lines`, `claude`, `codex`, `opencode`, `pi`, `acp`"
        );
    }
}
