//! Files that a person keeps out of git and every tree needs: `.env`, installed packages, caches. They are named by patterns
//! as in `.gitignore`, and copied from the user's working tree: by reference where the file system can.
//!
//! Only files that git ignores come along: anything else would look like the agent's work. No link is followed out of the
//! user's tree or into another place from the card's, and what the tree has already stays as it is.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Worktrees;
use crate::error::WorktreeError;
use crate::parse;
use crate::path::RepoPath;
use crate::plain;
use crate::repository::Repository;
use crate::runner::{Call, World};
use crate::tree::Tree;
use crate::walk;

/// Files that are brought along, at most.
const FILES_MAX: usize = 200_000;
/// Files that are named one by one when they are left.
const LEFT_NAMED: usize = 100;
/// Parts of a path, at most.
const DEPTH_MAX: usize = 256;

/// What came along.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BroughtAlong {
    /// Files and links that were made.
    pub made: usize,
    /// How many of them share their blocks with the original.
    pub shared: usize,
    /// Files that the tree had already.
    pub there: usize,
    /// Files that were left, the first hundred, and why.
    pub left: Vec<(RepoPath, LeftBehind)>,
    /// How many were left in all.
    pub left_count: usize,
}

/// Why a file did not come along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftBehind {
    /// Git does not ignore it: in the tree it would look like the agent's work. Add it to `.gitignore`, or commit it.
    NotIgnored,
    /// It is a link that leads out of the repository.
    LeadsOut,
    /// It is a repository of its own, a pipe, a socket or a device.
    NotAFile,
    /// The tree has a link, or a file, where its directory would be.
    InTheWay,
    /// It cannot be read or written.
    Unreadable,
    /// There are too many.
    TooMany,
}

impl LeftBehind {
    /// Says it to a person.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::NotIgnored => "git does not ignore it; add it to .gitignore, or commit it",
            Self::LeadsOut => "it is a link that leads out of the repository",
            Self::NotAFile => "it is no plain file",
            Self::InTheWay => "something else is in its place in the tree",
            Self::Unreadable => "it cannot be copied",
            Self::TooMany => "there are too many files",
        }
    }
}

impl Worktrees {
    /// Copies the user's ignored files that match the patterns into a tree. Idempotent: what is there stays.
    ///
    /// The caller has proof that nothing runs in the tree. Waits for no lock: nothing of git is written.
    ///
    /// # Errors
    /// Git failed. A file that cannot come along is no error: it is named in the result.
    pub async fn bring_along(
        &self,
        repository: &Repository,
        tree: &Tree,
        patterns: &[String],
    ) -> Result<BroughtAlong, WorktreeError> {
        self.bring_into(repository, &tree.path, patterns).await
    }

    /// The same, into a directory that is no card's tree.
    pub(crate) async fn bring_into(
        &self,
        repository: &Repository,
        to: &Path,
        patterns: &[String],
    ) -> Result<BroughtAlong, WorktreeError> {
        if patterns.is_empty() {
            return Ok(BroughtAlong::default());
        }
        let matching = self.untracked(repository, patterns).await?;
        let ignored = self.ignored_of(repository, &matching).await?;
        let (from, to) = (repository.toplevel.clone(), to.to_owned());
        walk::in_background(to.clone(), move || {
            let mut along = Along {
                from,
                to,
                done: BroughtAlong::default(),
            };
            for (at, path) in matching.into_iter().enumerate() {
                if at >= FILES_MAX {
                    along.leave(path, LeftBehind::TooMany);
                } else if !ignored.contains(&path) {
                    along.leave(path, LeftBehind::NotIgnored);
                } else {
                    along.bring(path);
                }
            }
            Ok(along.done)
        })
        .await
    }

