//! Executions as they are: one directory each, a shim, and files that the agent writes.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cs_fence::ProcessFact;
use cs_harness::{Harness, PrivateFile, Seen};
use cs_model::{Epoch, RunId};
use cs_supervise::{
    AgentExit, Closed, ExecutionDir, GoError, Held, Life, PauseError, ProcessIdentity, ShimProgram,
    StopError, StopRequest, Transcript, Verdict, glance, hold, survey,
};

use super::follow::{Following, follow, read_to_end};
use super::keepers::{Keepers, Kept};
use super::{
    AttemptFile, ExecutionEnd, ExecutionNote, Executions, Found, HeldExecution, HoldTrouble, Launch,
    LostSight, Patience, RunningExecution, StopSwitch, VerifyFile,
};
use crate::attempt::{SetupStatus, setup_status};
use crate::pause::PauseNote;
use crate::state::StateDir;

/// How long a survey may wait for a shim.
const SURVEY_BUDGET: Duration = Duration::from_secs(5);

/// The executions below a state directory, each under a shim.
#[derive(Debug)]
pub struct ShimExecutions {
    state: StateDir,
    shim: ShimProgram,
    keepers: Arc<Keepers>,
}

impl ShimExecutions {
    /// Holds executions of this state directory with this program.
    #[must_use]
    pub fn new(state: StateDir, shim: ShimProgram) -> Self {
        Self {
            state,
            shim,
            keepers: Arc::default(),
        }
    }

    fn dir(&self, name: &str) -> ExecutionDir {
        ExecutionDir::at(self.state.execution(name))
    }
}

#[async_trait]
impl Executions for ShimExecutions {
    async fn names(&self, run: RunId, epoch: Epoch) -> io::Result<Vec<String>> {
        self.state.executions_of(run, epoch)
    }

    async fn create(&self, name: &str, note: &ExecutionNote) -> io::Result<()> {
        let dir = ExecutionDir::create(self.state.execution(name))?;
        let noted = match note {
            ExecutionNote::Attempt(attempt) => attempt.begun_now().write(&dir),
            ExecutionNote::Verify(verify) => verify.write(&dir),
        };
        let written = noted.and_then(|()| {
            // Whoever sees on the record that the agent runs finds the place where it will be followed.
            Transcript::open(&dir.transcript())
                .map(drop)
                .map_err(io::Error::other)
        });
        if written.is_err() {
            remove(&dir);
        }
        written
    }

    async fn attempt(&self, name: &str) -> Option<AttemptFile> {
        AttemptFile::read(&self.dir(name))
    }

    async fn hold(&self, name: &str, launch: &Launch<'_>) -> Result<Box<dyn HeldExecution>, HoldTrouble> {
        let dir = self.dir(name);
        let held = match hold_in(&self.shim, &dir, launch).await {
            Ok(held) => held,
            Err(error) => {
                // Tried again and again, each would leave one.
                if error.is_shortage() {
                    remove(&dir);
                }
                return Err(error);
            }
        };
        let shim =
            serde_json::to_string(held.identity()).map_err(|error| HoldTrouble::Files(error.into()))?;
        Ok(Box::new(HeldByShim {
            name: name.to_owned(),
            dir,
            held,
            shim,
            keepers: Arc::clone(&self.keepers),
            state: self.state.clone(),
        }))
    }

    async fn survey(&self, name: &str) -> Result<Found, StopError> {
        let dir = self.dir(name);
        // Looked at first: to settle it would write into what somebody has emptied.
        let is_noted = || AttemptFile::read(&dir).is_some() || VerifyFile::read(&dir).is_some();
        if matches!(dir.holds_spec(), Ok(false)) && !is_noted() {
            return Ok(Found::NoTrace);
        }
        let closed = match survey(&dir, SURVEY_BUDGET).await? {
            Verdict::NeverStarted(_) => return Ok(Found::NeverStarted),
            Verdict::Adopted(running) => {
                let kept = self.keepers.keep(name, running);
                let state = self.state.clone();
                return Ok(Found::Running(Box::new(UnderShim::new(dir, kept, state))));
            }
            // A daemon holds nothing without a shim: whoever does is not one.
            Verdict::ForeignShim | Verdict::InProcess(_) => return Ok(Found::Foreign),
            Verdict::Waiting(waiting) => waiting.stopper().stop(StopRequest::FORCE).await?,
            Verdict::ShimHung(hung) => {
                tracing::warn!(dir = %dir.path().display(), shim = ?hung.shim(), "the shim does not answer and is killed");
                hung.end().await?
            }
            Verdict::Finished(closed)
            | Verdict::ShimDiedClosing(closed)
            | Verdict::ShimLost(closed)
            | Verdict::HostRebooted(closed) => closed,
        };
        Ok(match closed.exit {
            AgentExit::NeverStarted => Found::NeverStarted,
            AgentExit::SpawnFailed(_)
            | AgentExit::Exited(_)
            | AgentExit::Signalled(_)
            | AgentExit::Unknown => Found::Closed(closed),
        })
    }

