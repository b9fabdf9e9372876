//! `cargo xtask conformance`: the official conformance suite of the Model Context Protocol against both doors of the tools.

use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;
use clap::Args;

use crate::live::{NODE, SUITE};
use crate::suites::{CONFORMANCE_FEATURE, LIVE_FEATURE, POSTGRES_FEATURES, isolated};
use crate::tool::{Tool, root};

/// What is done.
#[derive(Debug, Args)]
pub(crate) struct Conformance {
    /// Installs the suite, and plays nothing.
    #[arg(long)]
    install: bool,
}

pub(crate) fn run(conformance: &Conformance) -> Result<()> {
    let metadata = MetadataCommand::new().current_dir(root()).no_deps().exec()?;
    let target = metadata.target_directory.as_std_path();
    let [node, suite] = [NODE, SUITE].map(|pin| {
        pin.install(&target.join("live"))
            .context("cannot install the suite")
    });
    let (node, suite) = (node?, suite?);
    if conformance.install {
        return Ok(());
    }
    play(target, &node, &suite)
}

fn play(target: &Path, node: &str, suite: &str) -> Result<()> {
    // The whole workspace, as all other tests: what is built for them serves here.
    let features = [POSTGRES_FEATURES, LIVE_FEATURE, CONFORMANCE_FEATURE].join(",");
    let all = ["--quiet", "--locked", "--workspace", "--features", &features];
    let built = ["--bin", "cs-panel", "--test", "mcp_suite"];
    Tool::cargo(&[&["build"], &all[..], &built].concat()).run()?;
    let bridge = target.join("debug/cs-panel").display().to_string();
    let played = ["--test", "mcp_suite", "--", node, suite, &bridge];
    isolated(Tool::cargo(&[&["test"], &all[..], &played].concat())).run()
}
