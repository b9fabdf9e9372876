//! A PID namespace for everything that an agent starts. Nothing can leave it, and with its first process the kernel ends all of it, also
//! when that dies with its shim.
//!
//! Where this user may not make one, a user namespace is made with it, in which the user is who it was and nobody else exists: programs
//! that become another user, such as `sudo`, do not work in it. The shim is in it as well, and may no longer read the environment of
//! processes that are not: a sweep by cookie finds nothing outside, where nothing of the agent can be. In the namespace `/proc` shows what is in it, so that numbers that an
//! agent finds there are those that it may signal.

use std::fs;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getegid, geteuid, set_parent_process_death_signal, setsid};

use crate::identity::{BootId, ProcessIdentity};
use crate::sys::{self, Forked, Users};

/// A namespace, by its first process. That does nothing but be there: orphans fall to it, and the kernel reaps them.
#[derive(Debug)]
pub(super) struct Namespace {
    pub(super) init: ProcessIdentity,
    pub(super) pid: Pid,
}

impl Namespace {
    /// Makes one: what this process starts from now on is born in it.
    pub(super) fn make(boot_id: &BootId) -> io::Result<Self> {
        enter()?;
        let (mut told, tell) = UnixStream::pair()?;
        let pid = match sys::fork_single_threaded()? {
            Forked::Parent(child) => child,
            Forked::Child => be_first(OwnedFd::from(tell)),
        };
        drop(tell);
        let mut word = [0; 4];
        // One that has ended has said nothing.
        told.read_exact(&mut word)?;
        match i32::from_ne_bytes(word) {
            0 => {}
            errno => return Err(io::Error::from_raw_os_error(errno)),
        }
        // It is our child and not reaped: its number means it.
        let init = ProcessIdentity::of(boot_id, pid)?.ok_or(Errno::SRCH)?;
        Ok(Self { init, pid })
    }
}

/// Makes the namespace, and one of users where it takes that.
fn enter() -> io::Result<()> {
    match sys::make_pid_namespace(Users::AsTheyAre) {
        Err(Errno::PERM) => {}
        done => return Ok(done?),
    }
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    sys::make_pid_namespace(Users::New)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// The life of the first process: says whether what the agent's start needs can be done, and waits to be killed.
fn be_first(tell: OwnedFd) -> ! {
    let prepared = prepare(&tell);
    let errno = match prepared {
        Ok(()) => 0,
        Err(error) => error.raw_os_error().unwrap_or(libc::EIO),
    };
    // Who does not hear it is dead, and so is this process.
    let told = rustix::io::write(&tell, &errno.to_ne_bytes());
    drop(tell);
    if errno != 0 || told.is_err() {
        #[expect(clippy::exit, reason = "the other half of a fork must not go on as a shim")]
        std::process::exit(1);
    }
    loop {
        rustix::event::pause();
    }
}

fn prepare(tell: &OwnedFd) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The shim's lock and connections are not for this process.
    sys::close_inherited(tell)?;
    sys::let_kernel_reap();
    setsid()?;
    rustix::thread::set_name(c"cs-init")?;
    Ok(sys::own_proc()?)
}
