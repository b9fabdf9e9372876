//! The bench of reading agents: their output as events, and one line that nobody wants to hold.

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::directory::Directory;
use super::figures::{median, quotient};
use super::machine;
use crate::tool::{Tool, say};

/// Events reach at least this part of the speed of a parse of the same lines that keeps nothing.
const SPEED_MIN: f64 = 0.08;
/// A stream that is ten times as long takes at most so much more memory.
const MORE_MAX_BYTES: u64 = 4_000_000;
/// And a line that is longer than any that is held takes at most four times the longest line that is.
const LONG_LINE_MAX_BYTES: u64 = 64_000_000;
/// What is wanted of one core. It is shown and not judged: it is as much about the machine.
const GOAL_MB_PER_S: f64 = 50.0;

/// How much is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Full,
    Short,
}

/// What the benches print. Times are milliseconds of processor in the order of measurement.
#[derive(Debug, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum Line {
    Stream(Stream),
    LongLine(LongLine),
}

#[derive(Debug, Deserialize)]
struct Stream {
    of: String,
    bytes: u64,
    ours: Vec<f64>,
    parse: Vec<f64>,
    unknown: u64,
    more_bytes: u64,
}

#[derive(Debug, Deserialize)]
struct LongLine {
    of: String,
    bytes: u64,
    millis: f64,
    most_bytes: u64,
    is_answered: bool,
}

/// The packages and their benches.
const BENCHES: [(&str, &str); 2] = [("cs-harness", "harness"), ("cs-acp", "bridge")];

/// Measures, prints the figures, and fails when a limit is missed. The short form judges no speed.
pub(super) fn run(size: Size) -> Result<()> {
    for (package, bench) in BENCHES {
        cargo_bench(package, bench, &["--no-run"]).run()?;
    }
    let directory = Directory::new()?;
    for (name, value) in machine::facts(directory.path())? {
        say(&format!("{name}: {value}"));
    }
    let path = directory.path().to_string_lossy().into_owned();
    let size_name = match size {
        Size::Full => "full",
        Size::Short => "short",
    };
    let mut missed = Vec::new();
    let mut rows = vec!["| what | measured | wanted |\n|---|---|---|".to_owned()];
    for (package, bench) in BENCHES {
        cargo_bench(package, bench, &["--", &path, size_name]).read_lines(|text| {
            let line: Line = serde_json::from_str(text).with_context(|| format!("a bench printed {text}"))?;
            missed.extend(judge(&line, size));
            rows.push(show(&line));
            Ok(())
        })?;
    }
    say(&format!("\n{}\n", rows.join("\n")));
    if missed.is_empty() {
        return Ok(());
    }
    bail!(
        "reading agents costs more than it may:\n  {}",
        missed.join("\n  ")
    )
}

/// Returns a sentence for each limit that was missed.
fn judge(line: &Line, size: Size) -> Vec<String> {
    match line {
        Line::Stream(stream) => judge_stream(stream, size),
        Line::LongLine(line) => judge_line(line),
    }
}

fn judge_stream(stream: &Stream, size: Size) -> Vec<String> {
    let mut missed = Vec::new();
    let Stream { of, unknown, .. } = stream;
    let speed = quotient(&stream.parse, &stream.ours);
    // What is not a number reaches nothing.
    let is_reached = speed >= SPEED_MIN;
    if size == Size::Full && !is_reached {
        missed.push(format!(
            "reading {of} reaches {speed:.2} of the speed of a bare parse, at least {SPEED_MIN} is wanted"
        ));
    }
    if stream.more_bytes > MORE_MAX_BYTES {
        missed.push(format!(
            "reading ten times as much of {of} took {} MB more memory, at most {} are allowed",
            mega(stream.more_bytes),
            mega(MORE_MAX_BYTES)
        ));
    }
    if *unknown > 0 {
        missed.push(format!("{unknown} recorded lines of {of} were not understood"));
    }
    missed
}

