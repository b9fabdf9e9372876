//! What was noted of each codebase of this machine, apart from the list of them: so that a list that is lost, or a codebase that is
//! removed and added again, does not silently lose how its work is verified and which branches are protected.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cs_model::CodebaseId;

use super::Checkout;
use crate::disk;
use crate::failure::Failure;

/// The directory of the notes, beside the list.
pub(super) fn dir_beside(list: &Path) -> PathBuf {
    list.with_extension("kept")
}

/// Keeps what is noted of a codebase.
///
/// # Errors
/// It cannot be written.
pub(super) fn keep(dir: &Path, checkout: &Checkout) -> Result<(), Failure> {
    fs::create_dir_all(dir)
        .map_err(|error| Failure::failed(error, format!("{} cannot be made", dir.display())))?;
    let text = serde_json::to_vec_pretty(checkout)
        .map_err(|error| Failure::failed(error, "what is noted of a codebase cannot be kept"))?;
    disk::replace(&file_of(dir, checkout.codebase), &text)
}

/// What was noted of a codebase when it was last on this machine.
///
/// # Errors
/// The note cannot be read, or is not ours: what it said is not guessed.
pub(super) fn of(dir: &Path, codebase: CodebaseId) -> Result<Option<Checkout>, Failure> {
    read(&file_of(dir, codebase))
}

/// What was noted of the codebases that were the repository with this git directory.
///
/// # Errors
/// As [`of`].
pub(super) fn at(dir: &Path, common_dir: &Path) -> Result<Vec<Checkout>, Failure> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => {
            entries.map_err(|error| Failure::failed(error, format!("{} cannot be read", dir.display())))?
        }
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "json"));
    files.sort();
    let mut found = Vec::new();
    for file in files {
        found.extend(read(&file)?.filter(|kept| kept.common_dir == common_dir));
    }
    Ok(found)
}

fn read(file: &Path) -> Result<Option<Checkout>, Failure> {
    let Some(bytes) = disk::read_if_there(file)? else {
        return Ok(None);
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| {
        let file = file.display();
        Failure::failed(
            error,
            format!(
                "{file}, which holds what was set of a codebase, is not ours, expected its note as JSON; restore it, or remove it and set \
                 all of it again with `cs-panel codebase set`"
            ),
        )
    })
}

fn file_of(dir: &Path, codebase: CodebaseId) -> PathBuf {
    dir.join(format!("{codebase}.json"))
}
