//! The keyring of the operating system: the Secret Service on Linux, the keychain on macOS.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use zeroize::Zeroizing;

/// A keyring may ask its person to unlock it first.
const LIMIT: Duration = Duration::from_secs(30);

/// Keeps bytes by account.
#[async_trait]
pub trait Keyring: fmt::Debug + Send + Sync {
    /// Writes the bytes of an account, in the place of those before.
    ///
    /// # Errors
    /// [`KeyringError`].
    async fn write(&self, account: &str, bytes: Zeroizing<Vec<u8>>) -> Result<(), KeyringError>;
    /// Reads the bytes of an account; nothing when it has none.
    ///
    /// # Errors
    /// [`KeyringError`].
    async fn read(&self, account: &str) -> Result<Option<Zeroizing<Vec<u8>>>, KeyringError>;
    /// Removes the bytes of an account, if it has any.
    ///
    /// # Errors
    /// [`KeyringError`].
    async fn remove(&self, account: &str) -> Result<(), KeyringError>;
}

/// Why a keyring does not do what it is asked for.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    /// It is not there, or refuses.
    #[error("the keyring of this system refuses: {0}")]
    Refused(String),
    /// It did not answer: perhaps it waits for somebody to unlock it.
    #[error("the keyring of this system gave no answer within {} s; unlock it", LIMIT.as_secs())]
    Silent,
}

/// The keyring of the user of this process.
#[derive(Debug, Clone, Copy)]
pub struct SystemKeyring;

#[async_trait]
impl Keyring for SystemKeyring {
    async fn write(&self, account: &str, bytes: Zeroizing<Vec<u8>>) -> Result<(), KeyringError> {
        in_time(account, move |account| system::write(account, &bytes)).await
    }

    async fn read(&self, account: &str) -> Result<Option<Zeroizing<Vec<u8>>>, KeyringError> {
        in_time(account, system::read).await
    }

    async fn remove(&self, account: &str) -> Result<(), KeyringError> {
        in_time(account, system::remove).await
    }
}

async fn in_time<T: Send + 'static>(
    account: &str,
    act: impl FnOnce(&str) -> Result<T, String> + Send + 'static,
) -> Result<T, KeyringError> {
    let account = account.to_owned();
    match timeout(LIMIT, spawn_blocking(move || act(&account))).await {
        Ok(Ok(done)) => done.map_err(KeyringError::Refused),
        Ok(Err(failed)) => Err(KeyringError::Refused(failed.to_string())),
        Err(_) => Err(KeyringError::Silent),
    }
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
mod system {
    #[cfg(target_os = "macos")]
    use apple_native_keyring_store::keychain::Store;
    use keyring_core::api::CredentialStoreApi;
    use keyring_core::{Entry, Error};
    #[cfg(target_os = "linux")]
    use zbus_secret_service_keyring_store::Store;
    use zeroize::Zeroizing;

    const SERVICE: &str = "cs-panel";

    fn entry(account: &str) -> Result<Entry, String> {
        let store = Store::new().map_err(said)?;
        store.build(SERVICE, account, None).map_err(said)
    }

    pub(super) fn write(account: &str, bytes: &[u8]) -> Result<(), String> {
        entry(account)?.set_secret(bytes).map_err(said)
    }

    pub(super) fn read(account: &str) -> Result<Option<Zeroizing<Vec<u8>>>, String> {
        match entry(account)?.get_secret() {
            Ok(bytes) => Ok(Some(Zeroizing::new(bytes))),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(said(error)),
        }
    }

    pub(super) fn remove(account: &str) -> Result<(), String> {
        match entry(account)?.delete_credential() {
            Ok(()) | Err(Error::NoEntry) => Ok(()),
            Err(error) => Err(said(error)),
        }
    }

    /// Some of its errors hold what was read, which nobody is shown.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "it is the end of a foreign error, of which there may be more kinds"
    )]
    fn said(error: Error) -> String {
        match error {
            Error::PlatformFailure(cause) | Error::NoStorageAccess(cause) => cause.to_string(),
            Error::NoEntry => "it has no such entry".to_owned(),
            Error::Ambiguous(_) => "it has several entries of that name".to_owned(),
            Error::TooLong(..) => "the value is too long for it".to_owned(),
            _ => "it cannot do that".to_owned(),
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod system {
    use zeroize::Zeroizing;

    const NONE: &str = "there is none that this program knows";

    pub(super) fn write(_: &str, _: &[u8]) -> Result<(), String> {
        Err(NONE.to_owned())
    }

    pub(super) fn read(_: &str) -> Result<Option<Zeroizing<Vec<u8>>>, String> {
        Err(NONE.to_owned())
    }

    pub(super) fn remove(_: &str) -> Result<(), String> {
        Err(NONE.to_owned())
    }
}
