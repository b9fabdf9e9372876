//! The shim's loop.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;

use super::close::{Closing, Tree, Wait};
use super::connection::Connection;
use super::contain;
use super::keep::{interrupt, terminate};
use super::ladder::{Act, Ladder};
use super::namespace::Namespace;
use super::watchdog::{Moment, Watchdog};
use super::witness::Witness;
use crate::agent::Agent;
use crate::cgroup::{Cgroup, Tier};
use crate::clock;
use crate::closed::{AgentExit, Closed};
use crate::dir::{self, ExecutionDir, Lock};
use crate::identity::{NamedProcess, ProcessIdentity};
use crate::limits::Limit;
use crate::pause::PausedBy;
use crate::wire::{self, ClosedRecord, ExitRecord, Ident, Reply, Spec};

/// More clients at once are turned away: the daemon and a few commands.
const MAX_CONNECTIONS: usize = 32;
/// The loop turns at least this often.
const TICK: Duration = Duration::from_secs(1);
/// How many ticks a full disk may keep the end from being written, before it is left to whoever finds us dead.
const MAX_WRITE_TRIES: u32 = 600;

/// A shim that holds its execution.
#[derive(Debug)]
pub(super) struct Shim {
    pub(super) dir: ExecutionDir,
    pub(super) spec: Spec,
    pub(super) ident: Ident,
    lock: Option<Lock>,
    listener: UnixListener,
    pub(super) connections: Vec<Connection>,
    pub(super) stage: Stage,
    /// What the agent is to be born in, until the tree is closed.
    pub(super) namespace: Option<Namespace>,
    /// Set when taking a connection failed: a listener that stays ready must not spin the loop.
    listener_rests: bool,
    /// Whether the agent is to be paused as soon as it runs.
    pub(super) pause_at_start: bool,
}

#[derive(Debug)]
pub(super) enum Stage {
    Held,
    Running(Running),
    Closing {
        agent: Option<ProcessIdentity>,
        closing: Closing,
    },
    /// Closed; the end is not written yet.
    Writing {
        agent: Option<ProcessIdentity>,
        closed: Box<Closed>,
        tries: u32,
    },
    Done,
}

/// How an agent ended, or why it never began.
#[derive(Debug)]
pub(super) struct End {
    exit: AgentExit,
    stopped_by_us: bool,
    limit: Option<Limit>,
    worked: Option<Duration>,
    agent: Option<ProcessIdentity>,
    group: Option<Cgroup>,
    known: Vec<NamedProcess>,
    /// How long leftovers may live on.
    grace: Duration,
}

impl End {
    /// The end of what never ran.
    pub(super) fn without_agent(exit: AgentExit, stopped_by_us: bool) -> Self {
        Self {
            exit,
            stopped_by_us,
            limit: None,
            worked: None,
            agent: None,
            group: None,
            known: Vec::new(),
            grace: Duration::ZERO,
        }
    }

    /// With a control group that something may be in.
    pub(super) fn in_group(self, group: Option<Cgroup>) -> Self {
        Self { group, ..self }
    }
}

#[derive(Debug)]
pub(super) struct Running {
    pub(super) agent: Agent,
    /// The control group that the tree is in.
    pub(super) group: Option<Cgroup>,
    pub(super) tier: Tier,
    pub(super) ladder: Option<Ladder>,
    pub(super) witness: Witness,
    pub(super) watchdog: Watchdog,
    pub(super) paused: Option<PausedBy>,
    /// The limit that it has reached.
    pub(super) limit: Option<Limit>,
    pub(super) spent_due: Instant,
}

impl Shim {
    pub(super) fn new(
        dir: ExecutionDir,
        spec: Spec,
        ident: Ident,
        lock: Lock,
        listener: UnixListener,
        starter: Connection,
    ) -> Self {
        Self {
            dir,
            spec,
            ident,
            lock: Some(lock),
            listener,
            connections: vec![starter],
            stage: Stage::Held,
            namespace: None,
            listener_rests: false,
            pause_at_start: false,
        }
    }

    /// Serves until the execution is closed. Returns the process's exit code.
    pub(super) fn serve(mut self) -> i32 {
        loop {
            let (events, due) = self.advance();
            if matches!(self.stage, Stage::Done) {
                return 0;
            }
            if self.wait(&events, due).is_err() {
                // Without `poll` nothing can be served; what is left is for whoever finds the lock free.
                return 1;
            }
            self.take_clients();
            for index in 0..self.connections.len() {
                self.serve_connection(index);
            }
            self.drop_clients();
        }
    }

    /// Does what time and processes ask for. Returns what to wait for besides clients, and until when.
    fn advance(&mut self) -> (Vec<OwnedFd>, Instant) {
        let now = Instant::now();
        let tick = now + TICK;
        if let Stage::Running(running) = &mut self.stage {
            match running.agent.exit() {
                Some(exit) => self.agent_ended(exit),
                None => return self.advance_running(now),
            }
        }
        if let Stage::Closing { agent, closing } = &mut self.stage {
            match closing.advance(now) {
                Wait::For(processes, due) => return (processes, due.min(tick)),
                Wait::Nothing(closed) => {
                    self.stage = Stage::Writing {
                        agent: agent.clone(),
                        closed: Box::new(closed),
                        tries: 0,
                    };
                }
            }
        }
        if matches!(self.stage, Stage::Writing { .. }) {
            self.write_closed();
        }
        (Vec::new(), tick)
    }

