//! The simulation: from how many seeds, on all cores.

use anyhow::Result;
use clap::Args;

use crate::suites::isolated;
use crate::tool::{Tool, say};

/// Which seeds.
#[derive(Debug, Args)]
pub(crate) struct Seeds {
    /// How many; from 500 on, all that can go wrong must have.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// The first one.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// This one only, with all that happened.
    #[arg(long, conflicts_with_all = ["seeds", "from"])]
    seed: Option<u64>,
    /// What is broken on purpose, each with the first of so many seeds in which an invariant notices.
    #[arg(long, conflicts_with_all = ["seeds", "from", "seed"], value_parser = clap::value_parser!(u64).range(1..))]
    broken: Option<u64>,
}

pub(crate) fn run(seeds: &Seeds) -> Result<()> {
    let build = ["build", "--quiet", "--locked", "--release", "--package", "cs-sim"];
    Tool::cargo(&build).run()?;
    if let Some(seed) = seeds.seed {
        return simulate(&["--seed", &seed.to_string()]);
    }
    if let Some(count) = seeds.broken {
        return simulate(&["--broken", &count.to_string()]);
    }
    let (from, count) = (seeds.from.to_string(), seeds.seeds.to_string());
    simulate(&["--from", &from, "--seeds", &count])?;
    say(&format!("every invariant held from {count} seeds"));
    Ok(())
}

fn simulate(args: &[&str]) -> Result<()> {
    let run = [
        "run",
        "--quiet",
        "--locked",
        "--release",
        "--package",
        "cs-sim",
        "--",
    ];
    isolated(Tool::cargo(&[&run, args].concat())).run()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        seeds: Seeds,
    }

    #[test]
    fn no_seeds_show_nothing_and_are_refused() {
        assert!(Line::try_parse_from(["sim", "--seeds", "0"]).is_err());
        assert!(Line::try_parse_from(["sim", "--broken", "0"]).is_err());
        let one = Line::try_parse_from(["sim", "--seeds", "1"]).unwrap();
        assert_eq!(one.seeds.seeds, 1);
    }
}
