//! Follows the file in which an agent keeps its conversation: that it grows is a sign of life, and it tells what was used.
//!
//! The file is the agent's. Whatever it is, or whatever becomes of it, is no failure of the attempt: then it tells nothing.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use cs_harness::{HarnessKind, LINE_MAX_BYTES, SessionFiles, SessionReader, UsageReport};
use cs_supervise::Framer;
use cs_worktree::plain;
use serde::{Deserialize, Serialize};

/// At most so many directories and files are looked at for one conversation.
const LOOKED_AT_MAX: usize = 50_000;
const CHUNK_BYTES: usize = 256 << 10;

/// Where the agent of an attempt keeps its conversations, as it is noted beside the execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionPlace {
    /// The directory below which they lie.
    pub root: PathBuf,
    /// How long the file of the conversation that it goes on with was when the attempt began: what stands there is not this attempt's.
    #[serde(default)]
    pub begins_at_bytes: u64,
}

impl SessionPlace {
    /// The place, with the length that the file of this conversation has now.
    pub(super) fn now(&self, kind: HarnessKind, session: Option<&str>) -> Self {
        let files = SessionFiles::at(kind, self.root.clone());
        let found = session.and_then(|session| find(&files, session));
        let length = found.and_then(|path| plain::open_itself(&path).ok()?.metadata().ok());
        Self {
            root: self.root.clone(),
            begins_at_bytes: length.map_or(0, |found| found.len()),
        }
    }
}

/// The file of the conversation of an execution.
#[derive(Debug)]
pub(super) struct SessionFile {
    files: SessionFiles,
    /// The conversation that the agent was asked to go on with, and where what is new of it begins.
    asked: Option<String>,
    begins_at_bytes: u64,
    open: Option<Open>,
    told: Vec<UsageReport>,
}

#[derive(Debug)]
struct Open {
    session: String,
    file: File,
    position: u64,
    framer: Framer,
    reader: SessionReader,
}

/// What was seen of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Looked {
    /// Whether something was appended since the last look.
    pub(super) grew: bool,
    /// What was used by now, where that is another number than at the last look.
    pub(super) reports: Vec<UsageReport>,
}

impl SessionFile {
    /// The file of an agent of this kind, where it has one.
    pub(super) fn of(kind: HarnessKind, place: &SessionPlace, asked: Option<&str>) -> Self {
        Self {
            files: SessionFiles::at(kind, place.root.clone()),
            asked: asked.map(str::to_owned),
            begins_at_bytes: place.begins_at_bytes,
            open: None,
            told: Vec::new(),
        }
    }

    /// Reads what was appended. It blocks while it reads. The first look finds no growth: nobody knows when that was.
    pub(super) fn look(&mut self, session: &str) -> Looked {
        let is_first = self.open.as_ref().is_none_or(|open| open.session != session);
        if is_first {
            self.open = self.open(session);
        }
        let Some(open) = &mut self.open else {
            return Looked::default();
        };
        let grew = open.read_on().unwrap_or_else(|error| {
            tracing::debug!(%error, "the agent's file of its conversation cannot be read");
            false
        });
        let mut reports = open.reader.reports();
        if reports == self.told {
            reports.clear();
        } else {
            self.told.clone_from(&reports);
        }
        Looked {
            grew: grew && !is_first,
            reports,
        }
    }

    fn open(&self, session: &str) -> Option<Open> {
        let file = plain::open_itself(&find(&self.files, session)?).ok()?;
        let is_asked = self.asked.as_deref() == Some(session);
        let position = if is_asked { self.begins_at_bytes } else { 0 };
        Some(Open {
            session: session.to_owned(),
            file,
            position,
            framer: Framer::new(position, LINE_MAX_BYTES),
            reader: self.files.reader(),
        })
    }
}

impl Open {
    /// Reads the lines that have ended since; says whether there is anything new.
    fn read_on(&mut self) -> io::Result<bool> {
        let end = self.file.metadata()?.len();
        let began = self.position;
        let mut chunk = vec![0; CHUNK_BYTES];
        while self.position < end {
            let read = self.file.read_at(&mut chunk, self.position)?;
            if read == 0 {
                break;
            }
            self.position += read as u64;
            let mut rest = &chunk[..read];
            while !rest.is_empty() {
                let (taken, line) = self.framer.feed(rest);
                rest = &rest[taken..];
                if let Some(line) = line.filter(|line| line.dropped_bytes == 0) {
                    self.reader.read(&line.bytes);
                }
            }
        }
        Ok(self.position > began)
    }
}

/// Finds the file of a conversation. Of directories the last by name come first, which are the newest where they are dates.
fn find(files: &SessionFiles, session: &str) -> Option<PathBuf> {
    let mut left = LOOKED_AT_MAX;
    below(files.root(), files.levels(), &mut left, &|path| {
        path.file_name().is_some_and(|name| files.holds(name, session))
    })
}

