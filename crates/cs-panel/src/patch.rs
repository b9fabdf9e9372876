//! A patch as git prints it: which line is what, its colours, and what it comes to.

use serde::Serialize;

use crate::text;

/// The width of the bar of one file, in characters.
const BAR_MAX: usize = 40;
/// The width of the names of files, at most; a longer one loses its beginning.
const NAME_MAX: usize = 60;

/// What a line of a patch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Begins a file.
    File,
    /// Says something about a file: its names, its mode, that it is binary.
    About,
    /// Begins a hunk.
    Hunk,
    /// A line that was added.
    Added,
    /// A line that was removed.
    Removed,
    /// A line that stays.
    Same,
}

impl Kind {
    /// The colour that git gives such a line, as the numbers of an escape sequence.
    const fn colour(self) -> Option<&'static str> {
        match self {
            Self::File | Self::About => Some("1"),
            Self::Hunk => Some("36"),
            Self::Added => Some("32"),
            Self::Removed => Some("31"),
            Self::Same => None,
        }
    }
}

/// Says of each line of a patch what it is, by the lengths that its hunks give: text that looks like a header is none.
fn lines(patch: &str) -> impl Iterator<Item = (Kind, &str)> {
    let (mut old, mut new) = (0_u64, 0_u64);
    patch.split_inclusive('\n').map(move |line| {
        let kind = match line.as_bytes().first() {
            _ if old == 0 && new == 0 => {
                if let Some((from, to)) = hunk(line) {
                    (old, new) = (from, to);
                    Kind::Hunk
                } else if line.starts_with("diff ") {
                    Kind::File
                } else {
                    Kind::About
                }
            }
            Some(b'+') => {
                new = new.saturating_sub(1);
                Kind::Added
            }
            Some(b'-') => {
                old = old.saturating_sub(1);
                Kind::Removed
            }
            Some(b'\\') => Kind::About,
            Some(_) | None => {
                (old, new) = (old.saturating_sub(1), new.saturating_sub(1));
                Kind::Same
            }
        };
        (kind, line)
    })
}

/// The numbers of lines in `@@ -1,2 +1,3 @@`.
fn hunk(line: &str) -> Option<(u64, u64)> {
    let mut words = line.strip_prefix("@@ ")?.split(' ');
    let mut length = |sign: char| {
        let range = words.next()?.strip_prefix(sign)?;
        range
            .split_once(',')
            .map_or(Some(1), |(_, length)| length.parse().ok())
    };
    Some((length('-')?, length('+')?))
}

/// Makes a patch fit for a terminal: harmless, and then coloured where that is wanted.
pub(crate) fn for_terminal(patch: &[u8], coloured: bool) -> String {
    let patch = String::from_utf8_lossy(patch);
    let mut shown = String::with_capacity(patch.len() + patch.len() / 8);
    for (kind, line) in lines(&patch) {
        let clean = text::harmless(line);
        let (words, end) = clean
            .strip_suffix('\n')
            .map_or((&*clean, ""), |words| (words, "\n"));
        match kind.colour().filter(|_| coloured && !words.is_empty()) {
            Some(colour) => {
                for part in ["\u{1b}[", colour, "m", words, "\u{1b}[m", end] {
                    shown.push_str(part);
                }
            }
            None => {
                shown.push_str(words);
                shown.push_str(end);
            }
        }
    }
    shown
}

/// What a patch does to one file.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FileStat {
    /// Its name, the new one where it was renamed, as git quotes it.
    pub(crate) path: String,
    /// Its name before, where that was another one.
    pub(crate) old_path: Option<String>,
    /// Lines added.
    pub(crate) added: u64,
    /// Lines removed.
    pub(crate) removed: u64,
    /// Whether git takes it for binary; its lines are not counted then.
    pub(crate) binary: bool,
}

/// Counts what a patch does, file by file, in its order.
pub(crate) fn stat(patch: &[u8]) -> Vec<FileStat> {
    let patch = String::from_utf8_lossy(patch);
    let mut files: Vec<FileStat> = Vec::new();
    for (kind, line) in lines(&patch) {
        let line = line.trim_end_matches(['\n', '\t']);
        if kind == Kind::File {
            files.push(FileStat {
                path: name_in_header(line),
                ..FileStat::default()
            });
            continue;
        }
        let Some(file) = files.last_mut() else { continue };
        match kind {
            Kind::Added => file.added += 1,
            Kind::Removed => file.removed += 1,
            Kind::About => about(file, line),
            Kind::File | Kind::Hunk | Kind::Same => {}
        }
    }
    files
}

fn about(file: &mut FileStat, line: &str) {
    if let Some(name) = line
        .strip_prefix("rename from ")
        .or_else(|| line.strip_prefix("copy from "))
    {
        file.old_path = Some(name.to_owned());
    } else if let Some(name) = line
        .strip_prefix("rename to ")
        .or_else(|| line.strip_prefix("copy to "))
    {
        name.clone_into(&mut file.path);
    } else if let Some(name) = line.strip_prefix("--- ").or_else(|| line.strip_prefix("+++ ")) {
        if name != "/dev/null" && file.old_path.is_none() {
            file.path = without_side(name);
        }
    } else if line.starts_with("Binary files ") || line == "GIT binary patch" {
        file.binary = true;
    }
}

/// Takes the `a/` or `b/` from a name, inside quotes too.
fn without_side(name: &str) -> String {
    match name.strip_prefix('"') {
        Some(quoted) => format!("\"{}", quoted.get(2..).unwrap_or_default()),
        None => name.get(2..).unwrap_or_default().to_owned(),
    }
}

