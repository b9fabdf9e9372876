//! The secrets of a machine, with a keyring that works, one that does not, and none.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use cs_model::CodebaseId;
use cs_secrets::{
    ErrorClass, Keyring, KeyringError, MachineSecrets, Place, Prefer, SecretError, SecretKey, SecretStore,
    SecretValue, SecretVersion,
};
use tempfile::TempDir;
use uuid::Uuid;
use zeroize::Zeroizing;

#[derive(Debug, Default)]
struct FakeKeyring {
    items: Mutex<BTreeMap<String, Vec<u8>>>,
    is_away: AtomicBool,
}

impl FakeKeyring {
    fn items(&self) -> Result<std::sync::MutexGuard<'_, BTreeMap<String, Vec<u8>>>, KeyringError> {
        if self.is_away.load(Ordering::SeqCst) {
            return Err(KeyringError::Refused("it is away".to_owned()));
        }
        Ok(self.items.lock().unwrap())
    }
}

#[async_trait]
impl Keyring for FakeKeyring {
    async fn write(&self, account: &str, bytes: Zeroizing<Vec<u8>>) -> Result<(), KeyringError> {
        self.items()?.insert(account.to_owned(), bytes.to_vec());
        Ok(())
    }
    async fn read(&self, account: &str) -> Result<Option<Zeroizing<Vec<u8>>>, KeyringError> {
        Ok(self.items()?.get(account).cloned().map(Zeroizing::new))
    }
    async fn remove(&self, account: &str) -> Result<(), KeyringError> {
        self.items()?.remove(account);
        Ok(())
    }
}

struct Desk {
    dir: TempDir,
    keyring: Arc<FakeKeyring>,
}

impl Desk {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            keyring: Arc::default(),
        }
    }

    fn store(&self, prefer: Prefer) -> MachineSecrets {
        MachineSecrets::new(self.dir.path(), "m", prefer, self.keyring.clone())
    }

    fn away(&self, is_away: bool) {
        self.keyring.is_away.store(is_away, Ordering::SeqCst);
    }

    fn file(&self) -> String {
        fs::read_to_string(self.dir.path().join("secrets.json")).unwrap()
    }
}

fn key(name: &str) -> SecretKey {
    SecretKey {
        codebase: CodebaseId::from_uuid(Uuid::from_u128(7)),
        name: name.parse().unwrap(),
    }
}

fn value(text: &str) -> SecretValue {
    SecretValue::new(Zeroizing::new(text.to_owned())).unwrap()
}

fn version(number: u128) -> SecretVersion {
    SecretVersion::from_uuid(Uuid::from_u128(number))
}

async fn set(store: &MachineSecrets, name: &str, text: &str, number: u128) -> Place {
    let kept = store.set(&key(name), &value(text), version(number)).await;
    kept.unwrap().place
}