fn below(dir: &Path, levels: u8, left: &mut usize, is_it: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir).ok()?.map_while(Result::ok) {
        *left = left.checked_sub(1)?;
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let path = entry.path();
        if levels == 0 && !is_dir && is_it(&path) {
            return Some(path);
        }
        if levels > 0 && is_dir {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    paths
        .iter()
        .rev()
        .find_map(|dir| below(dir, levels - 1, left, is_it))
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use cs_harness::{UsageSpan, UsageTotals};

    use super::*;

    const SESSION: &str = "01234567-89ab-4cde-8f01-23456789abcd";
    const OTHER: &str = "01234567-89ab-4cde-8f01-23456789abce";

    struct Home {
        dir: tempfile::TempDir,
    }

    impl Home {
        fn new() -> Self {
            Self {
                dir: tempfile::tempdir().expect("a directory"),
            }
        }

        fn place(&self) -> SessionPlace {
            SessionPlace {
                root: self.dir.path().to_owned(),
                begins_at_bytes: 0,
            }
        }

        fn path(&self, session: &str) -> PathBuf {
            let dir = self.dir.path().join("-home-ada-tree");
            fs::create_dir_all(&dir).expect("made");
            dir.join(format!("{session}.jsonl"))
        }

        fn append(&self, session: &str, text: &str) {
            let file = OpenOptions::new()
                .append(true)
                .create(true)
                .open(self.path(session));
            file.expect("opened").write_all(text.as_bytes()).expect("written");
        }

        fn file(&self, place: &SessionPlace, asked: Option<&str>) -> SessionFile {
            SessionFile::of(HarnessKind::Claude, place, asked)
        }
    }

    fn message(id: &str, output_tokens: u64) -> String {
        format!(
            "{{\"type\":\"assistant\",\"message\":{{\"id\":\"{id}\",\"usage\":{{\"output_tokens\":{output_tokens}}}}}}}\n"
        )
    }

    fn used(turns: u64, output_tokens: u64) -> Vec<UsageReport> {
        vec![UsageReport {
            span: UsageSpan::SoFar,
            totals: UsageTotals {
                turns: Some(turns),
                output_tokens: Some(output_tokens),
                ..UsageTotals::default()
            },
        }]
    }

    #[test]
    fn what_is_appended_is_told_once_and_half_a_line_when_it_is_whole() {
        let home = Home::new();
        let mut file = home.file(&home.place(), None);
        assert_eq!(file.look(SESSION), Looked::default(), "there is none yet");
        home.append(SESSION, &message("a", 5));
        let looked = file.look(SESSION);
        assert_eq!((looked.grew, looked.reports), (false, used(1, 5)));
        assert_eq!(file.look(SESSION), Looked::default());
        let more = message("b", 7);
        home.append(SESSION, &more[..9]);
        let looked = file.look(SESSION);
        assert_eq!((looked.grew, looked.reports), (true, Vec::new()), "it grew");
        home.append(SESSION, &more[9..]);
        assert_eq!(file.look(SESSION).reports, used(2, 12));
    }

    #[test]
    fn what_stood_there_before_the_attempt_is_not_its_own() {
        let home = Home::new();
        home.append(SESSION, &message("a", 5));
        let place = home.place().now(HarnessKind::Claude, Some(SESSION));
        home.append(SESSION, &message("b", 7));
        assert_eq!(home.file(&place, Some(SESSION)).look(SESSION).reports, used(1, 7));
        // It began another one, which is its own from the beginning.
        home.append(OTHER, &message("a", 9));
        assert_eq!(home.file(&place, Some(SESSION)).look(OTHER).reports, used(1, 9));
        // A daemon that follows it later reads the same.
        assert_eq!(home.file(&place, Some(SESSION)).look(SESSION).reports, used(1, 7));
    }

    #[test]
    fn a_pipe_a_link_and_a_directory_in_its_place_tell_nothing_and_hold_nobody_up() {
        let home = Home::new();
        let path = home.path(SESSION);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .expect("made");
        assert_eq!(home.file(&home.place(), None).look(SESSION), Looked::default());
        fs::remove_file(&path).expect("removed");
        home.append(OTHER, &message("a", 9));
        std::os::unix::fs::symlink(home.path(OTHER), &path).expect("made");
        assert_eq!(home.file(&home.place(), None).look(SESSION), Looked::default());
        fs::remove_file(&path).expect("removed");
        fs::create_dir(&path).expect("made");
        assert_eq!(home.file(&home.place(), None).look(SESSION), Looked::default());
    }

    #[test]
    fn a_file_that_was_cut_or_removed_tells_nothing_more() {
        let home = Home::new();
        home.append(SESSION, &message("a", 5));
        let mut file = home.file(&home.place(), None);
        assert_eq!(file.look(SESSION).reports, used(1, 5));
        File::create(home.path(SESSION)).expect("cut");
        assert_eq!(file.look(SESSION), Looked::default());
        fs::remove_file(home.path(SESSION)).expect("removed");
        assert_eq!(file.look(SESSION), Looked::default());
    }
}
