//! The attachments of a card as files that its agents can read: in a directory of the card, beside all trees.
//!
//! They are laid out anew before each start, as the record has them then: what is missing or different is written, what was taken away
//! goes. An agent is never started with a part of them (OW-7).

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use cs_journal::ClaimedRun;
use cs_model::{CardId, FailureClass};
use cs_record::{Attachment, Content, ContentHash, ErrorClass, RecordError, RunBrief};
use cs_worktree::plain;

use super::unready::Unready;
use crate::context::Context;
use crate::state::StateDir;

/// A file that only its reader may read; a directory of those.
const FILE_MODE: u32 = 0o400;
const SEALED_MODE: u32 = 0o500;
const OPEN_MODE: u32 = 0o700;

/// Lays the attachments of a card out, and returns their directory; nothing when there are none.
pub(super) async fn lay_out(
    cx: &Context,
    row: &ClaimedRun,
    brief: &RunBrief,
) -> Result<Option<PathBuf>, Unready> {
    let dir = cx.state.attachments_of(row.card);
    let on_disk = |error: &io::Error| {
        tracing::warn!(run = %row.run, epoch = %row.epoch, %error, "no attachments for the run");
        Unready::new(
            FailureClass::Infrastructure,
            "the files that are attached to its card cannot be written".to_owned(),
        )
    };
    if brief.attachments.is_empty() {
        if !is_any(&dir) {
            return Ok(None);
        }
        let gone = dir.clone();
        return apart(move || remove(&gone))
            .await
            .map_err(|error| on_disk(&error))
            .map(|()| None);
    }
    let (place, wanted) = (dir.clone(), brief.attachments.clone());
    let missing = apart(move || tidy(&place, &wanted))
        .await
        .map_err(|error| on_disk(&error))?;
    for attachment in missing {
        let content = cx.deps.record.reads.attached(attachment.id).await;
        let content = content.map_err(|error| unread(row, &attachment, &error))?;
        let place = dir.clone();
        let written = apart(move || write(&place, &attachment.name, &content)).await;
        written.map_err(|error| on_disk(&error))?;
    }
    let sealed = dir.clone();
    let sealed = apart(move || set_mode(&sealed, SEALED_MODE)).await;
    sealed.map_err(|error| on_disk(&error))?;
    Ok(Some(dir))
}

fn unread(row: &ClaimedRun, attachment: &Attachment, error: &RecordError) -> Unready {
    tracing::warn!(run = %row.run, epoch = %row.epoch, error = error as &dyn std::error::Error, "an attachment cannot be read");
    match error.class() {
        // It was taken away since, or the record is away: the next attempt reads anew what there is.
        ErrorClass::NotFound | ErrorClass::Transient | ErrorClass::Conflict => Unready::new(
            FailureClass::Infrastructure,
            "the files that are attached to its card cannot be read from the record now".to_owned(),
        ),
        ErrorClass::Corrupt | ErrorClass::Invalid => Unready::new(
            FailureClass::InvalidRequest,
            format!(
                "its attachment {} is not on the record as it was attached: take it away with `cs-panel attachments rm`, attach it again, \
                 then `cs-panel retry`",
                attachment.name
            ),
        ),
    }
}

/// What waits for a disk waits apart.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(io::Error::other)?
}

/// Takes away what is not wanted, and returns what is missing or different.
fn tidy(dir: &Path, wanted: &[Attachment]) -> io::Result<Vec<Attachment>> {
    if !fs::symlink_metadata(dir).is_ok_and(|found| found.is_dir()) {
        take_away(dir)?;
        DirBuilder::new().recursive(true).mode(OPEN_MODE).create(dir)?;
    }
    set_mode(dir, OPEN_MODE)?;
    let mut there = BTreeSet::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let known = wanted.iter().find(|one| Some(one.name.as_str()) == name);
        match known {
            Some(known) if is_whole(&path, known) => {
                set_mode(&path, FILE_MODE)?;
                there.insert(known.id);
            }
            Some(_) | None => take_away(&path)?,
        }
    }
    Ok(wanted
        .iter()
        .filter(|one| !there.contains(&one.id))
        .cloned()
        .collect())
}

