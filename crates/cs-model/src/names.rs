//! Names that people choose.

use std::fmt;
use std::str::FromStr;

/// Says why a text cannot be a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` cannot be a name of {what}, expected {expected}")]
pub struct InvalidName {
    /// What was to be named.
    pub what: &'static str,
    /// The text that was given.
    pub text: String,
    /// The rule.
    pub expected: &'static str,
}

/// The name of a route: an agent program as it is configured on machines, such as `mine` or `codex`.
///
/// 1 to 64 characters of `a-z`, `0-9`, `-`, `_` and `.`, beginning with a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentName(String);

impl AgentName {
    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AgentName {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let ok = (1..=64).contains(&text.len())
            && text.starts_with(good)
            && text.chars().all(|c| good(c) || matches!(c, '-' | '_' | '.'));
        if ok {
            return Ok(Self(text.to_owned()));
        }
        let expected = "1 to 64 of the characters a-z 0-9 - _ . with a letter or digit first";
        Err(InvalidName {
            what: "an agent",
            text: text.chars().take(80).collect(),
            expected,
        })
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Who writes a turn, answers or accepts: a name from the configuration, for attribution, not for access control.
///
/// 1 to 200 characters without control characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Person(String);

impl Person {
    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Person {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let trimmed = text.trim();
        if !trimmed.is_empty() && trimmed.chars().count() <= 200 && !trimmed.chars().any(char::is_control) {
            return Ok(Self(trimmed.to_owned()));
        }
        let expected = "1 to 200 characters without control characters";
        Err(InvalidName {
            what: "a person",
            text: text.chars().take(80).collect(),
            expected,
        })
    }
}

impl fmt::Display for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_names_are_plain() {
        for good in ["a", "mine", "claude-code", "gpt_5.1", "0x"] {
            assert!(good.parse::<AgentName>().is_ok(), "{good}");
        }
        for bad in ["", "-x", "Mine", "a b", "a/b", "ä", &"a".repeat(65)] {
            assert!(bad.parse::<AgentName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_person_is_trimmed_and_printable() {
        assert_eq!(" Ada \n".parse::<Person>().expect("a name").as_str(), "Ada");
        for bad in ["", "  ", "a\u{7}b", &"x".repeat(201)] {
            assert!(bad.parse::<Person>().is_err(), "{bad}");
        }
    }
}
