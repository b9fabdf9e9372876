//! What the tests of executions share.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cs_supervise::{
    Closed, Containment, ExecutionDir, ExecutionSpec, HoldError, Lack, ProcessIdentity, Proof, Running,
    ShimProgram, Tier, Verdict, hold, survey,
};
use libtest_mimic::{Failed, Trial};

/// Nothing in these tests may take longer, however busy the machine is.
pub(crate) const LIMIT: Duration = Duration::from_secs(50);

/// Set where a machine must have a control group: what needs one then fails instead of saying that it was not tested.
const NEEDS_CGROUP: &str = "CS_PANEL_TEST_CGROUP";
/// The same for a PID namespace.
const NEEDS_NAMESPACE: &str = "CS_PANEL_TEST_NAMESPACE";

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

/// A test that must be over within [`LIMIT`].
pub(crate) fn trial<F: Future<Output = ()>>(
    name: &str,
    test: impl FnOnce(Scratch) -> F + Send + 'static,
) -> Trial {
    Trial::test(name, move || {
        let scratch = Scratch::new();
        block_on(async { tokio::time::timeout(LIMIT, test(scratch)).await })
            .map_err(|_| Failed::from("it did not come to an end"))
    })
}

/// One test for each means by which executions are held together. A tier that this machine does not offer says so.
pub(crate) fn per_tier<F: Future<Output = ()>>(
    name: &str,
    test: impl FnOnce(Scratch) -> F + Clone + Send + 'static,
) -> Vec<Trial> {
    vec![
        trial(&format!("{name}_by_subreaper"), test.clone()),
        in_group(&format!("{name}_by_cgroup"), test.clone()),
        in_namespace(&format!("{name}_by_namespace"), test),
    ]
}

/// A test that needs a control group. On a machine without one it says so, or fails where [`NEEDS_CGROUP`] is set.
pub(crate) fn in_group<F: Future<Output = ()>>(
    name: &str,
    test: impl FnOnce(Scratch) -> F + Send + 'static,
) -> Trial {
    trial(name, async move |mut scratch| {
        if let Tier::Subreaper = Tier::best() {
            let why = "no writable control group (version 2) is mounted here";
            return say_not_had(why, NEEDS_CGROUP);
        }
        scratch.tier = Tier::Cgroup;
        test(scratch).await;
    })
}

/// A test that needs a PID namespace. On a machine that refuses one it says so, or fails where [`NEEDS_NAMESPACE`] is set.
pub(crate) fn in_namespace<F: Future<Output = ()>>(
    name: &str,
    test: impl FnOnce(Scratch) -> F + Send + 'static,
) -> Trial {
    trial(name, async move |mut scratch| {
        scratch.tier = Tier::Namespace;
        let probe = scratch.below("probe");
        match probe.hold(&spec_of(&words(&["exit=0"]))).await {
            Ok(held) => drop(held.abandon().await.unwrap()),
            Err(HoldError::Unsupported {
                source: Lack::System(error),
                ..
            }) if is_refusal(&error) => {
                let why = format!("no PID namespace can be made here: {error}");
                return say_not_had(&why, NEEDS_NAMESPACE);
            }
            Err(other) => panic!("{other:?}"),
        }
        if !orphans_are_reaped().await {
            // The first process of a namespace ends when all others are reaped, also those whose parent was outside.
            let why =
                "process 1 does not reap orphans here, so that a namespace whose shim was killed never ends";
            return say_not_had(why, NEEDS_NAMESPACE);
        }
        test(scratch).await;
    })
}

/// Whether whoever inherits an orphan here reaps it.
async fn orphans_are_reaped() -> bool {
    let script = "sleep 0.1 >/dev/null & echo $!";
    #[expect(clippy::disallowed_methods, reason = "a test makes an orphan")]
    let made = tokio::process::Command::new("sh")
        .args(["-c", script])
        .output()
        .await;
    let orphan = String::from_utf8(made.unwrap().stdout).unwrap();
    let stat = format!("/proc/{}/stat", orphan.trim());
    for _ in 0..100 {
        if !Path::new(&stat).exists() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}

/// Whether the machine forbids it; any other error is a fault of ours.
fn is_refusal(error: &std::io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EPERM | libc::ENOSPC | libc::EACCES)
    )
}

/// Says what this machine does not have, or fails where it must have it.
fn say_not_had(why: &str, demand: &str) {
    #[expect(clippy::disallowed_methods, reason = "what a test demands of its machine")]
    let is_demanded = std::env::var_os(demand).is_some();
    assert!(!is_demanded, "{why}, and {demand} is set");
    say_not_tested(why);
}

#[expect(clippy::print_stderr, reason = "what this machine cannot show must be told")]
pub(crate) fn say_not_tested(why: &str) {
    eprintln!("NOT TESTED: {why}");
}

/// A directory for one test, with one execution in it.
pub(crate) struct Scratch {
    root: tempfile::TempDir,
    pub(crate) dir: ExecutionDir,
    /// What holds the execution together, and so what proof its end must have.
    pub(crate) tier: Tier,
}

