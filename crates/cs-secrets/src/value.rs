//! What a secret is: its key, its value, its version.

use std::fmt;
use std::str::FromStr;

use cs_model::CodebaseId;
use serde::{Deserialize, Serialize};
use uuid::Uuid;
use zeroize::Zeroizing;

use crate::view::without_breaks;

/// A shorter value would be found everywhere in what an agent writes, so that it could be guessed from where it is missing.
pub const VALUE_MIN_BYTES: usize = 6;
/// The longest value.
pub const VALUE_MAX_BYTES: usize = 64 * 1024;
/// The longest name.
pub const NAME_MAX_BYTES: usize = 128;

/// What a secret is called within its codebase.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SecretName(String);

/// A text that cannot be the name of a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "this cannot be the name of a secret, expected 1 to {NAME_MAX_BYTES} letters, digits, `_`, `-` and `.`, the first a letter or `_`, such as NPM_TOKEN"
)]
pub struct InvalidName;

impl SecretName {
    /// The name as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SecretName {
    type Err = InvalidName;
    fn from_str(name: &str) -> Result<Self, InvalidName> {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if begins && name.len() <= NAME_MAX_BYTES && name.chars().all(is_of_name) {
            return Ok(Self(name.to_owned()));
        }
        Err(InvalidName)
    }
}

impl TryFrom<String> for SecretName {
    type Error = InvalidName;
    fn try_from(name: String) -> Result<Self, InvalidName> {
        name.parse()
    }
}

impl From<SecretName> for String {
    fn from(name: SecretName) -> Self {
        name.0
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names a secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SecretKey {
    /// The codebase that it belongs to.
    pub codebase: CodebaseId,
    /// Its name there.
    pub name: SecretName,
}

/// Tells the values of a secret apart: each time it is set it has another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretVersion(Uuid);

impl SecretVersion {
    /// Wraps an id that was made for one setting and no other.
    #[must_use]
    pub const fn from_uuid(id: Uuid) -> Self {
        Self(id)
    }

    /// The id.
    #[must_use]
    pub const fn as_uuid(self) -> Uuid {
        self.0
    }

    /// When it was made, where the id tells it, in microseconds since 1970.
    #[must_use]
    pub fn made_at_unix_micros(self) -> Option<i64> {
        let (seconds, nanos) = self.0.get_timestamp()?.to_unix();
        let seconds = i64::try_from(seconds).ok()?;
        Some(seconds.checked_mul(1_000_000)? + i64::from(nanos / 1_000))
    }
}

impl fmt::Display for SecretVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The value of a secret. It is overwritten in memory when it is dropped, and no formatting shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretValue(Zeroizing<String>);

/// A text that cannot be the value of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidValue {
    /// It could not be taken out of a text without taking out half of the text.
    #[error(
        "the value is too short, expected {VALUE_MIN_BYTES} bytes or more beside line breaks and the space around it: a shorter one could not be told from other text, and so not be kept out of the record"
    )]
    TooShort,
    /// It is longer than any secret.
    #[error("the value is too long, expected {VALUE_MAX_BYTES} bytes at most")]
    TooLong,
    /// No program can be given it as text.
    #[error("the value has a byte 0 in it, expected text")]
    NoText,
}

impl SecretValue {
    /// Takes a value.
    ///
    /// # Errors
    /// [`InvalidValue`].
    pub fn new(value: Zeroizing<String>) -> Result<Self, InvalidValue> {
        if value.len() > VALUE_MAX_BYTES {
            return Err(InvalidValue::TooLong);
        }
        if value.contains('\0') {
            return Err(InvalidValue::NoText);
        }
        if without_breaks(value.trim()).len() < VALUE_MIN_BYTES {
            return Err(InvalidValue::TooShort);
        }
        Ok(Self(value))
    }

    /// Shows the value, to hand it out or to look for it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretValue(..)")
    }
}

/// A value with the version that it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// Which setting it is.
    pub version: SecretVersion,
    /// The value.
    pub value: SecretValue,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<SecretValue, InvalidValue> {
        SecretValue::new(Zeroizing::new(text.to_owned()))
    }

    #[test]
    fn a_value_is_long_enough_to_be_told_from_other_text() {
        assert_eq!(value("12345"), Err(InvalidValue::TooShort));
        assert_eq!(value("  12\n345\n"), Err(InvalidValue::TooShort));
        assert_eq!(value("12345\0"), Err(InvalidValue::NoText));
        let long = "x".repeat(VALUE_MAX_BYTES + 1);
        assert_eq!(value(&long), Err(InvalidValue::TooLong));
        assert!(value("123456").is_ok());
    }

    #[test]
    fn no_formatting_shows_a_value() {
        let secret = Secret {
            version: SecretVersion::from_uuid(Uuid::nil()),
            value: value("hunter22").unwrap(),
        };
        assert!(!format!("{secret:?}").contains("hunter"), "{secret:?}");
    }

    #[test]
    fn a_name_is_one_word() {
        for bad in ["", "1A", "a b", "a/b", "ä", &"x".repeat(129)] {
            assert_eq!(bad.parse::<SecretName>(), Err(InvalidName), "{bad}");
        }
        for good in ["NPM_TOKEN", "_x", "a.b-c9"] {
            assert_eq!(good.parse::<SecretName>().unwrap().as_str(), good);
        }
    }
}
