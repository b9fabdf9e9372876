//! The simulation: from how many seeds, on all cores.

use std::thread;

use anyhow::{Result, anyhow};
use clap::Args;

use crate::suites::isolated;
use crate::tool::{Tool, say};

/// Which seeds.
#[derive(Debug, Args)]
pub(crate) struct Seeds {
    /// How many.
    #[arg(long, default_value_t = 500)]
    seeds: u64,
    /// The first one.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// This one only, with all that happened.
    #[arg(long, conflicts_with_all = ["seeds", "from"])]
    seed: Option<u64>,
}

pub(crate) fn run(seeds: &Seeds) -> Result<()> {
    let build = ["build", "--quiet", "--locked", "--release", "--package", "cs-sim"];
    Tool::cargo(&build).run()?;
    if let Some(seed) = seeds.seed {
        return simulate(&["--seed", &seed.to_string()]);
    }
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let shares = shares(seeds.from, seeds.seeds, cores);
    let outcome: Result<()> = thread::scope(|scope| {
        let start = |(from, count): &(u64, u64)| {
            let (from, count) = (from.to_string(), count.to_string());
            scope.spawn(move || simulate(&["--from", &from, "--seeds", &count]))
        };
        let shares: Vec<_> = shares.iter().map(start).collect();
        let ended = shares.into_iter().map(|share| share.join());
        let ended: Vec<_> = ended
            .map(|ended| ended.map_err(|_| anyhow!("a share panicked"))?)
            .collect();
        ended.into_iter().collect()
    });
    outcome?;
    say(&format!("every invariant held from {} seeds", seeds.seeds));
    Ok(())
}

/// Gives each core some of the seeds: the first one and how many.
fn shares(from: u64, seeds: u64, cores: u64) -> Vec<(u64, u64)> {
    let share = seeds.div_ceil(cores.max(1)).max(1);
    let starts = (0..seeds).step_by(usize::try_from(share).unwrap_or(usize::MAX));
    starts
        .map(|start| (from + start, share.min(seeds - start)))
        .collect()
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
    use super::*;

    #[test]
    fn every_seed_is_in_one_share() {
        assert_eq!(shares(10, 5, 2), [(10, 3), (13, 2)]);
        assert_eq!(shares(0, 1, 8), [(0, 1)]);
        assert_eq!(shares(0, 0, 2), []);
    }
}
