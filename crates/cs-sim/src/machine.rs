//! A machine: what of it outlives its daemons, and the task that starts a daemon again whenever one has died.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cs_daemon::control::Request;
use cs_daemon::{
    AgentRules, Borders, Checkouts, Daemon, DaemonError, Deps, FixedAgents, KeepEverything, LandingPolicy,
    MachineIdentity, Mode, Preparation, RecordPorts, Reporter, Settings, StateDir, TreeError,
};
use cs_harness::{AgentConfig, HarnessKind};
use cs_model::{CodebaseId, Epoch, LandingTarget, MachineId, Person, RunId};
use cs_testkit::{MemorySecrets, SeededIds};
use tokio::sync::{Notify, mpsc};
use tokio::time::sleep;

use crate::broken::Mutant;
use crate::clock::SimClock;
use crate::coverage::{Way, weight};
use crate::execution::{Execution, FakeExecutions, Truth};
use crate::host::SimHost;
use crate::invariant::Event;
use crate::record::Remote;
use crate::trees::{Bases, FakeTrees};
use crate::world::World;

/// The agent that every machine can drive.
pub(crate) const AGENT: &str = "robot";

/// What of a machine outlives its daemons.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) index: usize,
    pub(crate) id: MachineId,
    pub(crate) state: StateDir,
    pub(crate) clock: Arc<SimClock>,
    pub(crate) ids: Arc<SeededIds>,
    pub(crate) codebases: Vec<CodebaseId>,
    pub(crate) slots: u32,
    /// What happens to the daemon.
    pub(crate) crashed: Notify,
    /// What lets a machine that is away come back.
    pub(crate) back: Notify,
    life: Mutex<Life>,
    processes: Mutex<BTreeMap<String, Execution>>,
    bases: Mutex<Bases>,
}

#[derive(Debug)]
struct Life {
    generation: u64,
    boots: u64,
    is_full: bool,
    is_away: bool,
    is_up: bool,
    /// Until when it reaches no record, although others do.
    cut_off_until: Option<tokio::time::Instant>,
    /// How long the ledger was before the last change, and is now, so that a broken disk can forget that change.
    ledger_bytes: [u64; 2],
    inbox: Option<mpsc::Sender<Request>>,
}

/// What a machine is made of.
pub(crate) struct Made {
    pub(crate) index: usize,
    pub(crate) state: StateDir,
    pub(crate) clock: Arc<SimClock>,
    pub(crate) ids: Arc<SeededIds>,
    pub(crate) codebases: Vec<CodebaseId>,
    pub(crate) slots: u32,
}

