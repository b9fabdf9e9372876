//! The file of the secrets: which there are, and the values of those that no keyring has.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::store::{Place, SecretError};
use crate::value::{SecretKey, SecretVersion};

const NAME: &str = "secrets.json";
const FRESH: &str = "secrets.json.new";
const LOCK: &str = "secrets.lock";
const OTHERS: u32 = 0o077;

/// What is known of one secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) key: SecretKey,
    pub(crate) version: SecretVersion,
    pub(crate) held: Held,
}

/// Where its value is.
#[derive(Clone, Serialize, Deserialize)]
#[serde(tag = "place", rename_all = "lowercase")]
pub(crate) enum Held {
    Keyring,
    File { value: Zeroizing<String> },
}

impl Held {
    pub(crate) const fn place(&self) -> Place {
        match self {
            Self::Keyring => Place::Keyring,
            Self::File { .. } => Place::File,
        }
    }
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.place().fmt(f)
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Document {
    secrets: Vec<Row>,
}

/// The file in its directory.
#[derive(Debug, Clone)]
pub(crate) struct SecretFile {
    dir: PathBuf,
}

/// A lock against other processes; it goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Locked {
    _file: File,
}

impl SecretFile {
    pub(crate) fn within(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    /// Waits for the lock. It is held while one secret is set or removed.
    pub(crate) fn lock(&self) -> Result<Locked, SecretError> {
        let path = self.dir.join(LOCK);
        let locked = private(OpenOptions::new().write(true).create(true), &path).and_then(|file| {
            file.lock()?;
            Ok(file)
        });
        let file = locked.map_err(|source| failed(&path, "locked", source))?;
        Ok(Locked { _file: file })
    }

    /// Reads it; without one there are no secrets.
    pub(crate) fn read(&self) -> Result<Vec<Row>, SecretError> {
        let path = self.dir.join(NAME);
        let mut file = match private(OpenOptions::new().read(true), &path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(&path, "read", error)),
        };
        let meta = file.metadata().map_err(|error| failed(&path, "read", error))?;
        let mode = meta.mode() & 0o7777;
        if mode & OTHERS != 0 {
            return Err(SecretError::Exposed { path, mode });
        }
        let mut bytes = Zeroizing::new(Vec::new());
        file.read_to_end(&mut bytes)
            .map_err(|error| failed(&path, "read", error))?;
        let document: Document = serde_json::from_slice(&bytes).map_err(|error| SecretError::Corrupt {
            path,
            // Its text could name what stands there.
            what: format!("line {}, column {}", error.line(), error.column()),
        })?;
        Ok(document.secrets)
    }

    /// Replaces it, durably and as a whole.
    pub(crate) fn write(&self, mut secrets: Vec<Row>) -> Result<(), SecretError> {
        secrets.sort_by(|one, other| one.key.cmp(&other.key));
        let path = self.dir.join(NAME);
        self.replace(&path, &Document { secrets })
            .map_err(|error| failed(&path, "written", error))
    }

    fn replace(&self, path: &Path, document: &Document) -> io::Result<()> {
        let fresh = self.dir.join(FRESH);
        match fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut file = private(OpenOptions::new().write(true).create_new(true), &fresh)?;
        file.write_all(&Zeroizing::new(serde_json::to_vec_pretty(document)?))?;
        file.sync_all()?;
        fs::rename(&fresh, path)?;
        File::open(&self.dir)?.sync_all()
    }
}

/// Opens a file that is for its user only, and no link.
fn private(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    const NO_FOLLOW: i32 = if cfg!(target_os = "macos") {
        0x100
    } else {
        0o400_000
    };
    options.mode(0o600).custom_flags(NO_FOLLOW).open(path)
}

fn failed(path: &Path, op: &'static str, source: io::Error) -> SecretError {
    SecretError::File {
        path: path.to_owned(),
        op,
        source,
    }
}
