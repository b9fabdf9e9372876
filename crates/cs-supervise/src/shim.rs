//! The process that owns an execution.

/// The first argument that turns a program into a shim.
pub(crate) const SHIM_ARGUMENT: &str = "__shim";

/// Becomes a shim when this process was started as one, and then never returns. Call it first thing in `main`, before
/// any thread is started.
pub fn run_if_requested() {}
