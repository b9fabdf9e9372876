//! A Postgres server that one test has for itself, so that it may listen, ask for passwords, and die.
#![expect(clippy::disallowed_methods, reason = "a test starts programs")]

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A server on loopback and on a socket in its directory. It goes with this.
pub(crate) struct OwnServer {
    home: TempDir,
    programs: PathBuf,
    account: (u32, u32),
    port: u16,
    settings: Vec<String>,
}

impl OwnServer {
    /// Makes the files of a server, with the programs and the account of the one that all tests share. `access` is its
    /// `pg_hba.conf`, beside that its superuser `cs_panel` comes in through the socket.
    pub(crate) fn new(shared: &str, access: &str) -> Self {
        let programs = ask(shared, "select setting from pg_config() where name = 'BINDIR'");
        let data =
            fs::metadata(ask(shared, "show data_directory")).expect("the shared server is on this machine");
        let memory = Path::new("/dev/shm");
        let home = if memory.is_dir() {
            TempDir::new_in(memory)
        } else {
            TempDir::new()
        };
        let server = Self {
            home: home.expect("a directory can be made"),
            programs: PathBuf::from(programs),
            account: (data.uid(), data.gid()),
            port: free_port(),
            settings: Vec::new(),
        };
        server.own(server.home.path(), 0o700);
        let mut make = server.program("initdb");
        make.args([
            "--no-instructions",
            "--no-sync",
            "--encoding=UTF8",
            "--locale=C",
            "--auth=trust",
        ]);
        succeeds(make.arg("--username=cs_panel").arg("--pgdata").arg(server.data()));
        server.write("pg_hba.conf", &format!("local all cs_panel trust\n{access}"));
        server
    }

    /// Sets what is set at every start from now on, such as `ssl=on`.
    pub(crate) fn set(&mut self, setting: &str) {
        self.settings.push(setting.to_owned());
    }

    /// Writes a file into the server's directory, as only the server may read it.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.data().join(name);
        fs::write(&path, text).expect("it is written");
        self.own(&path, 0o600);
    }

    /// Starts it and waits until it answers.
    pub(crate) fn start(&self) {
        let mut options = format!(
            "-c listen_addresses=127.0.0.1 -c port={} -c unix_socket_directories={} -c fsync=off -c shared_buffers=16MB",
            self.port,
            self.home.path().display()
        );
        for setting in &self.settings {
            options.push_str(&format!(" -c {setting}"));
        }
        let mut start = self.program("pg_ctl");
        start
            .args(["start", "--wait", "--silent", "--pgdata"])
            .arg(self.data());
        start.arg("--log").arg(self.log()).arg("--options").arg(options);
        // It goes to the server, which would hold a pipe open for ever.
        let started = start.stdout(Stdio::null()).stderr(Stdio::null()).status();
        let log = || fs::read_to_string(self.log()).unwrap_or_default();
        assert!(started.expect("pg_ctl is there").success(), "{}", log());
    }

    /// Ends it as a crash would: nothing is finished, and nobody is told.
    pub(crate) fn crash(&self) {
        let mut stop = self.program("pg_ctl");
        stop.args(["stop", "--mode=immediate", "--wait", "--silent", "--pgdata"]);
        succeeds(stop.arg(self.data()));
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the URL of its superuser, through the socket.
    pub(crate) fn url(&self) -> String {
        let (port, home) = (self.port, self.home.path().display());
        format!("postgres://cs_panel@localhost:{port}/postgres?host={home}")
    }

    /// Returns the URL of its superuser over TCP, where `access` lets it in.
    pub(crate) fn tcp_url(&self) -> String {
        format!("postgres://cs_panel@127.0.0.1:{}/postgres", self.port)
    }

    /// Carries out SQL as its superuser.
    pub(crate) fn sql(&self, text: &str) -> String {
        ask(&self.url(), text)
    }

    fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.home.path().join("log")
    }

    fn own(&self, path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("the mode can be set");
        if self.is_other() {
            let (user, group) = self.account;
            chown(path, Some(user), Some(group)).expect("root may give it away");
        }
    }

    fn is_other(&self) -> bool {
        fs::metadata("/proc/self").expect("Linux tells").uid() != self.account.0
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.current_dir(self.home.path()).stdin(Stdio::null());
        if self.is_other() {
            command.uid(self.account.0).gid(self.account.1);
        }
        command
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        let mut stop = self.program("pg_ctl");
        stop.args(["stop", "--mode=immediate", "--wait", "--silent", "--pgdata"]);
        // A test may have ended it.
        let _ = stop.arg(self.data()).output();
    }
}

/// Returns a port that nobody listens on now.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    listener.local_addr().expect("it has an address").port()
}

/// Carries out SQL with the client that comes with the server, and returns what it prints.
fn ask(url: &str, text: &str) -> String {
    let mut psql = Command::new("psql");
    psql.args([
        "--no-psqlrc",
        "--quiet",
        "--tuples-only",
        "--no-align",
        "--set=ON_ERROR_STOP=1",
    ]);
    let said = succeeds(psql.arg("--command").arg(text).arg(url).stdin(Stdio::null()));
    said.trim().to_owned()
}

fn succeeds(command: &mut Command) -> String {
    let done = command.output().expect("the program is there");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {said}");
    String::from_utf8_lossy(&done.stdout).into_owned()
}
