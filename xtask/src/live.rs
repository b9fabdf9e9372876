//! `cargo xtask live`: drives real coding agents against a scripted model provider, without an account and without a network.
//!
//! The agents are installed once, at the pinned versions of `install`, into the directory `live` beside what cargo builds.

mod install;

use anyhow::{Context, Result, bail};
use cargo_metadata::MetadataCommand;
use clap::Args;

use crate::suites::{LIVE_FEATURE, LIVE_MINUTES, POSTGRES_FEATURES, isolated};
use crate::tool::{Tool, root};
use install::AGENTS;

pub(crate) use install::{NODE, SUITE};

/// What is played.
#[derive(Debug, Args)]
pub(crate) struct Live {
    /// This agent only; may be repeated. Without it all: claude, codex, opencode, pi, gemini, qwen.
    #[arg(long = "agent", value_name = "NAME")]
    agents: Vec<String>,
    /// This case only; may be repeated. `--list` names them.
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<String>,
    /// The cases that CI plays.
    #[arg(long)]
    short: bool,
    /// Keeps the directory of each case, and says where it is.
    #[arg(long)]
    keep: bool,
    /// Lists what would be played.
    #[arg(long)]
    list: bool,
    /// Installs the agents, and plays nothing.
    #[arg(long)]
    install: bool,
}

pub(crate) fn run(live: &Live) -> Result<()> {
    let metadata = MetadataCommand::new().current_dir(root()).no_deps().exec()?;
    let dir = metadata.target_directory.as_std_path().join("live");
    let names: Vec<&str> = AGENTS.map(|agent| agent.name).to_vec();
    if let Some(unknown) = live.agents.iter().find(|name| !names.contains(&name.as_str())) {
        bail!(
            "there is no agent `{unknown}` to play, expected one of: {}",
            names.join(", ")
        );
    }
    let wanted = |name: &str| live.agents.is_empty() || live.agents.iter().any(|agent| agent == name);
    let mut played = Vec::new();
    for agent in AGENTS.iter().filter(|agent| wanted(agent.name)) {
        let command = if live.list {
            Vec::new()
        } else {
            agent
                .install(&dir)
                .with_context(|| format!("cannot install {} {}", agent.name, agent.pin.version))?
        };
        let command = serde_json::to_string(&command)?;
        played.push(format!("{}={command}", agent.name));
    }
    if live.install {
        return Ok(());
    }
    play(live, &played)
}

fn play(live: &Live, agents: &[String]) -> Result<()> {
    // The whole workspace, as all other tests: what is built for them serves here.
    let mut args = vec!["test", "--quiet", "--locked", "--workspace"];
    args.extend(["--features", POSTGRES_FEATURES, "--features", LIVE_FEATURE]);
    args.extend(["--test", "live", "--"]);
    for agent in agents {
        args.extend(["--agent", agent]);
    }
    for case in &live.cases {
        args.extend(["--case", case]);
    }
    let flags = [
        (live.short, "--short"),
        (live.keep, "--keep"),
        (live.list, "--list"),
    ];
    args.extend(flags.iter().filter_map(|(set, flag)| set.then_some(*flag)));
    let limit = LIVE_MINUTES.to_string();
    if live.short {
        args.extend(["--minutes", &limit]);
    }
    isolated(Tool::cargo(&args)).run()
}