fn judge_line(line: &LongLine) -> Vec<String> {
    let mut missed = Vec::new();
    let LongLine { of, .. } = line;
    if line.most_bytes > LONG_LINE_MAX_BYTES {
        missed.push(format!(
            "a long line of {of} took {} MB of memory, at most {} are allowed",
            mega(line.most_bytes),
            mega(LONG_LINE_MAX_BYTES)
        ));
    }
    if !line.is_answered {
        missed.push(format!("what follows a long line of {of} was not read"));
    }
    missed
}

/// A row of a table in Markdown.
fn show(line: &Line) -> String {
    match line {
        Line::Stream(stream) => {
            let speed = |times: &[f64]| stream.bytes as f64 / 1e3 / median(times);
            let ours = speed(&stream.ours);
            let goal = if ours >= GOAL_MB_PER_S {
                "reached"
            } else {
                "MISSED"
            };
            format!(
                "| {} of {} to events | {ours:.0} MB/s; a bare parse {:.0} MB/s; speed {:.2}; ten times as much takes {} MB more | at least {SPEED_MIN}; at most {} MB; a goal of {GOAL_MB_PER_S} MB/s: {goal} |",
                megas(stream.bytes),
                stream.of,
                speed(&stream.parse),
                quotient(&stream.parse, &stream.ours),
                mega(stream.more_bytes),
                mega(MORE_MAX_BYTES)
            )
        }
        Line::LongLine(line) => format!(
            "| one line of {}, {} | {:.0} ms, {} MB of memory at its most | at most {} MB, and what follows is read |",
            megas(line.bytes),
            line.of,
            line.millis,
            mega(line.most_bytes),
            mega(LONG_LINE_MAX_BYTES)
        ),
    }
}

fn megas(bytes: u64) -> String {
    format!("{} MB", mega(bytes))
}

fn mega(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}

fn cargo_bench(package: &str, bench: &str, args: &[&str]) -> Tool {
    let bench = ["bench", "--quiet", "--locked", "-p", package, "--bench", bench];
    Tool::cargo(&[&bench, args].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(ours: f64) -> Stream {
        Stream {
            of: "pi".to_owned(),
            bytes: 1_000_000,
            ours: vec![ours; 3],
            parse: vec![8.0; 3],
            unknown: 0,
            more_bytes: MORE_MAX_BYTES,
        }
    }

    fn line() -> LongLine {
        LongLine {
            of: "pi".to_owned(),
            bytes: 100_000_000,
            millis: 1.0,
            most_bytes: LONG_LINE_MAX_BYTES,
            is_answered: true,
        }
    }

    #[test]
    fn a_speed_at_the_limit_is_enough_and_what_was_not_measured_is_missed() {
        let missed = |ours| judge(&Line::Stream(stream(ours)), Size::Full).join("; ");
        assert_eq!(missed(100.0), "");
        assert!(missed(120.0).contains("reading pi reaches 0.07"));
        assert!(missed(f64::NAN).contains("NaN"));
        assert!(judge(&Line::Stream(stream(f64::NAN)), Size::Short).is_empty());
    }

    #[test]
    fn each_other_limit_is_named_when_it_is_missed() {
        let of_stream = |change: fn(&mut Stream)| {
            let mut stream = stream(1.0);
            change(&mut stream);
            judge(&Line::Stream(stream), Size::Short).join("; ")
        };
        assert!(of_stream(|it| it.more_bytes += 1).contains("more memory"));
        assert!(of_stream(|it| it.unknown = 2).contains("2 recorded lines"));
        let of_line = |change: fn(&mut LongLine)| {
            let mut line = line();
            change(&mut line);
            judge(&Line::LongLine(line), Size::Short).join("; ")
        };
        assert_eq!(of_line(|_| {}), "");
        assert!(of_line(|it| it.most_bytes += 1).contains("of memory"));
        assert!(of_line(|it| it.is_answered = false).contains("not read"));
    }

    #[test]
    fn a_row_says_whether_the_goal_is_reached() {
        assert!(show(&Line::Stream(stream(20.0))).contains("50 MB/s: reached"));
        assert!(show(&Line::Stream(stream(20.1))).contains("50 MB/s: MISSED"));
    }
}
