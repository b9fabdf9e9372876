//! Parsers of what git prints, one per command. All of them read `-z` output and keep paths as bytes.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use bstr::ByteSlice;

use crate::error::GitError;
use crate::keys::Oid;
use crate::path::RepoPath;

/// The fields of NUL-terminated output.
pub(crate) fn z_fields(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes
        .strip_suffix(b"\0")
        .unwrap_or(bytes)
        .split_str("\0")
        .filter(|f| !f.is_empty())
}

pub(crate) fn z_paths(bytes: &[u8]) -> Vec<RepoPath> {
    z_fields(bytes).map(RepoPath::from_bytes).collect()
}

pub(crate) fn to_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// One line of output, without its line feed, as a path.
pub(crate) fn line_path(bytes: &[u8]) -> PathBuf {
    to_path(bytes.strip_suffix(b"\n").unwrap_or(bytes))
}

/// One line of output as an object name.
pub(crate) fn oid(op: &'static str, bytes: &[u8]) -> Result<Oid, GitError> {
    let text = bytes.trim_ascii().to_str_lossy().into_owned();
    Oid::new(text).map_err(|_| GitError::Unreadable {
        op,
        what: "an object name was expected",
    })
}

/// `git version 2.39.5 (Apple Git-154)` as `(2, 39)`.
pub(crate) fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text
        .strip_prefix("git version ")?
        .split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// `config --null --get-regexp` as `key=value`.
pub(crate) fn config_settings(bytes: &[u8]) -> Vec<OsString> {
    let setting = |field: &[u8]| OsStr::from_bytes(&field.replacen("\n", "=", 1)).to_owned();
    z_fields(bytes).map(setting).collect()
}

/// One working tree of a repository, from `worktree list --porcelain -z`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedWorktree {
    pub(crate) path: PathBuf,
    /// The full name of the checked-out branch; `None` when detached or bare.
    pub(crate) branch: Option<String>,
}

pub(crate) fn worktree_list(bytes: &[u8]) -> Vec<ListedWorktree> {
    let mut list: Vec<ListedWorktree> = Vec::new();
    for field in z_fields(bytes) {
        if let Some(path) = field.strip_prefix(b"worktree ") {
            list.push(ListedWorktree {
                path: to_path(path),
                branch: None,
            });
        } else if let (Some(branch), Some(last)) = (field.strip_prefix(b"branch "), list.last_mut()) {
            last.branch = branch.to_str().ok().map(str::to_owned);
        }
    }
    list
}

/// One changed path from a raw diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawChange {
    pub(crate) old_mode: u32,
    pub(crate) new_mode: u32,
    pub(crate) old: String,
    pub(crate) new: String,
    pub(crate) path: RepoPath,
}

/// The mode of a submodule entry.
pub(crate) const GITLINK: u32 = 0o160_000;

impl RawChange {
    pub(crate) fn is_added(&self) -> bool {
        self.old_mode == 0
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.new_mode == 0
    }
}

/// `diff-tree`, `diff-index` or `diff-files` with `--raw -z --no-renames`.
pub(crate) fn raw_diff(op: &'static str, bytes: &[u8]) -> Result<Vec<RawChange>, GitError> {
    let unreadable = || GitError::Unreadable {
        op,
        what: "a raw diff was expected",
    };
    let mut fields = z_fields(bytes);
    let mut changes = Vec::new();
    while let Some(head) = fields.next() {
        let head = head.to_str().map_err(|_| unreadable())?;
        let mut parts = head.trim_start_matches(':').split(' ');
        let mut next = || parts.next().ok_or_else(unreadable);
        let old_mode = u32::from_str_radix(next()?, 8).map_err(|_| unreadable())?;
        let new_mode = u32::from_str_radix(next()?, 8).map_err(|_| unreadable())?;
        let old = next()?.to_owned();
        let new = next()?.to_owned();
        let path = RepoPath::from_bytes(fields.next().ok_or_else(unreadable)?);
        changes.push(RawChange {
            old_mode,
            new_mode,
            old,
            new,
            path,
        });
    }
    Ok(changes)
}

