//! One server: its binaries, its files, its life.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::account::{self, Account};

const PREFIX: &str = "cs-panel-postgres-";
const USER: &str = "cs_panel";

/// Everybody who reaches the socket is trusted, but for one name, with which tests see what a wrong password does.
const ACCESS: &str = "local all cs_panel_password scram-sha-256\nlocal all all trust\n";

/// A server and the directory with everything it has; only its account and root reach the socket in it.
#[derive(Debug)]
pub(crate) struct Server {
    home: PathBuf,
    binaries: PathBuf,
    account: Option<Account>,
}

impl Server {
    /// Makes the directory and the files of a new server.
    pub(crate) fn create(parent: &Path) -> Result<Self> {
        let (binaries, account) = (binaries()?, account::for_server()?);
        let home = new_directory(parent)?;
        let server = Self {
            home,
            binaries,
            account,
        };
        server.prepare().inspect_err(|_| {
            let _ = fs::remove_dir_all(&server.home); // the first error is the one to tell
        })?;
        Ok(server)
    }

    /// Takes up a server that was made before.
    pub(crate) fn open(home: &Path) -> Result<Self> {
        let name = home.file_name().unwrap_or_default().to_string_lossy();
        ensure!(
            name.starts_with(PREFIX),
            "{} is no directory of a throw-away Postgres",
            home.display()
        );
        Ok(Self {
            home: home.to_owned(),
            binaries: binaries()?,
            account: account::for_server()?,
        })
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    pub(crate) fn url(&self) -> String {
        format!(
            "postgres://{USER}@localhost/postgres?host={}",
            self.home.display()
        )
    }

    /// Starts it and waits until it answers.
    pub(crate) fn start(&self) -> Result<()> {
        let options = format!(
            "-c listen_addresses='' -c unix_socket_directories={home} -c unix_socket_permissions=0700 \
             -c fsync=on -c synchronous_commit=on -c max_connections=300 -c max_wal_size=4GB -c shared_buffers=256MB",
            home = self.home.display()
        );
        let (data, log) = (self.data(), self.log_file());
        let start = self
            .program("pg_ctl")
            .args(["start", "--wait", "--silent", "--timeout=60", "--pgdata"])
            .arg(data)
            .arg("--log")
            .arg(log)
            .arg("--options")
            .arg(options)
            .stdout(Stdio::null())
            .stderr(Stdio::null()) // it goes to the server, which would hold a pipe open for ever
            .status()
            .context("cannot start pg_ctl")?;
        ensure!(start.success(), "pg_ctl start ended with {start}");
        Ok(())
    }

    /// Whether it takes connections.
    pub(crate) fn answers(&self) -> bool {
        let mut ready = self.program("pg_isready");
        ready.arg("--quiet").arg("--host").arg(&self.home);
        ready.status().is_ok_and(|status| status.success())
    }

    /// Stops it, when it runs, and removes its files.
    pub(crate) fn stop(&self) -> Result<()> {
        if self.data().join("postmaster.pid").exists() {
            let data = self.data();
            let mut stop = self.program("pg_ctl");
            stop.args(["stop", "--mode=immediate", "--wait", "--silent", "--pgdata"]);
            // A lock file whose server is gone makes this fail, and is no reason to keep the files.
            let _ = output(stop.arg(data));
        }
        if self.answers() {
            bail!("the server in {} does not stop", self.home.display());
        }
        match fs::remove_dir_all(&self.home) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", self.home.display()))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Returns what the server said so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.log_file()).unwrap_or_else(|_| "the server wrote no log".to_owned())
    }

    fn data(&self) -> PathBuf {
        self.home.join("data")
    }

    fn log_file(&self) -> PathBuf {
        self.home.join("log")
    }

    fn prepare(&self) -> Result<()> {
        let data = self.data();
        if let Some(Account { uid, gid }) = self.account {
            chown(&self.home, Some(uid), Some(gid))
                .with_context(|| format!("cannot give {} to user {uid}", self.home.display()))?;
        }
        let mut make = self.program("initdb");
        make.args([
            "--no-instructions",
            "--encoding=UTF8",
            "--locale=C",
            "--auth=trust",
        ]);
        make.arg(format!("--username={USER}")).arg("--pgdata").arg(&data);
        let made = output(&mut make)?;
        if !made.status.success() {
            let said = String::from_utf8_lossy(&made.stderr).into_owned();
            bail!("initdb ended with {}: {}", made.status, said.trim());
        }
        fs::write(data.join("pg_hba.conf"), ACCESS).context("cannot write pg_hba.conf")
    }

    #[expect(clippy::disallowed_methods, reason = "xtask starts the throw-away server")]
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.binaries.join(name));
        command.current_dir(&self.home).stdin(Stdio::null());
        if let Some(Account { uid, gid }) = self.account {
            command.uid(uid).gid(gid); // drops the other groups of root as well
        }
        command
    }
}

fn output(command: &mut Command) -> Result<Output> {
    let name = command.get_program().to_owned();
    let done = command.output();
    done.with_context(|| format!("cannot start {}", name.display()))
}

fn new_directory(parent: &Path) -> Result<PathBuf> {
    for number in 0..1000_u32 {
        // Short: the path of a Unix socket has at most 107 bytes.
        let home = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        match fs::create_dir(&home) {
            Ok(()) => {
                fs::set_permissions(&home, fs::Permissions::from_mode(0o700))
                    .with_context(|| format!("cannot protect {}", home.display()))?;
                return Ok(home);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot make {}", home.display()));
            }
        }
    }
    bail!(
        "{} is full of old directories {PREFIX}*: remove them",
        parent.display()
    )
}

/// Finds the directory with the server's programs: the newest version where Debian puts them, else the search path.
#[expect(
    clippy::disallowed_methods,
    reason = "xtask looks for programs in the search path"
)]
fn binaries() -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = newest(Path::new("/usr/lib/postgresql"))
        .or_else(|| std::env::split_paths(&path).find(|dir| holds(dir)));
    found.context(
        "there is no Postgres server on this machine: install one, for example with `apt-get install postgresql`, \
         or put the directory with initdb and pg_ctl on the PATH",
    )
}

fn newest(versions: &Path) -> Option<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = fs::read_dir(versions)
        .ok()?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .filter(|(_, dir)| holds(dir))
        .collect();
    found.sort();
    found.pop().map(|(_, dir)| dir)
}

fn holds(dir: &Path) -> bool {
    ["initdb", "pg_ctl", "pg_isready", "postgres"]
        .iter()
        .all(|name| dir.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_complete_version_is_taken() {
        let versions = tempfile::tempdir().unwrap();
        for (version, complete) in [("9", true), ("15", true), ("17", false), ("common", true)] {
            let bin = versions.path().join(version).join("bin");
            fs::create_dir_all(&bin).unwrap();
            for name in ["initdb", "pg_ctl", "pg_isready", "postgres"] {
                if complete || name == "initdb" {
                    fs::write(bin.join(name), "").unwrap();
                }
            }
        }
        assert_eq!(newest(versions.path()), Some(versions.path().join("15/bin")));
        assert_eq!(newest(&versions.path().join("nothing")), None);
    }

    #[test]
    fn only_a_directory_of_ours_is_taken_up() {
        // What is taken up is removed in the end.
        assert!(Server::open(Path::new("/usr")).is_err());
        assert!(Server::open(Path::new("")).is_err());
    }
}
