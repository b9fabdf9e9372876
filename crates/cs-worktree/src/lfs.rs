//! Files that git keeps through LFS, without the program `git-lfs` and without any download.
//!
//! A snapshot holds what LFS would have committed, a pointer; the content goes to the store's own `lfs/objects`, where LFS looks
//! too. A file whose content is the one that its pointer names is unchanged, whatever git says of it.

mod bring;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bstr::ByteSlice;
use sha2::{Digest, Sha256};

use crate::error::WorktreeError;
use crate::keys::Oid;
use crate::parse;
use crate::path::RepoPath;
use crate::plain;
use crate::special::Special;
use crate::status::{self, Look};
use crate::store::Store;
use crate::walk;

pub(crate) use bring::{bring_to_user, pointers_in, restore};

/// The value of the attribute `filter` that means LFS.
pub(crate) const FILTER: &[u8] = b"lfs";

const HEAD: &str = "version https://git-lfs.github.com/spec/v1\n";
/// A pointer is never larger.
const POINTER_MAX_BYTES: u64 = 1024;
/// Objects of a tree's own LFS that are taken, and their bytes in all; with more of them the tree is kept.
const OBJECTS_MAX: usize = 10_000;
const OBJECTS_MAX_BYTES: u64 = 4 << 30;

/// What a pointer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pointer {
    sha256: String,
    size: u64,
}

impl Pointer {
    fn text(&self) -> String {
        format!("{HEAD}oid sha256:{}\nsize {}\n", self.sha256, self.size)
    }

    fn read(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?.strip_prefix(HEAD)?;
        let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let sha256 = line("oid sha256:").filter(|hex| is_name(hex))?;
        Some(Self {
            sha256: sha256.to_owned(),
            size: line("size ")?.parse().ok()?,
        })
    }

    fn of_file(path: &Path) -> io::Result<Self> {
        let mut digest = Sha256::new();
        let size = io::copy(&mut plain::open(path)?, &mut digest)?;
        Ok(Self {
            sha256: digest
                .finalize()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
            size,
        })
    }

    fn object(&self, store: &Store) -> PathBuf {
        place(&store.dir.join("lfs/objects"), &self.sha256)
    }
}

