//! The bench of supervision: output, one endless line, a forced end, many executions.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::directory::Directory;
use super::figures::{median, quantile, quotient};
use super::machine;
use crate::tool::{Tool, say};

/// An agent reaches at least this part of the speed of the same program that writes to a file by hand.
const OUTPUT_MIN: f64 = 0.9;
/// Neither the follower of a line of a gigabyte nor the shim of its agent may ever occupy more memory.
const MEMORY_MAX_BYTES: u64 = 32_000_000;
/// How much more than its window a spool may occupy once it was read. While an agent writes faster than anybody reads it grows: nobody
/// holds an agent up.
const SPOOL_OVER_WINDOW_MAX_BYTES: u64 = 64 << 20;

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Full,
    Short,
}

/// What the bench prints. Times are milliseconds in the order of measurement, shares are of one core.
#[derive(Debug, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum Line {
    Pour(Pour),
    LongLine(LongLine),
    Force { tier: String, times: Vec<f64> },
    Adopt { executions: u32, millis: f64 },
    Quiet(Quiet),
}

#[derive(Debug, Deserialize)]
struct Pour {
    bytes: u64,
    watched: bool,
    spool: Vec<f64>,
    file: Vec<f64>,
}

#[derive(Debug, Deserialize)]
struct LongLine {
    bytes: u64,
    millis: f64,
    follower_bytes: u64,
    shim_bytes: u64,
    spool_bytes: u64,
    most_spool_bytes: u64,
    window_bytes: u64,
    longest_write_millis: f64,
    is_intact: bool,
}

#[derive(Debug, Deserialize)]
struct Quiet {
    executions: u32,
    seconds: f64,
    owner_share: f64,
    owner_bytes: u64,
    shims_share: f64,
    shims_dirty_bytes: u64,
}

/// Measures, prints the figures, and fails when a limit is missed. The short form judges no figure, only whether the long
/// line is intact.
pub(super) fn run(size: Size) -> Result<()> {
    let begun = Instant::now();
    cargo_bench(&["--no-run"]).run()?;
    let directory = Directory::new()?;
    for (name, value) in machine::facts(directory.path())? {
        say(&format!("{name}: {value}"));
    }
    let path = directory.path().to_string_lossy().into_owned();
    let size_name = match size {
        Size::Full => "full",
        Size::Short => "short",
    };
    let (mut missed, mut broken) = (Vec::new(), Vec::new());
    let mut rows = vec!["| what | measured | wanted |\n|---|---|---|".to_owned()];
    cargo_bench(&["--", &path, size_name]).read_lines(|text| {
        let line: Line = serde_json::from_str(text).with_context(|| format!("a bench printed {text}"))?;
        missed.extend(judge(&line));
        broken.extend(what_broke(&line));
        rows.extend(show(&line));
        Ok(())
    })?;
    say(&format!("\n{}\n", rows.join("\n")));
    say(&format!("measured in {} s", begun.elapsed().as_secs()));
    match size {
        Size::Short if broken.is_empty() => {
            say("no figure is judged: --short has too few rounds");
            Ok(())
        }
        Size::Short => bail!("supervision does not work:\n  {}", broken.join("\n  ")),
        Size::Full if missed.is_empty() => Ok(()),
        Size::Full => bail!("supervision costs more than it may:\n  {}", missed.join("\n  ")),
    }
}

/// Returns a sentence for each limit that was missed.
fn judge(line: &Line) -> Vec<String> {
    match line {
        Line::Pour(pour) => {
            let speed = quotient(&pour.file, &pour.spool);
            // What is not a number reaches nothing.
            let is_reached = speed >= OUTPUT_MIN;
            let what = format!(
                "output to a spool reaches {speed:.2} of the speed of a file, at least {OUTPUT_MIN} is wanted"
            );
            (!is_reached).then_some(what).into_iter().collect()
        }
        Line::LongLine(line) => judge_line(line),
        Line::Force { .. } | Line::Adopt { .. } | Line::Quiet(_) => Vec::new(),
    }
}

fn judge_line(line: &LongLine) -> Vec<String> {
    let mut missed = Vec::new();
    for (who, bytes) in [("follower", line.follower_bytes), ("shim", line.shim_bytes)] {
        if bytes > MEMORY_MAX_BYTES {
            missed.push(format!(
                "the {who} of a long line occupied {} MB, at most {} are allowed",
                mega(bytes),
                mega(MEMORY_MAX_BYTES)
            ));
        }
    }
    let most = line.window_bytes + SPOOL_OVER_WINDOW_MAX_BYTES;
    if line.spool_bytes > most {
        missed.push(format!(
            "the spool of a long line occupied {} MB, at most {} are allowed",
            mega(line.spool_bytes),
            mega(most)
        ));
    }
    missed.extend(what_broke_in(line));
    missed
}

/// Returns a sentence for what does not work at all, however fast the machine is and few the rounds are.
fn what_broke(line: &Line) -> Option<String> {
    match line {
        Line::LongLine(line) => what_broke_in(line),
        Line::Pour(_) | Line::Force { .. } | Line::Adopt { .. } | Line::Quiet(_) => None,
    }
}

fn what_broke_in(line: &LongLine) -> Option<String> {
    let sentence = || "a long line was not cut at its cap, or what follows it was not read".to_owned();
    (!line.is_intact).then(sentence)
}

