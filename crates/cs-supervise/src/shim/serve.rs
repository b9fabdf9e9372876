//! The shim's loop.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_peercred;
use rustix::process::{Signal, geteuid, getpid};

use super::agent::Agent;
use super::close::{Closing, Wait};
use super::connection::{Connection, Event};
use super::ladder::{Act, Ladder};
use super::witness::Witness;
use crate::clock;
use crate::closed::{AgentExit, Closed};
use crate::dir::{self, Aside, ExecutionDir};
use crate::hold::MAX_PROMPT_BYTES;
use crate::identity::{NamedProcess, ProcessIdentity};
use crate::tree;
use crate::wire::{self, ClosedRecord, ExitRecord, Ident, Phase, Refusal, Reply, Request, Spec};

/// More clients at once are turned away: the daemon and a few commands.
const MAX_CONNECTIONS: usize = 32;
/// The loop turns at least this often.
const TICK: Duration = Duration::from_secs(1);
/// No grace for leftovers is longer.
const MAX_LEAK_GRACE: Duration = Duration::from_secs(60);
/// How many ticks a full disk may keep the end from being written, before it is left to whoever finds us dead.
const MAX_WRITE_TRIES: u32 = 600;

/// A shim that holds its execution.
#[derive(Debug)]
pub(super) struct Shim {
    dir: ExecutionDir,
    spec: Spec,
    ident: Ident,
    lock: Option<File>,
    listener: UnixListener,
    connections: Vec<Connection>,
    stage: Stage,
    /// Set when taking a connection failed: a listener that stays ready must not spin the loop.
    listener_rests: bool,
}

