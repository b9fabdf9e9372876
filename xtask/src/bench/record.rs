//! The benches of the record, one after the other on the same disk.

use std::time::Instant;

use anyhow::{Result, bail};

use super::directory::Directory;
use super::line::Line;
use super::{judge, machine, report};
use crate::db;
use crate::tool::{Tool, say};

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Full,
    Takes,
    Short,
}

impl Size {
    const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Takes => "takes",
            Self::Short => "short",
        }
    }
}

/// The packages and their benches; the last one is about daemons.
const BENCHES: [(&str, &str); 3] = [
    ("cs-postgres", "postgres-record"),
    ("cs-sqlite", "sqlite-record"),
    ("cs-panel", "daemon"),
];

/// Returns the packages and benches of a size.
fn benches(size: Size) -> &'static [(&'static str, &'static str)] {
    match size {
        Size::Full | Size::Short => &BENCHES,
        Size::Takes => &BENCHES[..2],
    }
}

/// Measures, prints the figures, and fails when one of those that are judged is missed.
pub(super) fn run(size: Size) -> Result<()> {
    let begun = Instant::now();
    // Nothing is compiled while something is measured.
    for &(package, bench) in benches(size) {
        cargo_bench(package, bench, &["--no-run"]).run()?;
    }
    let directory = Directory::new()?;
    let machine = machine::facts(directory.path())?;
    let mut lines = Vec::new();
    db::with_server_for_bench(|url| {
        let files = directory.path().to_string_lossy().into_owned();
        for &(package, bench) in benches(size) {
            let places: &[&str] = match package {
                "cs-postgres" => &[url],
                "cs-sqlite" => &[&files],
                _ => &[url, &files],
            };
            let args = [&["--"][..], places, &[size.name()]].concat();
            cargo_bench(package, bench, &args).read_lines(|text| {
                lines.push(Line::read(text)?);
                Ok(())
            })?;
        }
        Ok(())
    })?;
    say(&report::render(&machine, &lines));
    say(&format!("measured in {} s", begun.elapsed().as_secs()));
    match (size, judge::missed(&lines)) {
        (Size::Short, _) => {
            say("nothing is judged: --short has too few rounds");
            Ok(())
        }
        (Size::Full | Size::Takes, missed) if missed.is_empty() => Ok(()),
        (Size::Full | Size::Takes, missed) => {
            bail!("the record is slower than wanted:\n  {}", missed.join("\n  "))
        }
    }
}

fn cargo_bench(package: &str, bench: &str, args: &[&str]) -> Tool {
    let bench = ["bench", "--quiet", "--locked", "-p", package, "--bench", bench];
    Tool::cargo(&[&bench, args].concat())
}
