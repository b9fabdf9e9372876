//! A person's desk: a home, a repository, a state directory, and the binary.
#![expect(
    clippy::disallowed_methods,
    reason = "a test starts programs, and waits for what others do"
)]

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::record::Record;

/// No step of a test takes longer than this, on any machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A person's desk.
pub(crate) struct Desk {
    dir: TempDir,
    record: Arc<Record>,
    /// Another user than the one who tests, whose desk it is.
    user: Option<u32>,
    /// How long agent programs may take to tell their version, and the like.
    pub(crate) probe_seconds: u64,
}

impl Desk {
    /// A desk with a record of its own.
    pub(crate) fn new() -> Self {
        Self::on(Arc::new(Record::new()))
    }

    /// A desk with this record and a repository that has one commit on `main`, checked out.
    pub(crate) fn on(record: Arc<Record>) -> Self {
        let root = Path::new("/dev/shm");
        let dir = if root.is_dir() {
            tempfile::tempdir_in(root)
        } else {
            tempfile::tempdir()
        };
        Self::furnished(dir.expect("a directory"), record, None)
    }

    /// A desk in this directory, of another user than the one who tests, if one is named.
    pub(crate) fn furnished(dir: TempDir, record: Arc<Record>, user: Option<u32>) -> Self {
        let desk = Self {
            dir,
            record,
            user,
            probe_seconds: PATIENCE.as_secs(),
        };
        chown(desk.dir.path(), user, user).expect("it is ours to give");
        for name in ["home", "repo", "outside"] {
            fs::create_dir(desk.path(name)).expect("made");
            chown(desk.path(name), user, user).expect("it is ours to give");
        }
        desk.git(&["init", "--quiet", "--initial-branch=main"]);
        fs::write(desk.path("repo/README"), "one\n").expect("written");
        desk.commit_all("First");
        desk
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// Runs git in the user's repository.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = self
            .plain("git")
            .arg("-C")
            .arg(self.path("repo"))
            .args(args)
            .output()
            .expect("git runs");
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn commit_all(&self, message: &str) {
        self.git(&["add", "--all"]);
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        self.git(&[&who[..], &["commit", "--quiet", "-m", message]].concat());
    }

    /// Configures the scripted agent `scripted` with this script.
    pub(crate) fn script(&self, script: &Value) {
        fs::write(self.path("script.json"), script.to_string()).expect("written");
        let program = self.binary();
        let script = self.path("script.json");
        let command = ["agent", "add", "scripted", "--json-lines", "--"];
        let command = self
            .panel(&command)
            .arg(program)
            .arg("__agent-script")
            .arg(script)
            .output();
        succeeded(&command.expect("it runs"), "agent add");
    }

    /// Adds lines to the end of the configuration.
    pub(crate) fn configure(&self, lines: &str) {
        let path = self.path("home/.config/cs-panel/config.toml");
        let before = fs::read_to_string(&path).expect("an agent is configured");
        fs::write(&path, format!("{before}\n{lines}")).expect("written");
    }

    /// Takes all agents out of the configuration.
    pub(crate) fn forget_agents(&self) {
        fs::write(self.path("home/.config/cs-panel/config.toml"), "").expect("written");
    }

    /// The binary in the repository, with nothing inherited and no state directory named.
    pub(crate) fn program(&self) -> Command {
        let mut command = self.plain(self.binary());
        command.current_dir(self.path("repo"));
        command
    }

    /// The binary with these arguments, in the repository, with nothing inherited.
    pub(crate) fn panel(&self, args: &[&str]) -> Command {
        let mut command = self.program();
        command.arg("--state-dir").arg(self.state()).args(args);
        self.record.name_to(&mut command);
        command
    }

    /// A shell with this script, with nothing inherited.
    pub(crate) fn shell(&self, script: &str) -> Command {
        let mut command = self.plain("sh");
        command.current_dir(self.path("repo")).args(["-c", script]);
        command
    }

    fn binary(&self) -> PathBuf {
        match self.user {
            // What the tester may read, another user may not.
            Some(_) => self.path("cs-panel"),
            None => assert_cmd::cargo::cargo_bin("cs-panel"),
        }
    }

    pub(crate) fn plain(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var_os("PATH").expect("a PATH");
        command
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.dir.path())
            // Whoever tests may itself be an agent.
            .env("CS_PANEL_EXECUTION", "")
            .env("CS_PANEL_PROBE_SECONDS", self.probe_seconds.to_string());
        command.env("GIT_CONFIG_NOSYSTEM", "1").stdin(Stdio::null());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    /// Runs the binary to a success and returns what it prints.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let output = self.panel(args).output().expect("it runs");
        succeeded(&output, &args.join(" "));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs the binary to this exit code and returns what it says on standard error.
    pub(crate) fn fails(&self, code: i32, args: &[&str]) -> String {
        let output = self.panel(args).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        said
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let text = self.ok(&[args, &["--json"]].concat());
        serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{args:?} printed no JSON ({error}): {text}"))
    }

    /// Sends a message to a new card and returns the card.
    pub(crate) fn send(&self, message: &str) -> String {
        let sent = self.json(&["send", message]);
        sent["card"].as_str().expect("a card").to_owned()
    }

    pub(crate) fn run_once(&self) -> String {
        self.ok(&["run", "--once"])
    }

    /// Runs the daemon to its end and returns what it says on standard error.
    pub(crate) fn run_once_saying(&self) -> String {
        let output = self.panel(&["run", "--once"]).output().expect("it runs");
        succeeded(&output, "run --once");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    pub(crate) fn card(&self, card: &str) -> Value {
        self.json(&["show", card])
    }

    /// The bodies of a card's turns by who wrote them: `person`, `agent` or `system`.
    pub(crate) fn said_by(&self, card: &str, kind: &str) -> Vec<String> {
        let detail = self.card(card);
        let turns = detail["turns"].as_array().expect("turns").iter();
        let bodies = turns
            .filter(|turn| turn["author"]["kind"] == kind)
            .map(|turn| turn["body"].as_str());
        bodies.map(|body| body.expect("a body").to_owned()).collect()
    }

    /// Starts a daemon that stays.
    pub(crate) fn daemon(&self) -> Daemon {
        let log = fs::File::create(self.path("daemon.log")).expect("made");
        let mut command = self.panel(&["run"]);
        command.stdout(log.try_clone().expect("a handle")).stderr(log);
        Daemon {
            child: command.spawn().expect("it starts"),
        }
    }

    /// Ends the daemon with SIGKILL at a border of its protocols.
    pub(crate) fn crash_at(&self, border: &str) {
        let mut command = self.panel(&["run", "--once"]);
        let output = command
            .env("CS_PANEL_CRASH_AT", border)
            .output()
            .expect("it runs");
        let signal = std::os::unix::process::ExitStatusExt::signal(&output.status);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(signal, Some(9), "it did not come to {border}: {said}");
    }

    /// How many lines a file outside of any tree has.
    pub(crate) fn lines(&self, name: &str) -> usize {
        fs::read_to_string(self.path("outside").join(name)).map_or(0, |text| text.lines().count())
    }

    /// Waits until something holds.
    pub(crate) fn until<T>(&self, what: &str, mut holds: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(value) = holds() {
                return value;
            }
            let log = || fs::read_to_string(self.path("daemon.log")).unwrap_or_default();
            assert!(
                Instant::now() < deadline,
                "waited in vain until {what}\n{}",
                log()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn until_there(&self, path: &Path) {
        self.until(&format!("{} is there", path.display()), || {
            path.exists().then_some(())
        });
    }

    /// A step that appends a line to a file outside of any tree: it counts how often an agent came by.
    pub(crate) fn count(&self, name: &str) -> Value {
        let file = self.path("outside").join(name);
        json!({"run": ["sh", "-c", format!("echo $$ >> '{}'", file.display())]})
    }

    /// A step that says that it came by, and waits until the test lets it go on.
    pub(crate) fn gate(&self, name: &str) -> [Value; 2] {
        let (here, go) = (
            self.path("outside").join(name),
            self.path("outside").join(format!("{name}.go")),
        );
        [json!({"touch": here}), json!({"wait": {"until_file": go}})]
    }

    pub(crate) fn open_gate(&self, name: &str) {
        fs::write(self.path("outside").join(format!("{name}.go")), "").expect("written");
    }

    /// All live processes that belong to an execution below this desk's state directory, by their environment or their
    /// command line.
    pub(crate) fn processes(&self) -> Vec<String> {
        let mut found = Vec::new();
        let needle = self.dir.path().to_string_lossy().into_owned();
        for entry in fs::read_dir("/proc").expect("/proc").flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else {
                continue;
            };
            if pid == std::process::id() {
                continue;
            }
            let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
            let text = [read("environ"), read("cmdline")].concat();
            let state = String::from_utf8_lossy(&read("stat")).into_owned();
            let is_dead = state
                .rsplit(')')
                .next()
                .is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X']));
            if !is_dead && String::from_utf8_lossy(&text).contains(&needle) {
                let line = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
                found.push(format!("{pid}: {line}"));
            }
        }
        found
    }

    /// Those of them that are an agent or came from one.
    pub(crate) fn agents(&self) -> Vec<String> {
        self.processes()
            .into_iter()
            .filter(|line| line.contains("__agent-script"))
            .collect()
    }

    /// Whether there are agents and none of their processes can run: each is stopped, or in a frozen control group.
    pub(crate) fn all_agents_stand_still(&self) -> bool {
        let agents = self.agents();
        let mut pids = agents.iter().filter_map(|line| line.split(':').next());
        !agents.is_empty() && pids.all(stands_still)
    }

    /// The process whose number a script wrote to a file outside of any tree.
    pub(crate) fn is_alive(&self, pid_file: &str) -> bool {
        let pid = fs::read_to_string(self.path("outside").join(pid_file)).expect("written");
        let line = fs::read_to_string(format!("/proc/{}/cmdline", pid.trim())).unwrap_or_default();
        line.contains("__agent-script")
    }

    pub(crate) fn no_agent_is_left(&self) {
        self.until("no agent is left", || self.agents().is_empty().then_some(()));
    }

    pub(crate) fn no_process_but_the_daemon_is_left(&self) {
        self.until("no process but a daemon is left", || {
            self.processes()
                .iter()
                .all(|line| line.trim_end().ends_with(" run"))
                .then_some(())
        });
    }

    pub(crate) fn no_process_is_left(&self) {
        self.until("no process is left", || self.processes().is_empty().then_some(()));
    }
}

/// Agents outlive their daemon, and a test that failed: nothing of it stays.
impl Drop for Desk {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.processes().iter().for_each(|line| {
                kill(line);
            });
        }
    }
}

/// Kills a process that [`Desk::processes`] has named, if it still is the one that was seen.
pub(crate) fn kill(line: &str) -> bool {
    let (pid, command) = line.split_once(": ").expect("a pid and a command line");
    let number = pid.parse().ok().and_then(Pid::from_raw).expect("a pid");
    let Ok(handle) = pidfd_open(number, PidfdFlags::empty()) else {
        return false;
    };
    let now = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let now = String::from_utf8_lossy(&now).replace('\0', " ");
    now == command && pidfd_send_signal(handle, Signal::KILL).is_ok()
}

/// A daemon that stays, until it is killed or told to leave.
pub(crate) struct Daemon {
    child: Child,
}

impl Daemon {
    /// Ends it as a crash would.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it is there");
        self.child.wait().expect("it ends");
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Interrupts it as a person does, waits until it has left, and returns all that it has said.
    pub(crate) fn interrupt(mut self, desk: &Desk) -> String {
        let interrupted = Command::new("kill")
            .args(["-INT", &self.pid().to_string()])
            .status();
        assert!(interrupted.expect("kill runs").success());
        self.child.wait().expect("it ends");
        fs::read_to_string(desk.path("daemon.log")).expect("it wrote something")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn succeeded(output: &Output, what: &str) {
    let (out, said) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success(),
        "{what}: {}\n{out}\n{said}",
        output.status
    );
}

fn stands_still(pid: &str) -> bool {
    let read = |path: String| fs::read_to_string(path).unwrap_or_default();
    let stat = read(format!("/proc/{pid}/stat"));
    let is_stopped = stat
        .rsplit(')')
        .next()
        .is_some_and(|rest| rest.trim_start().starts_with('T'));
    let mounts = read("/proc/self/mounts".to_owned());
    let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let mount = mounts
        .find_map(|mount| (mount[0] == "cgroup2" || mount[2] == "cgroup2").then(|| mount[1].to_owned()));
    let groups = read(format!("/proc/{pid}/cgroup"));
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"));
    let events = mount
        .zip(group)
        .map(|(mount, group)| read(format!("{mount}{group}/cgroup.events")));
    is_stopped || events.is_some_and(|events| events.contains("frozen 1"))
}
