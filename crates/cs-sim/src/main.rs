//! `cs-sim`: simulates many seeds, each twice, on all cores, and says what did not hold. `cargo xtask sim` starts it.
#![expect(
    clippy::print_stdout,
    reason = "a program of the contributors that prints what it found"
)]

use std::process::ExitCode;
use std::time::Instant;

use cs_sim::{BROKEN, FLOOR_FROM, Options, Seen, Totals, Violation, simulate, simulate_all};

fn main() -> ExitCode {
    let mut from = 0;
    let mut seeds = 500;
    let mut options = Options::default();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let number = args.next().and_then(|text| text.parse().ok());
        match (arg.as_str(), number) {
            ("--seeds", Some(count)) if count > 0 => seeds = count,
            ("--from", Some(first)) => from = first,
            ("--broken", Some(count)) => return break_all(count),
            ("--seed", Some(seed)) => {
                (from, seeds) = (seed, 1);
                options.last = 1_000_000;
            }
            _ => {
                println!(
                    "usage: cs-sim [--seeds COUNT] [--from SEED] | --seed SEED | --broken COUNT; COUNT is 1 or more"
                );
                return ExitCode::FAILURE;
            }
        }
    }
    let began = Instant::now();
    let say = |seen: Seen<'_>| match seen {
        Seen::Failed { report, again } => {
            println!("{report}");
            if report != again {
                println!("seed {} went another way the second time:\n{again}", report.seed);
            }
            println!("once more: cargo xtask sim --seed {}\n", report.seed);
        }
        Seen::One(report) => println!("{report}"),
        Seen::Done(done) => println!("{done} seeds, {} s", began.elapsed().as_secs()),
    };
    match simulate_all(from, seeds, options, &say) {
        Ok((totals, failed)) => end(&totals, from, seeds, failed),
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Says of everything that is broken on purpose which invariant notices first, and in which of so many seeds.
fn break_all(seeds: u64) -> ExitCode {
    let mut all_seen = ExitCode::SUCCESS;
    for broken in BROKEN {
        let options = Options {
            mutant: Some(broken.mutant),
            kind: Some(broken.kind),
            ..Options::default()
        };
        let mut reports = (0..seeds).filter_map(|seed| simulate(seed, options).ok());
        let found = reports.find_map(|report| report.violation.map(|violation| (report.seed, violation)));
        if let Some((seed, Violation { invariant, seen })) = found {
            println!("{:?}: seed {seed}: {invariant}: {seen}", broken.mutant);
        } else {
            println!("{:?}: in none of {seeds} seeds", broken.mutant);
            all_seen = ExitCode::FAILURE;
        }
    }
    all_seen
}

fn end(totals: &Totals, from: u64, seeds: u64, failed: u64) -> ExitCode {
    println!("{totals}");
    println!(
        "seeds {from} to {}, each twice: {failed} failed",
        from + (seeds - 1)
    );
    let missing = totals.missing();
    let is_bare = seeds >= FLOOR_FROM && !missing.is_empty();
    if is_bare {
        println!(
            "error: from {FLOOR_FROM} seeds on, everything that can go wrong must have: raise the rate of what never did"
        );
    }
    if failed == 0 && !is_bare {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
