//! The names that others give to things here: checked once, then trusted in paths and ref names.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest key or slug, in bytes.
pub const KEY_MAX_BYTES: usize = 80;

/// A name that cannot be used in a path or in a ref.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {value:?} is not usable: {rule}")]
pub struct InvalidName {
    /// What the name was meant for.
    pub what: &'static str,
    /// The rejected value.
    pub value: String,
    /// The rule it breaks.
    pub rule: &'static str,
}

const KEY_RULE: &str = "1 to 80 of a-z, A-Z, 0-9, '-' and '_', beginning and ending with a letter or a digit";

fn checked_key(what: &'static str, value: String) -> Result<String, InvalidName> {
    let bytes = value.as_bytes();
    let inner = bytes
        .iter()
        .all(|b| b.is_ascii_alphanumeric() || *b == b'-' || *b == b'_');
    let ends = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    if inner && bytes.len() <= KEY_MAX_BYTES && ends(bytes.first()) && ends(bytes.last()) {
        return Ok(value);
    }
    Err(InvalidName {
        what,
        value,
        rule: KEY_RULE,
    })
}

macro_rules! key {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks the name.
            ///
            /// # Errors
            /// It is empty, longer than [`KEY_MAX_BYTES`], or has another character than letters, digits, `-` and `_`.
            pub fn new(value: impl Into<String>) -> Result<Self, InvalidName> {
                checked_key($what, value.into()).map(Self)
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidName;
            fn try_from(value: String) -> Result<Self, InvalidName> {
                Self::new(value)
            }
        }

        impl From<$name> for String {
            fn from(key: $name) -> String {
                key.0
            }
        }
    };
}

key!(
    /// Names a codebase: one store each.
    CodebaseKey,
    "codebase key"
);
key!(
    /// Names a card: one tree per card and codebase.
    CardKey,
    "card key"
);
key!(
    /// Names one attempt of a run: its refs in the store are kept under it.
    RunKey,
    "run key"
);
key!(
    /// Names one landing: the same landing carried out twice lands once.
    LandingKey,
    "landing key"
);

/// A branch name without `refs/heads/`, valid by the rules of git and valid UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BranchName(String);

impl BranchName {
    /// Checks the name by the rules of `git check-ref-format --branch`.
    ///
    /// # Errors
    /// The name breaks one of those rules; the error names the first one.
    pub fn new(value: impl Into<String>) -> Result<Self, InvalidName> {
        let value = value.into();
        match broken_branch_rule(&value) {
            None => Ok(Self(value)),
            Some(rule) => Err(InvalidName {
                what: "branch name",
                value,
                rule,
            }),
        }
    }

    /// Makes a card's branch, `cs/<id>-<slug>`, with a slug of at most 40 characters taken from the card's title.
    #[must_use]
    pub fn for_card(id: &CardKey, title: &str) -> Self {
        let slug = slug(title);
        if slug.is_empty() {
            Self(format!("cs/{id}"))
        } else {
            Self(format!("cs/{id}-{slug}"))
        }
    }

    /// The short name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The full ref name, `refs/heads/<name>`.
    #[must_use]
    pub fn full_ref(&self) -> String {
        format!("refs/heads/{}", self.0)
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for BranchName {
    type Error = InvalidName;
    fn try_from(value: String) -> Result<Self, InvalidName> {
        Self::new(value)
    }
}

impl From<BranchName> for String {
    fn from(name: BranchName) -> String {
        name.0
    }
}

fn broken_branch_rule(name: &str) -> Option<&'static str> {
    let forbidden = |c: char| c.is_control() || matches!(c, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\');
    if name.is_empty() || name.len() > 200 {
        return Some("it has 1 to 200 bytes");
    }
    if name.starts_with('-') || name == "HEAD" || name == "@" {
        return Some("it does not begin with '-' and is not HEAD or @");
    }
    if name.chars().any(forbidden) || name.contains("..") || name.contains("@{") {
        return Some("it has no space, control character, '..', '@{', nor any of ~^:?*[\\");
    }
    let bad_part = |p: &str| p.is_empty() || p.starts_with('.') || p.ends_with('.') || p.ends_with(".lock");
    if name.split('/').any(bad_part) {
        return Some("no part is empty, begins or ends with '.', or ends with '.lock'");
    }
    None
}

fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.chars() {
        if slug.len() >= 40 {
            break;
        }
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

/// The name of a git object: 40 (SHA-1) or 64 (SHA-256) lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Oid(String);

impl Oid {
    /// Checks the digits.
    ///
    /// # Errors
    /// The value is not 40 or 64 lower-case hexadecimal digits.
    pub fn new(value: impl Into<String>) -> Result<Self, InvalidName> {
        let value = value.into();
        let hex = value.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if hex && (value.len() == 40 || value.len() == 64) {
            return Ok(Self(value));
        }
        Err(InvalidName {
            what: "object name",
            value,
            rule: "40 or 64 lower-case hexadecimal digits",
        })
    }

    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first ten digits, for people.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.0[..10]
    }

    /// The object name that stands for "does not exist", of the same length.
    pub(crate) fn zero_like(&self) -> String {
        "0".repeat(self.0.len())
    }

    /// The name of the tree without files, which git knows without having it.
    pub(crate) fn empty_tree(&self) -> &'static str {
        if self.0.len() == 40 {
            "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
        } else {
            "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
        }
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Oid {
    type Error = InvalidName;
    fn try_from(value: String) -> Result<Self, InvalidName> {
        Self::new(value)
    }
}

impl From<Oid> for String {
    fn from(oid: Oid) -> String {
        oid.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_cannot_leave_a_directory_or_a_ref() {
        for bad in [
            "",
            ".",
            "..",
            "a/b",
            "-a",
            "a-",
            "a.lock",
            "a b",
            "\u{e9}",
            &"x".repeat(81),
        ] {
            assert!(CardKey::new(bad).is_err(), "{bad:?}");
        }
        assert!(CardKey::new("0197b0c2-7f1a-7c2e-9b1d-3f0e").is_ok());
    }

    #[test]
    fn branch_names_obey_the_rules_of_git() {
        for bad in [
            "", "-x", "a..b", "a b", "a/.b", "a.lock", "a//b", "a/", "x@{1}", "a\\b", "HEAD", "a:b",
        ] {
            assert!(BranchName::new(bad).is_err(), "{bad:?}");
        }
        for good in ["main", "feature/x-1", "cs/12-fix", "\u{e9}t\u{e9}"] {
            assert!(BranchName::new(good).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn a_card_branch_is_a_valid_branch_whatever_the_title() {
        let card = CardKey::new("c7").unwrap();
        for title in [
            "",
            "Fix: the *thing*!",
            "---",
            "\u{1f600}",
            &"long ".repeat(50),
            "a..b.lock",
        ] {
            let branch = BranchName::for_card(&card, title);
            assert!(BranchName::new(branch.as_str()).is_ok(), "{branch}");
        }
        assert_eq!(
            BranchName::for_card(&card, "Fix: the *thing*!").as_str(),
            "cs/c7-fix-the-thing"
        );
    }

    #[test]
    fn a_stored_key_is_checked_again() {
        assert!(serde_json::from_str::<CardKey>("\"../x\"").is_err());
        assert!(serde_json::from_str::<Oid>("\"HEAD\"").is_err());
    }
}
