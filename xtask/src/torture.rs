//! Heavy tests in their full length. Ordinary test runs and CI play a short form of each.

use std::thread;

use anyhow::{Result, anyhow};
use clap::Subcommand;

use crate::suites::{POSTGRES_URL, isolated};
use crate::{db, tool::Tool, tool::say};

/// What is tortured.
#[derive(Debug, Subcommand)]
pub(crate) enum Victim {
    /// Plays random commands on each store and in memory, and compares every result and the rows that are left.
    Record {
        /// How many sequences of up to 160 commands each store is played.
        #[arg(long, default_value_t = 10_000)]
        sequences: u32,
    },
}

pub(crate) fn run(victim: &Victim) -> Result<()> {
    match victim {
        Victim::Record { sequences } => record(*sequences),
    }
}

const SQLITE: [&str; 2] = ["--package", "cs-sqlite"];
const POSTGRES: [&str; 4] = [
    "--package",
    "cs-postgres",
    "--features",
    "cs-postgres/postgres-tests",
];

/// Both stores at once: each has one writer, and the machine has two cores.
fn record(sequences: u32) -> Result<()> {
    for store in [&SQLITE[..], &POSTGRES[..]] {
        cargo_test(store, &["--no-run"]).run()?;
    }
    db::with_server(|url| {
        let play = |store: &[&str], name: &str| {
            let tests = cargo_test(store, &[name, "--", "--exact", "--nocapture"]);
            let tests = tests.with("PROPTEST_CASES", &sequences.to_string());
            tests.with(POSTGRES_URL, url).run()
        };
        thread::scope(|scope| {
            let sqlite = scope.spawn(|| play(&SQLITE, "compare::sqlite_does_what_memory_does"));
            let postgres = play(&POSTGRES, "compare::postgres_does_what_memory_does");
            let sqlite = sqlite
                .join()
                .map_err(|_| anyhow!("the comparison with SQLite panicked"))?;
            sqlite.and(postgres)
        })
    })?;
    say(&format!(
        "memory, SQLite and Postgres did the same in {sequences} sequences each"
    ));
    Ok(())
}

fn cargo_test(store: &[&str], args: &[&str]) -> Tool {
    let test = ["test", "--quiet", "--locked", "--test", "conformance"];
    isolated(Tool::cargo(&[&test[..], store, args].concat()))
}
