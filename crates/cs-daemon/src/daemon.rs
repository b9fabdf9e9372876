//! The daemon: one loop that owns what is in flight and makes passes.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cs_fence::Attempt;
use cs_journal::{Deps as JournalDeps, Journal, LedgerError, LedgerOpened};
use cs_model::{CardId, Epoch, LandingId, RunId, Time};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::admission::{Admission, ClosedBecause};
use crate::attempt::Incomplete;
use crate::context::Context;
use crate::control::{Request, Stopped, serve};
use crate::deps::Deps;
use crate::presence::Presence;
use crate::publications::Publications;
use crate::secrets::Secrets;
use crate::state::StateLock;
use crate::tools::HttpTools;

mod claims;
mod ending;
mod failing;
mod flights;
mod forget;
mod import;
mod incomplete;
mod leave;
mod pass;
mod redirect;
mod stops;
mod strain;
mod sweep;

pub use self::ending::{GoingOn, LandingLeft, LandingStage};

use self::ending::unfollowed;
use self::failing::Failing;
use self::flights::{Back, Flight, LandingFlight};
use self::strain::Strain;

/// How long the daemon works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Until nothing is ready, running or landing.
    Once,
    /// Until it is told to leave.
    Stay,
}

/// How a daemon came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// Nothing is ready, running or landing.
    Idle {
        /// When something becomes ready by itself, such as a retry.
        next_due: Option<Time>,
    },
    /// Nothing runs, and new work may not start.
    AdmissionClosed {
        /// Why.
        reasons: Vec<ClosedBecause>,
    },
    /// It was told to leave; agents go on in their shims.
    Detached {
        /// Which go on.
        going_on: Vec<GoingOn>,
        /// The landings that were under way.
        landings: Vec<LandingLeft>,
    },
}

