//! Executions of real, hostile processes.
//!
//! This binary is everything at once: told so by its first argument it is a shim, an agent, or a daemon that is going to
//! be killed; otherwise it runs the tests. Test names cite the hard cases of process supervision (S1, S2 ...).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod adverse;
mod agent;
mod daemon;
mod groups;
mod life;
mod limits;
mod spawn;
mod stop;
mod support;
mod survive;
mod survivors;

use libtest_mimic::{Arguments, Trial};

fn main() {
    cs_supervise::shim::run_if_requested();
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("agent") => agent::run(&words[1..]),
        Some("daemon") => daemon::run(&words[1..]),
        _ => {
            let trials: Vec<Trial> = [
                adverse::trials(),
                groups::trials(),
                life::trials(),
                limits::trials(),
                spawn::trials(),
                stop::trials(),
                survive::trials(),
                survivors::trials(),
            ]
            .into_iter()
            .flatten()
            .collect();
            libtest_mimic::run(&Arguments::from_args(), trials).exit();
        }
    }
}
