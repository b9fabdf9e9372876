//! Presence: how a machine's daemon says on the record that it is there, and how the next one takes its place.
//!
//! A daemon that was killed stays present for 90 s. The next one on the same state directory holds the same lock, so it knows
//! that the former is dead: it names the former's hash and follows at once. What a directory knows counts only in that directory: a
//! copy of it, made while a daemon works there or later, holds another lock, so it follows nobody and is refused.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use cs_fence::{Token, TokenHash};
use cs_record::{PRESENCE_LIFE, Present, RecordError};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::context::Context;

/// The first pass that comes so long after the last word renews presence: half of its life is over.
const RENEW_AFTER: Duration = Duration::from_secs(PRESENCE_LIFE.as_secs() / 2);
/// A pass comes after so long, only to renew it: a third of its life is left should the record not answer at once.
const RENEW_BY: Duration = Duration::from_secs(PRESENCE_LIFE.as_secs() * 2 / 3);
/// Of so many former daemons the hashes are kept, should none of them have come to tell the record.
const FORMER_MAX: usize = 64;

/// The presence of one daemon.
#[derive(Debug)]
pub(crate) struct Presence {
    daemon: TokenHash,
    former: Vec<TokenHash>,
    boot_id: String,
    said_at: Option<Instant>,
}

impl Presence {
    /// Makes a new daemon's identity and notes it beside the former ones, before the record can know it. The lock of the state
    /// directory is held.
    pub(crate) fn begin(path: &Path, secret: [u8; 32], boot_id: String) -> io::Result<Self> {
        let mut half = [0; 16];
        half.copy_from_slice(&secret[..16]);
        let daemon = Token::from_bytes(half).hash();
        let mut former = read(path)?;
        former.drain(..former.len().saturating_sub(FORMER_MAX));
        write(path, former.iter().chain([&daemon]))?;
        Ok(Self {
            daemon,
            former,
            boot_id,
            said_at: None,
        })
    }

    /// Says on the record that the daemon is there, when that is due.
    pub(crate) async fn say(&mut self, cx: &Context) -> Result<(), RecordError> {
        let now = Instant::now();
        if self
            .said_at
            .is_some_and(|at| now.duration_since(at) < RENEW_AFTER)
        {
            return Ok(());
        }
        let machine = &cx.deps.machine;
        let present = Present {
            machine: machine.id,
            name: machine.name.clone(),
            person: machine.person.clone(),
            boot_id: self.boot_id.clone(),
            daemon: self.daemon,
            follows: self.former.clone(),
            codebases: cx.deps.checkouts.codebases(),
            serves_everyone: machine.serves_everyone,
        };
        cx.deps.record.machines.present(&present).await?;
        self.said_at = Some(now);
        if !std::mem::take(&mut self.former).is_empty()
            && let Err(error) = write(&cx.state.daemons(), [&self.daemon])
        {
            // The former ones are only named once more by the next daemon.
            tracing::warn!(%error, "the hashes of former daemons could not be forgotten");
        }
        Ok(())
    }

    /// Returns after how long a pass must come for it; nothing when that is overdue, since then it is tried as often as there are
    /// passes.
    pub(crate) fn renewed_in(&self) -> Option<Duration> {
        let left = (self.said_at? + RENEW_BY).saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// Says on the record that the daemon leaves.
    pub(crate) async fn end(&self, cx: &Context) {
        if let Err(error) = cx
            .deps
            .record
            .machines
            .leave(cx.deps.machine.id, self.daemon)
            .await
        {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the record was not told that the daemon leaves"
            );
        }
    }
}

/// What is kept: the daemons that were here, and which directory that is.
#[derive(Serialize, Deserialize)]
struct Kept {
    directory: Directory,
    daemons: Vec<String>,
}

/// A directory of this system, which a copy of it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Directory {
    device: u64,
    inode: u64,
}

impl Directory {
    /// The directory of a file.
    fn of(file: &Path) -> io::Result<Self> {
        let parent = file.parent().unwrap_or_else(|| Path::new("."));
        let seen = fs::metadata(parent)?;
        Ok(Self {
            device: seen.dev(),
            inode: seen.ino(),
        })
    }
}

/// Reads the hashes of the daemons that were in this very directory. What cannot be understood, or was kept elsewhere, is no reason to
/// stay away: at worst the record makes us wait.
fn read(path: &Path) -> io::Result<Vec<TokenHash>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let here = Directory::of(path)?;
    let kept = serde_json::from_slice::<Kept>(&bytes).ok();
    let texts = kept
        .filter(|kept| kept.directory == here)
        .map(|kept| kept.daemons);
    let texts = texts.unwrap_or_default();
    Ok(texts.iter().filter_map(|text| text.parse().ok()).collect())
}

fn write<'a>(path: &Path, hashes: impl IntoIterator<Item = &'a TokenHash>) -> io::Result<()> {
    let kept = Kept {
        directory: Directory::of(path)?,
        daemons: hashes.into_iter().map(ToString::to_string).collect(),
    };
    let aside = path.with_extension("new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&aside)?;
    file.write_all(&serde_json::to_vec(&kept)?)?;
    file.sync_all()?;
    fs::rename(&aside, path)?;
    path.parent().map_or(Ok(()), |dir| File::open(dir)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(path: &Path, secret: u8) -> Presence {
        Presence::begin(path, [secret; 32], "boot".to_owned()).expect("it can be noted")
    }

    #[test]
    fn a_daemon_knows_all_that_died_before_it_could_tell() {
        let temp = tempfile::tempdir().expect("a directory");
        let path = temp.path().join("daemons.json");
        let first = begin(&path, 1);
        let second = begin(&path, 2);
        let third = begin(&path, 3);
        assert_eq!(first.former, []);
        assert_eq!(second.former, [first.daemon]);
        assert_eq!(third.former, [first.daemon, second.daemon]);
        write(&path, [&third.daemon]).expect("written");
        assert_eq!(begin(&path, 4).former, [third.daemon]);
    }

    /// A copy that is made while a daemon works knows that daemon too, but not that it is dead.
    #[test]
    fn a_copy_of_the_directory_follows_nobody() {
        let (temp, copy) = (tempfile::tempdir(), tempfile::tempdir());
        let (temp, copy) = (temp.expect("a directory"), copy.expect("a directory"));
        let file = |dir: &tempfile::TempDir| dir.path().join("daemons.json");
        let first = begin(&file(&temp), 1);
        fs::copy(file(&temp), file(&copy)).expect("copied");
        assert_eq!(begin(&file(&copy), 2).former, []);
        assert_eq!(begin(&file(&temp), 3).former, [first.daemon]);
    }

    #[test]
    fn a_broken_file_is_an_empty_one() {
        let temp = tempfile::tempdir().expect("a directory");
        let path = temp.path().join("daemons.json");
        fs::write(&path, "[\"x\", ").expect("written");
        assert_eq!(begin(&path, 1).former, []);
    }
}
