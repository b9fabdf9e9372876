//! `cargo xtask fuzz`: anything at all, to what reads what others say, for as long as is asked for. Ordinary test runs play a few cases.

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::suites::isolated;
use crate::tool::Tool;

/// What is played.
#[derive(Debug, Args)]
pub(crate) struct Fuzz {
    #[command(subcommand)]
    area: Area,
}

#[derive(Debug, Subcommand)]
enum Area {
    /// The bridge, both doors and each tool.
    Tools {
        /// How long each of them is played; all are at once.
        #[arg(long, default_value_t = 10)]
        minutes: u64,
    },
}

pub(crate) fn run(fuzz: &Fuzz) -> Result<()> {
    let Area::Tools { minutes } = fuzz.area;
    let test = [
        "test",
        "--locked",
        "--package",
        "cs-tools",
        "--test",
        "it",
        "--",
        "fuzz::any_",
        "--nocapture",
        "--test-threads=4",
    ];
    let played = isolated(Tool::cargo(&test));
    played
        .with("CS_PANEL_FUZZ_SECONDS", &(minutes * 60).to_string())
        .run()
}
