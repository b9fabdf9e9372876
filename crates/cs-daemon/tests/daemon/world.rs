//! What the tests of the daemon share: one machine with a state directory, a record, and agents that are shell commands.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cs_daemon::control::{self, Stopped};
use cs_daemon::{
    AgentRules, AgentSetup, Borders, Checkouts, Daemon, DaemonError, Deps, Ended, FixedAgents, GitTrees,
    KeepEverything, LandingPolicy, MachineIdentity, Mode, Preparation, Reporter, Settings, ShimExecutions,
    StateDir, ThisHost, TreeError,
};
use cs_harness::{AgentConfig, HarnessKind};
use cs_journal::Journal;
use cs_model::{
    Author, CardId, Clock, CodebaseId, IdSource, LandingId, MachineId, OperationId, TurnId, TurnSeq,
};
use cs_record::{AcceptLanding, CardDetail, CardReads, Codebases, PeopleActs, Record, Send, SendTo, Turn};
use cs_supervise::{Limits, ShimProgram};
use cs_testkit::{MemorySecrets, MemoryStore, SeededIds, SetClock};
use cs_worktree::{Git, GitSetup, Identity, OUTPUT_MAX_BYTES, Transport, Worktrees};
use libtest_mimic::{Failed, Trial};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::landings::FakeGit;
use crate::record::Disturbed;

/// Nothing in these tests may take longer, however busy the machine is.
const LIMIT: Duration = Duration::from_secs(50);

/// A test that must be over within [`LIMIT`].
pub(crate) fn trial<F: Future<Output = ()>>(
    name: &str,
    test: impl FnOnce(World) -> F + std::marker::Send + 'static,
) -> Trial {
    Trial::test(name, move || {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let world = World::new();
        let root = world.root.path().to_owned();
        runtime
            .block_on(async { tokio::time::timeout(LIMIT, test(world)).await })
            .map_err(|_| {
                end_processes(&root);
                Failed::from("it did not come to an end")
            })
    })
}

/// A test in which time passes as soon as nothing else happens.
pub(crate) fn timed_trial<F: Future<Output = ()>>(
    name: &str,
    test: impl FnOnce(World) -> F + std::marker::Send + 'static,
) -> Trial {
    Trial::test(name, move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(test(World::new()));
        Ok(())
    })
}

/// A machine.
pub(crate) struct World {
    root: TempDir,
    pub(crate) record: Arc<Disturbed>,
    clock: Arc<SetClock>,
    ids: Arc<SeededIds>,
    machine: MachineId,
    slots: u32,
    min_free_bytes: u64,
    limits: Limits,
    git: Option<Arc<FakeGit>>,
    /// The secrets of this machine.
    pub(crate) secrets: Arc<MemorySecrets>,
    said: Arc<Said>,
}

/// What a daemon said to its operator.
#[derive(Debug, Default)]
struct Said(Mutex<Vec<String>>);

impl Reporter for Said {
    fn out(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }

    fn said(&self, line: &str) {
        self.out(line);
    }
}

/// A machine without a codebase.
#[derive(Debug)]
struct NoCheckouts;

impl Checkouts for NoCheckouts {
    fn checkout(&self, _: CodebaseId) -> Option<PathBuf> {
        None
    }

    fn preparation(&self, _: CodebaseId) -> Preparation {
        Preparation::default()
    }

    fn rules(&self, _: CodebaseId) -> Result<AgentRules, TreeError> {
        Ok(AgentRules::default())
    }

    fn landing(&self, _: CodebaseId) -> Result<LandingPolicy, TreeError> {
        Ok(LandingPolicy::default())
    }

    fn codebases(&self) -> Vec<CodebaseId> {
        Vec::new()
    }
}

/// A daemon that stays until it is told to leave.
pub(crate) struct Staying {
    leave: tokio::sync::oneshot::Sender<()>,
    task: JoinSet<Result<Ended, DaemonError>>,
}

impl Staying {
    /// Tells it to leave, and waits until it has.
    pub(crate) async fn leave(mut self) -> Ended {
        self.leave.send(()).unwrap();
        self.task.join_next().await.unwrap().unwrap().unwrap()
    }
}

/// Agents outlive their daemon, and a test that failed: nothing of it stays.
impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            end_processes(self.root.path());
        }
    }
}

