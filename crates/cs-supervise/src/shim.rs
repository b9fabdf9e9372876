//! The process that owns an execution.
//!
//! It takes the execution's lock, waits for GO, starts the agent, and lives until nothing of the agent's tree is left. It
//! has one thread and one loop, parses nothing that the agent says, and outlives whoever started it. Orphans of the tree
//! fall to it, since it is their subreaper, so a process that calls `setsid` or forks twice does not get away.

mod answer;
mod close;
mod connection;
mod contain;
mod keep;
pub(crate) mod ladder;
mod namespace;
mod serve;
mod start;
mod watchdog;
mod witness;

use std::ffi::OsStr;

/// The first argument that turns a program into a shim.
pub(crate) const SHIM_ARGUMENT: &str = "__shim";

/// Becomes a shim when this process was started as one, and then never returns. Otherwise does nothing.
///
/// Call it first thing in `main`, before any thread is started and any file opened: a shim closes what it inherited.
pub fn run_if_requested() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() != Some(OsStr::new(SHIM_ARGUMENT)) {
        return;
    }
    let code = match arguments.next() {
        Some(dir) => {
            // How many files it and its agent may open, where whoever starts it may open more.
            let open_files = arguments.next();
            let open_files = open_files.and_then(|most| most.to_str()?.parse().ok());
            start::run(dir.as_ref(), open_files)
        }
        None => 2,
    };
    #[expect(clippy::exit, reason = "a shim must not go on into its program's own main")]
    std::process::exit(code);
}
