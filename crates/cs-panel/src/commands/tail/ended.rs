//! What the newest attempt of a card said when it ended without an answer: a stopped or failed agent has written no turn.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

use cs_daemon::StateDir;
use cs_harness::Event;
use cs_model::{Ending, Epoch, RunId, RunState};
use cs_record::Run;
use cs_supervise::{ExecutionDir, TranscriptError, TranscriptLine, TranscriptReader};

/// How many of the last lines are shown, unless all are asked for. What is no text of the agent is one line.
pub(super) const LINES_SHOWN: usize = 200;

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

/// Reads the last `shown` lines of a transcript, and says how many come before them. How the lines of plain output are put together in
/// events depends on how fast they came, so an event may be cut.
///
/// # Errors
/// The transcript cannot be read.
pub(super) fn last(file: &Path, shown: usize) -> Result<(Vec<TranscriptLine<Event>>, u64), TranscriptError> {
    let mut reader = TranscriptReader::open(file)?;
    let mut last = VecDeque::new();
    let (mut held, mut before) = (0, 0);
    while let Some(line) = reader.next_ready()? {
        held += lines(&line.event);
        last.push_back(line);
        while let Some(first) = last.front_mut()
            && held > shown
        {
            let (over, there) = (held - shown, lines(&first.event));
            let cut = over.min(there);
            match &mut first.event {
                Event::Text { text } if cut < there => *text = without_first(text, cut),
                _ => drop(last.pop_front()),
            }
            held -= cut;
            before += cut as u64;
        }
    }
    Ok((last.into(), before))
}

fn lines(event: &Event) -> usize {
    match event {
        Event::Text { text } => text.lines().count().max(1),
        _ => 1,
    }
}

fn without_first(text: &str, lines: usize) -> String {
    text.split_inclusive('\n').skip(lines).collect()
}

#[cfg(test)]
mod tests {
    use cs_supervise::{SpoolOffsets, Transcript};

    use super::*;

    /// Writes so many lines, this many in an event.
    fn check(written: u64, together: u64, shown: usize, expected: std::ops::Range<u64>) {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("transcript");
        let (mut transcript, _) = Transcript::open(&file).expect("made");
        for first in (0..written).step_by(usize::try_from(together).expect("few")) {
            let numbers = first..written.min(first + together);
            let said = Event::Text {
                text: numbers.map(|number| format!("{number}\n")).collect(),
            };
            transcript
                .append(&[said], SpoolOffsets::default())
                .expect("written");
        }
        let (last, before) = last(&file, shown).expect("readable");
        let text = |line: &TranscriptLine<Event>| match &line.event {
            Event::Text { text } => text.clone(),
            other => panic!("{other:?}"),
        };
        let said: String = last.iter().map(text).collect();
        let said: Vec<u64> = said.lines().map(|line| line.parse().expect("a number")).collect();
        assert_eq!(said, expected.clone().collect::<Vec<_>>());
        assert_eq!(before, expected.start);
    }

    #[tokio::test]
    async fn the_last_lines_are_taken_and_the_others_counted_however_they_were_put_together() {
        for together in 1..=6 {
            check(0, together, 3, 0..0);
            check(3, together, 3, 0..3);
            check(5, together, 3, 2..5);
            check(9, together, 4, 5..9);
            check(5, together, usize::MAX, 0..5);
        }
    }
}
