//! Executions of real, hostile processes.
//!
//! This binary is everything at once: told so by its first argument it is a shim, an agent, or a daemon that is going to
//! be killed; otherwise it runs the tests. Test names cite the hard cases of process supervision (S1, S2 ...).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod adverse;
mod agent;
mod daemon;
mod groups;
mod in_process;
mod kin;
mod life;
mod limits;
mod masses;
mod namespaces;
mod other_shims;
mod peers;
mod prompts;
mod raw;
mod spawn;
mod stop;
mod support;
mod survive;
mod survivors;
mod untraced;
mod wire_1_1;

use libtest_mimic::{Arguments, Trial};

fn main() {
    cs_supervise::shim::run_if_requested();
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("agent") => agent::run(&words[1..]),
        Some("daemon") => daemon::run(&words[1..]),
        Some("other-shim") => other_shims::run(&words[1..]),
        Some("impostor") => peers::impostor(&words[1..]),
        Some("knock") => peers::knock(&words[1..]),
        _ => {
            let trials: Vec<Trial> = [
                adverse::trials(),
                groups::trials(),
                in_process::trials(),
                kin::trials(),
                life::trials(),
                limits::trials(),
                masses::trials(),
                namespaces::trials(),
                other_shims::trials(),
                peers::trials(),
                prompts::trials(),
                spawn::trials(),
                stop::trials(),
                survive::trials(),
                survivors::trials(),
                untraced::trials(),
            ]
            .into_iter()
            .flatten()
            .collect();
            libtest_mimic::run(&Arguments::from_args(), trials).exit();
        }
    }
}