/// Kills what a test left: every process whose environment or command line names its directory.
fn end_processes(root: &Path) {
    let needle = root.to_string_lossy().into_owned();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number = entry.file_name().to_string_lossy().parse().ok();
        let Some(pid) = number.and_then(Pid::from_raw).filter(|pid| *pid != getpid()) else {
            continue;
        };
        // It is held before it is looked at: what is killed is what was seen.
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else {
            continue;
        };
        let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let text = [read("environ"), read("cmdline")].concat();
        if String::from_utf8_lossy(&text).contains(&needle) {
            // It may have ended meanwhile.
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
    }
}

impl World {
    fn new() -> Self {
        let shm = Path::new("/dev/shm");
        let root = if shm.is_dir() {
            tempfile::tempdir_in(shm)
        } else {
            tempfile::tempdir()
        };
        let clock = Arc::new(SetClock::new());
        let ids = |seed| Arc::new(SeededIds::new(seed, Arc::clone(&clock) as Arc<dyn Clock>));
        let (record_ids, ids) = (ids(1), ids(2));
        Self {
            root: root.unwrap(),
            record: Disturbed::new(Record::new(MemoryStore::new(clock.clone()), record_ids)),
            machine: MachineId::from_uuid(ids.uuid_v7()),
            clock,
            ids,
            slots: 1,
            min_free_bytes: Settings::default().min_free_bytes,
            limits: Limits::default(),
            git: None,
            secrets: Arc::default(),
            said: Arc::default(),
        }
    }

    /// The same machine with so many slots.
    pub(crate) fn with_slots(mut self, slots: u32) -> Self {
        self.slots = slots;
        self
    }

    /// The same machine, which starts nothing below so many free bytes.
    pub(crate) fn with_room_for(mut self, min_free_bytes: u64) -> Self {
        self.min_free_bytes = min_free_bytes;
        self
    }

    /// The same machine with these limits for each of its agents.
    pub(crate) fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The same machine with this git.
    pub(crate) fn with_git(mut self, git: Arc<FakeGit>) -> Self {
        self.git = Some(git);
        self
    }

    /// Lets the agent work on a card with a codebase to its end, and accepts that its work lands.
    pub(crate) async fn accepted(&self, agents: &[(&str, &str)]) -> CardId {
        // The record knows a machine once its daemon was there.
        self.run_once(agents).await.unwrap();
        let codebase = CodebaseId::from_uuid(self.ids.uuid_v7());
        self.git.as_ref().unwrap().check_out(codebase);
        let record = &self.record.record;
        record
            .add_codebase(codebase, "engine", self.machine)
            .await
            .unwrap();
        let card = CardId::from_uuid(self.ids.uuid_v7());
        let to = SendTo::NewCard {
            card,
            title: "Work".to_owned(),
            codebase: Some(codebase),
            base: Some("main".to_owned()),
            agent: "agent".parse().unwrap(),
            opening: cs_model::Opening::Owner,
        };
        self.say(to).await;
        self.run_once(agents).await.unwrap();
        let landing = LandingId::from_uuid(self.ids.uuid_v7());
        let accept = AcceptLanding::new(landing, card, "Ada".parse().unwrap());
        self.record.record.accept_landing(&accept).await.unwrap();
        card
    }

    pub(crate) const fn machine(&self) -> MachineId {
        self.machine
    }

    /// The id of an operation that nobody has begun.
    pub(crate) fn operation(&self) -> OperationId {
        OperationId::from_uuid(self.ids.uuid_v7())
    }

