//! A conflict with both sides of it, short enough to be given to an agent.

use bstr::ByteSlice;
use serde::{Deserialize, Serialize};

use crate::diff::CommitSummary;
use crate::error::WorktreeError;
use crate::keys::Oid;
use crate::parse::{self, MergeTree};
use crate::path::RepoPath;
use crate::store::Store;

/// All excerpts together, in bytes.
const EXCERPTS_MAX_BYTES: usize = 16 << 10;
/// Lines of one file, and characters of one line.
const LINES_MAX: usize = 200;
const LINE_MAX_CHARS: usize = 400;
/// Files that are looked at, and how large they may be.
const FILES_MAX: usize = 50;
const FILE_MAX_BYTES: u64 = 1 << 20;
/// Lines shown before and after a conflicted region.
const AROUND: usize = 3;

/// What the card and the base both changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// The files in conflict; may be empty for a conflict that has no file.
    pub files: Vec<RepoPath>,
    /// What git says about them.
    pub messages: Vec<String>,
    /// What is in conflict in them, with both sides: at most 16 KiB, 200 lines a file and 50 files.
    pub shown: Vec<ConflictedFile>,
    /// The commit of the card that cannot be replayed, where the card was to be rebased.
    pub at: Option<CommitSummary>,
}

/// A file in conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictedFile {
    /// The file.
    pub path: RepoPath,
    /// What is in conflict in it.
    pub text: ConflictText,
}

/// What is in conflict in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictText {
    /// The conflicted regions between git's markers, with the lines around them.
    Regions {
        /// The lines.
        text: String,
        /// Whether there was more than is shown.
        is_cut: bool,
    },
    /// Both sides changed a file that is not text.
    Binary,
    /// No region of the text: it was deleted, renamed or made another kind of file on one side. The messages say which.
    Whole,
    /// Too large to be shown, or there was no more room.
    LeftOut,
}

/// Takes the excerpts out of the tree that git wrote. `names` are the two sides and what they are called in the excerpts.
pub(super) async fn show(
    store: &Store,
    merged: MergeTree,
    names: &[(&Oid, &str); 2],
) -> Result<Conflict, WorktreeError> {
    let wanted = &merged.conflicted[..merged.conflicted.len().min(FILES_MAX)];
    let mut shown = Vec::new();
    let mut room = EXCERPTS_MAX_BYTES;
    for (path, content) in contents(store, &merged.tree, wanted).await? {
        let text = match content {
            Content::None => ConflictText::Whole,
            Content::TooLarge => ConflictText::LeftOut,
            Content::Bytes(bytes) => excerpt(&bytes, names, room),
        };
        if let ConflictText::Regions { text, .. } = &text {
            room -= text.len();
        }
        shown.push(ConflictedFile { path, text });
    }
    Ok(Conflict {
        files: merged.conflicted,
        messages: merged.messages,
        shown,
        at: None,
    })
}

#[derive(Debug, Clone)]
enum Content {
    None,
    TooLarge,
    Bytes(Vec<u8>),
}

/// The merged contents of these files, in their order.
async fn contents(
    store: &Store,
    tree: &Oid,
    paths: &[RepoPath],
) -> Result<Vec<(RepoPath, Content)>, WorktreeError> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let list = store
        .call("ls-tree")
        .args(["ls-tree", "-r", "-l", "-z", tree.as_str(), "--"]);
    let out = store
        .git
        .ok(list.args(paths.iter().map(RepoPath::to_os_str)))
        .await?;
    let entries: Vec<(RepoPath, u64, String)> = parse::z_fields(&out).filter_map(entry).collect();
    let small = entries.iter().filter(|(_, size, _)| *size <= FILE_MAX_BYTES);
    let names: String = small.clone().map(|(_, _, oid)| format!("{oid}\n")).collect();
    let read = store.call("cat-file").args(["cat-file", "--batch"]).stdin(names);
    let out = store.git.ok(read).await?;
    let mut rest = out.as_slice();
    let mut found = std::collections::BTreeMap::new();
    for (path, _, _) in small {
        if let Some(bytes) = parse::next_object(&mut rest) {
            found.insert(path, Content::Bytes(bytes.to_vec()));
        }
    }
    for (path, size, _) in &entries {
        if *size > FILE_MAX_BYTES {
            found.insert(path, Content::TooLarge);
        }
    }
    let content = |path: &RepoPath| (path.clone(), found.get(path).cloned().unwrap_or(Content::None));
    Ok(paths.iter().map(content).collect())
}

/// `<mode> blob <oid> <size>\t<path>` of `ls-tree -l`.
fn entry(field: &[u8]) -> Option<(RepoPath, u64, String)> {
    let (words, path) = field.split_once_str("\t")?;
    let words: Vec<&str> = words.to_str().ok()?.split_ascii_whitespace().collect();
    let [_, "blob", oid, size] = words[..] else {
        return None;
    };
    Some((RepoPath::from_bytes(path), size.parse().ok()?, oid.to_owned()))
}

