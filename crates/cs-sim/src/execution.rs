//! Executions that outlive their daemons: each is a function of time.

mod life;
mod running;

use std::io;
use std::path::PathBuf;

use async_trait::async_trait;
use cs_daemon::{
    AttemptFile, ExecutionNote, Executions, Found, HeldExecution, HoldTrouble, Launch, LostSight,
    RunningExecution, execution_name,
};
use cs_harness::{Harness, Seen};
use cs_model::{Epoch, RunId};
use cs_supervise::{
    AgentExit, Closed, GoError, HoldError, PauseError, Proof, SpawnFailure, SpawnReason, StopError,
    SurveyError,
};
use tokio::time::Instant;

pub(crate) use life::{End, Execution, Truth};
use life::{Life, State};

use crate::broken::Mutant;
use crate::execution::running::FakeRunning;
use crate::invariant::Event;
use crate::machine::Seat;

/// The executions of one machine, as one daemon of it sees them.
#[derive(Debug)]
pub(crate) struct FakeExecutions(pub(crate) Seat);

#[async_trait]
impl Executions for FakeExecutions {
    async fn names(&self, run: RunId, epoch: Epoch) -> io::Result<Vec<String>> {
        self.0.come_to("names").await;
        if self.0.fails("names") {
            return Err(failure());
        }
        self.0.come_back("names").await;
        if self.0.loses("names") {
            return Err(failure());
        }
        let processes = self.0.machine.processes();
        let names = (1..).map(|number| execution_name(run, epoch, number));
        Ok(names.take_while(|name| processes.contains_key(name)).collect())
    }

    async fn create(&self, name: &str, note: &ExecutionNote) -> io::Result<()> {
        self.0.come_to("create").await;
        if self.0.fails("create") {
            return Err(failure());
        }
        let execution = Execution::new(note.clone());
        let former = self.0.machine.processes().insert(name.to_owned(), execution);
        if former.is_some() {
            self.0
                .world
                .fail("an execution has one name", format!("{name} was made twice"));
        }
        self.0.come_back("create").await;
        if self.0.loses("create") {
            return Err(failure());
        }
        Ok(())
    }

    async fn attempt(&self, name: &str) -> Option<AttemptFile> {
        self.0.come_to("attempt").await;
        self.0.come_back("attempt").await;
        let processes = self.0.machine.processes();
        processes.get(name)?.attempt().cloned()
    }

    async fn hold(&self, name: &str, _: &Launch<'_>) -> Result<Box<dyn HeldExecution>, HoldTrouble> {
        self.0.come_to("hold").await;
        self.0.world.delay().await;
        let refused = || HoldTrouble::Hold(HoldError::Spawn { source: failure() });
        if self.0.fails("hold") {
            return Err(refused());
        }
        match self.0.machine.processes().get_mut(name) {
            Some(execution) if matches!(execution.state, State::Made) => execution.state = State::Held,
            Some(_) | None => return Err(refused()),
        }
        let held = FakeHeld {
            seat: self.0.clone(),
            name: name.to_owned(),
            went: false,
        };
        // Dropped at the crash like that of the real one.
        self.0.come_back("hold").await;
        if self.0.loses("hold") {
            return Err(refused());
        }
        Ok(Box::new(held))
    }

    async fn output_bytes(&self, _: &str) -> u64 {
        0
    }

    async fn survey(&self, name: &str) -> Result<Found, StopError> {
        self.0.come_to("survey").await;
        self.0.world.delay().await;
        if self.0.fails("survey") {
            return Err(lost_sight().into());
        }
        let found = self.found(name);
        self.0.come_back("survey").await;
        if self.0.loses("survey") {
            return Err(lost_sight().into());
        }
        Ok(found)
    }

    async fn is_over(&self, name: &str) -> bool {
        let processes = self.0.machine.processes();
        processes.get(name).is_some_and(Execution::is_over)
    }

    async fn heard(&self, name: &str, harness: &dyn Harness) -> Result<Seen, LostSight> {
        self.0.come_to("heard").await;
        if self.0.fails("heard") {
            return Err(LostSight::Survey(lost_sight()));
        }
        self.0.come_back("heard").await;
        if self.0.loses("heard") {
            return Err(LostSight::Survey(lost_sight()));
        }
        if self.0.world.is_mutant(Mutant::SpoolForgets) {
            return Ok(Seen::default());
        }
        let processes = self.0.machine.processes();
        Ok(processes
            .get(name)
            .map_or_else(Seen::default, |execution| execution.seen(harness)))
    }
}