async fn get(store: &MachineSecrets, name: &str) -> (String, SecretVersion) {
    let secret = store.get(&key(name)).await.unwrap();
    (secret.value.expose().to_owned(), secret.version)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Sets, reads, replaces, lists and removes; says what it did with.
async fn whole_life(prefer: Prefer, place: Place) {
    let desk = Desk::new();
    let store = desk.store(prefer);
    assert!(store.list().await.unwrap().is_empty());
    assert_eq!(set(&store, "B", "value of b", 1).await, place);
    assert_eq!(set(&store, "A", "value of a", 2).await, place);
    assert_eq!(get(&store, "A").await, ("value of a".to_owned(), version(2)));
    set(&store, "A", "other of a", 3).await;
    // Another process finds the same.
    let other = desk.store(prefer);
    assert_eq!(get(&other, "A").await, ("other of a".to_owned(), version(3)));
    let listed: Vec<_> = other.list().await.unwrap();
    let names: Vec<&str> = listed.iter().map(|listed| listed.key.name.as_str()).collect();
    assert_eq!(names, ["A", "B"]);
    assert!(listed.iter().all(|listed| listed.place == place));
    store.remove(&key("A")).await.unwrap();
    for again in [
        store.remove(&key("A")).await.unwrap_err(),
        store.get(&key("A")).await.unwrap_err(),
    ] {
        assert!(matches!(again, SecretError::NotFound { .. }), "{again}");
    }
    assert_eq!(get(&store, "B").await.0, "value of b");
    assert_eq!(mode(&desk.dir.path().join("secrets.json")), 0o600);
}

#[tokio::test]
async fn the_keyring_keeps_values_and_the_file_none() {
    whole_life(Prefer::Keyring, Place::Keyring).await;
    let desk = Desk::new();
    set(&desk.store(Prefer::Keyring), "A", "value of a", 1).await;
    assert!(!desk.file().contains("value of a"), "{}", desk.file());
}

#[tokio::test]
async fn the_file_keeps_values_where_it_is_chosen() {
    whole_life(Prefer::File, Place::File).await;
}

#[tokio::test]
async fn the_file_takes_what_the_keyring_does_not_and_gives_it_back_later() {
    let desk = Desk::new();
    let store = desk.store(Prefer::Keyring);
    desk.away(true);
    let kept = store
        .set(&key("A"), &value("value of a"), version(1))
        .await
        .unwrap();
    assert_eq!(kept.place, Place::File);
    assert!(kept.no_keyring.is_some(), "why is said");
    assert_eq!(store.next_place().await.place, Place::File);
    desk.away(false);
    assert_eq!(store.next_place().await.place, Place::Keyring);
    assert_eq!(get(&store, "A").await.0, "value of a");
    assert_eq!(set(&store, "A", "other of a", 2).await, Place::Keyring);
    assert!(
        !desk.file().contains("value of a"),
        "the old one is gone from the file"
    );
    assert_eq!(
        set(&desk.store(Prefer::File), "A", "third of a", 3).await,
        Place::File
    );
    assert!(
        desk.keyring.items().unwrap().is_empty(),
        "the old one is gone from the keyring"
    );
    assert_eq!(get(&store, "A").await, ("third of a".to_owned(), version(3)));
}

#[tokio::test]
async fn a_keyring_that_is_away_is_not_taken_for_a_secret_that_is_not_set() {
    let desk = Desk::new();
    let store = desk.store(Prefer::Keyring);
    set(&store, "A", "value of a", 1).await;
    desk.away(true);
    for error in [
        store.get(&key("A")).await.unwrap_err(),
        store.remove(&key("A")).await.unwrap_err(),
    ] {
        assert_eq!(error.class(), ErrorClass::Transient, "{error}");
    }
    assert_eq!(store.list().await.unwrap().len(), 1);
    desk.away(false);
    assert_eq!(get(&store, "A").await.0, "value of a");
}

#[tokio::test]
async fn a_file_that_others_can_read_is_refused_and_left_as_it_is() {
    let desk = Desk::new();
    let store = desk.store(Prefer::File);
    set(&store, "A", "value of a", 1).await;
    let path = desk.dir.path().join("secrets.json");
    let before = desk.file();
    for open in [0o640, 0o604] {
        fs::set_permissions(&path, fs::Permissions::from_mode(open)).unwrap();
        let error = store.get(&key("A")).await.unwrap_err();
        assert!(
            matches!(error, SecretError::Exposed { mode, .. } if mode == open),
            "{error}"
        );
        assert!(error.to_string().contains("chmod 600"), "{error}");
        assert!(!error.public().contains('/'), "{}", error.public());
        assert!(
            store
                .set(&key("B"), &value("value of b"), version(2))
                .await
                .is_err()
        );
        assert_eq!(desk.file(), before);
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(get(&store, "A").await.0, "value of a");
}

#[tokio::test]
async fn a_damaged_file_and_a_link_are_refused_and_no_error_shows_a_value() {
    let desk = Desk::new();
    let store = desk.store(Prefer::File);
    set(&store, "A", "value of a", 1).await;
    let path = desk.dir.path().join("secrets.json");
    let damaged = desk.file().replace("\"value\"", "\"valeu\"");
    fs::write(&path, &damaged).unwrap();
    let error = store.get(&key("A")).await.unwrap_err();
    assert!(matches!(error, SecretError::Corrupt { .. }), "{error}");
    assert!(!format!("{error:?}{error}").contains("value of a"), "{error:?}");
    fs::rename(&path, desk.dir.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", &path).unwrap();
    assert!(matches!(
        store.get(&key("A")).await,
        Err(SecretError::File { .. })
    ));
}

#[tokio::test]
async fn what_is_set_at_once_is_all_there() {
    let desk = Desk::new();
    let mut all = tokio::task::JoinSet::new();
    for number in 0..16 {
        let store = desk.store(Prefer::File);
        all.spawn(async move { set(&store, &format!("S{number}"), "some value", number).await });
    }
    while let Some(done) = all.join_next().await {
        done.unwrap();
    }
    assert_eq!(desk.store(Prefer::File).list().await.unwrap().len(), 16);
}