/// Why a daemon cannot work.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The ledger cannot be used.
    #[error("the ledger of this machine cannot be used")]
    Ledger(#[source] LedgerError),
    /// The record refuses, or does not answer.
    #[error("a pass failed")]
    Pass(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The control socket cannot be made.
    #[error("the control socket cannot be made")]
    Control(#[source] std::io::Error),
    /// The boot id of this machine is not known.
    #[error("this machine does not say in which boot it is")]
    Boot(#[source] std::io::Error),
    /// The state directory cannot be written.
    #[error("the state directory cannot be written")]
    State(#[source] std::io::Error),
    /// Somebody removed or replaced the state directory.
    #[error(
        "the state directory was removed or replaced while this daemon worked there; it ends, start `cs-panel run` again{}",
        unfollowed(agents)
    )]
    StateGone {
        /// The agents that run on, which nobody can follow any more: run, card and pid of each.
        agents: Vec<String>,
    },
    /// A run failed to be carried on, with `--once`.
    #[error("{0} could not be carried on; see the lines above")]
    Unfinished(String),
}

/// A command that waits for the end of what ran of a card when it asked.
#[derive(Debug)]
struct Waiter {
    card: CardId,
    attempts: Vec<Attempt>,
    executions: u32,
    /// The landings of the card that were under way.
    landings: Vec<LandingId>,
    /// Why its executions could not be closed, each time that was tried since.
    troubles: Vec<String>,
    reply: oneshot::Sender<Stopped>,
}

/// A daemon on one state directory.
#[derive(Debug)]
pub struct Daemon {
    cx: Arc<Context>,
    lock: StateLock,
    presence: Presence,
    flights: BTreeMap<RunId, Flight>,
    landings: BTreeMap<LandingId, LandingFlight>,
    incomplete: BTreeMap<RunId, Incomplete>,
    /// What was said last of each run that could not be ended.
    said_left: BTreeMap<RunId, String>,
    tasks: JoinSet<Back>,
    waiters: Vec<Waiter>,
    /// Landings that a person stopped and that are not over.
    stopped_landings: BTreeSet<LandingId>,
    /// Runs that are over by the record, that the ledger does not know, and that were looked at.
    left_alone: BTreeSet<(RunId, Epoch)>,
    /// Of the trees of cards that are over.
    sweep: sweep::Sweep,
    next_due: Option<Time>,
    /// Removes what nobody can need any more.
    keeping: JoinSet<()>,
    /// Removes the clones of verifies that are over.
    clearing: JoinSet<()>,
    publications: Publications,
    /// When all old journal rows were last forgotten.
    forgot_at: Option<Instant>,
    /// When the ledger was last compared with what the record holds for running here.
    compared_at: Option<Instant>,
    /// What the last pass found; nothing when it had nothing to start and did not ask.
    admission: Option<Admission>,
    strain: Strain,
    failing: Failing,
    /// What was said last of why nothing starts for want of room.
    said_full: bool,
}

/// How long a pass may go on once the daemon is told to leave, and the record may take to hear of it.
const LEAVE_LIMIT: Duration = Duration::from_secs(5);
/// How long the next pass waits after one that failed while a command waits for its end.
const WAITER_REST: Duration = Duration::from_secs(1);
/// What is due by this machine's clock may not yet be so by the record's: it is looked at again after this.
const DUE_PAUSE_MIN: Duration = Duration::from_millis(200);

impl Daemon {
    /// Opens the ledger of a state directory whose lock is held. Nothing is started yet.
    ///
    /// # Errors
    /// [`DaemonError::Ledger`], [`DaemonError::Boot`].
    pub fn open(deps: Deps, lock: StateLock) -> Result<Self, DaemonError> {
        let state = lock.state().clone();
        let journal_deps = JournalDeps {
            record: Arc::new(crate::claims::WithBorders::new(
                Arc::clone(&deps.record.claims),
                deps.borders,
            )),
            ids: Arc::clone(&deps.ids),
            clock: Arc::clone(&deps.clock),
            machine: deps.machine.id,
        };
        let (journal, opening) = Journal::open(&state.ledger(), journal_deps).map_err(DaemonError::Ledger)?;
        if let Some(aside) = &opening.set_aside {
            deps.reporter.said(&format!(
                "a part of the ledger could not be read and was set aside: {aside:?}"
            ));
        }
        if opening.ledger == LedgerOpened::New {
            tracing::info!("a new ledger");
        }
        let boot_id = deps.host.boot_id().map_err(DaemonError::Boot)?;
        let presence =
            Presence::begin(&state.daemons(), deps.ids.secret(), boot_id).map_err(DaemonError::State)?;
        let secrets = Secrets::new(Arc::clone(&deps.secrets), journal.clone(), state.clone());
        let http = HttpTools::new(state.clone());
        Ok(Self {
            cx: Arc::new(Context {
                deps,
                state,
                journal,
                secrets,
                wake: Notify::new(),
                moves: Mutex::default(),
                http,
            }),
            lock,
            presence,
            flights: BTreeMap::new(),
            landings: BTreeMap::new(),
            incomplete: BTreeMap::new(),
            said_left: BTreeMap::new(),
            tasks: JoinSet::new(),
            waiters: Vec::new(),
            stopped_landings: BTreeSet::new(),
            left_alone: BTreeSet::new(),
            sweep: sweep::Sweep::default(),
            next_due: None,
            keeping: JoinSet::new(),
            clearing: JoinSet::new(),
            publications: Publications::default(),
            forgot_at: None,
            compared_at: None,
            admission: None,
            strain: Strain::default(),
            failing: Failing::default(),
            said_full: false,
        })
    }

    /// Works until there is nothing to do or `leave` is ready, and serves its control socket meanwhile. Agents outlive it.
    ///
    /// # Errors
    /// [`DaemonError`]. With [`Mode::Stay`] a failed pass is said, and the next one comes after the fallback interval.
    pub async fn run(
        mut self,
        mode: Mode,
        leave: impl Future<Output = ()> + Send,
    ) -> Result<Ended, DaemonError> {
        let (requests, mut inbox) = mpsc::channel(64);
        let socket = cs_supervise::socket::listen(&self.lock.state().control_socket())
            .map_err(DaemonError::Control)?;
        let mut server = JoinSet::new();
        server.spawn(serve(socket, requests));
        let ended = self.passes(mode, leave, &mut inbox).await;
        server.shutdown().await;
        self.end().await;
        ended
    }

    /// Works as [`run`](Self::run) does, on requests that come from elsewhere, such as a test.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn work(
        mut self,
        mode: Mode,
        leave: impl Future<Output = ()> + Send,
        mut inbox: mpsc::Receiver<Request>,
    ) -> Result<Ended, DaemonError> {
        let ended = self.passes(mode, leave, &mut inbox).await;
        self.end().await;
        ended
    }

    async fn passes(
        &mut self,
        mode: Mode,
        leave: impl Future<Output = ()> + Send,
        inbox: &mut mpsc::Receiver<Request>,
    ) -> Result<Ended, DaemonError> {
        tokio::pin!(leave);
        loop {
            if !self.lock.is_in_place() {
                let agents = self.agents_at_work();
                return Err(DaemonError::StateGone { agents });
            }
            let mut told_to_leave = false;
            let too_long = async {
                leave.as_mut().await;
                told_to_leave = true;
                tokio::time::sleep(LEAVE_LIMIT).await;
            };
            let passed = tokio::select! {
                biased;
                passed = self.pass() => Some(passed),
                // What it was about is left as a crash would leave it: the next daemon takes it up.
                () = too_long => None,
            };
            match passed {
                // Only a whole pass has seen all that a stop is about.
                Some(Ok(())) => self.passed(),
                Some(Err(error)) if mode == Mode::Once => return Err(error),
                Some(Err(error)) => self.pass_failed(&error).await,
                None => self.cx.said("the record has not answered: leaving all the same"),
            }
            if told_to_leave {
                return Ok(self.detached().await);
            }
            if mode == Mode::Once
                && let Some(ended) = self.at_rest().await?
            {
                return Ok(ended);
            }
            let pause = self.pause();
            tokio::select! {
                biased;
                () = &mut leave => return Ok(self.detached().await),
                Some(request) = inbox.recv() => self.take_request(request),
                Some(back) = self.tasks.join_next_with_id(), if !self.tasks.is_empty() => self.take_back(back),
                () = self.cx.wake.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// How long nothing need be looked at when nothing happens.
    fn pause(&self) -> Duration {
        let mut pause = self.cx.deps.settings.fallback_interval;
        if let Some(rest) = self.failing.rest(pause) {
            return if self.waiters.is_empty() {
                rest
            } else {
                rest.min(WAITER_REST)
            };
        }
        if let Some(due) = self.next_due {
            pause = pause.min(due.since(self.cx.deps.clock.now()).max(DUE_PAUSE_MIN));
        }
        if let Some(renewal) = self.presence.renewed_in() {
            pause = pause.min(renewal);
        }
        self.strain.rest().map_or(pause, |rest| pause.min(rest))
    }
}