    async fn is_over(&self, name: &str) -> bool {
        let dir = self.dir(name);
        let looked = tokio::task::spawn_blocking(move || glance(&dir)).await;
        matches!(looked, Ok(Ok(seen)) if matches!(seen.life, Life::Over(_)))
    }

    async fn output_bytes(&self, name: &str) -> u64 {
        self.dir(name).spool_blocks_bytes()
    }

    async fn heard(&self, name: &str, harness: &dyn Harness) -> Result<Seen, LostSight> {
        read_to_end(&self.dir(name), harness).await
    }
}

async fn hold_in(shim: &ShimProgram, dir: &ExecutionDir, launch: &Launch<'_>) -> Result<Held, HoldTrouble> {
    write_files(dir, launch.files).map_err(HoldTrouble::Files)?;
    Ok(hold(shim, dir, launch.spec).await?)
}

/// Removes the directory of an execution that nothing holds or ever held.
fn remove(dir: &ExecutionDir) {
    if let Err(error) = fs::remove_dir_all(dir.path()) {
        tracing::debug!(%error, dir = %dir.path().display(), "what was made for an execution stays");
    }
}

/// A shim that waits.
#[derive(Debug)]
struct HeldByShim {
    name: String,
    dir: ExecutionDir,
    held: Held,
    shim: String,
    keepers: Arc<Keepers>,
    state: StateDir,
}

#[async_trait]
impl HeldExecution for HeldByShim {
    fn shim(&self) -> &str {
        &self.shim
    }

    async fn go(self: Box<Self>, prompt: &[u8]) -> Result<Box<dyn RunningExecution>, GoError> {
        let running = self.held.go(prompt).await?;
        let kept = self.keepers.keep(&self.name, running);
        Ok(Box::new(UnderShim::new(self.dir, kept, self.state)))
    }

    async fn pause(&self) -> Result<(), PauseError> {
        self.held.pauser().pause().await
    }

    async fn abandon(self: Box<Self>) -> Result<(), StopError> {
        self.held.abandon().await?;
        Ok(())
    }
}

/// A shim whose agent runs.
#[derive(Debug)]
struct UnderShim {
    dir: ExecutionDir,
    kept: Kept,
    agent: ProcessFact,
    state: StateDir,
}

impl UnderShim {
    fn new(dir: ExecutionDir, kept: Kept, state: StateDir) -> Self {
        let agent = fact(kept.agent());
        Self {
            dir,
            kept,
            agent,
            state,
        }
    }
}

#[async_trait]
impl RunningExecution for UnderShim {
    fn agent(&self) -> &ProcessFact {
        &self.agent
    }

    async fn follow(
        &mut self,
        harness: &dyn Harness,
        patience: Patience,
        stop: &StopSwitch,
    ) -> Result<ExecutionEnd, LostSight> {
        let attempt = AttemptFile::read(&self.dir).map(|file| (file.row.run, file.row.epoch));
        let (dir, state) = (&self.dir, &self.state);
        let rests = || {
            let is_paused = attempt.is_some_and(|(run, epoch)| {
                // What cannot be read pauses nobody.
                matches!(PauseNote::read(state, run, epoch), Ok(Some(_)))
            });
            is_paused || setup_status(dir.path()) == Some(SetupStatus::Running)
        };
        let following = Following {
            harness,
            patience,
            stop,
            rests: &rests,
        };
        follow(dir, &mut self.kept, following).await
    }

    async fn stop(&self, request: StopRequest) -> Result<Closed, StopError> {
        self.kept.stopper().stop(request).await
    }
}

/// Says which process an identity is, in the words of the record.
fn fact(agent: &ProcessIdentity) -> ProcessFact {
    ProcessFact {
        pid: u32::try_from(agent.pid()).unwrap_or(0),
        start_ticks: agent.start_ticks(),
        boot_id: agent.boot_id().as_str().to_owned(),
    }
}

fn write_files(dir: &ExecutionDir, files: &[PrivateFile]) -> io::Result<()> {
    for file in files {
        let path = dir.path().join(&file.name);
        let mut out = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path)?;
        out.write_all(&file.bytes)?;
    }
    Ok(())
}