/// The outcome of `merge-tree --write-tree -z --messages`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MergeTree {
    pub(crate) tree: Oid,
    pub(crate) conflicted: Vec<RepoPath>,
    pub(crate) messages: Vec<String>,
}

pub(crate) fn merge_tree(bytes: &[u8]) -> Result<MergeTree, GitError> {
    let unreadable = || GitError::Unreadable {
        op: "merge-tree",
        what: "a merged tree was expected",
    };
    let mut fields = bytes.split_str("\0");
    let tree = oid("merge-tree", fields.next().ok_or_else(unreadable)?)?;
    let mut conflicted = Vec::new();
    for field in fields.by_ref() {
        // An empty field ends the section of the conflicted files.
        if field.is_empty() {
            break;
        }
        let at = field.find_byte(b'\t').ok_or_else(unreadable)?;
        let path = RepoPath::from_bytes(&field[at + 1..]);
        if conflicted.last() != Some(&path) {
            conflicted.push(path);
        }
    }
    let mut messages = Vec::new();
    // Each message: the number of its paths, the paths, a short type, the text.
    while let Some(count) = fields.next().filter(|c| !c.is_empty()) {
        let count: usize = count
            .to_str()
            .ok()
            .and_then(|c| c.parse().ok())
            .ok_or_else(unreadable)?;
        let mut rest = fields.by_ref().skip(count.saturating_add(1));
        messages.push(
            rest.next()
                .ok_or_else(unreadable)?
                .to_str_lossy()
                .trim()
                .to_owned(),
        );
    }
    Ok(MergeTree {
        tree,
        conflicted,
        messages,
    })
}

/// `for-each-ref --format=%(objectname) %(refname)`; a name that is not UTF-8 is left out.
pub(crate) fn refs(bytes: &[u8]) -> BTreeMap<String, Oid> {
    let line = |line: &[u8]| {
        let (oid, name) = line.to_str().ok()?.split_once(' ')?;
        Some((name.to_owned(), Oid::new(oid).ok()?))
    };
    bytes.lines().filter_map(line).collect()
}

/// Cuts one answer of `cat-file --batch` off; `None` when there is none, or the object is missing.
pub(crate) fn next_object<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.find_byte(b'\n')?;
    let size = rest[..end].rsplit(|byte| *byte == b' ').next()?;
    let size: usize = size.to_str().ok()?.parse().ok()?;
    let body = rest.get(end + 1..end + 1 + size)?;
    *rest = rest.get(end + 2 + size..)?;
    Some(body)
}

/// One entry of `ls-files -v -z`: its tag and its path.
pub(crate) fn tagged_files(bytes: &[u8]) -> impl Iterator<Item = (u8, RepoPath)> {
    z_fields(bytes)
        .filter(|f| f.len() > 2)
        .map(|f| (f[0], RepoPath::from_bytes(&f[2..])))
}

/// One entry of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    /// The letter that says what is noted about it.
    pub(crate) tag: u8,
    pub(crate) mode: u32,
    pub(crate) object: String,
    /// Not zero for a side of a conflict.
    pub(crate) stage: u8,
    pub(crate) path: RepoPath,
}

/// The entries of `ls-files -v -s -z`.
pub(crate) fn index_entries(bytes: &[u8]) -> Result<Vec<IndexEntry>, GitError> {
    let entry = |field: &[u8]| {
        let at = field.find_byte(b'\t')?;
        let mut parts = field[..at].to_str().ok()?.split(' ');
        Some(IndexEntry {
            tag: *parts.next()?.as_bytes().first()?,
            mode: u32::from_str_radix(parts.next()?, 8).ok()?,
            object: parts.next()?.to_owned(),
            stage: parts.next()?.parse().ok()?,
            path: RepoPath::from_bytes(&field[at + 1..]),
        })
    };
    let entries = z_fields(bytes).map(entry).collect::<Option<_>>();
    entries.ok_or(GitError::Unreadable {
        op: "ls-files",
        what: "the entries of an index were expected",
    })
}