    fn advance_running(&mut self, now: Instant) -> (Vec<OwnedFd>, Instant) {
        let Stage::Running(running) = &mut self.stage else {
            return (Vec::new(), now);
        };
        if now >= running.witness.due {
            running
                .witness
                .look(now, &self.dir, &self.ident.boot_id, running.agent.pid);
        }
        let mut due = running.witness.due;
        if let Some(limit_due) = running.enforce(Moment::now(), &self.dir) {
            due = due.min(limit_due);
        }
        if let Some(ladder) = &mut running.ladder {
            let act = ladder.advance(now);
            due = due.min(ladder.due());
            match act {
                Some(Act::Interrupt) => interrupt(running),
                Some(Act::Terminate) => terminate(running),
                Some(Act::Force) => {
                    contain::kill(running.group.as_ref());
                }
                Some(Act::GiveUp) => {
                    self.agent_ended(AgentExit::Unknown);
                    return (Vec::new(), now);
                }
                None => {}
            }
        }
        // A pidfd that cannot be had now costs a tick.
        (
            running.agent.pidfd.try_clone().into_iter().collect(),
            due.min(now + TICK),
        )
    }

    fn agent_ended(&mut self, exit: AgentExit) {
        let Stage::Running(running) = &mut self.stage else {
            return;
        };
        // Should this process die while it closes, the stored exit comes with a list of who was left.
        running
            .witness
            .look(Instant::now(), &self.dir, &self.ident.boot_id, running.agent.pid);
        let usual = Duration::from_millis(self.spec.leak_grace_ms);
        let end = End {
            exit,
            stopped_by_us: running.ladder.is_some(),
            limit: running.limit,
            worked: Some(running.watchdog.worked(Instant::now())),
            agent: Some(running.agent.identity.clone()),
            group: running.group.clone(),
            known: running.witness.known(),
            grace: running
                .ladder
                .as_ref()
                .map_or(usual, |ladder| ladder.leftover_grace().min(usual)),
        };
        self.close(end);
    }

    /// Stores how the agent ended and begins to close.
    pub(super) fn close(&mut self, end: End) {
        let text = match &end.exit {
            AgentExit::SpawnFailed(failure) => Some(failure.to_string()),
            AgentExit::NeverStarted | AgentExit::Exited(_) | AgentExit::Signalled(_) | AgentExit::Unknown => {
                None
            }
        };
        let record = ExitRecord {
            exit: end.exit,
            stopped_by_us: end.stopped_by_us,
            ended_at_unix_micros: clock::unix_micros(),
            limit: end.limit,
            worked_ms: end.worked.map(wire::millis),
            text,
        };
        // A full disk must not keep the tree from being closed; the end is written again with the proof.
        let _: io::Result<()> = self.dir.write_durably(dir::EXIT, &record);
        let closing = Closing::new(
            &self.spec,
            &self.ident.boot_id,
            record,
            Tree {
                known: end.known,
                group: end.group,
                namespace: self.namespace.take(),
            },
            Instant::now() + end.grace,
        );
        self.stage = Stage::Closing {
            agent: end.agent,
            closing,
        };
    }

    fn write_closed(&mut self) {
        let Stage::Writing { closed, tries, .. } = &mut self.stage else {
            return;
        };
        let record = ClosedRecord::from(closed.as_ref());
        *tries += 1;
        match self.dir.write_durably(dir::CLOSED, &record) {
            Ok(()) => {}
            // Whoever removed the directory does not ask any more.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) if *tries < MAX_WRITE_TRIES => return,
            Err(_) => {}
        }
        // Given back before it is told: who hears of the end finds the lock free.
        self.lock = None;
        let reply = Reply::Closed { closed: record };
        for connection in self
            .connections
            .iter_mut()
            .filter(|connection| connection.is_greeted)
        {
            connection.send(&reply);
        }
        self.stage = Stage::Done;
    }

    fn wait(&mut self, processes: &[OwnedFd], due: Instant) -> io::Result<()> {
        let mut fds = Vec::with_capacity(self.connections.len() + processes.len() + 1);
        fds.extend(
            self.connections
                .iter()
                .map(|connection| PollFd::new(connection, PollFlags::IN)),
        );
        fds.extend(
            processes
                .iter()
                .map(|process| PollFd::new(process, PollFlags::IN)),
        );
        if !self.listener_rests {
            fds.push(PollFd::new(&self.listener, PollFlags::IN));
        }
        self.listener_rests = false;
        let left = due.saturating_duration_since(Instant::now());
        // Rounded up: a deadline that has almost come must not spin the loop.
        let left = Timespec::try_from(left + Duration::from_micros(200)).map_err(io::Error::other)?;
        match poll(&mut fds, Some(&left)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn take_clients(&mut self) {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let is_ours = socket_peercred(stream.as_fd()).is_ok_and(|peer| peer.uid == geteuid());
                    if is_ours && self.connections.len() < MAX_CONNECTIONS {
                        self.connections.extend(Connection::from_client(stream));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.listener_rests = true;
                    return;
                }
            }
        }
    }

    fn drop_clients(&mut self) {
        let starter_left = self
            .connections
            .iter()
            .any(|connection| connection.is_starter && connection.is_over);
        self.connections.retain(|connection| !connection.is_over);
        if starter_left && matches!(self.stage, Stage::Held) {
            self.never_start(false);
        }
    }
}
