use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cs_harness::{
    AgentConfig, FailureCause, Harness, HarnessKind, Line, ProcessEnd, Seen, TaskEnd, UsageTotals, adapter,
};
use cs_model::FailureClass;
use proptest::prelude::*;

use super::read::events;

/// What a recorded run has to come to.
pub(crate) struct Row {
    pub(crate) case: &'static str,
    pub(crate) session: Option<&'static str>,
    pub(crate) task: Task,
    /// Turns, tokens in, of them kept, tokens out, of them for reasoning, millionths of a dollar.
    pub(crate) used: Option<(u64, u64, u64, u64, Option<u64>, u64)>,
}

pub(crate) enum Task {
    Answered(&'static str),
    /// The agent told of it: the class, the status of the provider's answer, the seconds that it wants to be left alone.
    Told(FailureClass, Option<u16>, Option<u64>),
    /// Nothing was told: the class, and how the process ended.
    Ended(FailureClass, FailureCause),
}

/// Reads all recorded cases of an agent and compares each with its row; no case is without one.
pub(crate) fn check(harness: HarnessKind, folder: &str, rows: &[Row]) {
    let cases = ends(folder);
    let named: BTreeSet<&str> = rows.iter().map(|row| row.case).collect();
    let recorded: BTreeSet<&str> = cases.iter().map(|(case, _)| case.as_str()).collect();
    assert_eq!(named, recorded, "cases of {folder}");
    for row in rows {
        let (_, end) = cases.iter().find(|(case, _)| case == row.case).unwrap();
        let harness = harness_of(harness);
        let mut seen = fold(&*harness, &std::fs::read(path(folder, row.case)).unwrap());
        seen.observe_stderr(&end.stderr);
        let outcome = harness.outcome(&end.process, &seen);
        assert_eq!(outcome.process, end.process, "{folder}/{}", row.case);
        check_row(&format!("{folder}/{}", row.case), row, &outcome.task, &seen);
    }
}

fn check_row(case: &str, row: &Row, task: &TaskEnd, seen: &Seen) {
    match (&row.task, task) {
        (Task::Answered(expected), TaskEnd::Answered { text }) => assert_eq!(text, expected, "{case}"),
        (
            Task::Told(class, status, wait),
            TaskEnd::Failed {
                class: found,
                cause,
                again,
                ..
            },
        ) => {
            assert_eq!(found, class, "{case}");
            assert_eq!(*cause, FailureCause::Told(*status), "{case}");
            let wait = wait.map(|seconds| cs_harness::AskAgain::AfterMs(seconds * 1000));
            assert_eq!(*again, wait, "{case}");
        }
        (
            Task::Ended(class, cause),
            TaskEnd::Failed {
                class: found,
                cause: told,
                ..
            },
        ) => {
            assert_eq!((found, told), (class, cause), "{case}");
        }
        _ => panic!("{case}: {task:?}"),
    }
    assert_eq!(seen.session(), row.session, "{case}");
    assert_eq!(seen.usage(&UsageTotals::default()), totals(row.used), "{case}");
    assert_eq!(seen.unknown_count(), 0, "{case}");
    assert_eq!(seen.text(), "", "{case}");
    assert!(seen.denied().is_empty(), "{case}");
}

fn totals(used: Option<(u64, u64, u64, u64, Option<u64>, u64)>) -> UsageTotals {
    let Some((turns, input, cached, output, reasoning_tokens, cost)) = used else {
        return UsageTotals::default();
    };
    UsageTotals {
        turns: Some(turns),
        input_tokens: Some(input),
        cached_tokens: Some(cached),
        output_tokens: Some(output),
        reasoning_tokens,
        cost_micro_usd: Some(cost),
    }
}

pub(crate) fn harness_of(kind: HarnessKind) -> std::sync::Arc<dyn Harness> {
    let agent = AgentConfig::new("recorded", vec!["agent".to_owned()], kind).unwrap();
    adapter(&agent)
}

pub(crate) fn fold(harness: &dyn Harness, output: &[u8]) -> Seen {
    let mut seen = Seen::default();
    for event in events(harness, output) {
        seen.observe(&event);
    }
    seen
}

pub(crate) fn path(folder: &str, case: &str) -> PathBuf {
    captures().join(folder).join(format!("{case}.jsonl"))
}

fn captures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures")
}

struct End {
    process: ProcessEnd,
    stderr: String,
}

fn ends(folder: &str) -> Vec<(String, End)> {
    let text = std::fs::read_to_string(captures().join(folder).join("ends.txt")).unwrap();
    let end = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let case = words.next().unwrap().to_owned();
        let process = match words.next().unwrap().parse().unwrap() {
            signal @ ..0 => ProcessEnd::Signalled(-signal),
            code => ProcessEnd::Exited(code),
        };
        let stderr = words.next().unwrap_or_default().to_owned();
        (case, End { process, stderr })
    };
    text.lines().map(end).collect()
}

/// Every recorded line of an agent.
pub(crate) fn all_lines(folder: &str) -> Vec<Vec<u8>> {
    let cases = ends(folder);
    let outputs = cases
        .iter()
        .map(|(case, _)| std::fs::read(path(folder, case)).unwrap());
    outputs
        .flat_map(|output| {
            let lines = output.split_inclusive(|byte| *byte == b'\n');
            lines.map(<[u8]>::to_vec).collect::<Vec<_>>()
        })
        .collect()
}

/// A recorded line with some bytes changed, left out or repeated.
pub(crate) fn broken_line(lines: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let wounds = prop::collection::vec((any::<prop::sample::Index>(), 0_u8..3, any::<u8>()), 1..8);
    (prop::sample::select(lines), wounds).prop_map(|(mut line, wounds)| {
        for (at, how, byte) in wounds {
            if line.is_empty() {
                break;
            }
            let at = at.index(line.len());
            match how {
                0 => line[at] = byte,
                1 => line.truncate(at),
                _ => line.insert(at, byte),
            }
        }
        line
    })
}

/// No line panics or is lost without a trace, and no process that was cut off passes for a success.
pub(crate) fn check_any_line(kind: HarnessKind, line: &[u8]) {
    let harness = harness_of(kind);
    for end in [
        ProcessEnd::Exited(0),
        ProcessEnd::Exited(1),
        ProcessEnd::Signalled(9),
        ProcessEnd::Unknown,
    ] {
        let seen = fold(&*harness, line);
        let outcome = harness.outcome(&end, &seen);
        if let TaskEnd::Answered { .. } = outcome.task {
            assert!(seen.is_at_rest() || seen.end() == Some(true));
        }
    }
    let cut = Line {
        bytes: line,
        dropped_bytes: 1,
    };
    harness.events(&cut);
}
