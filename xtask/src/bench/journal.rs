//! The bench of the ledger: appends against raw writes, the rebuild, a reconcile.

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::directory::Directory;
use super::figures::median;
use super::machine;
use crate::tool::{Tool, say};

/// An append reaches at least this part of the speed of a raw write and sync of the same bytes.
const APPENDS_MIN: f64 = 0.8;

/// What the bench prints. Times are milliseconds.
#[derive(Debug, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum Line {
    Appends {
        of: u32,
        bytes: usize,
        ours: Vec<f64>,
        raw: Vec<f64>,
    },
    Rebuild {
        events: usize,
        times: Vec<f64>,
    },
    Reconcile {
        items: usize,
        time: f64,
    },
}

/// Measures, prints the figures, and fails when appends are too slow.
pub(super) fn run() -> Result<()> {
    cargo_bench(&["--no-run"]).run()?;
    let directory = Directory::new()?;
    for (name, value) in machine::facts(directory.path())? {
        say(&format!("{name}: {value}"));
    }
    let mut speed = f64::NAN;
    let path = directory.path().to_string_lossy().into_owned();
    cargo_bench(&["--", &path]).read_lines(|text| {
        let line: Line = serde_json::from_str(text).with_context(|| format!("a bench printed {text}"))?;
        if let Line::Appends { ours, raw, .. } = &line {
            speed = median(raw) / median(ours);
        }
        say(&show(&line));
        Ok(())
    })?;
    // What is not a number reaches nothing.
    let is_reached = speed >= APPENDS_MIN;
    if is_reached {
        return Ok(());
    }
    bail!("an append reaches {speed:.2} of the speed of a raw write, at least {APPENDS_MIN} is wanted");
}

fn show(line: &Line) -> String {
    match line {
        Line::Appends { of, bytes, ours, raw } => {
            let each = |times: &[f64]| median(times) / f64::from(*of);
            let (ours, raw) = (each(ours), each(raw));
            format!(
                "| append of {bytes} bytes | {:.0} per s | raw write and sync: {:.0} per s | speed {:.2}, at least {APPENDS_MIN} |",
                1_000.0 / ours,
                1_000.0 / raw,
                raw / ours
            )
        }
        Line::Rebuild { events, times } => {
            format!(
                "| rebuild of {events} events | {:.0} ms | goal: 1000 ms for 100,000 |",
                median(times)
            )
        }
        Line::Reconcile { items, time } => {
            format!("| reconcile of {items} pending claims after a crash | {time:.0} ms |")
        }
    }
}

fn cargo_bench(args: &[&str]) -> Tool {
    let bench = [
        "bench",
        "--quiet",
        "--locked",
        "-p",
        "cs-journal",
        "--bench",
        "journal",
    ];
    Tool::cargo(&[&bench, args].concat())
}