impl Machine {
    pub(crate) fn new(made: Made) -> Self {
        use cs_model::IdSource;
        Self {
            index: made.index,
            id: MachineId::from_uuid(made.ids.uuid_v7()),
            state: made.state,
            clock: made.clock,
            ids: made.ids,
            bases: Mutex::new(Bases::of(&made.codebases)),
            codebases: made.codebases,
            slots: made.slots,
            crashed: Notify::new(),
            back: Notify::new(),
            life: Mutex::new(Life {
                generation: 1,
                boots: 1,
                is_full: false,
                is_away: false,
                is_up: false,
                cut_off_until: None,
                ledger_bytes: [0, 0],
                inbox: None,
            }),
            processes: Mutex::default(),
        }
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn processes(&self) -> MutexGuard<'_, BTreeMap<String, Execution>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn bases(&self) -> MutexGuard<'_, Bases> {
        self.bases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn boot_id(&self) -> String {
        format!("boot-{}-{}", self.index, self.life().boots)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.life().is_full
    }

    pub(crate) fn set_full(&self, is_full: bool) {
        self.life().is_full = is_full;
    }

    pub(crate) fn is_away(&self) -> bool {
        self.life().is_away
    }

    /// Cuts the machine off from the record for a while.
    pub(crate) fn cut_off(&self, span: Duration) {
        self.life().cut_off_until = Some(tokio::time::Instant::now() + span);
    }

    /// Says whether the machine reaches no record now.
    pub(crate) fn is_cut_off(&self) -> bool {
        let until = self.life().cut_off_until;
        until.is_some_and(|until| tokio::time::Instant::now() < until)
    }

    /// Keeps the daemon from being started again, until it is let back.
    pub(crate) fn set_away(&self, is_away: bool) {
        self.life().is_away = is_away;
        if !is_away {
            self.back.notify_one();
        }
    }

    /// Says whether a daemon of this generation is still the one that works.
    pub(crate) fn is_current(&self, generation: u64) -> bool {
        self.life().generation == generation
    }

    pub(crate) fn is_up(&self) -> bool {
        self.life().is_up
    }

    /// Ends the daemon, at once. What waits for a GO ends with it; agents go on.
    pub(crate) fn crash(&self) {
        let mut life = self.life();
        life.generation += 1;
        life.is_up = false;
        life.inbox = None;
        drop(life);
        for execution in self.processes().values_mut() {
            execution.daemon_died();
        }
        self.crashed.notify_one();
    }

    /// Starts the machine anew: nothing runs there any more.
    pub(crate) fn reboot(&self) {
        self.crash();
        self.life().boots += 1;
        for execution in self.processes().values_mut() {
            execution.rebooted();
        }
    }

    /// Notes how long the ledger is, before anybody else is told what it says.
    pub(crate) fn note_ledger(&self) {
        let Ok(meta) = std::fs::metadata(self.state.ledger()) else {
            return;
        };
        let mut life = self.life();
        if life.ledger_bytes[1] != meta.len() {
            life.ledger_bytes = [life.ledger_bytes[1], meta.len()];
        }
    }

    /// Makes the ledger as it was before its last change.
    fn forget_last(&self) {
        let [before, now] = self.life().ledger_bytes;
        let file = std::fs::OpenOptions::new().write(true).open(self.state.ledger());
        if let Ok(file) = file
            && before > 64
            && before < now
        {
            let _cut = file.set_len(before);
        }
    }

    /// Gives a request to the daemon, if one works.
    pub(crate) fn request(&self, request: Request) {
        if let Some(inbox) = &self.life().inbox {
            let _full = inbox.try_send(request);
        }
    }

    /// The card of a verify that works here now, or left something that does.
    pub(crate) fn card_being_verified(&self) -> Option<cs_model::CardId> {
        let processes = self.processes();
        let mut live = processes
            .values()
            .filter(|execution| execution.truth() == Truth::Works);
        live.find_map(|execution| Some(execution.verify()?.card))
    }

    /// The cards of the agents that work here now, or left something that does.
    pub(crate) fn cards_at_work(&self) -> BTreeSet<cs_model::CardId> {
        self.attempts_at_work().into_values().collect()
    }

    /// The attempts of the agents that work here now, or left something that does, with their cards.
    pub(crate) fn attempts_at_work(&self) -> BTreeMap<(RunId, Epoch), cs_model::CardId> {
        let processes = self.processes();
        let live = processes
            .values()
            .filter(|execution| execution.truth() == Truth::Works);
        live.filter_map(|execution| {
            let file = execution.attempt()?;
            Some(((file.attempt.run, file.attempt.epoch), file.row.card))
        })
        .collect()
    }

    /// What really came of an attempt here: of the one execution of it whose agent had a prompt, if any.
    pub(crate) fn truth_of(&self, run: RunId, epoch: Epoch) -> Truth {
        let processes = self.processes();
        let mine = |execution: &&Execution| {
            let file = execution.attempt();
            file.is_some_and(|file| file.attempt.run == run && file.attempt.epoch == epoch)
        };
        let truths = processes.values().filter(mine).map(Execution::truth);
        truths
            .reduce(|one, other| if one == Truth::NeverStarted { other } else { one })
            .unwrap_or(Truth::NeverStarted)
    }

    fn begin(&self) -> (u64, mpsc::Receiver<Request>) {
        let (sender, receiver) = mpsc::channel(16);
        let mut life = self.life();
        life.generation += 1;
        life.inbox = Some(sender);
        life.is_up = true;
        (life.generation, receiver)
    }
}

/// Starts a daemon on a machine again and again, until the simulation is over.
pub(crate) async fn live(world: Arc<World>, machine: Arc<Machine>) {
    loop {
        while machine.is_away() {
            machine.back.notified().await;
        }
        let (generation, inbox) = machine.begin();
        world.note(format_args!(
            "machine {} daemon {generation} starts",
            machine.index
        ));
        match open(&world, &machine, generation).await {
            Ok(daemon) => {
                tokio::select! {
                    biased;
                    () = machine.crashed.notified() => {}
                    ended = daemon.work(Mode::Stay, pending(), inbox) => {
                        world.fail("a daemon works until it dies", format!("{ended:?}"));
                    }
                }
            }
            Err(error) => {
                world.fail("a daemon can be started again", format!("{error:?}"));
                return;
            }
        }
        machine.crash();
        // That was no news.
        let _stale = tokio::time::timeout(Duration::ZERO, machine.crashed.notified()).await;
        if world.is_mutant(Mutant::LedgerForgets) {
            machine.forget_last();
        }
        world.see(&Event::Crashed);
        let pause = world
            .dice
            .span(Duration::from_millis(10), Duration::from_secs(20));
        sleep(pause).await;
    }
}

/// Opens the daemon. The one before it lets go of its ledger as soon as its tasks are told that they are over.
async fn open(world: &Arc<World>, machine: &Arc<Machine>, generation: u64) -> Result<Daemon, DaemonError> {
    let mut tries = 0;
    loop {
        let lock = machine.state.lock();
        let opened = match lock {
            Ok(lock) => Daemon::open(deps(world, machine, generation), lock),
            Err(error) => Err(DaemonError::State(std::io::Error::other(error))),
        };
        tries += 1;
        match opened {
            Err(_) if tries < 100 => tokio::task::yield_now().await,
            other => return other,
        }
    }
}

fn deps(world: &Arc<World>, machine: &Arc<Machine>, generation: u64) -> Deps {
    let seat = Seat {
        world: Arc::clone(world),
        machine: Arc::clone(machine),
        generation,
    };
    let remote = Arc::new(Remote(seat.clone()));
    let agent = AgentConfig::new(AGENT, vec![AGENT.to_owned()], HarnessKind::JsonLines);
    Deps {
        record: RecordPorts {
            claims: remote.clone(),
            attempts: remote.clone(),
            settlements: remote.clone(),
            landings: remote.clone(),
            reads: remote.clone(),
            cards: remote.clone(),
            agents: world.record.clone(),
            machines: remote.clone(),
            housekeeping: remote,
        },
        machine: MachineIdentity {
            id: machine.id,
            name: format!("machine-{}", machine.index),
            person: person(),
            serves_everyone: true,
        },
        agents: Arc::new(agent.into_iter().collect::<FixedAgents>()),
        checkouts: Arc::new(Here {
            codebases: machine.codebases.clone(),
            forgets: world.is_mutant(Mutant::VerifyIsForgotten),
        }),
        trees: Arc::new(FakeTrees(seat.clone())),
        landings: Arc::new(FakeTrees(seat.clone())),
        leftovers: Arc::new(KeepEverything),
        executions: Arc::new(FakeExecutions(seat.clone())),
        host: Arc::new(SimHost(Arc::clone(machine))),
        secrets: Arc::new(MemorySecrets::default()),
        agent_env: Vec::new(),
        clock: machine.clock.clone(),
        ids: machine.ids.clone(),
        reporter: Arc::new(Lines(seat)),
        settings: Settings {
            slots: machine.slots
                + if world.is_mutant(Mutant::SlotsAreForgotten) {
                    3
                } else {
                    0
                },
            fallback_interval: Duration::from_secs(10),
            ..Settings::default()
        },
        borders: Borders::none(),
    }
}

/// The person who does everything.
pub(crate) fn person() -> Person {
    "Ada".parse().expect("a name of a person")
}

/// What one daemon sees: the world, its machine, and which daemon of it this is.
#[derive(Debug, Clone)]
pub(crate) struct Seat {
    pub(crate) world: Arc<World>,
    pub(crate) machine: Arc<Machine>,
    pub(crate) generation: u64,
}

impl Seat {
    /// Comes to a call, before anything of it was done.
    pub(crate) async fn come_to(&self, call: &'static str) {
        self.pass(call, Way::CrashBefore).await;
    }

    /// Comes back from a call, after all of it was done.
    pub(crate) async fn come_back(&self, call: &'static str) {
        self.pass(call, Way::CrashAfter).await;
    }

    /// A daemon that has died does nothing any more, and one that is to die here does.
    async fn pass(&self, call: &'static str, way: Way) {
        self.machine.note_ledger();
        // It is over; who never pauses would keep it from its end.
        if self.world.is_broken() {
            pending::<()>().await;
        }
        if self.machine.is_current(self.generation)
            && self.world.happens(self.world.profile.crash * weight(call))
        {
            self.world.draw(call, way, self.machine.index);
            self.machine.crash();
        }
        if !self.machine.is_current(self.generation) {
            pending::<()>().await;
        }
    }

    /// Says whether something local fails before anything of it was done.
    pub(crate) fn fails(&self, call: &'static str) -> bool {
        self.fails_so(call, Way::FailsBefore)
    }

    /// Says whether the answer of something local is lost, after all of it was done.
    pub(crate) fn loses(&self, call: &'static str) -> bool {
        self.fails_so(call, Way::FailsAfter)
    }

    fn fails_so(&self, call: &'static str, way: Way) -> bool {
        let fails = self.world.happens(self.world.profile.local * weight(call));
        if fails {
            self.world.draw(call, way, self.machine.index);
        }
        fails
    }
}

/// The checkouts of a machine.
#[derive(Debug)]
struct Here {
    codebases: Vec<CodebaseId>,
    /// Whether nothing is ever verified.
    forgets: bool,
}

/// Whether a codebase has a verify command.
pub(crate) fn has_verify(codebase: CodebaseId) -> bool {
    codebase.as_uuid().as_u128().is_multiple_of(2)
}

impl Checkouts for Here {
    fn checkout(&self, codebase: CodebaseId) -> Option<std::path::PathBuf> {
        self.codebases.contains(&codebase).then(|| "/checkout".into())
    }

    fn preparation(&self, _: CodebaseId) -> Preparation {
        Preparation::default()
    }

    fn rules(&self, _: CodebaseId) -> Result<AgentRules, TreeError> {
        Ok(AgentRules::default())
    }

    fn landing(&self, codebase: CodebaseId) -> Result<LandingPolicy, TreeError> {
        Ok(LandingPolicy {
            target: Some(LandingTarget::Local),
            verify: (has_verify(codebase) && !self.forgets).then(|| "check".to_owned()),
            ..LandingPolicy::default()
        })
    }

    fn codebases(&self) -> Vec<CodebaseId> {
        self.codebases.clone()
    }
}

/// What a daemon tells its operator.
#[derive(Debug)]
struct Lines(Seat);

impl Reporter for Lines {
    fn out(&self, line: &str) {
        self.0
            .world
            .note(format_args!("machine {} says: {line}", self.0.machine.index));
    }

    fn said(&self, line: &str) {
        self.out(line);
    }
}