/// The conflicted regions of a text, at most `room` bytes of them.
fn excerpt(bytes: &[u8], names: &[(&Oid, &str); 2], room: usize) -> ConflictText {
    if bytes.iter().take(8000).any(|b| *b == 0) {
        return ConflictText::Binary;
    }
    let lines: Vec<&[u8]> = bytes.lines().collect();
    let regions = regions(&lines, names);
    if regions.is_empty() {
        // Of two contents that are not text, git writes one.
        return ConflictText::Whole;
    }
    let mut text = String::new();
    let mut shown = 0;
    let mut next = 0;
    for (at, line) in lines.iter().enumerate() {
        let is_near = regions
            .iter()
            .any(|(from, to)| at + AROUND >= *from && at <= to + AROUND);
        if !is_near {
            continue;
        }
        let mut piece = String::new();
        if at != next {
            piece.push_str("...\n");
        }
        piece.push_str(&named(line, names));
        piece.push('\n');
        if shown >= LINES_MAX || text.len() + piece.len() > room {
            return match text.is_empty() {
                true => ConflictText::LeftOut,
                false => ConflictText::Regions { text, is_cut: true },
            };
        }
        text.push_str(&piece);
        shown += 1;
        next = at + 1;
    }
    ConflictText::Regions { text, is_cut: false }
}

/// The first and the last line of each conflicted region.
fn regions(lines: &[&[u8]], names: &[(&Oid, &str); 2]) -> Vec<(usize, usize)> {
    let mut regions = Vec::new();
    let mut from = None;
    let [ours, theirs] = names.map(|(oid, _)| oid.as_str());
    for (at, line) in lines.iter().enumerate() {
        if marker(line, b'<', ours).is_some() {
            from = Some(at);
        } else if marker(line, b'>', theirs).is_some()
            && let Some(from) = from.take()
        {
            regions.push((from, at));
        }
    }
    regions
}

/// The marker of a conflict at the beginning of a line, if what follows it is the name of that side.
fn marker<'a>(line: &'a [u8], sign: u8, side: &str) -> Option<&'a [u8]> {
    let signs = line.iter().take_while(|b| **b == sign).count();
    let name = line.get(signs..)?.strip_prefix(b" ")?;
    (signs >= 7 && name.starts_with(side.as_bytes())).then(|| &line[..signs])
}

/// A line for people: a side by its name, no control characters, not too long.
fn named(line: &[u8], names: &[(&Oid, &str); 2]) -> String {
    for (sign, (oid, name)) in [b'<', b'>'].into_iter().zip(names) {
        if let Some(marker) = marker(line, sign, oid.as_str()) {
            return format!("{} {name}", marker.to_str_lossy());
        }
    }
    let line = line.strip_suffix(b"\r").unwrap_or(line).to_str_lossy();
    let clean = line.chars().filter(|c| *c == '\t' || !c.is_control());
    clean.take(LINE_MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, room: usize) -> ConflictText {
        let (a, b) = (
            Oid::new("a".repeat(40)).unwrap(),
            Oid::new("b".repeat(40)).unwrap(),
        );
        let text = text.replace("OURS", a.as_str()).replace("THEIRS", b.as_str());
        excerpt(text.as_bytes(), &[(&a, "main"), (&b, "the card")], room)
    }

    #[test]
    fn a_region_is_shown_with_both_sides_and_the_lines_around_it() {
        let before: String = (0..20).map(|n| format!("line {n}\n")).collect();
        let text = format!("{before}<<<<<<< OURS\none\n=======\ntwo\n>>>>>>> THEIRS\n{before}");
        let ConflictText::Regions { text, is_cut } = shown(&text, 1 << 14) else {
            panic!("no region");
        };
        let around = ["line 17\nline 18\nline 19\n", "line 0\nline 1\nline 2\n"];
        let expected = format!(
            "...\n{}<<<<<<< main\none\n=======\ntwo\n>>>>>>> the card\n{}",
            around[0], around[1]
        );
        assert_eq!((text.as_str(), is_cut), (expected.as_str(), false));
    }

    #[test]
    fn an_excerpt_has_its_limits() {
        let side: String = (0..500).map(|n| format!("line {n}\n")).collect();
        let text = format!("<<<<<<< OURS\n{side}=======\n{side}>>>>>>> THEIRS\n");
        let ConflictText::Regions {
            text: of_lines,
            is_cut: true,
        } = shown(&text, 1 << 14)
        else {
            panic!("no region");
        };
        assert_eq!(of_lines.lines().count(), LINES_MAX);
        let ConflictText::Regions {
            text: of_bytes,
            is_cut: true,
        } = shown(&text, 100)
        else {
            panic!("no region");
        };
        assert!(of_bytes.len() <= 100);
        assert_eq!(shown(&text, 5), ConflictText::LeftOut);
        let long = format!("<<<<<<< OURS\n{}\n=======\n>>>>>>> THEIRS\n", "x".repeat(5000));
        let ConflictText::Regions { text, .. } = shown(&long, 1 << 14) else {
            panic!("no region");
        };
        assert!(text.lines().all(|line| line.len() <= LINE_MAX_CHARS));
    }

    #[test]
    fn what_is_not_text_and_what_only_looks_like_a_marker_is_not_shown() {
        assert_eq!(shown("a\0b", 100), ConflictText::Binary);
        assert_eq!(
            shown("<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> other\n", 100),
            ConflictText::Whole
        );
    }
}
