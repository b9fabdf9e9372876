//! Closed enums that are stored as text: one table each way, and an unknown text is an error.

/// Says that a stored or received text is none of the values that this binary knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{value}` is no {what} that this version knows")]
pub struct UnknownValue {
    /// What the text was to be.
    pub what: &'static str,
    /// The text.
    pub value: String,
}

/// Gives an enum without data its stored texts: `as_str`, `ALL`, `Display`, `FromStr` and serde as that text.
macro_rules! text_enum {
    ($name:ident, $what:literal, { $($variant:ident => $text:literal),* $(,)? }) => {
        impl $name {
            /// Holds every value, in the order of their definition.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the text under which the value is stored.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::UnknownValue;
            fn from_str(text: &str) -> Result<Self, $crate::UnknownValue> {
                match text {
                    $($text => Ok(Self::$variant),)*
                    other => Err($crate::UnknownValue { what: $what, value: other.to_owned() }),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use text_enum;