/// The paths of `status --porcelain=v2 -z --no-renames` that are tracked and changed, staged or not.
pub(crate) fn status_tracked(bytes: &[u8]) -> Result<Vec<RepoPath>, GitError> {
    let unreadable = || GitError::Unreadable {
        op: "status",
        what: "a status entry was expected",
    };
    let mut paths = Vec::new();
    for field in z_fields(bytes) {
        // `1 XY sub mH mI mW hH hI path`; `u XY sub m1 m2 m3 mW h1 h2 h3 path`; `? path`; `! path`.
        let skip = match field[0] {
            b'1' => 8,
            b'u' => 10,
            b'?' | b'!' | b'#' => continue,
            _ => return Err(unreadable()),
        };
        let path = field.splitn_str(skip + 1, " ").nth(skip).ok_or_else(unreadable)?;
        paths.push(RepoPath::from_bytes(path));
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    #[test]
    fn versions_of_all_makes_are_read() {
        assert_eq!(version("git version 2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert_eq!(version("git version 2.47.3"), Some((2, 47)));
        assert_eq!(version("git version 3.0-rc1"), Some((3, 0)));
        assert_eq!(version("hub version 2.1"), None);
    }

    #[test]
    fn a_worktree_list_keeps_odd_paths_and_detached_trees() {
        let text = format!(
            "worktree /r/a b\nc\0HEAD {A}\0branch refs/heads/main\0\0worktree /r/d\0HEAD {B}\0detached\0\0"
        );
        let list = worktree_list(text.as_bytes());
        assert_eq!(list.len(), 2);
        assert_eq!(list[0].path, PathBuf::from("/r/a b\nc"));
        assert_eq!(list[0].branch.as_deref(), Some("refs/heads/main"));
        assert_eq!(list[1].branch, None);
    }

    #[test]
    fn a_raw_diff_keeps_bytes_that_are_not_text() {
        let mut text = format!(":000000 100644 {A} {B} A\0").into_bytes();
        text.extend(b"-\xff\nx\0");
        let changes = raw_diff("diff-tree", &text).unwrap();
        assert_eq!(changes[0].path.as_bytes(), b"-\xff\nx");
        assert!(changes[0].is_added() && !changes[0].is_deleted());
        assert!(raw_diff("diff-tree", b"nonsense\0").is_err());
    }

    #[test]
    fn a_conflict_gives_its_files_and_messages() {
        let text = format!(
            "{A}\0100644 {A} 1\tf\0100644 {B} 2\tf\0\x001\0f\0Auto-merging\0Auto-merging f\n\x001\0f\0CONFLICT (contents)\0CONFLICT (content): Merge conflict in f\n\0"
        );
        let merge = merge_tree(text.as_bytes()).unwrap();
        assert_eq!(merge.conflicted, vec![RepoPath::from_bytes(*b"f")]);
        assert_eq!(merge.messages.len(), 2);
        assert!(merge.messages[1].starts_with("CONFLICT"));
    }

    #[test]
    fn a_clean_merge_without_messages_is_read() {
        let merge = merge_tree(format!("{A}\0").as_bytes()).unwrap();
        assert!(merge.conflicted.is_empty() && merge.messages.is_empty());
    }

    #[test]
    fn a_status_entry_with_spaces_in_its_path_is_read_whole() {
        let text = format!("1 .M N... 100644 100644 100644 {A} {A} a b  c\0? new file\0");
        let paths = status_tracked(text.as_bytes()).unwrap();
        assert_eq!(paths, vec![RepoPath::from_bytes(*b"a b  c")]);
    }
}
