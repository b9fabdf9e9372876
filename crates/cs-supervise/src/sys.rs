//! The one file with `unsafe`: calls whose contract the compiler cannot check, each wrapped so that its callers need
//! not know it.
#![expect(unsafe_code, reason = "the only place; each block says why it is sound")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal, setsid};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The highest of the classic signals; what lies above has no meaning of its own.
const LAST_CLASSIC_SIGNAL: i32 = 31;

/// Registers a descriptor with the reactor of the running tokio runtime, to await that it becomes readable.
pub(crate) fn watch(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open and stays the same descriptor for as long as the `AsyncFd` owns it: nothing
    // outside can take or close it.
    unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }.map_err(io::Error::from)
}

/// Which of the two processes after a fork this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forked {
    Parent,
    Child,
}

/// Forks a process that has one thread, and refuses to fork one that has more.
pub(crate) fn fork_single_threaded() -> io::Result<Forked> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other(
            "a process with several threads cannot become a shim",
        ));
    }
    // SAFETY: there is no other thread, so no lock is held by one that the child would not have.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        _ => Ok(Forked::Parent),
    }
}

/// Closes every descriptor from 3 on but one.
///
/// Meant for a process that has just begun and has itself opened nothing but `keep`: what else is open was inherited,
/// and no value in this program owns it.
pub(crate) fn close_inherited(keep: &OwnedFd) -> io::Result<()> {
    let keep = u32::try_from(keep.as_raw_fd()).map_err(io::Error::other)?;
    close_range(3, keep.saturating_sub(1))?;
    close_range(keep + 1, u32::MAX)
}

fn close_range(first: u32, last: u32) -> io::Result<()> {
    if first > last {
        return Ok(());
    }
    // SAFETY: closes descriptors that nothing in this program owns, by the contract of `close_inherited`; the call
    // touches no memory.
    match unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes this process deaf to the signals by which a terminal or a person ends it, and sets everything else to its
/// default: an inherited `SIGCHLD` that is ignored would lose the agent's exit.
pub(crate) fn ignore_ending_signals() {
    default_signals();
    for signal in [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGPIPE,
        libc::SIGTSTP,
    ] {
        // SAFETY: sets a disposition, no handler that could run at an unexpected moment.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Sets every classic signal to its default and blocks none. Async-signal-safe.
fn default_signals() {
    for signal in 1..=LAST_CLASSIC_SIGNAL {
        if signal != libc::SIGKILL && signal != libc::SIGSTOP {
            // SAFETY: sets a disposition, no handler; allowed between fork and exec.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
    // SAFETY: an all-zero set is a valid value to be initialised by `sigemptyset`, and both live through the calls,
    // which are allowed between fork and exec.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// What becomes of an agent when the process that started it dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bond {
    /// It dies with this process, which has one thread: the kernel's parent-death signal is sent when the *thread* that forked ends.
    DiesWith(Pid),
    /// It lives on.
    LivesOn,
}

/// Makes what a command starts an agent: in the control group of the entrance, in a session of its own, with default signals.
pub(crate) fn start_as_agent(command: &mut Command, bond: Bond, entrance: Option<OwnedFd>) {
    let prepare = move || {
        if let Some(entrance) = &entrance {
            rustix::io::write(entrance, b"0")?;
        }
        setsid()?;
        default_signals();
        match bond {
            Bond::LivesOn => Ok(()),
            Bond::DiesWith(shim) => {
                set_parent_process_death_signal(Some(Signal::KILL))?;
                // The shim may have died before the line above.
                if getppid() == Some(shim) {
                    Ok(())
                } else {
                    Err(io::Error::from_raw_os_error(libc::ESRCH))
                }
            }
        }
    };
    // SAFETY: runs between fork and exec: the closure makes system calls only, allocates nothing and takes no lock.
    unsafe { command.pre_exec(prepare) };
}
