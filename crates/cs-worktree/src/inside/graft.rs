//! The files of a repository inside a tree, as entries of the index around it.

use crate::error::WorktreeError;
use crate::parse;
use crate::path::RepoPath;
use crate::status::Look;
use crate::store::Store;

/// What is put into the temporary index of an enclosing repository.
#[derive(Debug, Default)]
pub(crate) struct Graft {
    below: RepoPath,
    /// Entries as `update-index --index-info` takes them, with paths from the enclosing root.
    lines: Vec<u8>,
}

impl Graft {
    /// The temporary index of a repository as entries of the enclosing one.
    pub(super) async fn of(store: &Store, look: &Look, path: &RepoPath) -> Result<Self, WorktreeError> {
        let list = look.call(store, "ls-files").args(["ls-files", "-s", "-z"]);
        let out = store.git.ok(list).await?;
        let mut lines = Vec::new();
        for entry in parse::z_fields(&out) {
            let Some(at) = entry.iter().position(|byte| *byte == b'\t') else {
                continue;
            };
            lines.extend_from_slice(&entry[..=at]);
            lines.extend_from_slice(path.as_bytes());
            lines.push(b'/');
            lines.extend_from_slice(&entry[at + 1..]);
            lines.push(0);
        }
        Ok(Self {
            below: path.clone(),
            lines,
        })
    }

    /// The same with paths from the root of an enclosing repository.
    pub(super) fn seen_from(self, outer: &RepoPath) -> Self {
        let strip = outer.as_bytes().len() + 1;
        let mut lines = Vec::new();
        for entry in parse::z_fields(&self.lines) {
            if let Some(at) = entry.iter().position(|byte| *byte == b'\t') {
                lines.extend_from_slice(&entry[..=at]);
                lines.extend_from_slice(entry.get(at + 1 + strip..).unwrap_or_default());
                lines.push(0);
            }
        }
        let below = self.below.relative_to(outer).unwrap_or(self.below);
        Self { below, lines }
    }

    /// Puts it into the temporary index of a look, in the place of whatever that has there.
    pub(crate) async fn put_into(&self, store: &Store, look: &Look) -> Result<(), WorktreeError> {
        let list = look.call(store, "ls-files").args(["ls-files", "-z", "--"]);
        let there = store.git.ok(list.arg(self.below.to_os_str())).await?;
        let mut input = Vec::new();
        for path in parse::z_paths(&there) {
            input.extend(format!("0 {}\t", look.parent.zero_like()).into_bytes());
            input.extend_from_slice(path.as_bytes());
            input.push(0);
        }
        input.extend_from_slice(&self.lines);
        if input.is_empty() {
            return Ok(());
        }
        let update = look
            .call(store, "update-index")
            .args(["update-index", "-z", "--index-info"]);
        store.git.ok(update.stdin(input)).await?;
        Ok(())
    }
}
