//! Owns the whole process tree of each agent and proves its end.
//!
//! * [`command`]: short commands (git, probes) with a deadline, output caps and a tree kill.
//!
//! The crate knows processes, files and signals. It must never know cards, runs, the record or what an agent says.
//! Linux only so far: the proof of an end rests on child subreapers, pidfds and `/proc`.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "cs-supervise proves the end of a process tree with Linux means; other systems are not supported yet"
);

pub mod command;
mod proc;
mod signal;
mod sys;
