//! The rules of what is ignored, taken from a commit: as one list for git, so that it need not read any file of a tree for them.
//!
//! An agent can put anything into the place of a `.gitignore`, also a pipe, on which git would wait for ever; and it can write rules
//! that hide its work.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use bstr::ByteSlice;

use crate::error::WorktreeError;
use crate::keys::Oid;
use crate::parse::{self, GITLINK};
use crate::path::RepoPath;
use crate::plain;
use crate::store::Store;

pub(crate) const IGNORE: &[u8] = b".gitignore";
pub(crate) const ATTRIBUTES: &[u8] = b".gitattributes";
/// A file of rules that is larger is not read, by git neither.
pub(crate) const RULES_MAX_BYTES: u64 = 1 << 20;

/// The ignore files of a commit, by their paths.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    files: BTreeMap<RepoPath, Vec<u8>>,
}

impl Rules {
    /// Reads the ignore files of a commit.
    pub(crate) async fn of(store: &Store, commit: &Oid) -> Result<Self, WorktreeError> {
        let list = store.call("ls-tree").args(["ls-tree", "-r", "-z"]);
        let out = store.git.ok(list.arg(commit.as_str())).await?;
        let entry = |field: &[u8]| {
            let at = field.find_byte(b'\t')?;
            let path = RepoPath::from_bytes(&field[at + 1..]);
            let words: Vec<&str> = field[..at].to_str().ok()?.split_whitespace().collect();
            let [mode, _, object] = words[..] else {
                return None;
            };
            let is_file = u32::from_str_radix(mode, 8).is_ok_and(|mode| mode != GITLINK && mode != SYMLINK);
            (name_of(&path) == IGNORE && is_file).then(|| (path, object.to_owned()))
        };
        let found: Vec<(RepoPath, String)> = parse::z_fields(&out).filter_map(entry).collect();
        if found.is_empty() {
            return Ok(Self::default());
        }
        let names: String = found.iter().map(|(_, object)| format!("{object}\n")).collect();
        let read = store.call("cat-file").args(["cat-file", "--batch"]);
        let out = store.git.ok(read.stdin(names)).await?;
        let mut rest = out.as_slice();
        let mut files = BTreeMap::new();
        for (path, _) in found {
            let Some(text) = parse::next_object(&mut rest) else {
                break;
            };
            if text.len() as u64 <= RULES_MAX_BYTES {
                files.insert(path, text.to_owned());
            }
        }
        Ok(Self { files })
    }

    /// Whether exactly these files, below a root, say the same.
    pub(crate) fn are_those_of(&self, root: &Path, ignore_files: &[RepoPath]) -> bool {
        let same = |path: &RepoPath| {
            let text = plain::read(&path.below(root), RULES_MAX_BYTES);
            self.files
                .get(path)
                .is_some_and(|known| text.is_ok_and(|text| text == *known))
        };
        self.files.len() == ignore_files.len() && ignore_files.iter().all(same)
    }

    /// All of them as one list for the root: of rules that match, the last one counts, as that of the deepest directory does.
    fn as_one_list(&self) -> Vec<u8> {
        let mut files: Vec<(&RepoPath, &Vec<u8>)> = self.files.iter().collect();
        files.sort_by_key(|(path, _)| path.parents().count());
        let mut list = Vec::new();
        for (path, text) in files {
            let Some(dir) = escaped_dir(path) else { continue };
            for line in text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).lines() {
                list.extend(rule_from_root(&dir, line));
            }
        }
        list
    }

    /// Writes them for `git ls-files`, and gives the arguments that make it take these rules, and those of the user, in the place of
    /// all others.
    pub(crate) fn write(&self, store: &Store, to: &Path) -> Result<Vec<OsString>, WorktreeError> {
        fs::write(to, self.as_one_list()).map_err(WorktreeError::io("write", to))?;
        let from = |file: PathBuf| {
            let mut arg = OsString::from("--exclude-from=");
            arg.push(file);
            arg
        };
        Ok(vec![from(store.git.excludes()), from(to.to_owned())])
    }
}

const SYMLINK: u32 = 0o120_000;

/// The last part of a path.
pub(crate) fn name_of(path: &RepoPath) -> &[u8] {
    let bytes = path.as_bytes();
    bytes.rfind_byte(b'/').map_or(bytes, |at| &bytes[at + 1..])
}

/// The directory of an ignore file as a pattern that means it and nothing else, with `/` at its end; empty for the root. No rule can
/// name a directory with a line break.
fn escaped_dir(path: &RepoPath) -> Option<Vec<u8>> {
    let bytes = path.as_bytes();
    let dir = &bytes[..bytes.len() - name_of(path).len()];
    if dir.contains(&b'\n') || dir.contains(&b'\r') {
        return None;
    }
    let mut escaped = Vec::new();
    for byte in dir {
        if matches!(byte, b'\\' | b'*' | b'?' | b'[') {
            escaped.push(b'\\');
        }
        escaped.push(*byte);
    }
    Some(escaped)
}

/// A line of the ignore file of a directory as a rule from the root, with its line break; nothing where it is no rule.
fn rule_from_root(dir: &[u8], line: &[u8]) -> Vec<u8> {
    let (negation, pattern) = match line.strip_prefix(b"!") {
        Some(pattern) => (b"!".as_slice(), pattern),
        None => (b"".as_slice(), line),
    };
    if pattern.trim_ascii().is_empty() || line.starts_with(b"#") {
        return Vec::new();
    }
    if dir.is_empty() {
        return [line, b"\n"].concat();
    }
    let body = pattern.trim_ascii_end();
    let body = body.strip_suffix(b"/").unwrap_or(body);
    let is_anchored = body.contains(&b'/');
    let below: &[u8] = if is_anchored { b"" } else { b"**/" };
    let pattern = pattern.strip_prefix(b"/").unwrap_or(pattern);
    [negation, b"/", dir, below, pattern, b"\n"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_of_a_directory_means_the_same_from_the_root() {
        let cases = [
            ("", "*.o", "*.o\n"),
            ("", "!/keep/", "!/keep/\n"),
            ("", "# said", ""),
            ("a/", "", ""),
            ("a/", "  ", ""),
            ("a/", "*.o", "/a/**/*.o\n"),
            ("a/", "!*.o", "!/a/**/*.o\n"),
            ("a/", "build/", "/a/**/build/\n"),
            ("a/", "/build/", "/a/build/\n"),
            ("a/", "b/c", "/a/b/c\n"),
            ("a/", "!/b/c", "!/a/b/c\n"),
            ("a/", "\\#x", "/a/**/\\#x\n"),
        ];
        for (dir, line, expected) in cases {
            let found = rule_from_root(dir.as_bytes(), line.as_bytes());
            assert_eq!(String::from_utf8(found).unwrap(), expected, "{dir} {line}");
        }
    }

    #[test]
    fn the_rules_of_a_deeper_directory_come_later_and_its_name_is_no_pattern() {
        let files = [
            ("z[1]/deep/.gitignore", "!*.o\n"),
            ("z[1]/.gitignore", "*.o\r\n"),
            (".gitignore", "x\n"),
        ];
        let files = files.map(|(path, text)| (RepoPath::from_bytes(path), text.into()));
        let rules = Rules { files: files.into() };
        let list = String::from_utf8(rules.as_one_list()).unwrap();
        assert_eq!(list, "x\n/z\\[1]/**/*.o\n!/z\\[1]/deep/**/*.o\n");
    }
}
