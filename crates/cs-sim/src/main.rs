//! `cs-sim`: simulates many seeds, each twice, and says what did not hold. `cargo xtask sim` starts it.
#![expect(
    clippy::print_stdout,
    reason = "a program of the contributors that prints what it found"
)]

use std::process::ExitCode;
use std::time::Instant;

use cs_sim::{Options, Report, Totals, simulate};

/// After so many seeds it is said how far it is.
const SAY_EVERY: u64 = 100;

fn main() -> ExitCode {
    let mut from = 0;
    let mut seeds = 500;
    let mut options = Options::default();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let number = args.next().and_then(|text| text.parse().ok());
        match (arg.as_str(), number) {
            ("--seeds", Some(count)) => seeds = count,
            ("--from", Some(first)) => from = first,
            ("--seed", Some(seed)) => {
                (from, seeds) = (seed, 1);
                options.last = 1_000_000;
            }
            _ => {
                println!("usage: cs-sim [--seeds COUNT] [--from SEED] [--seed SEED]");
                return ExitCode::FAILURE;
            }
        }
    }
    match all(from, seeds, options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Simulates all seeds; says whether everything held.
fn all(from: u64, seeds: u64, options: Options) -> std::io::Result<bool> {
    let began = Instant::now();
    let mut totals = Totals::default();
    let mut failed = Vec::new();
    for seed in from..from.saturating_add(seeds) {
        let report = simulate(seed, options)?;
        totals.add(&report.totals);
        let again = simulate(seed, options)?;
        if report.violation.is_some() || again != report {
            say_failure(&report, &again);
            failed.push(seed);
        }
        let done = seed - from + 1;
        if done.is_multiple_of(SAY_EVERY) {
            println!("{done} seeds, {} s", began.elapsed().as_secs());
        }
    }
    println!("{totals}");
    println!(
        "seeds {from} to {}, each twice: {} failed",
        from + seeds - 1,
        failed.len()
    );
    Ok(failed.is_empty())
}

fn say_failure(report: &Report, again: &Report) {
    println!("{report}");
    if again != report {
        println!("seed {} went another way the second time:\n{again}", report.seed);
    }
    println!("once more: cargo xtask sim --seed {}\n", report.seed);
}
