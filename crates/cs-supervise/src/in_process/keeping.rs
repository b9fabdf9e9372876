//! From a started agent to the end of its tree, without a shim.
//!
//! The agent is a child of a program that is not ours: it may have been reaped by that program, or by the kernel where `SIGCHLD` is
//! ignored, and descriptors may run out at any time. Nothing is done by the agent's number once it is reaped, and a look that fails is
//! taken again.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;

use crate::agent::Agent;
use crate::clock;
use crate::closed::{AgentExit, Closed};
use crate::dir::{self, ExecutionDir, Lock};
use crate::identity::{BootId, NamedProcess};
use crate::running::StopRequest;
use crate::settle::settle_leaked;
use crate::shim::ladder::{Act, Ladder};
use crate::sweep::Sweep;
use crate::wire::{Descendants, ExitRecord, Spec};
use crate::{sys, tree};

const FIRST_LOOK: Duration = Duration::from_millis(20);
const LAST_LOOK: Duration = Duration::from_secs(1);
/// So long may what was killed take to end, when nobody waits for it any more.
const REAP_LIMIT: Duration = Duration::from_secs(1);
/// So often an end that cannot be settled now is tried again, a second apart.
const MAX_CLOSE_TRIES: u32 = 600;
/// No more are listed; a tree of this size is found by its cookie.
const MAX_LISTED: usize = 2048;

/// A supervised agent. When this is dropped before the end, what can be reached of the tree is killed.
#[derive(Debug)]
pub(super) struct Keeping {
    dir: ExecutionDir,
    spec: Spec,
    boot_id: BootId,
    agent: Agent,
    lock: Lock,
    known: Descendants,
    is_over: bool,
}

impl Keeping {
    pub(super) fn new(dir: ExecutionDir, spec: Spec, boot_id: BootId, agent: Agent, lock: Lock) -> Self {
        Self {
            dir,
            spec,
            boot_id,
            agent,
            lock,
            known: Descendants::default(),
            is_over: false,
        }
    }

    pub(super) fn dir(&self) -> &ExecutionDir {
        &self.dir
    }

    /// Supervises the agent to its end and closes its tree.
    pub(super) async fn keep(self, mut asked: mpsc::Receiver<StopRequest>) -> io::Result<Closed> {
        let (keeping, exit, ladder) = self.await_exit(&mut asked).await?;
        let usual = Duration::from_millis(keeping.spec.leak_grace_ms);
        let grace = ladder.as_ref().map_or(usual, |it| it.leftover_grace().min(usual));
        let by_us = ladder.is_some();
        let ended = move |it: &mut Self| {
            it.look();
            it.store_exit(exit, by_us);
        };
        let (keeping, ()) = keeping.aside(ended).await?;
        let (mut keeping, left) = keeping.await_leftovers(grace, &mut asked).await?;
        let leaked = if by_us { Vec::new() } else { left };
        for _ in 0..MAX_CLOSE_TRIES {
            let leaked = leaked.clone();
            let (kept, closed) = keeping.aside(move |it| it.close(leaked)).await?;
            match closed {
                Err(error) if is_shortage(&error) => {
                    tracing::warn!(%error, dir = %kept.dir.path().display(), "the end cannot be settled now");
                    keeping = kept;
                    tokio::time::sleep(LAST_LOOK).await;
                }
                settled => return settled,
            }
        }
        keeping.aside(move |it| it.close(leaked)).await?.1
    }

