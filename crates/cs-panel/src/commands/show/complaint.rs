//! The end of what a failed agent wrote to its standard error: the first thing that a person looks for.

use std::io;
use std::path::{Path, PathBuf};

use cs_daemon::{StateDir, last_words};
use cs_record::Run;
use cs_supervise::ExecutionDir;

/// How many of the last lines are shown.
const LINES_SHOWN: usize = 5;

/// The last words of a failed attempt.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Complaint {
    /// Its last lines that are not empty, as the agent wrote them.
    pub(super) lines: Vec<String>,
    /// The file that holds all of it.
    pub(super) file: PathBuf,
}

/// Finds the last words of a run's newest attempt: nothing when it did not fail, worked on another machine, or kept silent.
///
/// # Errors
/// The directory of executions or the file cannot be read.
pub(super) fn of(state: &StateDir, run: &Run) -> io::Result<Option<Complaint>> {
    if run.failed_because.is_none() {
        return Ok(None);
    }
    let Some(name) = state.executions_of(run.id, run.epoch)?.pop() else {
        return Ok(None);
    };
    let file = ExecutionDir::at(state.execution(&name)).stderr_spool();
    let lines = last_lines(&file)?;
    Ok((!lines.is_empty()).then_some(Complaint { lines, file }))
}

fn last_lines(path: &Path) -> io::Result<Vec<String>> {
    let text = last_words(path)?;
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let first = lines.len().saturating_sub(LINES_SHOWN);
    Ok(lines.iter().skip(first).map(|line| (*line).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(written: &[u8], expected: &[&str]) {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("stderr.spool");
        std::fs::write(&file, written).expect("written");
        assert_eq!(last_lines(&file).expect("readable"), expected);
    }

    #[test]
    fn the_last_lines_that_say_something_are_taken() {
        check(b"", &[]);
        check(b"\n \n", &[]);
        check(b"no key", &["no key"]);
        check(b"1\n2\n\n3\n4\n5\n6\n", &["2", "3", "4", "5", "6"]);
    }

    #[test]
    fn only_the_end_of_a_long_file_is_read() {
        let mut long = vec![b'x'; 100_000];
        long.extend_from_slice(b"\nlast\n");
        let rest = "x".repeat(4096 - 6);
        check(&long, &[&rest, "last"]);
    }

    #[test]
    fn a_file_that_is_not_there_says_nothing() {
        assert_eq!(
            last_lines(Path::new("/nowhere/stderr.spool")).expect("silent"),
            Vec::<String>::new()
        );
    }
}
