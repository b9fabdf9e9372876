//! The port behind which the values of secrets are.

use std::fmt;
use std::io;
use std::path::PathBuf;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::keyring::KeyringError;
use crate::value::{Secret, SecretKey, SecretName, SecretValue, SecretVersion};

/// Keeps values by codebase and name. Each setting replaces the one before it as a whole and is there once it has returned.
#[async_trait]
pub trait SecretStore: fmt::Debug + Send + Sync {
    /// Sets a value. The version was made by the caller for this setting and no other.
    ///
    /// # Errors
    /// [`SecretError`]; then the value is as it was before.
    async fn set(
        &self,
        key: &SecretKey,
        value: &SecretValue,
        version: SecretVersion,
    ) -> Result<Kept, SecretError>;

    /// Reads a value.
    ///
    /// # Errors
    /// [`SecretError::NotFound`]: it is not set. Others: it cannot be read now.
    async fn get(&self, key: &SecretKey) -> Result<Secret, SecretError>;

    /// Lists what is set, by codebase and name. No value is read.
    ///
    /// # Errors
    /// [`SecretError`].
    async fn list(&self) -> Result<Vec<Listed>, SecretError>;

    /// Removes a value.
    ///
    /// # Errors
    /// [`SecretError::NotFound`]: it is not set. Others: it is there still.
    async fn remove(&self, key: &SecretKey) -> Result<(), SecretError>;
}

/// Where a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// In the keyring of the operating system.
    Keyring,
    /// In a file that only its user can read.
    File,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keyring => "keyring",
            Self::File => "file",
        })
    }
}

/// Where a value went.
#[derive(Debug)]
pub struct Kept {
    /// Where it is now.
    pub place: Place,
    /// Why it is not in the keyring, where that was to have it.
    pub no_keyring: Option<KeyringError>,
}

/// A secret that is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Which.
    pub key: SecretKey,
    /// The version of its value.
    pub version: SecretVersion,
    /// Where its value is.
    pub place: Place,
}

/// Why a store did not do what it was asked for. No text names a value; paths are for the local log and its user only.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// It is not set.
    #[error("there is no secret `{name}`")]
    NotFound {
        /// Its name.
        name: SecretName,
    },
    /// Others can read the file of the values.
    #[error("{} can be read by others (mode {mode:04o}), so its secrets are not used; set them anew where they come from, then `chmod 600` the file", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The file of the values is not what was written there.
    #[error("{} cannot be understood: {what}; remove it, and set the secrets again", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The file of the values cannot be read or written.
    #[error("{} cannot be {op}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What was tried.
        op: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The value is in the keyring, which does not give it.
    #[error("the value of the secret `{name}` is in the keyring of this system, which cannot be used")]
    Keyring {
        /// Its name.
        name: SecretName,
        /// What it said.
        #[source]
        source: KeyringError,
    },
}

/// What a caller can make of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// There is no such thing.
    NotFound,
    /// A person has to put something right.
    Invalid,
    /// It may go better later.
    Transient,
    /// What is kept is damaged.
    Corrupt,
}

impl SecretError {
    /// Says what a caller can make of it.
    #[must_use]
    pub const fn class(&self) -> ErrorClass {
        match self {
            Self::NotFound { .. } => ErrorClass::NotFound,
            Self::Exposed { .. } => ErrorClass::Invalid,
            Self::Corrupt { .. } => ErrorClass::Corrupt,
            Self::File { .. } | Self::Keyring { .. } => ErrorClass::Transient,
        }
    }

    /// Says it without any path, for whoever is not on this machine.
    #[must_use]
    pub fn public(&self) -> String {
        match self {
            Self::NotFound { .. } => self.to_string(),
            Self::Exposed { .. } => {
                "others can read the file of the secrets, so that they are not used".to_owned()
            }
            Self::Corrupt { .. } => "the file of the secrets cannot be understood".to_owned(),
            Self::File { .. } => "the file of the secrets cannot be read".to_owned(),
            Self::Keyring { .. } => "the keyring of the machine cannot be used now".to_owned(),
        }
    }
}
