//! Secrets of codebases: where their values are kept on a machine, and how a text is freed of them.
//!
//! A [`Redactor`] is pure: it is given values, and puts `[secret NAME]` in their place wherever they stand in a text, also encoded and
//! across the borders of pieces. A [`SecretStore`] keeps values by codebase and name; [`MachineSecrets`] does so in the keyring of the
//! operating system where there is one, else in a file that only its user can read.
//!
//! It must never know what agents, runs or records are. Limits: a value has 6 bytes to 64 KiB. Nothing here prints or logs a value.
#![warn(clippy::wildcard_enum_match_arm)]

mod file;
mod forms;
mod keyring;
mod machine;
mod redactor;
mod store;
mod value;
mod view;

pub use keyring::{Keyring, KeyringError, SystemKeyring};
pub use machine::{MachineSecrets, Prefer};
pub use redactor::{Pieces, Redactor, TooMuch};
pub use store::{ErrorClass, Kept, Listed, Place, SecretError, SecretStore};
pub use value::{
    InvalidName, InvalidValue, NAME_MAX_BYTES, Secret, SecretKey, SecretName, SecretValue, SecretVersion,
    VALUE_MAX_BYTES, VALUE_MIN_BYTES,
};
