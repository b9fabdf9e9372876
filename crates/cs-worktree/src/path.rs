//! Paths inside a repository: bytes, in any encoding, printed and stored without loss.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A path relative to the root of a working tree, as git stores it: bytes separated by `/`.
///
/// As text and in JSON, a backslash, a control character and a byte that is not UTF-8 are written as `\xHH`;
/// everything else stands for itself, so that the text is readable and reads back to the same bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepoPath(Vec<u8>);

impl RepoPath {
    /// Takes the bytes as git or the file system gave them.
    #[must_use]
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Where the path is below `root`.
    #[must_use]
    pub fn below(&self, root: &Path) -> PathBuf {
        root.join(OsStr::from_bytes(&self.0))
    }

    /// Whether this path is `other` or lies inside it.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        let dir = other.0.strip_suffix(b"/").unwrap_or(&other.0);
        self.0
            .strip_prefix(dir)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }

    /// This path from the directory `dir` on; `None` when it is not inside it.
    pub(crate) fn relative_to(&self, dir: &Self) -> Option<Self> {
        let rest = self.0.strip_prefix(dir.0.as_slice())?.strip_prefix(b"/")?;
        (!rest.is_empty()).then(|| Self(rest.to_vec()))
    }

    /// This path inside the directory `dir`.
    pub(crate) fn inside(&self, dir: &Self) -> Self {
        Self([dir.0.as_slice(), b"/", &self.0].concat())
    }

    /// The path as an argument of a program.
    pub(crate) fn to_os_str(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }

    /// The directories above this path, nearest first.
    pub(crate) fn parents(&self) -> impl Iterator<Item = Self> + '_ {
        let slashes = self.0.iter().enumerate().rev().filter(|(_, b)| **b == b'/');
        slashes.map(|(at, _)| Self(self.0[..at].to_vec()))
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                if c == '\\' || c.is_control() {
                    let mut buffer = [0; 4];
                    for byte in c.encode_utf8(&mut buffer).bytes() {
                        write!(f, "\\x{byte:02x}")?;
                    }
                } else {
                    write!(f, "{c}")?;
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

impl From<RepoPath> for String {
    fn from(path: RepoPath) -> String {
        path.to_string()
    }
}

/// A stored path with a broken `\xHH`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a stored path has a backslash without two hexadecimal digits after it")]
pub struct InvalidPath;

impl TryFrom<String> for RepoPath {
    type Error = InvalidPath;

    fn try_from(text: String) -> Result<Self, InvalidPath> {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let Some((first, tail)) = rest.split_first() {
            if *first != b'\\' {
                bytes.push(*first);
                rest = tail;
                continue;
            }
            let digits = tail
                .strip_prefix(b"x")
                .and_then(|t| t.get(..2))
                .ok_or(InvalidPath)?;
            let digits = std::str::from_utf8(digits).map_err(|_| InvalidPath)?;
            bytes.push(u8::from_str_radix(digits, 16).map_err(|_| InvalidPath)?);
            rest = &tail[3..];
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_survive_the_text_form(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let path = RepoPath::from_bytes(bytes);
            let json = serde_json::to_string(&path).unwrap();
            prop_assert_eq!(serde_json::from_str::<RepoPath>(&json).unwrap(), path);
        }
    }

    #[test]
    fn a_path_is_within_its_directories_and_not_within_its_namesakes() {
        let path = RepoPath::from_bytes(*b"a/b/c");
        assert!(path.is_within(&RepoPath::from_bytes(*b"a/b")));
        assert!(path.is_within(&RepoPath::from_bytes(*b"a/")));
        assert!(!path.is_within(&RepoPath::from_bytes(*b"a/bb")));
        assert!(!path.is_within(&RepoPath::from_bytes(*b"a/b/c/d")));
        let parents: Vec<String> = path.parents().map(String::from).collect();
        assert_eq!(parents, ["a/b", "a"]);
    }

    #[test]
    fn a_broken_escape_is_refused() {
        for bad in ["\\", "\\x", "\\x1", "\\y11", "\\xzz"] {
            assert!(RepoPath::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
