//! `cs-panel` runs coding agents on your own machines: exactly once, fenced, supervised, never losing work.
//!
//! The binary holds flags, wiring and printing; it decides nothing. What it can do is written down in `docs/cli.md`.

mod app;
mod checkouts;
mod cli;
mod commands;
mod config;
mod disk;
mod env;
mod exec;
mod failure;
mod here;
mod log;
mod machine;
mod os;
mod out;
mod password;
mod patch;
mod record;

mod standstill;
mod text;
mod waiting;
mod watch;
mod wire;
mod wiring;

use std::process::ExitCode;

fn main() -> ExitCode {
    cs_supervise::shim::run_if_requested();
    cli::main()
}