    /// Does what blocks where that holds up nobody. Should who waits for it leave meanwhile, it is dropped there.
    async fn aside<T: Send + 'static>(
        mut self,
        work: impl FnOnce(&mut Self) -> T + Send + 'static,
    ) -> io::Result<(Self, T)> {
        let worked = tokio::task::spawn_blocking(move || {
            let done = work(&mut self);
            (self, done)
        });
        Ok(worked.await?)
    }

    /// Ends an agent that could not be recorded.
    pub(super) fn end_unrecorded(mut self) -> io::Result<Closed> {
        self.kill();
        self.store_exit(AgentExit::Unknown, true);
        self.close(Vec::new())
    }

    fn store_exit(&self, exit: AgentExit, stopped_by_us: bool) {
        let record = ExitRecord {
            exit,
            stopped_by_us,
            ended_at_unix_micros: clock::unix_micros(),
            limit: None,
            worked_ms: None,
            text: None,
        };
        // A full disk must not keep the tree from being closed; the end is written again with the proof.
        let _: io::Result<()> = self.dir.write_durably(dir::EXIT, &record);
    }

    async fn await_exit(
        self,
        asked: &mut mpsc::Receiver<StopRequest>,
    ) -> io::Result<(Self, AgentExit, Option<Ladder>)> {
        let mut keeping = self;
        let mut ended = None;
        let mut ladder: Option<Ladder> = None;
        let (mut interval, mut look_due) = (FIRST_LOOK, Instant::now());
        let exit = loop {
            let now = Instant::now();
            let act = ladder.as_mut().and_then(|ladder| ladder.advance(now));
            if act == Some(Act::GiveUp) {
                break AgentExit::Unknown;
            }
            let is_due = now >= look_due;
            if is_due {
                look_due = now + interval;
                interval = (interval * 2).min(LAST_LOOK);
            }
            if is_due || act.is_some() {
                let (kept, exit) = keeping.aside(move |it| it.turn(act)).await?;
                keeping = kept;
                if let Some(exit) = exit {
                    break exit;
                }
            }
            // What cannot be watched now, for want of a descriptor, is seen at the next look.
            ended = ended.or_else(|| watched(keeping.agent.pidfd.try_clone()));
            let due = ladder.as_ref().map_or(look_due, |it| look_due.min(it.due()));
            tokio::select! {
                biased;
                () = readable(ended.as_ref()) => break keeping.agent.exit().unwrap_or(AgentExit::Unknown),
                Some(request) = asked.recv() => match &mut ladder {
                    Some(ladder) => ladder.force(Instant::now()),
                    None => {
                        let StopRequest { interrupt_grace, terminate_grace } = request;
                        ladder = Some(Ladder::new(Instant::now(), interrupt_grace, terminate_grace));
                    }
                },
                () = tokio::time::sleep_until(due.into()) => {}
            }
        };
        Ok((keeping, exit, ladder))
    }

    /// Does what a stop asks for, and looks. Returns how the agent ended, if it has.
    fn turn(&mut self, act: Option<Act>) -> Option<AgentExit> {
        match act {
            Some(Act::Interrupt) => tree::send(&self.agent.pidfd, Signal::INT),
            Some(Act::Terminate) => self.terminate(),
            Some(Act::Force) => self.kill(),
            Some(Act::GiveUp) | None => self.look(),
        }
        self.agent.exit()
    }

    /// Notes who is below the agent: when a parent of them ends, they are below it no more.
    fn look(&mut self) {
        let mut seen = Vec::new();
        tree::walk(self.agent.pid, |member| {
            if seen.len() < MAX_LISTED {
                seen.push(NamedProcess::of(&self.boot_id, &member));
            }
        });
        if !tree::is_unreaped(&self.agent.pidfd) {
            // Its number may have been a stranger's by then, and those below are none of ours.
            seen.clear();
        }
        let before = self.known.clone();
        let known = &mut self.known.processes;
        known.retain(|process| !process.identity.has_ended());
        for process in seen {
            if known.len() < MAX_LISTED && !known.iter().any(|it| it.identity == process.identity) {
                known.push(process);
            }
        }
        if self.known != before {
            // What cannot be written now is written when there is something new again.
            let _: io::Result<()> = self.dir.write_for_this_boot(dir::DESCENDANTS, &self.known);
        }
    }

    fn terminate(&self) {
        for member in self.sweep(Duration::ZERO).find().unwrap_or_default() {
            member.signal(Signal::TERM);
            // A stopped process takes no other signal until it goes on.
            member.signal(Signal::CONT);
        }
        tree::send(&self.agent.pidfd, Signal::TERM);
        tree::send(&self.agent.pidfd, Signal::CONT);
    }

    fn kill(&self) {
        tree::kill_with_leader(self.agent.pid, self.agent.pidfd.as_fd());
    }

    fn sweep(&self, limit: Duration) -> Sweep {
        let known = self
            .known
            .processes
            .iter()
            .map(|process| process.identity.clone());
        Sweep::new(
            self.boot_id.clone(),
            self.spec.cookie_assignment(),
            known.collect(),
            limit,
        )
    }

    /// Waits until nothing is left, for so long at most or until somebody asks for the end. Returns who is left.
    async fn await_leftovers(
        self,
        grace: Duration,
        asked: &mut mpsc::Receiver<StopRequest>,
    ) -> io::Result<(Self, Vec<NamedProcess>)> {
        let until = tokio::time::Instant::now() + grace;
        let (mut keeping, mut names) = (self, Vec::new());
        loop {
            let (kept, found) = keeping.aside(|it| it.sweep(Duration::ZERO).find()).await?;
            keeping = kept;
            // Where nobody can be seen now, it is not known that nobody is there.
            let first = match found {
                Ok(found) => {
                    let boot_id = &keeping.boot_id;
                    names = found.iter().map(|it| NamedProcess::of(boot_id, it)).collect();
                    let Some(first) = found.into_iter().next() else {
                        return Ok((keeping, names));
                    };
                    watched(Ok(first.pidfd))
                }
                Err(_) => None,
            };
            tokio::select! {
                biased;
                Some(_) = asked.recv() => return Ok((keeping, names)),
                () = tokio::time::sleep_until(until) => return Ok((keeping, names)),
                () = readable(first.as_ref()) => {}
                () = tokio::time::sleep(LAST_LOOK) => {}
            }
        }
    }

    fn close(&mut self, leaked: Vec<NamedProcess>) -> io::Result<Closed> {
        // What was never listed has a cookie, or a group that is still the agent's: it is not reaped.
        tree::kill_group(self.agent.pid, &self.agent.pidfd);
        self.look();
        let settled = settle_leaked(&self.dir, &self.lock, leaked)?;
        self.is_over = true;
        self.agent.reap_within(Duration::ZERO);
        Ok(settled.into_closed())
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        if !self.is_over {
            self.kill();
            self.agent.reap_within(REAP_LIMIT);
        }
    }
}

/// Whether it may be otherwise in a moment.
fn is_shortage(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ENOSPC | libc::EDQUOT)
    )
}

fn watched(pidfd: io::Result<OwnedFd>) -> Option<AsyncFd<OwnedFd>> {
    pidfd.and_then(sys::watch).ok()
}

async fn readable(ended: Option<&AsyncFd<OwnedFd>>) {
    match ended {
        // An error is one of the reactor, which is gone then.
        Some(ended) => drop(ended.readable().await),
        None => std::future::pending().await,
    }
}
