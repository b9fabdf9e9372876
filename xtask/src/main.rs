//! Tasks of the contributors: `cargo xtask test | ci | tidy | docs`.

mod suites;
mod tidy;
mod tool;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use tool::{Tool, say};

/// Tasks of the contributors.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
enum Task {
    /// Runs every test: with nextest where it is installed, else with `cargo test`.
    Test,
    /// Runs what CI runs: formatting, clippy, tidy, docs, tests.
    Ci {
        /// Only formatting, clippy, tidy and the tests of the crates that start no process.
        #[arg(long)]
        quick: bool,
    },
    /// Checks the rules of the house that no other tool knows.
    Tidy,
    /// Builds the documentation, warnings denied.
    Docs,
}

fn main() -> ExitCode {
    let done = match Task::parse() {
        Task::Test => suites::test(),
        Task::Ci { quick: true } => ci_quick(),
        Task::Ci { quick: false } => ci(),
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

fn ci() -> Result<()> {
    check_text()?;
    docs()?;
    suites::test()
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