    /// The user's untracked files that match. Git descends into no link and no other repository.
    async fn untracked(
        &self,
        repository: &Repository,
        patterns: &[String],
    ) -> Result<Vec<RepoPath>, WorktreeError> {
        let list = Call::new(World::User, "ls-files")
            .cwd(&repository.toplevel)
            .reads_only();
        let mut list = list.args(["ls-files", "-z", "--others", "--ignored"]);
        for pattern in patterns {
            list = list.arg(format!("--exclude={pattern}"));
        }
        let mut paths = parse::z_paths(&self.git().ok(list).await?);
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    async fn ignored_of(
        &self,
        repository: &Repository,
        paths: &[RepoPath],
    ) -> Result<BTreeSet<RepoPath>, WorktreeError> {
        let mut names = Vec::new();
        for path in paths {
            names.extend_from_slice(b"./");
            names.extend_from_slice(path.as_bytes());
            names.push(0);
        }
        if names.is_empty() {
            return Ok(BTreeSet::new());
        }
        let ask = Call::new(World::User, "check-ignore")
            .cwd(&repository.toplevel)
            .dotted_paths()
            .reads_only();
        // Its exit code only says whether there is one.
        let answer = self
            .git()
            .run(ask.args(["check-ignore", "-z", "--stdin"]).stdin(names))
            .await?;
        let plain = |path: RepoPath| {
            let bytes = path.as_bytes();
            RepoPath::from_bytes(bytes.strip_prefix(b"./").unwrap_or(bytes))
        };
        Ok(parse::z_paths(&answer.stdout).into_iter().map(plain).collect())
    }
}

struct Along {
    from: PathBuf,
    to: PathBuf,
    done: BroughtAlong,
}

/// How a file came to be in the tree.
enum Made {
    Shared,
    Copied,
    There,
}

impl Along {
    fn leave(&mut self, path: RepoPath, why: LeftBehind) {
        self.done.left_count += 1;
        if self.done.left.len() < LEFT_NAMED {
            self.done.left.push((path, why));
        }
    }

    fn bring(&mut self, path: RepoPath) {
        match self.make(&path) {
            Ok(Made::There) => self.done.there += 1,
            Ok(Made::Shared) => {
                self.done.made += 1;
                self.done.shared += 1;
            }
            Ok(Made::Copied) => self.done.made += 1,
            Err(why) => self.leave(path, why),
        }
    }

    fn make(&self, path: &RepoPath) -> Result<Made, LeftBehind> {
        let (source, target) = (path.below(&self.from), path.below(&self.to));
        let meta = source.symlink_metadata().map_err(|_| LeftBehind::Unreadable)?;
        if path.as_bytes().ends_with(b"/") || !(meta.is_file() || meta.is_symlink()) {
            return Err(LeftBehind::NotAFile);
        }
        self.make_directories(path)?;
        if target.symlink_metadata().is_ok() {
            return Ok(Made::There);
        }
        if meta.is_symlink() {
            let points = fs::read_link(&source).map_err(|_| LeftBehind::Unreadable)?;
            if !stays_inside(path, &points) {
                return Err(LeftBehind::LeadsOut);
            }
            std::os::unix::fs::symlink(points, &target).map_err(|_| LeftBehind::Unreadable)?;
            return Ok(Made::Copied);
        }
        copy(&source, &target).map_err(|_| LeftBehind::Unreadable)
    }

    /// Makes the directories above a file, and refuses to go through a link.
    fn make_directories(&self, path: &RepoPath) -> Result<(), LeftBehind> {
        let mut above: Vec<RepoPath> = path.parents().take(DEPTH_MAX).collect();
        above.reverse();
        for dir in above {
            let dir = dir.below(&self.to);
            match dir.symlink_metadata() {
                Ok(meta) if meta.is_dir() => {}
                Ok(_) => return Err(LeftBehind::InTheWay),
                Err(_) => fs::create_dir(&dir).map_err(|_| LeftBehind::Unreadable)?,
            }
        }
        Ok(())
    }
}

/// Whether a link at `path` stays inside the root by its own words: relative, and never above the root.
fn stays_inside(path: &RepoPath, points: &Path) -> bool {
    let mut depth = path.parents().count();
    for part in points.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

/// Copies a file under a name of its own first, so that a crash leaves no half one under the right name.
fn copy(source: &Path, target: &Path) -> io::Result<Made> {
    let dir = target.parent().unwrap_or(Path::new("/"));
    let half = tempfile::Builder::new().prefix(".along-").tempfile_in(dir)?;
    let from = plain::open_itself(source)?;
    let shared = share(&from, half.as_file());
    if !shared {
        io::copy(&mut &from, &mut half.as_file())?;
    }
    half.as_file().set_permissions(from.metadata()?.permissions())?;
    half.persist_noclobber(target).map_err(|error| error.error)?;
    Ok(if shared { Made::Shared } else { Made::Copied })
}

#[cfg(target_os = "linux")]
fn share(from: &File, to: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn share(_from: &File, _to: &File) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_stays_inside_or_is_left() {
        let path = RepoPath::from_bytes(*b"a/b/link");
        for (points, stays) in [
            ("file", true),
            ("../../file", true),
            ("./x/../../y", true),
            ("../../../file", false),
            ("/etc/passwd", false),
            ("../../x/../../y", false),
        ] {
            assert_eq!(stays_inside(&path, Path::new(points)), stays, "{points}");
        }
    }
}
