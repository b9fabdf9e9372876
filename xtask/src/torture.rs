//! Heavy tests in their full length. Ordinary test runs and CI play a short form of each.

use std::thread;

use anyhow::{Result, anyhow, ensure};
use clap::{Args, Subcommand};

use crate::suites::{POSTGRES_URL, isolated};
use crate::{db, tool::Tool, tool::say};

/// Kills the daemon, shims and agents of one machine at random while people keep twenty cards at work; with a subcommand
/// something else is tortured.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Torture {
    /// How long people write and processes die.
    #[arg(long, default_value_t = 5)]
    minutes: u64,
    /// Chooses what is killed when, as far as the machine plays along.
    #[arg(long)]
    seed: Option<u64>,
    #[command(subcommand)]
    victim: Option<Victim>,
}

/// What else is tortured.
#[derive(Debug, Subcommand)]
pub(crate) enum Victim {
    /// Plays random commands on each store and in memory, and compares every result and the rows that are left.
    Record {
        /// How many sequences of up to 160 commands each store is played.
        #[arg(long, default_value_t = 10_000)]
        sequences: u32,
    },
    /// Kills two daemons on one Postgres at random while people write, and looks whether every turn has one answer.
    Daemons {
        /// How long people write and daemons die.
        #[arg(long, default_value_t = 2)]
        minutes: u64,
        /// Chooses who is killed when, as far as the machine plays along.
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Lands ten cards on one base again and again, while its person commits there and the daemon is killed at random.
    Landings {
        /// How long it is played; the last ride ends.
        #[arg(long, default_value_t = 2)]
        minutes: u64,
        /// Chooses who does what when, as far as the machine plays along.
        #[arg(long)]
        seed: Option<u64>,
    },
}

pub(crate) fn run(torture: &Torture) -> Result<()> {
    match &torture.victim {
        None => storm(torture.minutes, torture.seed),
        Some(Victim::Record { sequences }) => record(*sequences),
        Some(Victim::Daemons { minutes, seed }) => daemons(*minutes, *seed),
        Some(Victim::Landings { minutes, seed }) => landings(*minutes, *seed),
    }
}

fn storm(minutes: u64, seed: Option<u64>) -> Result<()> {
    let name = "storm::daemon_shims_and_agents_killed_at_random_leave_nothing_and_lose_nothing";
    let test = ["--package", "cs-panel", "--test", "it", name];
    play(&test, ("CS_PANEL_STORM", minutes, seed), &|tool| tool)
}

fn landings(minutes: u64, seed: Option<u64>) -> Result<()> {
    let name = "train::ten_cards_land_in_order_while_the_person_commits_and_daemons_are_killed";
    let test = ["--package", "cs-panel", "--test", "it", name];
    play(&test, ("CS_PANEL_TRAIN", minutes, seed), &|tool| tool)
}

fn daemons(minutes: u64, seed: Option<u64>) -> Result<()> {
    let features = ["--package", "cs-panel", "--features", "cs-panel/postgres-tests"];
    let name = "siege::two_daemons_killed_at_random_answer_every_turn_once";
    let test = [&features[..], &["--test", "postgres", name]].concat();
    db::with_server(|url| {
        play(&test, ("CS_PANEL_SIEGE", minutes, seed), &|tool| {
            tool.with(POSTGRES_URL, url)
        })
    })
}

/// Plays one test for so many minutes. It is told so by variables that begin with `told`.
fn play(
    test: &[&str],
    (told, minutes, seed): (&str, u64, Option<u64>),
    given: &dyn Fn(Tool) -> Tool,
) -> Result<()> {
    let cargo = |last: &[&str]| {
        let all = [&["test", "--quiet", "--locked"], test, &["--", "--exact"], last].concat();
        isolated(given(Tool::cargo(&all)))
    };
    let mut is_there = false;
    cargo(&["--list"]).read_lines(|line| {
        is_there |= line.ends_with(": test");
        Ok(())
    })?;
    ensure!(is_there, "there is no test {test:?}: it would play nothing");
    let playing = cargo(&["--nocapture"]).with(&format!("{told}_SECONDS"), &(minutes * 60).to_string());
    match seed {
        Some(seed) => playing.with(&format!("{told}_SEED"), &seed.to_string()).run(),
        None => playing.run(),
    }
}

const SQLITE: [&str; 2] = ["--package", "cs-sqlite"];
const POSTGRES: [&str; 4] = [
    "--package",
    "cs-postgres",
    "--features",
    "cs-postgres/postgres-tests",
];

/// So many processes share the sequences of a store, since each waits most of the time.
const SHARES: u32 = 4;

fn record(sequences: u32) -> Result<()> {
    for store in [&SQLITE[..], &POSTGRES[..]] {
        cargo_test(store, &["--no-run"]).run()?;
    }
    let share = sequences.div_ceil(SHARES);
    db::with_server(|url| {
        let play = |store: &[&str], name: &str| {
            let tests = cargo_test(store, &[name, "--", "--exact", "--nocapture"]);
            let tests = tests.with("PROPTEST_CASES", &share.to_string());
            tests.with(POSTGRES_URL, url).run()
        };
        let play = &play;
        thread::scope(|scope| {
            let shares = (0..SHARES).flat_map(|_| {
                [
                    scope.spawn(move || play(&SQLITE, "compare::sqlite_does_what_memory_does")),
                    scope.spawn(move || play(&POSTGRES, "compare::postgres_does_what_memory_does")),
                ]
            });
            let shares: Vec<_> = shares.collect();
            let played: Vec<Result<()>> = shares
                .into_iter()
                .map(|share| share.join().map_err(|_| anyhow!("a comparison panicked"))?)
                .collect();
            played.into_iter().collect()
        })
    })?;
    let played = share * SHARES;
    say(&format!(
        "memory, SQLite and Postgres did the same in {played} sequences each"
    ));
    Ok(())
}

fn cargo_test(store: &[&str], args: &[&str]) -> Tool {
    let test = ["test", "--quiet", "--locked", "--test", "conformance"];
    isolated(Tool::cargo(&[&test[..], store, args].concat()))
}