impl Scratch {
    fn new() -> Self {
        // In memory where that can be: the tests write thousands of small files.
        let shm = Path::new("/dev/shm");
        let root = if shm.is_dir() {
            tempfile::tempdir_in(shm)
        } else {
            tempfile::tempdir()
        }
        .unwrap();
        let dir = ExecutionDir::at(root.path().join("execution"));
        Self {
            root,
            dir,
            tier: Tier::Subreaper,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Words for an agent that starts one descendant of each kind, and for each the file that names it.
    pub(crate) fn hostile(&self) -> Vec<String> {
        self.of_kinds(&KINDS)
    }

    pub(crate) fn of_kinds(&self, kinds: &[&str]) -> Vec<String> {
        kinds
            .iter()
            .map(|kind| format!("spawn={kind}:{}", self.text(kind)))
            .collect()
    }

    /// The descendants, once all are there.
    pub(crate) async fn descendants(&self) -> Vec<Process> {
        self.descendants_of(&KINDS).await
    }

    pub(crate) async fn descendants_of(&self, kinds: &[&'static str]) -> Vec<Process> {
        let mut found = Vec::new();
        for kind in kinds {
            found.push(Process::from_file(kind, &self.path(kind), self.namespace().as_deref()).await);
        }
        found
    }

    /// The agent's PID namespace, where it has one of its own.
    fn namespace(&self) -> Option<PathBuf> {
        if self.tier != Tier::Namespace {
            return None;
        }
        let record = crate::raw::read(&self.dir.path().join("namespace.json"));
        Some(fs::read_link(format!("/proc/{}/ns/pid", record["init"]["pid"])).unwrap())
    }

    pub(crate) async fn start(&self, words: &[String]) -> Running {
        self.start_spec(&spec_of(words), b"the prompt").await
    }

    pub(crate) async fn start_spec(&self, spec: &ExecutionSpec, prompt: &[u8]) -> Running {
        let running = self.hold(spec).await.unwrap().go(prompt).await.unwrap();
        assert_eq!(running.tier(), self.tier);
        running
    }

    pub(crate) async fn hold(&self, spec: &ExecutionSpec) -> Result<cs_supervise::Held, HoldError> {
        ExecutionDir::create(self.dir.path()).unwrap();
        let mut spec = spec.clone();
        spec.containment = match self.tier {
            Tier::Cgroup => Containment::Best,
            Tier::Namespace => Containment::Namespace,
            Tier::Subreaper | Tier::InProcess => Containment::Subreaper,
        };
        hold(&ShimProgram::current().unwrap(), &self.dir, &spec).await
    }

    /// A scratch directory of its own within this one.
    pub(crate) fn below(&self, name: &str) -> Self {
        let root = tempfile::Builder::new()
            .prefix(name)
            .tempdir_in(self.root.path())
            .unwrap();
        let dir = ExecutionDir::at(root.path().join("execution"));
        Self {
            root,
            dir,
            tier: self.tier,
        }
    }

    /// One in a directory of another.
    pub(crate) fn on(path: &Path) -> Self {
        let root = tempfile::tempdir_in(path).unwrap();
        let dir = ExecutionDir::at(root.path().join("execution"));
        Self {
            root,
            dir,
            tier: Tier::Subreaper,
        }
    }

    /// Starts a daemon of its own and waits until it has come to its station.
    pub(crate) async fn daemon(&self, station: &str, words: &[String]) -> Daemon {
        let daemon = self.spawn_daemon(station, words);
        assert_eq!(read_when_there(&self.path("execution.station")).await, station);
        daemon
    }

    pub(crate) fn spawn_daemon(&self, station: &str, words: &[String]) -> Daemon {
        #[expect(clippy::disallowed_methods, reason = "this is the daemon that will be killed")]
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .arg("daemon")
            .arg(station)
            .arg(self.dir.path())
            .args(words);
        Daemon(command.stdin(Stdio::null()).spawn().unwrap())
    }

    pub(crate) async fn survey(&self) -> Verdict {
        survey(&self.dir, Duration::from_secs(20)).await.unwrap()
    }

    /// The proof that a shim must give of the end.
    pub(crate) fn proof(&self) -> Proof {
        match self.tier {
            Tier::Cgroup => Proof::CgroupEmpty,
            Tier::Subreaper => Proof::SubreaperEmpty,
            Tier::Namespace => Proof::NamespaceEnded,
            Tier::InProcess => Proof::SweepClean,
        }
    }

    /// The proof that must be given of the end when the shim is gone.
    pub(crate) fn proof_without_shim(&self) -> Proof {
        match self.tier {
            Tier::Cgroup => Proof::CgroupEmpty,
            Tier::Namespace => Proof::NamespaceEnded,
            Tier::Subreaper | Tier::InProcess => Proof::SweepClean,
        }
    }

    /// The execution's control group; it need not be there any more.
    pub(crate) fn group(&self) -> Option<PathBuf> {
        let record = fs::read(self.dir.path().join("cgroup.json")).ok()?;
        let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
        Some(record["path"].as_str().unwrap().into())
    }

    pub(crate) fn stdout(&self) -> String {
        fs::read_to_string(self.dir.stdout_spool()).unwrap()
    }
}

pub(crate) const KINDS: [&str; 4] = ["plain", "setsid", "dfork", "dfork-clean"];

/// A spec that runs this binary as an agent.
pub(crate) fn spec_of(words: &[String]) -> ExecutionSpec {
    let program = std::env::current_exe().unwrap();
    let argv = [program.into_os_string(), "agent".into()]
        .into_iter()
        .chain(words.iter().map(Into::into))
        .collect();
    let mut spec = ExecutionSpec::new(argv, vec![("PATH".into(), "/usr/bin:/bin".into())], "/");
    spec.containment = Containment::Subreaper;
    spec
}

pub(crate) fn words(text: &[&str]) -> Vec<String> {
    text.iter().map(|word| (*word).to_owned()).collect()
}

/// A daemon in a process of its own.
pub(crate) struct Daemon(Child);

impl Daemon {
    /// As a crash does it.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.end();
    }
}

/// A process that a test watches, told apart from a later one with its number.
#[derive(Debug)]
pub(crate) struct Process {
    kind: &'static str,
    pub(crate) pid: i32,
    start_ticks: u64,
}

impl Process {
    async fn from_file(kind: &'static str, file: &Path, namespace: Option<&Path>) -> Self {
        let pid = read_when_there(file).await.parse().unwrap();
        let pid = namespace.map_or(pid, |namespace| outside(namespace, pid));
        Self {
            kind,
            pid,
            start_ticks: look(pid).unwrap().1,
        }
    }

    pub(crate) fn is_alive(&self) -> bool {
        look(self.pid).is_some_and(|(state, start)| start == self.start_ticks && state != "Z")
    }
}

/// The number that a process of a PID namespace has outside of it.
fn outside(namespace: &Path, pid: i32) -> i32 {
    let is_it = |process: &Path| {
        let status = fs::read_to_string(process.join("status")).unwrap_or_default();
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        let innermost = numbers.and_then(|numbers| numbers.split_ascii_whitespace().last());
        fs::read_link(process.join("ns/pid")).is_ok_and(|it| it == namespace)
            && innermost == Some(pid.to_string().as_str())
    };
    let mut processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let found = processes.find(|process| is_it(process)).unwrap();
    found.file_name().unwrap().to_str().unwrap().parse().unwrap()
}

/// The letter by which the kernel tells a process's state.
pub(crate) fn state_of(pid: i32) -> Option<String> {
    Some(look(pid)?.0)
}

/// Whether there is a process of this number that has not ended.
pub(crate) fn is_alive(pid: i32) -> bool {
    state_of(pid).is_some_and(|state| state != "Z")
}

/// State and start of a process.
fn look(pid: i32) -> Option<(String, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    Some((fields.next()?.to_owned(), fields.nth(18)?.parse().ok()?))
}

pub(crate) fn alive(processes: &[Process]) -> Vec<&'static str> {
    processes
        .iter()
        .filter(|process| process.is_alive())
        .map(|process| process.kind)
        .collect()
}

pub(crate) async fn until(what: &str, condition: impl Fn() -> bool) {
    let limit = Instant::now() + LIMIT;
    while !condition() {
        assert!(Instant::now() < limit, "{what} never came true");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) async fn read_when_there(file: &Path) -> String {
    until(&format!("{} is there", file.display()), || file.exists()).await;
    fs::read_to_string(file).unwrap()
}

/// The end must be proven by the shim, and stored.
pub(crate) fn assert_closed(scratch: &Scratch, closed: &Closed) {
    assert_eq!(
        (closed.proof, closed.survivors.as_slice()),
        (Some(scratch.proof()), &[][..])
    );
    assert!(!scratch.group().is_some_and(|group| group.exists()));
    assert!(scratch.dir.path().join("closed.json").exists());
}

pub(crate) async fn adopt(scratch: &Scratch) -> Running {
    match scratch.survey().await {
        Verdict::Adopted(running) => running,
        other => panic!("not adopted: {other:?}"),
    }
}

/// Kills a process whose identity is known, as a crash does it.
pub(crate) fn crash(process: &ProcessIdentity) {
    assert!(process.is_alive());
    let pid = rustix::process::Pid::from_raw(process.pid()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// The shim's identity, as its directory tells it.
pub(crate) fn shim_of(scratch: &Scratch) -> ProcessIdentity {
    #[derive(serde::Deserialize)]
    struct Ident {
        shim: ProcessIdentity,
    }
    let bytes = fs::read(scratch.dir.path().join("ident.json")).unwrap();
    serde_json::from_slice::<Ident>(&bytes).unwrap().shim
}
