//! A machine with a daemon.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cs_daemon::control::{self, Poked};
use cs_daemon::{
    AgentRules, Borders, Checkouts, Daemon, Deps, FixedAgents, GitTrees, KeepEverything, LandingPolicy,
    MachineIdentity, Mode, Preparation, RecordPorts, Reporter, Settings, ShimExecutions, StateDir, ThisHost,
    TreeError,
};
use cs_harness::{AgentConfig, HarnessKind};
use cs_model::{CodebaseId, IdSource, MachineId};
use cs_supervise::ShimProgram;
use cs_testkit::bench::WallClock;
use cs_testkit::{MemorySecrets, SeededIds};
use cs_worktree::{Git, GitSetup, Worktrees};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// The agent that all cards are for: it reads its prompt and answers.
pub(crate) const AGENT: &str = "mine";

/// A source of ids that nobody else in this process has.
pub(crate) fn ids() -> Arc<SeededIds> {
    static SEED: AtomicU64 = AtomicU64::new(1);
    let seed = SEED.fetch_add(1, Ordering::Relaxed);
    Arc::new(SeededIds::new(seed, Arc::new(WallClock)))
}

/// Says only what an operator should notice.
#[derive(Debug)]
struct Complaints;

impl Reporter for Complaints {
    fn out(&self, _: &str) {}

    #[expect(clippy::print_stderr, reason = "a bench in trouble measures something else")]
    fn said(&self, line: &str) {
        eprintln!("{line}");
    }
}

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

/// A daemon that works until this is told to leave.
pub(crate) struct Machine {
    pub(crate) state: StateDir,
    leave: oneshot::Sender<()>,
    running: JoinSet<()>,
}

impl Machine {
    /// Starts a daemon with a state directory of its own, and waits until it listens.
    pub(crate) async fn start(directory: &Path, name: &str, record: RecordPorts, fallback: Duration) -> Self {
        let root = directory.join(name);
        fs::create_dir(&root).expect("the directory is empty");
        let state = StateDir::open(&root.join("state")).expect("a directory");
        let deps = deps(&root, &state, record, fallback).await;
        let daemon = Daemon::open(deps, state.lock().expect("nobody else is there")).expect("it opens");
        let (leave, told) = oneshot::channel();
        let mut running = JoinSet::new();
        running.spawn(async move {
            let left = async {
                let _ = told.await; // whoever forgets it wants it to leave as well
            };
            daemon
                .run(Mode::Stay, left)
                .await
                .expect("it works until it leaves");
        });
        while control::poke(&state).await == Poked::NoDaemon {
            tokio::task::yield_now().await;
        }
        Self {
            state,
            leave,
            running,
        }
    }

    pub(crate) async fn leave(mut self) {
        self.leave.send(()).expect("the daemon is there");
        while let Some(ended) = self.running.join_next().await {
            ended.expect("it works until it leaves");
        }
    }
}

async fn deps(root: &Path, state: &StateDir, record: RecordPorts, fallback: Duration) -> Deps {
    #[expect(
        clippy::disallowed_methods,
        reason = "programs are looked up where the bench is started"
    )]
    let path = std::env::var_os("PATH").expect("programs can be found");
    let git = Git::probe(GitSetup::new(path.clone(), root, root.join("state"))).await;
    let argv = ["sh", "-c", "cat > /dev/null; echo done"].map(str::to_owned);
    let agent = AgentConfig::new(AGENT, argv.to_vec(), HarnessKind::Plain).expect("an agent");
    let ids = ids();
    let trees = Arc::new(GitTrees::new(
        Worktrees::new(state.git(), git.expect("git is there")),
        Arc::new(NoCheckouts),
    ));
    Deps {
        record,
        machine: MachineIdentity {
            id: MachineId::from_uuid(ids.uuid_v7()),
            name: "desk".to_owned(),
            person: "Ada".parse().expect("a name"),
            serves_everyone: true,
        },
        agents: Arc::new(FixedAgents::new(BTreeMap::from([(
            AGENT.to_owned(),
            agent.into(),
        )]))),
        checkouts: Arc::new(NoCheckouts),
        trees: trees.clone(),
        landings: trees,
        leftovers: Arc::new(KeepEverything),
        executions: Arc::new(ShimExecutions::new(
            state.clone(),
            ShimProgram::current().expect("this is one"),
        )),
        host: Arc::new(ThisHost::new(state.root())),
        secrets: Arc::new(MemorySecrets::default()),
        agent_env: vec![("PATH".into(), path)],
        clock: Arc::new(WallClock),
        ids,
        reporter: Arc::new(Complaints),
        settings: Settings {
            fallback_interval: fallback,
            ..Settings::default()
        },
        borders: Borders::none(),
    }
}
