//! What is asked of the operating system.

use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

pub(crate) use cs_model::{SystemClock, SystemIds};

/// Returns the name of this machine, as its kernel knows it.
pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Returns the number of the user, for people without a login name.
pub(crate) fn user_number() -> u32 {
    rustix::process::getuid().as_raw()
}

/// Lets this process open as many files as it ever may, and returns how many it could before; nothing when that was all.
pub(crate) fn raise_open_files() -> Option<u64> {
    let usual = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: usual.maximum,
        ..usual
    };
    let before = usual.current.filter(|_| usual.current != usual.maximum)?;
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => Some(before),
        Err(error) => {
            tracing::debug!(%error, "this process may open no more files than before");
            None
        }
    }
}

/// Turns a number into an exit code.
/// Returns where this program is, if that can be written as text.
pub(crate) fn this_program() -> Option<String> {
    std::env::current_exe().ok()?.into_os_string().into_string().ok()
}

pub(crate) fn exit_code(code: u8) -> ExitCode {
    ExitCode::from(code)
}
