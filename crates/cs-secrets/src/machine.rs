//! The secrets of this machine: in its keyring, else in a file.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use zeroize::Zeroizing;

use crate::file::{Held, Row, SecretFile};
use crate::keyring::{Keyring, KeyringError};
use crate::store::{Kept, Listed, Place, SecretError, SecretStore};
use crate::value::{Secret, SecretKey, SecretValue, SecretVersion};

/// Where a value goes that is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefer {
    /// Into the keyring where that works, else into the file.
    Keyring,
    /// Into the file.
    File,
}

/// Keeps secrets in the keyring of the operating system, and in a file of a directory which there are, with the values that the keyring
/// did not take. A value is read from where it was put.
#[derive(Debug, Clone)]
pub struct MachineSecrets {
    file: SecretFile,
    keyring: Arc<dyn Keyring>,
    prefer: Prefer,
    scope: String,
}

/// What the keyring holds of a secret. The version is with the value, so that the two always belong together.
#[derive(Serialize, Deserialize)]
struct Item {
    version: SecretVersion,
    value: Zeroizing<String>,
}

impl MachineSecrets {
    /// Keeps secrets for a directory. The scope tells its secrets apart from those of another directory in the same keyring.
    #[must_use]
    pub fn new(dir: &Path, scope: impl Into<String>, prefer: Prefer, keyring: Arc<dyn Keyring>) -> Self {
        Self {
            file: SecretFile::within(dir),
            keyring,
            prefer,
            scope: scope.into(),
        }
    }

    /// Says where a value would go that is set now. The keyring is asked, and nothing is changed.
    pub async fn next_place(&self) -> Kept {
        let no_keyring = match self.prefer {
            Prefer::Keyring => self.keyring.read(&self.scope).await.err(),
            Prefer::File => None,
        };
        let place = match self.prefer {
            Prefer::Keyring if no_keyring.is_none() => Place::Keyring,
            Prefer::Keyring | Prefer::File => Place::File,
        };
        Kept { place, no_keyring }
    }

    fn account(&self, key: &SecretKey) -> String {
        format!("{}/{}/{}", self.scope, key.codebase, key.name)
    }

    async fn put_into_keyring(
        &self,
        key: &SecretKey,
        value: &SecretValue,
        version: SecretVersion,
    ) -> Result<(), KeyringError> {
        let item = Item {
            version,
            value: Zeroizing::new(value.expose().to_owned()),
        };
        let bytes = serde_json::to_vec(&item).map_err(|error| KeyringError::Refused(error.to_string()))?;
        self.keyring
            .write(&self.account(key), Zeroizing::new(bytes))
            .await
    }

    async fn read_keyring(&self, key: &SecretKey) -> Result<Secret, SecretError> {
        let trouble = |source| SecretError::Keyring {
            name: key.name.clone(),
            source,
        };
        let bytes = self.keyring.read(&self.account(key)).await.map_err(trouble)?;
        let bytes = bytes.ok_or_else(|| not_found(key))?;
        let unlike = || {
            trouble(KeyringError::Refused(
                "what it has of it is no value of a secret".to_owned(),
            ))
        };
        let item: Item = serde_json::from_slice(&bytes).map_err(|_| unlike())?;
        let value = SecretValue::new(item.value).map_err(|_| unlike())?;
        Ok(Secret {
            version: item.version,
            value,
        })
    }
}

#[async_trait]
impl SecretStore for MachineSecrets {
    async fn set(
        &self,
        key: &SecretKey,
        value: &SecretValue,
        version: SecretVersion,
    ) -> Result<Kept, SecretError> {
        let (_lock, mut rows) = locked(&self.file).await?;
        let former = rows
            .iter()
            .find(|row| row.key == *key)
            .map(|row| row.held.place());
        let no_keyring = match self.prefer {
            Prefer::Keyring => self.put_into_keyring(key, value, version).await.err(),
            Prefer::File => None,
        };
        let held = if self.prefer == Prefer::Keyring && no_keyring.is_none() {
            Held::Keyring
        } else {
            let value = Zeroizing::new(value.expose().to_owned());
            Held::File { value }
        };
        let place = held.place();
        rows.retain(|row| row.key != *key);
        rows.push(Row {
            key: key.clone(),
            version,
            held,
        });
        write(&self.file, rows).await?;
        if let (Some(Place::Keyring), Place::File) = (former, place)
            && let Err(error) = self.keyring.remove(&self.account(key)).await
        {
            tracing::warn!(name = %key.name, error = &error as &dyn std::error::Error, "the keyring still has an old value of a secret");
        }
        Ok(Kept { place, no_keyring })
    }

    async fn get(&self, key: &SecretKey) -> Result<Secret, SecretError> {
        let row = read(&self.file).await?.into_iter().find(|row| row.key == *key);
        let row = row.ok_or_else(|| not_found(key))?;
        match row.held {
            Held::Keyring => self.read_keyring(key).await,
            Held::File { value } => Ok(Secret {
                version: row.version,
                value: SecretValue::new(value).map_err(|_| not_found(key))?,
            }),
        }
    }

    async fn list(&self) -> Result<Vec<Listed>, SecretError> {
        let listed = |row: Row| Listed {
            place: row.held.place(),
            key: row.key,
            version: row.version,
        };
        Ok(read(&self.file).await?.into_iter().map(listed).collect())
    }

    async fn remove(&self, key: &SecretKey) -> Result<(), SecretError> {
        let (_lock, mut rows) = locked(&self.file).await?;
        let row = rows
            .iter()
            .find(|row| row.key == *key)
            .ok_or_else(|| not_found(key))?;
        if row.held.place() == Place::Keyring {
            let removed = self.keyring.remove(&self.account(key)).await;
            removed.map_err(|source| SecretError::Keyring {
                name: key.name.clone(),
                source,
            })?;
        }
        rows.retain(|row| row.key != *key);
        write(&self.file, rows).await
    }
}

fn not_found(key: &SecretKey) -> SecretError {
    SecretError::NotFound {
        name: key.name.clone(),
    }
}

async fn locked(file: &SecretFile) -> Result<(crate::file::Locked, Vec<Row>), SecretError> {
    let file = file.clone();
    in_thread(move || {
        let lock = file.lock()?;
        let rows = file.read()?;
        Ok((lock, rows))
    })
    .await
}

async fn read(file: &SecretFile) -> Result<Vec<Row>, SecretError> {
    let file = file.clone();
    in_thread(move || file.read()).await
}

async fn write(file: &SecretFile, rows: Vec<Row>) -> Result<(), SecretError> {
    let file = file.clone();
    in_thread(move || file.write(rows)).await
}

async fn in_thread<T: Send + 'static>(
    act: impl FnOnce() -> Result<T, SecretError> + Send + 'static,
) -> Result<T, SecretError> {
    match spawn_blocking(act).await {
        Ok(done) => done,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}
