//! From a started agent to the end of its tree, without a shim.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::process::{Signal, WaitId, WaitIdOptions, waitid};
use tokio::sync::mpsc;

use crate::agent::Agent;
use crate::clock;
use crate::closed::{AgentExit, Closed};
use crate::dir::{self, ExecutionDir};
use crate::identity::{BootId, NamedProcess};
use crate::running::StopRequest;
use crate::settle::settle_leaked;
use crate::shim::ladder::{Act, Ladder};
use crate::sweep::Sweep;
use crate::wire::{Descendants, ExitRecord, Spec};
use crate::{sys, tree};

const FIRST_LOOK: Duration = Duration::from_millis(20);
const LAST_LOOK: Duration = Duration::from_secs(1);
/// No more are listed; a tree of this size is found by its cookie.
const MAX_LISTED: usize = 2048;

/// A supervised agent. When this is dropped before the end, what can be reached of the tree is killed.
#[derive(Debug)]
pub(super) struct Keeping {
    dir: ExecutionDir,
    spec: Spec,
    boot_id: BootId,
    agent: Agent,
    lock: File,
    known: Descendants,
    is_over: bool,
}

impl Keeping {
    pub(super) fn new(dir: ExecutionDir, spec: Spec, boot_id: BootId, agent: Agent, lock: File) -> Self {
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
    pub(super) async fn keep(mut self, mut asked: mpsc::Receiver<StopRequest>) -> io::Result<Closed> {
        let (exit, ladder) = self.await_exit(&mut asked).await?;
        self.look();
        let record = self.exit_record(exit, ladder.is_some());
        // A full disk must not keep the tree from being closed; the end is written again with the proof.
        let _: io::Result<()> = self.dir.write_durably(dir::EXIT, &record);
        let usual = Duration::from_millis(self.spec.leak_grace_ms);
        let grace = ladder.as_ref().map_or(usual, |it| it.leftover_grace().min(usual));
        let left = self.await_leftovers(grace, &mut asked).await?;
        let leaked = if ladder.is_some() { Vec::new() } else { left };
        tokio::task::spawn_blocking(move || self.close(leaked)).await?
    }

    /// Ends an agent that could not be recorded.
    pub(super) fn end_unrecorded(mut self) -> io::Result<Closed> {
        self.kill();
        let record = self.exit_record(AgentExit::Unknown, true);
        let _: io::Result<()> = self.dir.write_durably(dir::EXIT, &record);
        self.close(Vec::new())
    }

    fn exit_record(&self, exit: AgentExit, stopped_by_us: bool) -> ExitRecord {
        ExitRecord {
            exit,
            stopped_by_us,
            ended_at_unix_micros: clock::unix_micros(),
            limit: None,
            worked_ms: None,
            text: None,
        }
    }

    async fn await_exit(
        &mut self,
        asked: &mut mpsc::Receiver<StopRequest>,
    ) -> io::Result<(AgentExit, Option<Ladder>)> {
        let ended = sys::watch(self.agent.pidfd.try_clone()?)?;
        let mut ladder: Option<Ladder> = None;
        let (mut interval, mut look_due) = (FIRST_LOOK, Instant::now());
        loop {
            let now = Instant::now();
            if now >= look_due {
                self.look();
                look_due = now + interval;
                interval = (interval * 2).min(LAST_LOOK);
            }
            let mut due = look_due;
            if let Some(ladder) = &mut ladder {
                let act = ladder.advance(now);
                due = due.min(ladder.due());
                match act {
                    Some(Act::Interrupt) => tree::send(&self.agent.pidfd, Signal::INT),
                    Some(Act::Terminate) => self.terminate(),
                    Some(Act::Force) => self.kill(),
                    Some(Act::GiveUp) => break,
                    None => {}
                }
            }
            tokio::select! {
                biased;
                _ = ended.readable() => break,
                Some(request) = asked.recv() => match &mut ladder {
                    Some(ladder) => ladder.force(Instant::now()),
                    None => {
                        let StopRequest { interrupt_grace, terminate_grace } = request;
                        ladder = Some(Ladder::new(Instant::now(), interrupt_grace, terminate_grace));
                    }
                },
                () = tokio::time::sleep_until(due.into()) => {}
            }
        }
        // Where this process ignores its children the kernel has reaped it, and nobody knows.
        Ok((self.agent.exit().unwrap_or(AgentExit::Unknown), ladder))
    }

    /// Notes who is below the agent: when a parent of them ends, they are below it no more.
    fn look(&mut self) {
        let before = self.known.clone();
        self.known.processes.retain(|process| process.identity.is_alive());
        let known = &mut self.known.processes;
        tree::walk(self.agent.pid, |member| {
            let process = NamedProcess::of(&self.boot_id, &member);
            if known.len() < MAX_LISTED && !known.iter().any(|it| it.identity == process.identity) {
                known.push(process);
            }
        });
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
        &self,
        grace: Duration,
        asked: &mut mpsc::Receiver<StopRequest>,
    ) -> io::Result<Vec<NamedProcess>> {
        let until = tokio::time::Instant::now() + grace;
        loop {
            let found = self.sweep(Duration::ZERO).find()?;
            let names = found.iter().map(|member| NamedProcess::of(&self.boot_id, member));
            let names: Vec<_> = names.collect();
            let Some(first) = found.into_iter().next() else {
                return Ok(names);
            };
            let ended = sys::watch(first.pidfd)?;
            tokio::select! {
                biased;
                Some(_) = asked.recv() => return Ok(names),
                () = tokio::time::sleep_until(until) => return Ok(names),
                _ = ended.readable() => {}
            }
        }
    }

    fn close(&mut self, leaked: Vec<NamedProcess>) -> io::Result<Closed> {
        // What was never listed has a cookie, or a group that is still the agent's: it is not reaped.
        tree::kill_group(self.agent.pid);
        self.look();
        let settled = settle_leaked(&self.dir, &self.lock, leaked)?;
        self.is_over = true;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        // Only now may its number be given to another.
        let _: rustix::io::Result<_> = waitid(WaitId::PidFd(self.agent.pidfd.as_fd()), options);
        Ok(settled.into_closed())
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        if !self.is_over {
            self.kill();
        }
    }
}
