//! A daemon on a record in memory, with real shims and agents, and a record that fails or changes at a chosen call.
//!
//! This binary is the tests and their shims: neither can be stale. Words in front of a name (PS-3 ...) cite requirements.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod admission;
mod gone;
mod idle;
mod landings;
mod many;
mod record;
mod redirects;
mod secrets;
mod stops;
mod trouble;
mod world;

use libtest_mimic::{Arguments, Trial};

fn main() {
    cs_supervise::shim::run_if_requested();
    let trials: Vec<Trial> = [
        admission::trials(),
        gone::trials(),
        idle::trials(),
        landings::trials(),
        many::trials(),
        redirects::trials(),
        secrets::trials(),
        stops::trials(),
        trouble::trials(),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut arguments = Arguments::from_args();
    // A shim that is just being born has, until it is its own program, the locks of all daemons of this process.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials).exit();
}
