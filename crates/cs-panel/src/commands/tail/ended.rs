//! What the newest attempt of a card said when it ended without an answer: a stopped or failed agent has written no turn.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

use cs_daemon::StateDir;
use cs_harness::Event;
use cs_model::{Ending, Epoch, RunId, RunState};
use cs_record::Run;
use cs_supervise::{ExecutionDir, TranscriptError, TranscriptLine, TranscriptReader};

/// How many of the last messages are shown, unless all are asked for.
pub(super) const MESSAGES_SHOWN: usize = 200;

/// An attempt that ended without an answer, and has a transcript on this machine.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) attempt: (RunId, Epoch),
    /// How its run stands.
    pub(super) state: RunState,
    pub(super) file: PathBuf,
}

/// Finds the newest such attempt of the newest run: nothing while the run works, asks or has answered, or when this machine has
/// no transcript of it.
///
/// # Errors
/// The directory of executions cannot be read.
pub(super) fn find(state: &StateDir, runs: &[Run]) -> io::Result<Option<Ended>> {
    let newest = runs
        .iter()
        .max_by_key(|run| run.resumed_at.unwrap_or(run.started_at));
    let Some(run) = newest else { return Ok(None) };
    match run.state {
        RunState::Running | RunState::Asked | RunState::Ended(Ending::Finished) => return Ok(None),
        RunState::Ended(_) => {}
    }
    for epoch in (1..=run.epoch.get()).rev().map(Epoch::new) {
        let Some(name) = state.executions_of(run.id, epoch)?.pop() else {
            continue;
        };
        let file = ExecutionDir::at(state.execution(&name)).transcript();
        if file.try_exists()? {
            return Ok(Some(Ended {
                attempt: (run.id, epoch),
                state: run.state,
                file,
            }));
        }
    }
    Ok(None)
}

/// Reads the last `shown` messages of a transcript, and says how many come before them.
///
/// # Errors
/// The transcript cannot be read.
pub(super) fn last(file: &Path, shown: usize) -> Result<(Vec<TranscriptLine<Event>>, u64), TranscriptError> {
    let mut reader = TranscriptReader::open(file)?;
    let mut last = VecDeque::new();
    let mut before = 0;
    while let Some(line) = reader.next_ready()? {
        last.push_back(line);
        if last.len() > shown {
            last.pop_front();
            before += 1;
        }
    }
    Ok((last.into(), before))
}

#[cfg(test)]
mod tests {
    use cs_supervise::{SpoolOffsets, Transcript};

    use super::*;

    fn check(written: u64, shown: usize, expected: std::ops::Range<u64>) {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("transcript");
        let (mut transcript, _) = Transcript::open(&file).expect("made");
        for number in 0..written {
            let said = Event::Text {
                text: format!("{number}\n"),
            };
            transcript
                .append(&[said], SpoolOffsets::default())
                .expect("written");
        }
        let (last, before) = last(&file, shown).expect("readable");
        let places: Vec<u64> = last.iter().map(|line| line.index).collect();
        assert_eq!(places, expected.clone().collect::<Vec<_>>());
        assert_eq!(before, expected.start);
    }

    #[tokio::test]
    async fn the_last_messages_are_taken_and_the_others_counted() {
        check(0, 3, 0..0);
        check(3, 3, 0..3);
        check(5, 3, 2..5);
        check(5, usize::MAX, 0..5);
    }
}
