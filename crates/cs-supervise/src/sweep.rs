//! Finding what is left of an execution without its parent links: by the environment cookie that every process of it
//! was born with, and by the list of descendants that its shim kept.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, getpid};

use crate::identity::{BootId, NamedProcess, ProcessIdentity};
use crate::proc;
use crate::tree::{self, Kill, Killed, Member};

/// So many clean looks in a row prove that nothing is left: a process that is being born during one look has no
/// parent to be born from by the next.
const CLEAN_LOOKS: u32 = 2;

/// Looks for processes of one execution and kills them.
#[derive(Debug)]
pub(crate) struct Sweep {
    boot_id: BootId,
    cookie_assignment: Vec<u8>,
    known: BTreeSet<ProcessIdentity>,
    clean_looks: u32,
    rounds: u32,
    deadline: Instant,
    by_group: bool,
}

/// What one look found.
#[derive(Debug)]
pub(crate) enum Look {
    /// Nothing, often enough.
    Clean,
    /// Nothing, not yet often enough: look again.
    Again,
    /// These, and they were killed: look again when one of them has ended, or soon.
    Killed(Vec<Member>),
    /// These, and the time for killing is up, or none of them is ours to kill.
    Survived(Vec<NamedProcess>),
}

impl Sweep {
    /// Prepares a sweep that gives up on what is not dead after `limit`.
    pub(crate) fn new(
        boot_id: BootId,
        cookie_assignment: Vec<u8>,
        known: Vec<ProcessIdentity>,
        limit: Duration,
    ) -> Self {
        let known: BTreeSet<_> = known
            .into_iter()
            .filter(|identity| *identity.boot_id() == boot_id)
            .collect();
        Self {
            boot_id,
            cookie_assignment,
            known,
            clean_looks: 0,
            rounds: 0,
            deadline: Instant::now() + limit,
            by_group: false,
        }
    }

    /// Whether the kernel was just told to kill the whole control group: then also what is not ours to kill will end, unless it has
    /// left the group.
    pub(crate) fn after_a_kill_by_group(self, by_group: bool) -> Self {
        Self { by_group, ..self }
    }

    /// How many looks were taken.
    pub(crate) fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Looks once, and kills what is there.
    pub(crate) fn look(&mut self) -> io::Result<Look> {
        self.rounds += 1;
        let found = self.find()?;
        if found.is_empty() {
            self.clean_looks += 1;
            return Ok(if self.clean_looks >= CLEAN_LOOKS {
                Look::Clean
            } else {
                Look::Again
            });
        }
        self.clean_looks = 0;
        let mut killed = Killed {
            by_group: self.by_group,
            ..Killed::default()
        };
        let mut below = Vec::new();
        for member in &found {
            killed.count(self.kill(member, &mut below));
        }
        // A signal is not an end, and no later look finds these by an environment that they have cleared, or lost in dying.
        let found_now: Vec<_> = found.iter().map(|it| self.identity(it)).collect();
        self.known.extend(below.into_iter().chain(found_now));
        // What is not ours to kill will not be by waiting.
        if killed.is_hopeless() || Instant::now() >= self.deadline {
            return Ok(Look::Survived(
                found
                    .iter()
                    .map(|it| NamedProcess::of(&self.boot_id, it))
                    .collect(),
            ));
        }
        Ok(Look::Killed(found))
    }

    /// Looks and waits until nothing is left, or the limit is over. Returns who is left.
    pub(crate) fn run(&mut self) -> io::Result<Vec<NamedProcess>> {
        loop {
            match self.look()? {
                Look::Clean => return Ok(Vec::new()),
                Look::Again => {}
                Look::Killed(members) => await_any_end(&members)?,
                Look::Survived(survivors) => return Ok(survivors),
            }
        }
    }

    /// Who is there.
    pub(crate) fn find(&self) -> io::Result<Vec<Member>> {
        let mut found: Vec<Member> = self.known.iter().filter_map(ProcessIdentity::pin).collect();
        for pid in proc::all()? {
            if pid != getpid() && self.has_cookie(pid) && !found.iter().any(|member| member.pid == pid) {
                found.extend(self.pin_with_cookie(pid));
            }
        }
        Ok(found)
    }

