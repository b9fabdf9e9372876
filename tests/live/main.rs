//! Real coding agents, driven by the real binary against a scripted model provider, with nothing but the loopback.
//!
//! `cargo xtask live` installs the agents and starts this program. Each case has a desk, a home and a script of its own; one line
//! says how it went.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it says how it went")]

mod agent;
mod cases;
#[expect(dead_code, reason = "other tests do more at a desk")]
#[path = "../it/desk.rs"]
mod desk;
mod loopback;
mod provider;
mod record;
mod stage;

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use clap::Parser;

use agent::Installed;
use cases::{CASES, Case};
use provider::Provider;
use stage::Stage;

/// So many cases are played at once: an agent mostly waits.
const AT_ONCE: usize = 2;

/// What is played.
#[derive(Debug, Parser)]
struct Args {
    /// An agent and the command that starts it, a list of JSON.
    #[arg(long = "agent", value_name = "NAME=COMMAND", value_parser = agent::installed)]
    agents: Vec<Installed>,
    /// This case only; may be repeated.
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<String>,
    /// The cases that CI plays.
    #[arg(long)]
    short: bool,
    /// Keeps the directory of each case.
    #[arg(long)]
    keep: bool,
    /// Lists what would be played.
    #[arg(long)]
    list: bool,
    /// So many minutes it may take; when they are over, what is not played has failed.
    #[arg(long)]
    minutes: Option<u64>,
    /// This process has nothing but the loopback already.
    #[arg(long)]
    isolated: bool,
}

/// One case of one agent.
struct Trial<'a> {
    agent: &'a Installed,
    case: &'a Case,
}

fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(unknown) = args
        .cases
        .iter()
        .find(|name| !CASES.iter().any(|case| case.name == name.as_str()))
    {
        let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        eprintln!(
            "there is no case `{unknown}`, expected one of: {}",
            names.join(", ")
        );
        return ExitCode::from(2);
    }
    let trials = trials(&args);
    if args.list {
        for trial in &trials {
            println!("{}", trial.name());
        }
        return ExitCode::SUCCESS;
    }
    if !args.isolated {
        loopback::begin_anew();
        println!(
            "NOT ISOLATED: no network namespace can be made here, so that the agents could reach the network"
        );
    }
    play(&trials, &args)
}

fn trials(args: &Args) -> Vec<Trial<'_>> {
    let mut trials = Vec::new();
    for agent in &args.agents {
        let wanted = |case: &&Case| {
            let named = args.cases.is_empty() || args.cases.iter().any(|name| name == case.name);
            named && (case.short || !args.short) && case.is_for(agent.agent)
        };
        let cases = CASES.iter().filter(wanted);
        trials.extend(cases.map(|case| Trial { agent, case }));
    }
    trials
}

fn play(trials: &[Trial<'_>], args: &Args) -> ExitCode {
    let provider = Provider::start();
    let begun = Instant::now();
    let is_over = || {
        args.minutes
            .is_some_and(|minutes| begun.elapsed().as_secs() >= 60 * minutes)
    };
    let (next, passed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(trial) = trials.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if is_over() {
                        println!(
                            "FAILED {:<28} its time was over before it was played",
                            trial.name()
                        );
                    } else if trial.play(&provider, args.keep) {
                        passed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let passed = passed.into_inner();
    let failed = trials.len() - passed;
    println!("live: {passed} passed, {failed} failed");
    if failed == 0 && passed > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

impl Trial<'_> {
    fn name(&self) -> String {
        format!("{}/{}", self.agent.agent.as_str(), self.case.name)
    }

    /// Plays it in a thread of its own, whose name stands before what goes wrong.
    fn play(&self, provider: &Provider, keep: bool) -> bool {
        let begun = Instant::now();
        let passed = thread::scope(|scope| {
            let play = || {
                let stage = Stage::new(&self.name(), self.agent, provider, keep);
                (self.case.play)(&stage);
                stage.no_process_is_left();
            };
            let playing = thread::Builder::new().name(self.name());
            let playing = playing.spawn_scoped(scope, play).expect("a thread can be made");
            playing.join().is_ok()
        });
        let word = if passed { "ok    " } else { "FAILED" };
        println!(
            "{word} {:<28} {:>6.1} s",
            self.name(),
            begun.elapsed().as_secs_f64()
        );
        passed
    }
}