impl FakeExecutions {
    fn found(&self, name: &str) -> Found {
        let forgets = self.0.world.is_mutant(Mutant::AdoptionForgets);
        let forges = self.0.world.is_mutant(Mutant::ProofIsForged);
        let mut processes = self.0.machine.processes();
        let Some(execution) = processes.get_mut(name) else {
            return Found::NeverStarted;
        };
        match &mut execution.state {
            State::Made | State::Held => {
                execution.state = State::Over(never_started());
                Found::NeverStarted
            }
            State::Live(life) => match life.end(Instant::now()) {
                _ if forgets => Found::NeverStarted,
                Some(closed) => Found::Closed(forged(closed, forges)),
                None => {
                    life.take_in_hand();
                    let agent = life.agent.clone();
                    Found::Running(Box::new(FakeRunning::new(self.0.clone(), name, agent)))
                }
            },
            State::Over(closed) if closed.exit == AgentExit::NeverStarted => Found::NeverStarted,
            State::Over(closed) => Found::Closed(closed.clone()),
        }
    }
}

/// An end that is taken for proven although something is left.
fn forged(closed: Closed, forges: bool) -> Closed {
    let proof = closed.proof.or(forges.then_some(Proof::SubreaperEmpty));
    Closed { proof, ..closed }
}

/// An execution that waits for its GO.
#[derive(Debug)]
struct FakeHeld {
    seat: Seat,
    name: String,
    went: bool,
}

impl FakeHeld {
    fn end(&self, closed: Closed) {
        if let Some(execution) = self.seat.machine.processes().get_mut(&self.name)
            && matches!(execution.state, State::Held)
        {
            execution.state = State::Over(closed);
        }
    }

    /// Gives the prompt. Nothing: what held it is over already.
    fn start(&mut self, prompt: &[u8]) -> Option<cs_fence::ProcessFact> {
        let machine = &self.seat.machine;
        let note = {
            let processes = machine.processes();
            let execution = processes.get(&self.name)?;
            if !matches!(execution.state, State::Held) {
                return None;
            }
            execution.note.clone()
        };
        let world = &self.seat.world;
        let who = match &note {
            ExecutionNote::Attempt(file) => {
                world.see(&Event::Go {
                    machine: machine.index,
                    attempt: file.attempt,
                    card: file.row.card,
                });
                world.count("starts");
                file.attempt.run.short()
            }
            ExecutionNote::Verify(file) => {
                world.count("verifies");
                file.landing.short()
            }
        };
        let life = Life::begin(world, machine, &note, prompt);
        let agent = life.agent.clone();
        world.note(format_args!(
            "machine {} {who} runs: {:?}",
            machine.index, life.script
        ));
        if let Some(execution) = machine.processes().get_mut(&self.name) {
            execution.state = State::Live(life);
        }
        self.went = true;
        world.see(&Event::Step);
        Some(agent)
    }
}

#[async_trait]
impl HeldExecution for FakeHeld {
    fn shim(&self) -> &str {
        "shim"
    }

    async fn go(mut self: Box<Self>, prompt: &[u8]) -> Result<Box<dyn RunningExecution>, GoError> {
        self.seat.come_to("go").await;
        self.seat.world.delay().await;
        let unknown = || GoError::Unknown { source: failure() };
        if self.seat.fails("go") {
            return Err(unknown());
        }
        if self.seat.world.happens(self.seat.world.profile.local) {
            self.seat.world.count("agents that could not be spawned");
            let failure = SpawnFailure {
                reason: SpawnReason::System,
                errno: 11,
            };
            let closed = closed(AgentExit::SpawnFailed(failure.clone()));
            self.end(closed.clone());
            return Err(GoError::SpawnFailed {
                failure,
                closed: Box::new(closed),
            });
        }
        let Some(agent) = self.start(prompt) else {
            let closed = Box::new(never_started());
            return Err(GoError::ShimEnded { closed });
        };
        self.seat.world.delay().await;
        self.seat.come_back("go").await;
        if self.seat.loses("go") {
            return Err(unknown());
        }
        let running = FakeRunning::new(self.seat.clone(), &self.name, agent);
        Ok(Box::new(running))
    }

    async fn pause(&self) -> Result<(), PauseError> {
        Ok(())
    }

    async fn abandon(self: Box<Self>) -> Result<(), StopError> {
        self.seat.come_to("abandon").await;
        if self.seat.fails("abandon") {
            return Err(lost_sight().into());
        }
        self.end(never_started());
        self.seat.come_back("abandon").await;
        if self.seat.loses("abandon") {
            return Err(lost_sight().into());
        }
        Ok(())
    }
}

impl Drop for FakeHeld {
    fn drop(&mut self) {
        if !self.went {
            self.end(never_started());
        }
    }
}

fn failure() -> io::Error {
    io::Error::other("the simulator says so")
}

fn lost_sight() -> SurveyError {
    SurveyError::Directory {
        dir: PathBuf::from("execution"),
        op: "read",
        source: failure(),
    }
}

fn closed(exit: AgentExit) -> Closed {
    Closed {
        exit,
        stopped_by_us: false,
        proof: Some(Proof::SubreaperEmpty),
        leaked: Vec::new(),
        survivors: Vec::new(),
        rounds: 1,
        ended_at_unix_micros: 0,
        limit: None,
        worked: None,
        dismissed_at_unix_micros: None,
    }
}

fn never_started() -> Closed {
    closed(AgentExit::NeverStarted)
}
