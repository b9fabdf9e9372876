//! A throw-away Postgres from the machine's own binaries: in a directory of its own, on a Unix socket only.

mod account;
mod server;

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Subcommand, ValueEnum};

use crate::tool::{root, say};
use server::Server;

/// What to do with the throw-away Postgres.
#[derive(Debug, Subcommand)]
pub(crate) enum Db {
    /// Starts one and prints its URL; does nothing more when one is running.
    Up {
        /// Where its files are: a bench needs a disk, tests are faster in memory.
        #[arg(long, value_enum, default_value_t = Place::Disk)]
        place: Place,
    },
    /// Stops it and removes its files.
    Down,
    /// Prints the URL of the running one.
    Url,
}

/// Where a server keeps its files. Both wait for every write: `fsync` and `synchronous_commit` stay on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Place {
    /// The directory for temporary files.
    Disk,
    /// `/dev/shm` where it can be written, else as `disk`.
    Memory,
}

/// Which of the servers of this working copy: they never meet.
#[derive(Debug, Clone, Copy)]
enum Use {
    /// The one that a person started.
    Person,
    /// The one of the tests that are running.
    Tests,
    /// The one of the bench that is running.
    Bench,
}

impl Use {
    /// The file that names the directory of the running server.
    fn state_file(self) -> PathBuf {
        let name = match self {
            Self::Person => "postgres-of-a-person",
            Self::Tests => "postgres-of-the-tests",
            Self::Bench => "postgres-of-the-bench",
        };
        root().join("target").join(name)
    }
}

pub(crate) fn run(command: &Db) -> Result<()> {
    match command {
        Db::Up { place } => {
            let server = match running(Use::Person)? {
                Some(server) => server,
                None => start(Use::Person, *place)?,
            };
            say(&server.url());
        }
        Db::Down => match recorded(Use::Person)? {
            Some(server) => stop(Use::Person, &server)?,
            None => say("none is running"),
        },
        Db::Url => match running(Use::Person)? {
            Some(server) => say(&server.url()),
            None => bail!("no throw-away Postgres is running: start one with `cargo xtask db up`"),
        },
    }
    Ok(())
}

/// Runs something with the URL of a server of its own, and stops that server whatever comes out. One that an interrupted run has
/// left behind is stopped first.
pub(crate) fn with_server(body: impl FnOnce(&str) -> Result<()>) -> Result<()> {
    with_server_of(Use::Tests, Place::Memory, body)
}

/// The same with a server whose files are on the disk for temporary files, and which waits for that disk.
pub(crate) fn with_server_for_bench(body: impl FnOnce(&str) -> Result<()>) -> Result<()> {
    with_server_of(Use::Bench, Place::Disk, body)
}

fn with_server_of(used: Use, place: Place, body: impl FnOnce(&str) -> Result<()>) -> Result<()> {
    // Held to the end: what another run records meanwhile is no leftover.
    let _lock = lock(used)?;
    if let Some(left) = recorded(used)? {
        stop(used, &left)?;
    }
    let server = start(used, place)?;
    let outcome = body(&server.url());
    let stopped = stop(used, &server);
    outcome.and(stopped)
}

/// Makes sure that no other run of this checkout has such a server.
fn lock(used: Use) -> Result<File> {
    let path = used.state_file().with_extension("lock");
    if let Some(target) = path.parent() {
        fs::create_dir_all(target).with_context(|| format!("cannot make {}", target.display()))?;
    }
    let file = File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => bail!(
            "another run in this checkout has a throw-away Postgres: wait for its end, or use another checkout or CARGO_TARGET_DIR"
        ),
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock {}", path.display()))
        }
    }
}

fn start(used: Use, place: Place) -> Result<Server> {
    let server = Server::create(&parent(place))?;
    let file = used.state_file();
    // Before the server runs, so that `down` finds whatever comes of it.
    if let Some(target) = file.parent() {
        fs::create_dir_all(target).with_context(|| format!("cannot make {}", target.display()))?;
    }
    let recorded = fs::write(&file, server.home().as_os_str().as_encoded_bytes());
    recorded.with_context(|| format!("cannot write {}", file.display()))?;
    match server.start() {
        Ok(()) => Ok(server),
        Err(error) => {
            let log = server.log();
            stop(used, &server)?;
            Err(error.context(log))
        }
    }
}

fn stop(used: Use, server: &Server) -> Result<()> {
    server.stop()?;
    let file = used.state_file();
    fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))
}

/// Returns the server that the state file names, running or not.
fn recorded(used: Use) -> Result<Option<Server>> {
    let Ok(home) = fs::read_to_string(used.state_file()) else {
        return Ok(None);
    };
    Server::open(Path::new(home.trim())).map(Some)
}

/// Returns the server that runs; one that does not any more, after a restart of the machine for example, is cleared away.
fn running(used: Use) -> Result<Option<Server>> {
    let Some(server) = recorded(used)? else {
        return Ok(None);
    };
    if server.answers() {
        return Ok(Some(server));
    }
    stop(used, &server)?;
    Ok(None)
}

fn parent(place: Place) -> PathBuf {
    let memory = Path::new("/dev/shm");
    if place == Place::Memory && crate::tool::is_writable(memory) {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    }
}