    /// Opens the ledger of the machine, as a daemon that then dies does.
    pub(crate) fn journal(&self) -> Journal {
        let deps = cs_journal::Deps {
            record: self.record.clone(),
            ids: self.ids.clone(),
            clock: self.clock.clone(),
            machine: self.machine,
        };
        Journal::open(&self.state().ledger(), deps).unwrap().0
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn state(&self) -> StateDir {
        StateDir::open(&self.path("state")).unwrap()
    }

    /// Sends a message to a new card whose agent is the named one.
    pub(crate) async fn send(&self, agent: &str) -> CardId {
        let card = CardId::from_uuid(self.ids.uuid_v7());
        let to = SendTo::NewCard {
            card,
            title: "Work".to_owned(),
            codebase: None,
            base: None,
            agent: agent.parse().unwrap(),
            opening: cs_model::Opening::Owner,
        };
        self.say(to).await;
        card
    }

    /// Sends one more message to a card, a moment later.
    pub(crate) async fn send_more(&self, card: CardId) {
        self.clock.advance(Duration::from_secs(1));
        self.say(SendTo::Card(card)).await;
    }

    async fn say(&self, to: SendTo) {
        let send = Send {
            turn: TurnId::from_uuid(self.ids.uuid_v7()),
            to,
            person: "Ada".parse().unwrap(),
            body: "Do it".to_owned(),
            plan: cs_record::Plan::default(),
            choice: cs_record::Choice::default(),
            attachments: Vec::new(),
        };
        self.record.record.send(&send).await.unwrap();
    }

    pub(crate) async fn stop(&self, card: CardId) {
        let person = "Ada".parse().unwrap();
        self.record.record.stop_card(card, &person).await.unwrap();
    }

    pub(crate) async fn card(&self, card: CardId) -> CardDetail {
        self.record.record.card(card).await.unwrap()
    }

    pub(crate) async fn answers(&self, card: CardId) -> Vec<String> {
        let turns = self.record.record.turns(card, TurnSeq::START, 100).await.unwrap();
        let by_agent = turns
            .into_iter()
            .filter(|turn| matches!(turn.author, Author::Agent(_)));
        by_agent.map(|turn| turn.body).collect()
    }

    /// All turns of a card.
    pub(crate) async fn turns(&self, card: CardId) -> Vec<Turn> {
        self.record.record.turns(card, TurnSeq::START, 100).await.unwrap()
    }

    /// Waits until so many more passes of a daemon have asked the record for work.
    pub(crate) async fn until_passes(&self, times: usize) {
        let asked = || {
            self.record
                .met()
                .get(&crate::record::Call::Peek)
                .copied()
                .unwrap_or(0)
        };
        for _ in 0..times {
            control::poke(&self.state()).await;
            let before = asked();
            self.until(|| asked() > before).await;
        }
    }

    /// A shell command that writes its process id to a file, then counts its starts in another, and waits for a third.
    pub(crate) fn gated(&self, name: &str) -> String {
        let path = |kind: &str| self.path(&format!("{name}.{kind}")).display().to_string();
        format!(
            "echo $$ > {}.new; mv {}.new {}; echo x >> {}; until test -e {}; do sleep 0.02; done; echo Done.",
            path("pid"),
            path("pid"),
            path("pid"),
            path("starts"),
            path("go")
        )
    }

    pub(crate) fn open_gate(&self, name: &str) {
        fs::write(self.path(&format!("{name}.go")), "").unwrap();
    }

    pub(crate) fn starts(&self, name: &str) -> usize {
        fs::read_to_string(self.path(&format!("{name}.starts"))).map_or(0, |text| text.lines().count())
    }

    /// Waits until a gated agent was started so many times.
    pub(crate) async fn until_starts(&self, name: &str, times: usize) {
        self.until(|| self.starts(name) >= times).await;
    }

    /// Waits until a gated agent runs.
    pub(crate) async fn until_runs(&self, name: &str) {
        let pid = self.path(&format!("{name}.pid"));
        self.until(|| pid.exists() && self.starts(name) >= 1).await;
    }

    /// The number of the process of a gated agent.
    pub(crate) fn pid(&self, name: &str) -> u32 {
        let pid = fs::read_to_string(self.path(&format!("{name}.pid"))).unwrap();
        pid.trim().parse().unwrap()
    }

    pub(crate) fn is_alive(&self, name: &str) -> bool {
        self.is_alive_as(name, self.pid(name))
    }

    /// Whether a gated agent lives that was this process.
    pub(crate) fn is_alive_as(&self, name: &str, pid: u32) -> bool {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.contains(name)
    }

    /// Kills a gated agent, as a crash does it.
    pub(crate) fn kill(&self, name: &str) {
        let pid = Pid::from_raw(self.pid(name).try_into().unwrap()).unwrap();
        assert!(self.is_alive(name));
        rustix::process::kill_process(pid, Signal::KILL).unwrap();
    }

    /// Waits until the process of a gated agent is gone.
    pub(crate) async fn until_gone(&self, name: &str) {
        self.until(|| !self.is_alive(name)).await;
    }

    /// Waits until the process of a card's agent is on the record.
    pub(crate) async fn until_noted(&self, card: CardId) {
        let deadline = Instant::now() + LIMIT;
        while self.card(card).await.runs.iter().all(|run| run.process.is_none()) {
            assert!(Instant::now() < deadline, "{:?}", self.said);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until a call was made since they were taken last.
    pub(crate) async fn until_met(&self, call: crate::record::Call) {
        self.until(|| self.record.met().contains_key(&call)).await;
    }

    /// Waits until the operator was told something.
    pub(crate) async fn until_said(&self, what: &str) {
        self.until_said_times(what, 1).await;
    }

    /// Waits until the operator was told something so many times.
    pub(crate) async fn until_said_times(&self, what: &str, times: usize) {
        let said = || {
            let lines = self.said.0.lock().unwrap();
            lines.iter().filter(|line| line.contains(what)).count()
        };
        self.until(|| said() >= times).await;
    }

    /// Everything that the operator was told.
    pub(crate) fn all_said(&self) -> String {
        self.said.0.lock().unwrap().join("\n")
    }

    async fn until(&self, holds: impl Fn() -> bool) {
        let deadline = Instant::now() + LIMIT;
        while !holds() {
            assert!(Instant::now() < deadline, "{:?}", self.said);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Everything that a daemon is given; `agents` are names and shell commands.
    async fn deps(&self, agents: &[(&str, &str)]) -> Deps {
        let git = Git::probe(GitSetup {
            path: search_path(),
            home: self.root.path().to_owned(),
            xdg_config_home: None,
            state_dir: self.path("state"),
            identity: Identity::default(),
            transport: Transport::default(),
            output_max_bytes: OUTPUT_MAX_BYTES,
        });
        let configured = |(name, script): &(&str, &str)| {
            let argv = vec!["sh".to_owned(), "-c".to_owned(), (*script).to_owned()];
            let config = AgentConfig::new(name, argv, HarnessKind::Plain).unwrap();
            let agent = AgentSetup {
                limits: self.limits,
                ..AgentSetup::from(config)
            };
            ((*name).to_owned(), agent)
        };
        let trees = Arc::new(GitTrees::new(
            Worktrees::new(self.state().git(), git.await.unwrap()),
            Arc::new(NoCheckouts),
        ));
        let mut deps = Deps {
            record: self.record.ports(),
            machine: MachineIdentity {
                id: self.machine,
                name: "desk".to_owned(),
                person: "Ada".parse().unwrap(),
                serves_everyone: false,
            },
            agents: Arc::new(FixedAgents::new(agents.iter().map(configured).collect())),
            checkouts: Arc::new(NoCheckouts),
            trees: trees.clone(),
            landings: trees,
            leftovers: Arc::new(KeepEverything),
            executions: Arc::new(ShimExecutions::new(self.state(), ShimProgram::current().unwrap())),
            host: Arc::new(ThisHost::new(self.state().root())),
            secrets: self.secrets.clone(),
            agent_env: vec![("PATH".into(), search_path())],
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            reporter: self.said.clone(),
            settings: Settings {
                slots: self.slots,
                min_free_bytes: self.min_free_bytes,
                stop_grace: Duration::from_millis(200),
                ..Settings::default()
            },
            borders: Borders::none(),
        };
        if let Some(git) = &self.git {
            deps.checkouts = git.clone();
            deps.trees = git.clone();
            deps.landings = git.clone();
        }
        deps
    }

    /// Runs a daemon until nothing is left to do.
    pub(crate) async fn run_once(&self, agents: &[(&str, &str)]) -> Result<Ended, DaemonError> {
        let lock = self.state().lock().unwrap();
        let daemon = Daemon::open(self.deps(agents).await, lock)?;
        daemon.run(Mode::Once, std::future::pending()).await
    }

    /// Lets a daemon without agents look at the record this often, and leave after this time.
    pub(crate) async fn idles(&self, fallback_interval: Duration, time: Duration) {
        let mut deps = self.deps(&[]).await;
        deps.settings.fallback_interval = fallback_interval;
        let daemon = Daemon::open(deps, self.state().lock().unwrap()).unwrap();
        tokio::time::pause();
        let ended = daemon.run(Mode::Stay, tokio::time::sleep(time)).await.unwrap();
        assert!(matches!(ended, Ended::Detached { .. }), "{ended:?}");
        tokio::time::resume();
    }

    /// Starts a daemon that stays, and waits until it listens.
    pub(crate) async fn daemon(&self, agents: &[(&str, &str)]) -> Staying {
        let lock = self.state().lock().unwrap();
        let daemon = Daemon::open(self.deps(agents).await, lock).unwrap();
        let (leave, told) = tokio::sync::oneshot::channel();
        let mut task = JoinSet::new();
        task.spawn(daemon.run(Mode::Stay, async {
            told.await.unwrap();
        }));
        let nobody = CardId::from_uuid(self.ids.uuid_v7());
        while control::stop(&self.state(), nobody).await.unwrap() == Stopped::NoDaemon {
            tokio::task::yield_now().await;
        }
        Staying { leave, task }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "programs are looked up where the tests are started"
)]
fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap()
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "World({:?})", self.said)
    }
}