/// The name in `diff --git a/NAME b/NAME`. Where the two are not the same other lines say them.
fn name_in_header(line: &str) -> String {
    let both = line.strip_prefix("diff --git ").unwrap_or(line);
    let half = both.get(both.len() / 2 + 1..).unwrap_or(both);
    without_side(half)
}

/// Writes what a patch comes to as `git diff --stat` does.
pub(crate) fn stat_page(files: &[FileStat], coloured: bool) -> String {
    let names: Vec<String> = files.iter().map(shown_name).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let most = files
        .iter()
        .map(|file| file.added + file.removed)
        .max()
        .unwrap_or(0);
    let digits = most.to_string().len().max(3);
    let mut page = String::new();
    for (file, name) in files.iter().zip(&names) {
        let count = if file.binary {
            "Bin".to_owned()
        } else {
            (file.added + file.removed).to_string()
        };
        let bar = bar(file, most, coloured);
        let line = format!(" {name:width$} | {count:>digits$} {bar}");
        page.push_str(line.trim_end());
        page.push('\n');
    }
    let added: u64 = files.iter().map(|file| file.added).sum();
    let removed: u64 = files.iter().map(|file| file.removed).sum();
    let count = |number: u64, what: &str| text::count(usize::try_from(number).unwrap_or(usize::MAX), what);
    page.push_str(&format!(" {} changed", text::count(files.len(), "file")));
    if added > 0 {
        page.push_str(&format!(", {}(+)", count(added, "insertion")));
    }
    if removed > 0 {
        page.push_str(&format!(", {}(-)", count(removed, "deletion")));
    }
    page.push('\n');
    page
}

fn shown_name(file: &FileStat) -> String {
    let name = match &file.old_path {
        Some(old) => format!("{old} => {}", file.path),
        None => file.path.clone(),
    };
    let name = text::harmless(&name);
    let long = name.chars().count();
    if long <= NAME_MAX {
        return name.into_owned();
    }
    let end: String = name.chars().skip(long - NAME_MAX + 3).collect();
    format!("...{end}")
}

fn bar(file: &FileStat, most: u64, coloured: bool) -> String {
    let room = BAR_MAX as u64;
    let scaled = |lines: u64| {
        let drawn = if most <= room {
            lines
        } else {
            (lines * room).div_ceil(most)
        };
        usize::try_from(drawn).unwrap_or(BAR_MAX)
    };
    let part = |kind: Kind, sign: &str, lines: u64| match kind.colour().filter(|_| coloured && lines > 0) {
        Some(colour) => format!("\u{1b}[{colour}m{}\u{1b}[m", sign.repeat(scaled(lines))),
        None => sign.repeat(scaled(lines)),
    };
    format!(
        "{}{}",
        part(Kind::Added, "+", file.added),
        part(Kind::Removed, "-", file.removed)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "diff --git a/src/a b.rs b/src/a b.rs\nindex 1..2 100644\n--- a/src/a b.rs\t\n+++ b/src/a b.rs\t\n\
        @@ -1,3 +1,3 @@ fn x\n same\n--- a/not a header\n+++ b/nor this\n same\n\\ No newline at end of file\n\
        diff --git a/old b/new\nsimilarity index 90%\nrename from old\nrename to new\n@@ -1 +1,2 @@\n-x\n+y\n+\u{1b}[2J\n\
        diff --git a/pic b/pic\nnew file mode 100644\nBinary files /dev/null and b/pic differ\n\
        diff --git a/empty b/empty\nnew file mode 100644\n\
        diff --git \"a/\\303\\244\" \"b/\\303\\244\"\ndeleted file mode 100644\n--- \"a/\\303\\244\"\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";

    fn file(path: &str, added: u64, removed: u64) -> FileStat {
        FileStat {
            path: path.to_owned(),
            added,
            removed,
            ..FileStat::default()
        }
    }

    #[test]
    fn a_patch_is_counted_by_its_hunks_and_not_by_what_its_lines_look_like() {
        let expected = [
            file("src/a b.rs", 1, 1),
            FileStat {
                old_path: Some("old".to_owned()),
                ..file("new", 2, 1)
            },
            FileStat {
                binary: true,
                ..file("pic", 0, 0)
            },
            file("empty", 0, 0),
            file("\"\\303\\244\"", 0, 1),
        ];
        assert_eq!(stat(PATCH.as_bytes()), expected);
    }

    #[test]
    fn a_stat_is_written_as_git_writes_it() {
        assert_eq!(
            stat_page(&stat(PATCH.as_bytes()), false),
            " src/a b.rs |   2 +-\n old => new |   3 ++-\n pic        | Bin\n empty      |   0\n \"\\303\\244\" |   1 -\n \
             5 files changed, 3 insertions(+), 3 deletions(-)\n"
        );
        let long = [file("many", 1_000, 1), file("few", 1, 0)];
        let page = stat_page(&long, false);
        assert!(
            page.starts_with(&format!(" many | 1001 {}-\n", "+".repeat(40))),
            "{page}"
        );
        assert!(page.contains("\n few  |    1 +\n"), "{page}");
    }

    #[test]
    fn colour_comes_after_text_was_made_harmless() {
        let shown = for_terminal(PATCH.as_bytes(), true);
        assert!(shown.contains("\u{1b}[32m+\\u{1b}[2J\u{1b}[m\n"), "{shown:?}");
        assert!(
            shown.contains("\u{1b}[31m--- a/not a header\u{1b}[m\n"),
            "{shown:?}"
        );
        assert!(shown.contains("\u{1b}[36m@@ -1 +1,2 @@\u{1b}[m\n"), "{shown:?}");
        let plain = for_terminal(PATCH.as_bytes(), false);
        assert!(!plain.contains('\u{1b}'), "{plain:?}");
        assert_eq!(plain.lines().count(), PATCH.lines().count());
    }
}
