//! From a started program to a shim that holds its execution.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use rustix::fs::Mode;
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::{
    Resource, Rlimit, chdir, getpid, getrlimit, set_child_subreaper, setrlimit, setsid, umask,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stdin};

use super::connection::Connection;
use super::namespace::Namespace;
use super::serve::Shim;
use crate::dir::{self, ExecutionDir, Lock};
use crate::hold::{Containment, Feature};
use crate::identity::{BootId, ProcessIdentity, Protocol};
use crate::sys::{self, Forked};
use crate::wire::{Ident, NamespaceRecord, Reply, Spec};

/// What a shim could not do before it held its execution.
struct Failure {
    op: &'static str,
    source: io::Error,
    /// What was asked for and cannot be had here.
    lacks: Option<Feature>,
}

/// Runs a shim for the execution in `dir` to its end. Returns the process's exit code.
pub(super) fn run(dir: &Path, open_files: Option<u64>) -> i32 {
    // The starter's end of this connection tells the shim whether it is still wanted.
    let Ok(connection) = fcntl_dupfd_cloexec(stdin(), 3) else {
        return 2;
    };
    match detach(&connection, open_files) {
        Ok(Forked::Parent(_)) => return 0,
        Ok(Forked::Child) => {}
        Err(source) => return complain(connection, &Failure::of("detach", source)),
    }
    let prepared = hold(dir);
    match prepared {
        Ok(held) => match Connection::from_starter(UnixStream::from(connection)) {
            Ok(starter) => held.into_shim(starter).serve(),
            Err(_) => 1,
        },
        Err(failure) => complain(connection, &failure),
    }
}

/// Cuts every tie to the starter but the connection. The child goes on; it is nobody's child, so nobody has to reap it.
fn detach(connection: &OwnedFd, open_files: Option<u64>) -> io::Result<Forked> {
    sys::ignore_ending_signals();
    sys::close_inherited(connection)?;
    limit_open_files(open_files)?;
    if let parent @ Forked::Parent(_) = sys::fork_single_threaded()? {
        return Ok(parent);
    }
    setsid()?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    set_child_subreaper(Some(getpid()))?;
    // For people who list processes: what was executed may have a number for a name.
    rustix::thread::set_name(c"cs-shim")?;
    Ok(Forked::Child)
}

/// Gives back a limit that the starter has raised for itself: programs that go by it would not expect so many descriptors.
fn limit_open_files(most: Option<u64>) -> io::Result<()> {
    let Some(most) = most else { return Ok(()) };
    let now = getrlimit(Resource::Nofile);
    let current = now.maximum.map_or(most, |highest| highest.min(most));
    let limit = Rlimit {
        current: Some(current),
        ..now
    };
    Ok(setrlimit(Resource::Nofile, limit)?)
}

impl Failure {
    fn of(op: &'static str, source: io::Error) -> Self {
        Self {
            op,
            source,
            lacks: None,
        }
    }
}

/// A held execution: its lock is taken, its identity is durable, its socket listens.
struct Held {
    dir: ExecutionDir,
    spec: Spec,
    ident: Ident,
    lock: Lock,
    listener: UnixListener,
    namespace: Option<Namespace>,
}

impl Held {
    fn into_shim(self, starter: Connection) -> Shim {
        let mut shim = Shim::new(self.dir, self.spec, self.ident, self.lock, self.listener, starter);
        shim.namespace = self.namespace;
        shim
    }
}

fn hold(path: &Path) -> Result<Held, Failure> {
    let failed = |op| move |source| Failure::of(op, source);
    // Relative names from here on: the path may be longer than a socket's may be, and may be moved.
    chdir(path).map_err(|error| failed("enter its directory")(error.into()))?;
    let dir = ExecutionDir::at(".");
    let taken = || io::Error::from(Errno::BUSY);
    let lock = dir
        .try_lock()
        .map_err(failed("lock"))?
        .ok_or_else(taken)
        .map_err(failed("lock"))?;
    if dir.holds(dir::CLOSED).map_err(failed("read"))? || dir.holds(dir::IDENT).map_err(failed("read"))? {
        // It was judged, or held, before this process came to it.
        return Err(failed("take what is over")(Errno::EXIST.into()));
    }
    let no_spec = || io::Error::from(io::ErrorKind::NotFound);
    let spec: Spec = dir
        .read(dir::SPEC)
        .map_err(failed("read"))?
        .ok_or_else(no_spec)
        .map_err(failed("read"))?;
    for spool in [dir.stdout_spool(), dir.stderr_spool()] {
        ExecutionDir::open_spool(&spool).map_err(failed("open a spool"))?;
    }
    let boot_id = BootId::current().map_err(failed("read the boot id"))?;
    let namespace = make_namespace(&dir, &spec, &boot_id)?;
    let listener = listen(&dir).map_err(failed("listen"))?;
    let shim = ProcessIdentity::of(&boot_id, getpid()).map_err(failed("identify itself"))?;
    let shim = shim.ok_or_else(no_spec).map_err(failed("identify itself"))?;
    let ident = Ident {
        protocol: Protocol::CURRENT,
        boot_id,
        shim,
        nonce: spec.nonce.clone(),
        cookie: spec.cookie.clone(),
    };
    dir.write_durably(dir::IDENT, &ident).map_err(failed("write"))?;
    Ok(Held {
        dir,
        spec,
        ident,
        lock,
        listener,
        namespace,
    })
}

fn make_namespace(dir: &ExecutionDir, spec: &Spec, boot_id: &BootId) -> Result<Option<Namespace>, Failure> {
    match spec.containment {
        Containment::Best | Containment::Subreaper => return Ok(None),
        Containment::Namespace => {}
    }
    let made = Namespace::make(boot_id).map_err(|source| Failure {
        lacks: Some(Feature::Namespace),
        ..Failure::of("make a PID namespace", source)
    })?;
    let record = NamespaceRecord {
        init: made.init.clone(),
    };
    let written = dir.write_for_this_boot(dir::NAMESPACE, &record);
    written.map_err(|source| Failure::of("write", source))?;
    Ok(Some(made))
}

fn listen(dir: &ExecutionDir) -> io::Result<UnixListener> {
    // The agent keeps the mask that it was given.
    let usual = umask(Mode::from_raw_mode(0o177));
    let listener = UnixListener::bind(dir.file(dir::SOCKET));
    umask(usual);
    let listener = listener?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn complain(connection: OwnedFd, failure: &Failure) -> i32 {
    let reply = Reply::Broken {
        op: failure.op.to_owned(),
        errno: failure.source.raw_os_error().unwrap_or(0),
        text: failure.source.to_string(),
        lacks: failure.lacks,
    };
    if let Ok(mut starter) = Connection::from_starter(UnixStream::from(connection)) {
        // The starter may be gone; there is nobody else to tell.
        starter.send(&reply);
    }
    1
}