#[derive(Debug)]
enum Stage {
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
struct End {
    exit: AgentExit,
    stopped_by_us: bool,
    agent: Option<ProcessIdentity>,
    known: Vec<NamedProcess>,
    /// How long leftovers may live on.
    grace: Duration,
}

impl End {
    fn without_agent(exit: AgentExit, stopped_by_us: bool) -> Self {
        Self {
            exit,
            stopped_by_us,
            agent: None,
            known: Vec::new(),
            grace: Duration::ZERO,
        }
    }
}

#[derive(Debug)]
struct Running {
    agent: Agent,
    ladder: Option<Ladder>,
    witness: Witness,
}

impl Shim {
    pub(super) fn new(
        dir: ExecutionDir,
        spec: Spec,
        ident: Ident,
        lock: File,
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
            listener_rests: false,
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
        if let Some(ladder) = &mut running.ladder {
            match ladder.advance(now) {
                Some(Act::Interrupt) => tree::send(&running.agent.pidfd, Signal::INT),
                Some(Act::Terminate) => tree::walk(getpid(), |member| {
                    member.signal(Signal::TERM);
                    // A stopped process takes no other signal until it goes on.
                    member.signal(Signal::CONT);
                }),
                Some(Act::Force) => {
                    tree::kill_below(getpid(), || true);
                }
                Some(Act::GiveUp) => {
                    self.agent_ended(AgentExit::Unknown);
                    return (Vec::new(), now);
                }
                None => {}
            }
            due = due.min(ladder.due());
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
        let usual = Duration::from_millis(self.spec.leak_grace_ms).min(MAX_LEAK_GRACE);
        let end = End {
            exit,
            stopped_by_us: running.ladder.is_some(),
            agent: Some(running.agent.identity.clone()),
            known: running.witness.known(),
            grace: running
                .ladder
                .as_ref()
                .map_or(usual, |ladder| ladder.leftover_grace().min(usual)),
        };
        self.close(end);
    }

    /// Stores how the agent ended and begins to close.
    fn close(&mut self, end: End) {
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
            text,
        };
        // A full disk must not keep the tree from being closed; the end is written again with the proof.
        let _: io::Result<()> = self.dir.write_durably(dir::EXIT, &record);
        let closing = Closing::new(
            &self.spec,
            &self.ident.boot_id,
            record,
            end.known,
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
        if self.dir.write_durably(dir::CLOSED, &record).is_err() && *tries < MAX_WRITE_TRIES {
            return;
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

    fn serve_connection(&mut self, index: usize) {
        self.connections[index].read();
        while let Some(event) = self.connections[index].next_event() {
            let reply = match event {
                Event::Request(Request::Hello { nonce, .. }) => Some(self.greet(index, &nonce)),
                _ if !self.connections[index].is_greeted => Some(Reply::Refused {
                    reason: Refusal::Foreign,
                }),
                Event::Request(Request::Go { prompt_bytes }) => self.go(index, prompt_bytes),
                Event::Request(Request::Stop {
                    interrupt_grace_ms,
                    terminate_grace_ms,
                }) => {
                    let graces = (
                        Duration::from_millis(interrupt_grace_ms),
                        Duration::from_millis(terminate_grace_ms),
                    );
                    self.stop(graces);
                    Some(Reply::Stopping)
                }
                Event::Request(Request::Status) => Some(Reply::Status { phase: self.phase() }),
                Event::NotUnderstood => Some(Reply::Refused {
                    reason: Refusal::NotUnderstood,
                }),
                Event::Prompt(aside) => Some(self.start_agent(aside)),
                Event::PromptFailed(error) => Some(self.broken("store the prompt", &error)),
            };
            if let Some(reply) = reply {
                let is_refusal = matches!(reply, Reply::Refused { .. });
                self.connections[index].send(&reply);
                self.connections[index].is_over |= is_refusal;
            }
            if self.connections[index].is_over {
                return;
            }
        }
    }

    fn greet(&mut self, index: usize, nonce: &str) -> Reply {
        if nonce != self.spec.nonce {
            return Reply::Refused {
                reason: Refusal::Foreign,
            };
        }
        self.connections[index].is_greeted = true;
        Reply::Welcome {
            ident: self.ident.clone(),
            phase: self.phase(),
        }
    }

    /// Makes ready for the prompt that follows.
    fn go(&mut self, index: usize, prompt_bytes: u64) -> Option<Reply> {
        if !self.connections[index].is_starter || !matches!(self.stage, Stage::Held) {
            return Some(Reply::Refused {
                reason: Refusal::WrongPhase,
            });
        }
        if prompt_bytes > MAX_PROMPT_BYTES as u64 {
            return Some(Reply::Refused {
                reason: Refusal::PromptTooLong,
            });
        }
        match Aside::create(&self.dir, dir::STDIN) {
            Ok(aside) => {
                self.connections[index].expect_prompt(aside, prompt_bytes);
                None
            }
            Err(error) => Some(self.broken("store the prompt", &error)),
        }
    }

    fn start_agent(&mut self, prompt: Aside) -> Reply {
        if !matches!(self.stage, Stage::Held) {
            return Reply::Refused {
                reason: Refusal::WrongPhase,
            };
        }
        // From here on a dead shim may have left an agent: the file says so before there is one.
        if let Err(error) = prompt.publish() {
            return self.broken("store the prompt", &error);
        }
        let agent = match Agent::start(&self.dir, &self.spec, &self.ident) {
            Ok(agent) => agent,
            Err(failure) => {
                self.close(End::without_agent(AgentExit::SpawnFailed(failure.clone()), false));
                return Reply::SpawnFailed { failure };
            }
        };
        let now = Instant::now();
        let identity = agent.identity.clone();
        let written = self.dir.write_durably(
            dir::AGENT,
            &wire::Agent {
                agent: identity.clone(),
            },
        );
        self.stage = Stage::Running(Running {
            agent,
            ladder: None,
            witness: Witness::new(now),
        });
        match written {
            Ok(()) => Reply::Started { agent: identity },
            // An agent that is not on record must not work.
            Err(error) => {
                self.stop((Duration::ZERO, Duration::ZERO));
                self.broken("record the agent", &error)
            }
        }
    }

    fn stop(&mut self, (interrupt_grace, terminate_grace): (Duration, Duration)) {
        let now = Instant::now();
        match &mut self.stage {
            Stage::Held => self.never_start(true),
            Stage::Running(running) => match &mut running.ladder {
                Some(ladder) => ladder.force(now),
                None => running.ladder = Some(Ladder::new(now, interrupt_grace, terminate_grace)),
            },
            Stage::Closing { closing, .. } => closing.force(now),
            Stage::Writing { .. } | Stage::Done => {}
        }
    }

    fn never_start(&mut self, stopped_by_us: bool) {
        self.close(End::without_agent(AgentExit::NeverStarted, stopped_by_us));
    }

    /// Something that must be written cannot be. Before GO that is the end.
    fn broken(&mut self, op: &str, error: &io::Error) -> Reply {
        if matches!(self.stage, Stage::Held) {
            self.never_start(false);
        }
        Reply::Broken {
            op: op.to_owned(),
            errno: error.raw_os_error().unwrap_or(0),
            text: error.to_string(),
        }
    }

    fn phase(&self) -> Phase {
        match &self.stage {
            Stage::Held => Phase::Held,
            Stage::Running(running) => Phase::Running {
                agent: running.agent.identity.clone(),
            },
            Stage::Closing { agent, .. } | Stage::Writing { agent, .. } => {
                Phase::Closing { agent: agent.clone() }
            }
            Stage::Done => Phase::Closing { agent: None },
        }
    }
}