fn is_name(hex: &str) -> bool {
    hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn place(objects: &Path, sha256: &str) -> PathBuf {
    objects.join(&sha256[..2]).join(&sha256[2..4]).join(sha256)
}

/// Looks at changed files that go through LFS. Those whose content is the committed one are taken from the entries; the
/// content of the others is put into the store, and their pointers are noted for the snapshot.
pub(crate) async fn settle(
    store: &Store,
    look: &mut Look,
    paths: Vec<RepoPath>,
) -> Result<(), WorktreeError> {
    if paths.is_empty() {
        return Ok(());
    }
    let committed = committed(store, look, &paths).await?;
    let (root, store_of_files) = (look.root().to_owned(), store.clone());
    let found = walk::in_background(root.clone(), move || {
        let mut found = Vec::new();
        for path in paths {
            let state = judge(&store_of_files, &path.below(&root), committed.get(&path));
            found.push((path, state));
        }
        Ok(found)
    })
    .await?;
    for (path, state) in found {
        match state {
            State::Unchanged => look.note_unchanged(path),
            State::IsPointer => {}
            State::Kept(blob) => look.note_pointer(path, blob),
            State::NotKept => look.special.push(Special::Filtered(path)),
        }
    }
    Ok(())
}

enum State {
    /// Its content is the committed one, and is in the store.
    Unchanged,
    /// It is a pointer itself, which is saved as it is.
    IsPointer,
    /// Its content is in the store; this is what is committed in its place.
    Kept(Noted),
    NotKept,
}

/// A pointer in the place of a file.
#[derive(Debug, Clone)]
pub(crate) struct Noted {
    text: String,
    is_executable: bool,
}

fn judge(store: &Store, file: &Path, committed: Option<&Pointer>) -> State {
    let Ok(meta) = file.symlink_metadata() else {
        return State::NotKept;
    };
    // What is too large is named as such, and left.
    if !meta.is_file() || meta.len() > status::budget::FILE_MAX_BYTES {
        return State::IsPointer;
    }
    if meta.len() <= POINTER_MAX_BYTES
        && plain::read(file, POINTER_MAX_BYTES).is_ok_and(|text| Pointer::read(&text).is_some())
    {
        return State::IsPointer;
    }
    match Pointer::of_file(file) {
        Ok(pointer) if keep(file, &pointer, &pointer.object(store)).is_err() => State::NotKept,
        Ok(pointer) if committed == Some(&pointer) => State::Unchanged,
        Ok(pointer) => State::Kept(Noted {
            text: pointer.text(),
            is_executable: meta.mode() & 0o100 != 0,
        }),
        Err(_) => State::NotKept,
    }
}

/// The pointers that are committed at these paths.
async fn committed(
    store: &Store,
    look: &Look,
    paths: &[RepoPath],
) -> Result<BTreeMap<RepoPath, Pointer>, WorktreeError> {
    let wanted: BTreeSet<&RepoPath> = paths.iter().collect();
    let list = look.call(store, "ls-files").args(["ls-files", "-s", "-z"]);
    let out = store.git.ok(list).await?;
    let entry = |field: &[u8]| {
        let at = field.find_byte(b'\t')?;
        let path = RepoPath::from_bytes(&field[at + 1..]);
        let oid = field[..at].split_str(" ").nth(1)?.to_str().ok()?;
        wanted
            .contains(&path)
            .then(|| Some((path, Oid::new(oid).ok()?)))?
    };
    let blobs: Vec<(RepoPath, Oid)> = parse::z_fields(&out).filter_map(entry).collect();
    let names: String = blobs.iter().map(|(_, oid)| format!("{oid}\n")).collect();
    let sizes = store
        .call("cat-file")
        .args(["cat-file", "--batch-check=%(objectsize)"]);
    let sizes = store.git.ok(sizes.stdin(names)).await?;
    let is_small = |line: &[u8]| {
        let size = line.to_str().ok().and_then(|text| text.parse::<u64>().ok());
        size.is_some_and(|size| size <= POINTER_MAX_BYTES)
    };
    let small = blobs
        .into_iter()
        .zip(sizes.lines())
        .filter(|(_, size)| is_small(size));
    let small: Vec<(RepoPath, Oid)> = small.map(|(blob, _)| blob).collect();
    let names: String = small.iter().map(|(_, oid)| format!("{oid}\n")).collect();
    let ask = store.call("cat-file").args(["cat-file", "--batch"]);
    let out = store.git.ok(ask.stdin(names)).await?;
    let mut rest = out.as_slice();
    let mut pointers = BTreeMap::new();
    for (path, _) in small {
        let Some(text) = parse::next_object(&mut rest) else {
            break;
        };
        pointers.extend(Pointer::read(text).map(|pointer| (path, pointer)));
    }
    Ok(pointers)
}

/// Copies a content to its place, whole or not at all, and only if it is what its name says.
fn keep(file: &Path, pointer: &Pointer, place: &Path) -> io::Result<()> {
    if place
        .symlink_metadata()
        .is_ok_and(|meta| meta.len() == pointer.size)
    {
        return Ok(());
    }
    let dir = place.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(dir)?;
    let mut half = tempfile::Builder::new().prefix(".tmp-").tempfile_in(dir)?;
    let mut digest = Sha256::new();
    let mut from = plain::open(file)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        digest.update(&buffer[..read]);
        half.write_all(&buffer[..read])?;
    }
    let sha256: String = digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    if sha256 != pointer.sha256 {
        let what = "the content is not what its name says";
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    half.as_file().sync_all()?;
    half.persist(place).map_err(|error| error.error)?;
    Ok(())
}

/// Writes the pointers of a look into the object store and gives them as `update-index --index-info` takes them.
pub(crate) async fn index_info(
    store: &Store,
    pointers: &BTreeMap<RepoPath, Noted>,
) -> Result<Vec<u8>, WorktreeError> {
    let mut lines = Vec::new();
    for (path, noted) in pointers {
        let write = store
            .call("hash-object")
            .args(["hash-object", "-w", "--stdin"])
            .stdin(noted.text.as_str());
        let blob: Oid = parse::oid("hash-object", &store.git.ok(write).await?)?;
        let mode = if noted.is_executable { "100755" } else { "100644" };
        lines.extend(format!("{mode} {blob}\t").into_bytes());
        lines.extend_from_slice(path.as_bytes());
        lines.push(0);
    }
    Ok(lines)
}

/// Takes the objects that the tree's own LFS keeps into the store; says whether all of them came.
pub(crate) async fn take_objects(store: &Store, git_dir: &Path) -> Result<bool, WorktreeError> {
    let objects = git_dir.join("lfs/objects");
    let to = store.dir.join("lfs/objects");
    walk::in_background(objects.clone(), move || {
        let mut left = OBJECTS_MAX_BYTES;
        let mut count = 0;
        let mut dirs = vec![(objects, 0)];
        while let Some((dir, depth)) = dirs.pop() {
            for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
                let Ok(meta) = entry.metadata() else {
                    return Ok(false);
                };
                let name = entry.file_name().to_string_lossy().into_owned();
                if meta.is_dir() && depth < 2 {
                    dirs.push((entry.path(), depth + 1));
                } else if meta.is_file() && is_name(&name) {
                    count += 1;
                    if count > OBJECTS_MAX || meta.len() > left {
                        return Ok(false);
                    }
                    left -= meta.len();
                    let pointer = Pointer {
                        size: meta.len(),
                        sha256: name.clone(),
                    };
                    match keep(&entry.path(), &pointer, &place(&to, &name)) {
                        Err(error) if error.kind() != io::ErrorKind::InvalidData => return Ok(false),
                        // A content that is not what its name says is no object.
                        Ok(()) | Err(_) => {}
                    }
                }
            }
        }
        Ok(true)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_reads_back_and_nothing_else_is_one() {
        let pointer = Pointer {
            sha256: "a".repeat(64),
            size: 12,
        };
        assert_eq!(Pointer::read(pointer.text().as_bytes()), Some(pointer));
        for text in ["", HEAD, "oid sha256:aa\nsize 1\n"] {
            assert_eq!(Pointer::read(text.as_bytes()), None, "{text:?}");
        }
        let short = format!("{HEAD}oid sha256:../../../x\nsize 1\n");
        assert_eq!(Pointer::read(short.as_bytes()), None);
    }
}