/// Whether a file holds what was attached. One that cannot be read does not.
fn is_whole(path: &Path, attachment: &Attachment) -> bool {
    let read = plain::open_itself(path).and_then(|file| {
        let mut bytes = Vec::new();
        file.take(attachment.size_bytes + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    });
    read.is_ok_and(|bytes| {
        bytes.len() as u64 == attachment.size_bytes && ContentHash::of(&bytes) == attachment.sha256
    })
}

/// Writes a file whole or not at all.
fn write(dir: &Path, name: &str, content: &Content) -> io::Result<()> {
    let fresh = dir.with_extension("new");
    take_away(&fresh)?;
    let mut file = OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(&fresh)?;
    file.write_all(content.bytes())?;
    file.sync_all()?;
    set_mode(&fresh, FILE_MODE)?;
    fs::rename(&fresh, dir.join(name))
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Removes whatever is at a place; no link is followed.
fn take_away(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if !found.is_dir() {
        return fs::remove_file(path);
    }
    set_mode(path, OPEN_MODE)?;
    fs::remove_dir_all(path)
}

/// Whether anything is there of the files of a card.
fn is_any(dir: &Path) -> bool {
    [dir, &dir.with_extension("new")]
        .iter()
        .any(|path| fs::symlink_metadata(path).is_ok())
}

/// Removes the files of a card, if it has any.
fn remove(dir: &Path) -> io::Result<()> {
    take_away(&dir.with_extension("new"))?;
    take_away(dir)
}

/// Removes the files of cards that are over. A card that opens again gets them anew.
pub(crate) async fn sweep(state: &StateDir, over: BTreeSet<CardId>) -> io::Result<()> {
    // Nothing is begun apart for a machine that has none.
    let over: Vec<PathBuf> = over.iter().map(|card| state.attachments_of(*card)).collect();
    let over: Vec<PathBuf> = over.into_iter().filter(|dir| is_any(dir)).collect();
    if over.is_empty() {
        return Ok(());
    }
    apart(move || over.iter().try_for_each(|dir| remove(dir))).await
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use cs_model::{AttachmentId, Time};

    use super::*;

    fn attachment(number: u8, name: &str, content: &[u8]) -> Attachment {
        let id = format!("0197f3c2-7f4e-7a31-9c55-3d1f4f2a9c{number:02x}");
        Attachment {
            id: id.parse::<AttachmentId>().expect("an id"),
            card: id.parse().expect("an id"),
            name: name.to_owned(),
            media_type: "text/plain".to_owned(),
            size_bytes: content.len() as u64,
            sha256: ContentHash::of(content),
            by: "Ada".parse().expect("a name"),
            at: Time::from_unix_micros(0),
        }
    }

    fn names(missing: &[Attachment]) -> Vec<&str> {
        missing.iter().map(|one| one.name.as_str()).collect()
    }

    #[test]
    fn what_is_missing_or_different_is_written_anew_and_what_is_not_wanted_goes() {
        let temp = tempfile::tempdir().expect("a directory");
        let dir = temp.path().join("attachments/card");
        let outside = temp.path().join("outside");
        fs::write(&outside, "mine").expect("written");
        let wanted = [
            attachment(1, "kept", b"kept"),
            attachment(2, "changed", b"as it was"),
            attachment(3, "a link", b"mine"),
            attachment(4, "a folder", b""),
        ];
        assert_eq!(names(&tidy(&dir, &wanted).expect("tidied")).len(), 4);
        for (one, content) in wanted.iter().zip(["kept", "as it was", "mine", ""]) {
            write(&dir, &one.name, &Content::from(content.as_bytes().to_vec())).expect("written");
        }
        set_mode(&dir, SEALED_MODE).expect("sealed");
        assert_eq!(
            names(&tidy(&dir, &wanted).expect("tidied")),
            [""; 0],
            "all are there"
        );

        take_away(&dir.join("changed")).expect("gone");
        fs::write(dir.join("changed"), "otherwise").expect("written");
        take_away(&dir.join("a link")).expect("gone");
        symlink(&outside, dir.join("a link")).expect("made");
        take_away(&dir.join("a folder")).expect("gone");
        fs::create_dir_all(dir.join("a folder/deep")).expect("made");
        fs::write(dir.join("of nobody"), "x").expect("written");
        let missing = tidy(&dir, &wanted).expect("tidied");
        assert_eq!(names(&missing), ["changed", "a link", "a folder"]);
        let left: Vec<_> = fs::read_dir(&dir).expect("there").collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(fs::read_to_string(&outside).expect("there"), "mine");
        let mode = fs::metadata(dir.join("kept"))
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, FILE_MODE);
        remove(&dir).expect("removed");
        remove(&dir).expect("there is nothing to remove");
        assert!(!dir.exists());
    }

    #[test]
    fn something_else_in_the_place_of_the_directory_goes() {
        let temp = tempfile::tempdir().expect("a directory");
        let (dir, elsewhere) = (temp.path().join("card"), temp.path().join("elsewhere"));
        fs::create_dir(&elsewhere).expect("made");
        fs::write(elsewhere.join("mine"), "mine").expect("written");
        symlink(&elsewhere, &dir).expect("made");
        tidy(&dir, &[attachment(1, "a", b"a")]).expect("tidied");
        assert!(fs::symlink_metadata(&dir).expect("there").is_dir());
        assert!(elsewhere.join("mine").exists());
    }
}
