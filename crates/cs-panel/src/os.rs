//! What is asked of the operating system.

use std::process::ExitCode;

pub(crate) use cs_model::{SystemClock, SystemIds};

/// Returns the name of this machine, as its kernel knows it.
pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Returns the number of the user, for people without a login name.
pub(crate) fn user_number() -> u32 {
    rustix::process::getuid().as_raw()
}

/// Turns a number into an exit code.
pub(crate) fn exit_code(code: u8) -> ExitCode {
    ExitCode::from(code)
}
