//! The one file with `unsafe`: calls whose contract the compiler cannot check, each wrapped so that its callers need
//! not know it.
#![expect(unsafe_code, reason = "the only place; each block says why it is sound")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal, setsid};
use rustix::thread::{UnshareFlags, unshare_unsafe};
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
    /// The one that forked, and its child.
    Parent(Pid),
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
        child => Pid::from_raw(child)
            .map(Forked::Parent)
            .ok_or_else(|| io::Error::other("a child without a number")),
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

/// Has every descriptor from 3 on closed when this process executes a program. Async-signal-safe.
fn close_inherited_on_exec() -> io::Result<()> {
    // SAFETY: closes nothing here and now; the call touches no memory.
    match unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) } {
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

/// Leaves it to the kernel to reap the children of this process.
pub(crate) fn let_kernel_reap() {
    // SAFETY: sets a disposition, no handler.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}

/// Makes a PID namespace for what this process starts from now on, within a new user namespace if one is asked for.
pub(crate) fn make_pid_namespace(users: Users) -> rustix::io::Result<()> {
    let flags = match users {
        Users::AsTheyAre => UnshareFlags::NEWPID,
        Users::New => UnshareFlags::NEWPID | UnshareFlags::NEWUSER,
    };
    // SAFETY: as in `own_proc`.
    unsafe { unshare_unsafe(flags) }
}

/// Whether a new namespace is also one of users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Users {
    AsTheyAre,
    New,
}

/// Gives this process mounts of its own, with a `/proc` that shows its PID namespace. Async-signal-safe.
pub(crate) fn own_proc() -> rustix::io::Result<()> {
    // SAFETY: of what the call can take apart only the descriptors of a process matter to the memory of this program, and they
    // stay together.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    // What is mounted here stays here; what is mounted or unmounted outside is seen.
    mount_change(
        c"/",
        MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC,
    )?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount(c"proc", c"/proc", c"proc", flags, None)
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

/// Makes this process die with its parent. Async-signal-safe.
fn die_with(parent: Option<Pid>) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have died before the line above.
    if getppid() == parent {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }
}

/// What becomes of an agent when the process that started it dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bond {
    /// It dies with this process, which has one thread: the kernel's parent-death signal is sent when the *thread* that forked ends.
    DiesWith(Pid),
    /// It is born in the PID namespace that this process has made, and dies with it.
    InNamespace,
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
            // What a program of others has open is not for the agent. A shim has closed it at its own start.
            Bond::LivesOn => close_inherited_on_exec(),
            Bond::DiesWith(shim) => die_with(Some(shim)),
            Bond::InNamespace => {
                own_proc()?;
                // A parent outside of the namespace has no number.
                die_with(None)
            }
        }
    };
    // SAFETY: runs between fork and exec: the closure makes system calls only, allocates nothing and takes no lock.
    unsafe { command.pre_exec(prepare) };
}
