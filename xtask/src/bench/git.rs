//! The bench of the trees: a tree against a plain clone, a salvage against a plain commit, a landing against three commands, cleanups, many
//! trees at once.

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::directory::Directory;
use super::figures::{median, quotient};
use super::machine;
use crate::tool::{Tool, say};

/// A tree is ready within this many times a plain local clone.
const TREE_MAX: f64 = 1.3;
/// A salvage takes at most this many times `git add -A` and `git commit`.
const SALVAGE_MAX: f64 = 2.0;
/// A landing of a clean merge takes at most this many times `git merge-tree`, `git commit-tree` and `git update-ref`.
const LANDING_MAX: f64 = 2.0;
/// A cleanup returns within this time: a goal.
const CLEANUP_GOAL_MS: f64 = 200.0;

/// What the bench prints. Times are milliseconds.
#[derive(Debug, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum Line {
    FirstTree {
        time: f64,
    },
    Trees {
        files: usize,
        ours: Vec<f64>,
        raw: Vec<f64>,
    },
    Salvages {
        files: usize,
        ours: Vec<f64>,
        raw: Vec<f64>,
    },
    Cleanups {
        times: Vec<f64>,
    },
    Landings {
        files: usize,
        ours: Vec<f64>,
        raw: Vec<f64>,
    },
    AtOnce {
        trees: usize,
        errors: Vec<String>,
        time: f64,
    },
}

/// Measures, prints the figures, and fails when a limit is missed.
pub(super) fn run() -> Result<()> {
    cargo_bench(&["--no-run"]).run()?;
    let directory = Directory::new()?;
    for (name, value) in machine::facts(directory.path())? {
        say(&format!("{name}: {value}"));
    }
    say("| what | measured | wanted |\n|---|---|---|");
    let mut missed = Vec::new();
    let path = directory.path().to_string_lossy().into_owned();
    let mut seen = 0;
    cargo_bench(&["--", &path]).read_lines(|text| {
        let line: Line = serde_json::from_str(text).with_context(|| format!("a bench printed {text}"))?;
        say(&show(&line));
        missed.extend(judge(&line));
        seen += 1;
        Ok(())
    })?;
    if seen < 6 {
        bail!("the bench ended early");
    }
    if missed.is_empty() {
        return Ok(());
    }
    bail!("{}", missed.join("; "))
}

fn judge(line: &Line) -> Option<String> {
    // What is not a number reaches nothing.
    let within = |name: &str, measured: f64, limit: f64| {
        let is_kept = measured <= limit;
        (!is_kept).then(|| format!("{name} takes {measured:.2} times plain git, at most {limit} is wanted"))
    };
    match line {
        Line::FirstTree { .. } | Line::Cleanups { .. } => None,
        Line::Trees { ours, raw, .. } => within("a tree", quotient(ours, raw), TREE_MAX),
        Line::Salvages { ours, raw, .. } => within("a salvage", quotient(ours, raw), SALVAGE_MAX),
        Line::Landings { ours, raw, .. } => within("a landing", quotient(ours, raw), LANDING_MAX),
        Line::AtOnce { errors, .. } => (!errors.is_empty()).then(|| errors.join("; ")),
    }
}

fn show(line: &Line) -> String {
    match line {
        Line::FirstTree { time } => {
            format!("| first tree of a codebase, with its store | {time:.0} ms | – |")
        }
        Line::Trees { files, ours, raw } => format!(
            "| tree of {files} files | {:.0} ms; plain clone {:.0} ms; {:.2} times | at most {TREE_MAX} |",
            median(ours),
            median(raw),
            quotient(ours, raw)
        ),
        Line::Salvages { files, ours, raw } => format!(
            "| salvage of {files} changed files | {:.0} ms; `add -A` and `commit` {:.0} ms; {:.2} times | at most {SALVAGE_MAX} |",
            median(ours),
            median(raw),
            quotient(ours, raw)
        ),
        Line::Cleanups { times } => format!(
            "| cleanup of a tree | {:.0} ms | a goal: {CLEANUP_GOAL_MS} ms |",
            median(times)
        ),
        Line::Landings { files, ours, raw } => format!(
            "| landing of a merge of {files} files | {:.1} ms; by hand {:.1} ms; {:.2} times | at most {LANDING_MAX} |",
            median(ours),
            median(raw),
            quotient(ours, raw)
        ),
        Line::AtOnce { trees, errors, time } => format!(
            "| {trees} trees made at once | {time:.0} ms, {} errors | no error |",
            errors.len()
        ),
    }
}

fn cargo_bench(args: &[&str]) -> Tool {
    let bench = [
        "bench",
        "--quiet",
        "--locked",
        "-p",
        "cs-worktree",
        "--bench",
        "git-trees",
    ];
    Tool::cargo(&[&bench, args].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_missed_or_was_not_measured_is_named() {
        let trees = |ours: f64| Line::Trees {
            files: 1,
            ours: vec![ours],
            raw: vec![1.0],
        };
        assert_eq!(judge(&trees(1.3)), None);
        assert!(judge(&trees(1.31)).unwrap().contains("1.31"));
        assert!(judge(&trees(f64::NAN)).is_some());
        let salvages = Line::Salvages {
            files: 1,
            ours: Vec::new(),
            raw: Vec::new(),
        };
        assert!(judge(&salvages).is_some());
        let at_once = Line::AtOnce {
            trees: 2,
            errors: vec!["busy".to_owned()],
            time: 1.0,
        };
        assert_eq!(judge(&at_once), Some("busy".to_owned()));
    }
}
