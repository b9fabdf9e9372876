//! Tasks of the contributors: `cargo xtask test | ci | tidy | db | check | bench | sim | torture | fuzz | live | conformance | docs`.

mod bench;
mod check;
mod conformance;
mod db;
mod fuzz;
mod live;
mod sim;
mod suites;
mod tidy;
mod tool;
mod torture;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use suites::Scope;
use tool::{Tool, say};

/// Tasks of the contributors.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
enum Task {
    /// Runs every test: with nextest where it is installed, else with `cargo test`.
    Test {
        /// Starts a throw-away Postgres, runs everything that can on it too, and stops it.
        #[arg(long)]
        postgres: bool,
    },
    /// Runs what CI runs: formatting, clippy, tidy, docs, tests.
    Ci {
        /// Only formatting, clippy, tidy and the tests of the crates that start no process.
        #[arg(long)]
        quick: bool,
        /// As `test --postgres`.
        #[arg(long, conflicts_with = "quick")]
        postgres: bool,
    },
    /// Checks the rules of the house that no other tool knows.
    Tidy,
    /// Starts and stops a throw-away Postgres from this machine's own binaries.
    #[command(subcommand)]
    Db(db::Db),
    /// Visits every state of two machines and one card with the production rules, and breaks them to show that it notices.
    Check {
        /// The full worlds, in minutes; without it those of an ordinary test run.
        #[arg(long)]
        full: bool,
    },
    /// Measures; without an area it lists what it can measure.
    Bench {
        /// What to measure.
        #[command(subcommand)]
        area: Option<bench::Area>,
    },
    /// Simulates daemons, agents, people and faults from many seeds, each twice, and says what did not hold.
    Sim(sim::Seeds),
    /// Runs a heavy test in its full length.
    Torture(torture::Torture),
    /// Drives real coding agents against a scripted model provider, with nothing but the loopback.
    Live(live::Live),
    /// Throws anything at what reads what others say, for as long as is asked for.
    Fuzz(fuzz::Fuzz),
    /// Plays the official conformance suite of the Model Context Protocol against both doors of the tools.
    Conformance(conformance::Conformance),
    /// Builds the documentation, warnings denied.
    Docs,
}

fn main() -> ExitCode {
    let done = match Task::parse() {
        Task::Test { postgres } => suites::test(scope(postgres)),
        Task::Ci { quick: true, .. } => ci_quick(),
        Task::Ci { postgres, .. } => ci(scope(postgres)),
        Task::Db(command) => db::run(&command),
        Task::Check { full: true } => check::run(check::Size::Full),
        Task::Check { full: false } => check::run(check::Size::Small),
        Task::Bench { area } => bench::run(area.as_ref()),
        Task::Sim(seeds) => sim::run(&seeds),
        Task::Torture(torture) => torture::run(&torture),
        Task::Live(live) => live::run(&live),
        Task::Fuzz(fuzz) => fuzz::run(&fuzz),
        Task::Conformance(conformance) => conformance::run(&conformance),
        Task::Tidy => tidy::check_workspace(),
        Task::Docs => docs(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

const fn scope(postgres: bool) -> Scope {
    if postgres { Scope::Postgres } else { Scope::Plain }
}

fn ci(scope: Scope) -> Result<()> {
    check_text()?;
    docs()?;
    suites::test(scope)
}

fn ci_quick() -> Result<()> {
    check_text()?;
    suites::test_quick()
}

fn check_text() -> Result<()> {
    Tool::cargo(&["fmt", "--all", "--check"]).run()?;
    tidy::check_workspace()?;
    Tool::cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--locked",
        "--features",
        suites::ALL_FEATURES,
        "--",
        "-D",
        "warnings",
    ])
    .run()
}

fn docs() -> Result<()> {
    let doc = Tool::cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
    doc.with("RUSTDOCFLAGS", "-D warnings").run()
}