/// The rows of a table in Markdown.
fn show(line: &Line) -> Vec<String> {
    match line {
        Line::Pour(pour) => {
            let speed = |times: &[f64]| pour.bytes as f64 / 1e3 / median(times);
            vec![format!(
                "| an agent's output, {} MB{} | {:.0} MB/s; by hand into a file {:.0} MB/s; speed {:.2} | at least {OUTPUT_MIN} |",
                mega(pour.bytes),
                if pour.watched { ", followed meanwhile" } else { "" },
                speed(&pour.spool),
                speed(&pour.file),
                quotient(&pour.file, &pour.spool)
            )]
        }
        Line::LongLine(line) => show_line(line),
        Line::Force { tier, times } => vec![format!(
            "| forced end of a tree of five that resists, by {tier} | half within {:.0} ms, the slowest of {} {:.0} ms | a goal: 200 ms |",
            median(times),
            times.len(),
            quantile(times, 1.0)
        )],
        Line::Adopt { executions, millis } => vec![format!(
            "| {executions} live executions adopted after the death of their owner | {millis:.0} ms | a goal: 2000 ms for 200 |"
        )],
        Line::Quiet(quiet) => vec![
            format!(
                "| owner of {} quiet executions, for {:.0} s | {:.2} % of a core, {} MB | a goal: 0.5 %, 60 MB for 50 |",
                quiet.executions,
                quiet.seconds,
                quiet.owner_share * 100.0,
                mega(quiet.owner_bytes)
            ),
            format!(
                "| their shims together | {:.2} % of a core, {} MB of private dirty memory | – |",
                quiet.shims_share * 100.0,
                mega(quiet.shims_dirty_bytes)
            ),
        ],
    }
}

fn show_line(line: &LongLine) -> Vec<String> {
    vec![
        format!(
            "| one line of {} MB: memory, at its most | follower {} MB, shim {} MB | at most {} MB each |",
            mega(line.bytes),
            mega(line.follower_bytes),
            mega(line.shim_bytes),
            mega(MEMORY_MAX_BYTES)
        ),
        format!(
            "| … its spool's disk once it is read | {} MB, {} MB at its most | at most {} MB once it is read |",
            mega(line.spool_bytes),
            mega(line.most_spool_bytes),
            mega(line.window_bytes + SPOOL_OVER_WINDOW_MAX_BYTES)
        ),
        format!(
            "| … read to the event after it | {:.0} ms, the agent's longest write {:.0} ms | intact |",
            line.millis, line.longest_write_millis
        ),
    ]
}

fn mega(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}

fn cargo_bench(args: &[&str]) -> Tool {
    let bench = [
        "bench",
        "--quiet",
        "--locked",
        "-p",
        "cs-supervise",
        "--bench",
        "supervise",
    ];
    Tool::cargo(&[&bench, args].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pour(spool: f64) -> Line {
        Line::Pour(Pour {
            bytes: 1_000_000,
            watched: false,
            spool: vec![spool; 3],
            file: vec![9.0; 3],
        })
    }

    fn line() -> LongLine {
        LongLine {
            bytes: 1_000_000_000,
            millis: 1_000.0,
            follower_bytes: MEMORY_MAX_BYTES,
            shim_bytes: MEMORY_MAX_BYTES,
            most_spool_bytes: 0,
            spool_bytes: 3 + SPOOL_OVER_WINDOW_MAX_BYTES,
            window_bytes: 3,
            longest_write_millis: 1.0,
            is_intact: true,
        }
    }

    #[test]
    fn output_at_the_limit_is_fast_enough_and_what_was_not_measured_is_missed() {
        assert_eq!(judge(&pour(10.0)), Vec::<String>::new());
        let said = judge(&pour(10.1));
        assert!(said[0].contains("reaches 0.89"), "{said:?}");
        assert_eq!(judge(&pour(f64::NAN)).len(), 1);
    }

    #[test]
    fn each_limit_of_a_long_line_is_named_when_it_is_missed() {
        assert_eq!(judge(&Line::LongLine(line())), Vec::<String>::new());
        let missed = |change: fn(&mut LongLine)| {
            let mut line = line();
            change(&mut line);
            judge(&Line::LongLine(line)).join("; ")
        };
        assert!(missed(|it| it.follower_bytes += 1).contains("follower"));
        assert!(missed(|it| it.shim_bytes += 1).contains("shim"));
        assert!(missed(|it| it.spool_bytes += 1).contains("spool"));
        assert!(missed(|it| it.is_intact = false).contains("cut"));
    }

    #[test]
    fn the_short_form_fails_on_a_line_that_is_not_intact_and_on_no_figure() {
        let slow = LongLine {
            follower_bytes: u64::MAX,
            ..line()
        };
        assert_eq!(what_broke(&Line::LongLine(slow)), None);
        assert_eq!(what_broke(&pour(f64::NAN)), None);
        let broken = LongLine {
            is_intact: false,
            ..line()
        };
        assert!(what_broke(&Line::LongLine(broken)).is_some_and(|it| it.contains("cut")));
    }

    #[test]
    fn a_row_shows_the_figures() {
        let rows = show(&pour(10.0));
        assert_eq!(
            rows,
            [
                "| an agent's output, 1 MB | 100 MB/s; by hand into a file 111 MB/s; speed 0.90 | at least 0.9 |"
            ]
        );
        let quiet = show(&Line::Quiet(Quiet {
            executions: 50,
            seconds: 60.0,
            owner_share: 0.001,
            owner_bytes: 9_000_000,
            shims_share: 0.02,
            shims_dirty_bytes: 1,
        }));
        assert!(quiet[0].contains("0.10 % of a core, 9 MB"), "{quiet:?}");
    }
}