    fn has_cookie(&self, pid: Pid) -> bool {
        proc::has_environment(pid, &self.cookie_assignment)
    }

    /// Pins a process and looks at it once more afterwards, so that what was seen is what is pinned.
    fn pin_with_cookie(&self, pid: Pid) -> Option<Member> {
        let pidfd = tree::open(pid)?;
        let stat = proc::stat(pid).ok().flatten().filter(|stat| !stat.is_dead())?;
        self.has_cookie(pid).then_some(Member {
            pid,
            pidfd,
            start_ticks: stat.start_ticks,
            comm: stat.comm,
        })
    }

    /// Kills a found process and what is below it: its children may have cleared their environment.
    fn kill(&self, member: &Member, below: &mut Vec<ProcessIdentity>) -> Kill {
        let identity = self.identity(member);
        member.signal(Signal::STOP);
        tree::kill_each_below(
            member.pid,
            || identity.pin().is_some(),
            |it, _| below.push(self.identity(it)),
        );
        member.kill()
    }

    fn identity(&self, member: &Member) -> ProcessIdentity {
        ProcessIdentity::new(self.boot_id.clone(), member.pid, member.start_ticks)
    }
}

/// Waits until one of the processes has ended; a while at most, since what cannot be killed does not end.
fn await_any_end(members: &[Member]) -> io::Result<()> {
    let mut fds: Vec<_> = members
        .iter()
        .map(|member| PollFd::new(&member.pidfd, PollFlags::IN))
        .collect();
    let limit = Timespec {
        tv_sec: 0,
        tv_nsec: 100_000_000,
    };
    match poll(&mut fds, Some(&limit)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test starts what it sweeps")]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A shell that has said that everything of its script runs, and what is below it.
    fn shell(script: &str) -> (Child, ProcessIdentity, Vec<ProcessIdentity>) {
        let mut shell = Command::new("sh")
            .args(["-c", script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = [0; 8];
        std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut said).unwrap();
        let boot_id = BootId::current().unwrap();
        let pid = Pid::from_raw(i32::try_from(shell.id()).unwrap()).unwrap();
        let root = ProcessIdentity::of(&boot_id, pid).unwrap().unwrap();
        let mut below = Vec::new();
        tree::walk(pid, |member| {
            below.push(ProcessIdentity::new(
                boot_id.clone(),
                member.pid,
                member.start_ticks,
            ));
        });
        (shell, root, below)
    }

    /// What a killed parent leaves is somebody else's child at once, and nothing tells whose it was.
    #[test]
    fn a_chain_without_a_cookie_is_killed_to_its_end() {
        let link = r#"if [ "$1" = 0 ]; then echo started; exec sleep 600; fi; env -i /bin/sh -c "$0" "$0" $(($1 - 1)) & wait"#;
        let (mut shell, root, below) = shell(&format!("/bin/sh -c '{link}' '{link}' 60 & wait"));
        assert!(below.len() > 60, "{below:?}");
        let mut sweep = Sweep::new(
            BootId::current().unwrap(),
            Vec::new(),
            vec![root],
            Duration::from_secs(10),
        );
        assert!(sweep.run().unwrap().is_empty());
        let left: Vec<_> = below.iter().filter(|it| it.is_alive()).collect();
        for pid in left.iter().filter_map(|it| Pid::from_raw(it.pid())) {
            rustix::process::kill_process(pid, Signal::KILL).unwrap();
        }
        assert!(left.is_empty(), "{left:?}");
        shell.wait().unwrap();
    }

    #[test]
    fn what_was_killed_below_one_that_was_found_is_waited_for_too() {
        let (mut shell, root, below) = shell("env -i sleep 600 & echo started; wait");
        let boot_id = BootId::current().unwrap();
        let mut sweep = Sweep::new(boot_id, Vec::new(), vec![root], Duration::from_secs(10));
        assert!(matches!(sweep.look(), Ok(Look::Killed(_))));
        assert_eq!(below.len(), 1);
        assert!(sweep.known.contains(&below[0]));
        assert!(sweep.run().unwrap().is_empty());
        assert!(!below[0].is_alive());
        shell.wait().unwrap();
    }
}
