use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use cs_secrets::{
    Kept, Listed, Place, Secret, SecretError, SecretKey, SecretStore, SecretValue, SecretVersion,
};

/// Secrets in memory. They can be away.
#[derive(Debug, Default)]
pub struct MemorySecrets {
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    secrets: BTreeMap<SecretKey, Secret>,
    is_away: bool,
}

impl MemorySecrets {
    /// Lets them be away: nothing can be read or set until they are back.
    pub fn go_away(&self) {
        self.held().is_away = true;
    }

    /// Lets them be there again.
    pub fn come_back(&self) {
        self.held().is_away = false;
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn there(&self) -> Result<MutexGuard<'_, Held>, SecretError> {
        let held = self.held();
        if held.is_away {
            return Err(SecretError::File {
                path: "memory".into(),
                op: "read",
                source: io::ErrorKind::NotConnected.into(),
            });
        }
        Ok(held)
    }
}

#[async_trait]
impl SecretStore for MemorySecrets {
    async fn set(
        &self,
        key: &SecretKey,
        value: &SecretValue,
        version: SecretVersion,
    ) -> Result<Kept, SecretError> {
        let value = value.clone();
        self.there()?
            .secrets
            .insert(key.clone(), Secret { version, value });
        Ok(Kept {
            place: Place::File,
            no_keyring: None,
        })
    }

    async fn get(&self, key: &SecretKey) -> Result<Secret, SecretError> {
        let found = self.there()?.secrets.get(key).cloned();
        found.ok_or_else(|| not_found(key))
    }

    async fn list(&self) -> Result<Vec<Listed>, SecretError> {
        let held = self.there()?;
        let listed = held.secrets.iter().map(|(key, secret)| Listed {
            key: key.clone(),
            version: secret.version,
            place: Place::File,
        });
        Ok(listed.collect())
    }

    async fn remove(&self, key: &SecretKey) -> Result<(), SecretError> {
        let removed = self.there()?.secrets.remove(key);
        removed.map(drop).ok_or_else(|| not_found(key))
    }
}

fn not_found(key: &SecretKey) -> SecretError {
    SecretError::NotFound {
        name: key.name.clone(),
    }
}
