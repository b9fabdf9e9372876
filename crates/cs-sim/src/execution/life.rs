//! What an execution is at a moment, and what its agent says and does over time.

use std::time::Duration;

use cs_daemon::{AttemptFile, ExecutionNote, VerifyFile};
use cs_fence::ProcessFact;
use cs_harness::{Harness, Line, Seen};
use cs_supervise::{AgentExit, Closed, Limit, Proof, StopRequest};
use tokio::time::Instant;

use super::{closed, never_started};
use crate::machine::Machine;
use crate::world::World;

/// An execution of a machine.
#[derive(Debug)]
pub(crate) struct Execution {
    /// What it is for.
    pub(crate) note: ExecutionNote,
    pub(super) state: State,
}

/// Where an execution is.
#[derive(Debug)]
pub(super) enum State {
    /// Its directory is there.
    Made,
    /// It waits for its GO.
    Held,
    /// Its agent got the prompt; whether it still runs is a question of time.
    Live(Life),
    /// It is over.
    Over(Closed),
}

/// How long an agent works that no daemon follows.
const LEASE: Duration = Duration::from_secs(30 * 60);

/// An agent from its prompt on.
#[derive(Debug)]
pub(crate) struct Life {
    born: Instant,
    pub(super) agent: ProcessFact,
    pub(super) script: Script,
    stop: Option<Instant>,
    rebooted: Option<Instant>,
    /// Since when no daemon follows it.
    left: Option<Instant>,
    /// How long something of it survives its end.
    leaves: Duration,
}

/// What an agent does.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    /// When it says what, from its birth.
    lines: Vec<(Duration, String)>,
    /// When it ends by itself, from its birth, and how.
    end: (Duration, AgentExit),
    /// How long it lives after it was asked to end; force ends it at once.
    defies: Duration,
    /// The budget that ends it then.
    limit: Option<Limit>,
}

/// What really came of an execution, whatever anybody says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Truth {
    /// Its agent never had a prompt.
    NeverStarted,
    /// Its agent works, or left something that does.
    Works,
    /// Nothing of it runs any more.
    Ended(End),
}

/// How an agent ended, and what it had said by then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) exit: AgentExit,
    pub(crate) stopped: bool,
    pub(crate) limit: Option<Limit>,
    pub(crate) answered: bool,
    pub(crate) asked: bool,
    pub(crate) offered: bool,
}

impl Execution {
    pub(super) const fn new(note: ExecutionNote) -> Self {
        Self {
            note,
            state: State::Made,
        }
    }

    /// What waits for a GO ends with its daemon; an agent has its lease from now on.
    pub(crate) fn daemon_died(&mut self) {
        match &mut self.state {
            State::Held => self.state = State::Over(never_started()),
            State::Live(life) => life.left = Some(life.left.unwrap_or_else(Instant::now)),
            State::Made | State::Over(_) => {}
        }
    }

    /// Nothing runs any more.
    pub(crate) fn rebooted(&mut self) {
        match &mut self.state {
            State::Made | State::Held => self.state = State::Over(never_started()),
            State::Live(life) => life.rebooted = Some(life.rebooted.unwrap_or_else(Instant::now)),
            State::Over(_) => {}
        }
    }

    /// Says whether its end is in its directory, and proven.
    pub(super) fn is_over(&self) -> bool {
        match &self.state {
            State::Made | State::Held => false,
            State::Live(life) => life.end(Instant::now()).is_some_and(|closed| closed.is_over()),
            State::Over(closed) => closed.is_over(),
        }
    }

    /// Says what really came of it until now.
    pub(crate) fn truth(&self) -> Truth {
        let State::Live(life) = &self.state else {
            return Truth::NeverStarted;
        };
        let now = Instant::now();
        let Some(closed) = life.end(now).filter(|closed| closed.proof.is_some()) else {
            return Truth::Works;
        };
        let said = |kind: &str| life.lines(now).any(|line| line.contains(kind));
        Truth::Ended(End {
            exit: closed.exit,
            stopped: closed.stopped_by_us,
            limit: closed.limit,
            answered: said("\"final\""),
            asked: said("\"ask\""),
            offered: said("\"offer_landing\""),
        })
    }

    /// Whose it is; nothing for a verify.
    pub(crate) const fn attempt(&self) -> Option<&AttemptFile> {
        match &self.note {
            ExecutionNote::Attempt(file) => Some(file),
            ExecutionNote::Verify(_) => None,
        }
    }

    /// What it verifies; nothing for an agent.
    pub(crate) const fn verify(&self) -> Option<&VerifyFile> {
        match &self.note {
            ExecutionNote::Attempt(_) => None,
            ExecutionNote::Verify(file) => Some(file),
        }
    }

    /// Says whether it is a verify of this commit that has ended, and has passed.
    pub(crate) fn has_passed(&self, commit: &str) -> bool {
        let is_of_it = self.verify().is_some_and(|file| file.commit == commit);
        is_of_it
            && matches!(self.truth(), Truth::Ended(end) if end.exit == AgentExit::Exited(0) && !end.stopped)
    }

    /// Asks the agent to end.
    pub(super) fn stop(&mut self, request: StopRequest) {
        if let State::Live(life) = &mut self.state {
            let patience = request.interrupt_grace + request.terminate_grace;
            let ends = Instant::now() + life.script.defies.min(patience);
            life.stop = Some(life.stop.map_or(ends, |before| before.min(ends)));
        }
    }

    /// Returns all that the agent has said until now.
    pub(super) fn seen(&self, harness: &dyn Harness) -> Seen {
        let mut seen = Seen::default();
        if let State::Live(life) = &self.state {
            for line in life.lines(Instant::now()) {
                let line = Line {
                    bytes: line.as_bytes(),
                    dropped_bytes: 0,
                };
                harness.events(&line).iter().for_each(|event| seen.observe(event));
            }
        }
        seen
    }
}

impl Life {
    /// The moment at which the agent ends, as far as is known now.
    fn ends(&self) -> Instant {
        let by_itself = self.born + self.script.end.0;
        let stopped = self.stop.unwrap_or(by_itself);
        let rebooted = self.rebooted.unwrap_or(by_itself);
        let lease = self.lease_ends().unwrap_or(by_itself);
        by_itself.min(stopped).min(rebooted).min(lease)
    }

    /// When it ends because nobody follows it.
    fn lease_ends(&self) -> Option<Instant> {
        self.left.map(|left| left + LEASE)
    }

    /// A daemon follows it from now on.
    pub(super) fn take_in_hand(&mut self) {
        self.left = None;
    }

    /// Says how it ended, if it has.
    pub(super) fn end(&self, now: Instant) -> Option<Closed> {
        let ends = self.ends();
        if now < ends {
            return None;
        }
        let proof = if self.rebooted.is_some() {
            Some(Proof::HostRebooted)
        } else {
            (ends + self.leaves <= now).then_some(Proof::SubreaperEmpty)
        };
        Some(Closed {
            proof,
            ..self.ended_at(ends)
        })
    }

    fn ended_at(&self, ends: Instant) -> Closed {
        let by_itself = self.born + self.script.end.0;
        if self.rebooted == Some(ends) {
            closed(AgentExit::Unknown)
        } else if self.lease_ends() == Some(ends) {
            Closed {
                stopped_by_us: true,
                limit: Some(Limit::Lease),
                ..closed(AgentExit::Signalled(15))
            }
        } else if ends < by_itself {
            Closed {
                stopped_by_us: true,
                ..closed(AgentExit::Signalled(15))
            }
        } else {
            Closed {
                limit: self.script.limit,
                stopped_by_us: self.script.limit.is_some(),
                ..closed(self.script.end.1.clone())
            }
        }
    }

    fn lines(&self, now: Instant) -> impl Iterator<Item = &str> {
        let until = now.min(self.ends());
        let said = self
            .script
            .lines
            .iter()
            .take_while(move |(at, _)| self.born + *at <= until);
        said.map(|(_, line)| line.as_str())
    }

    /// The next moment at which it says something or ends.
    pub(super) fn next(&self, now: Instant) -> Instant {
        let lines = self.script.lines.iter().map(|(at, _)| self.born + *at);
        lines.filter(|at| *at > now).fold(self.ends(), Instant::min)
    }

    /// Begins what an agent, or a verify, does, by chance.
    pub(super) fn begin(world: &World, machine: &Machine, note: &ExecutionNote, prompt: &[u8]) -> Self {
        let script = match note {
            ExecutionNote::Attempt(file) => {
                let chosen = Script::choose(world, file, prompt);
                if chosen.commits {
                    machine.bases().work_on(file.row.card);
                }
                chosen.script
            }
            ExecutionNote::Verify(_) => Script::choose_verify(world),
        };
        let number = world.dice.number();
        Self {
            born: Instant::now(),
            agent: ProcessFact {
                pid: u32::try_from(number % 30_000).unwrap_or(0) + 2,
                start_ticks: number >> 32,
                boot_id: machine.boot_id(),
            },
            script,
            stop: None,
            rebooted: None,
            left: None,
            leaves: if world.happens(world.profile.leaves) {
                world.dice.span(Duration::ZERO, Duration::from_secs(120))
            } else {
                Duration::ZERO
            },
        }
    }
}

/// A script, and whether the agent commits work.
struct Chosen {
    script: Script,
    commits: bool,
}

impl Script {
    /// A verify passes most of the time.
    fn choose_verify(world: &World) -> Self {
        let dice = &world.dice;
        let work = dice.span(Duration::from_millis(50), Duration::from_secs(40));
        let (exit, limit) = match dice.below(20) {
            0..=1 => (AgentExit::Exited(1), None),
            2 => (AgentExit::Signalled(9), None),
            3 => (AgentExit::Signalled(15), Some(Limit::Awake)),
            // Nobody sees its end, which is a fault.
            4 if !world.is_calm() => (AgentExit::Unknown, None),
            _ => (AgentExit::Exited(0), None),
        };
        Self {
            lines: vec![(work / 2, "checked\n".to_owned())],
            end: (work, exit),
            defies: dice.span(Duration::ZERO, Duration::from_secs(15)),
            limit,
        }
    }

    fn choose(world: &World, file: &AttemptFile, prompt: &[u8]) -> Chosen {
        let dice = &world.dice;
        let (run, epoch) = (file.attempt.run, file.attempt.epoch);
        let named = format!("{run}.{epoch}");
        let has_codebase = file.row.codebase.is_some();
        let commits = has_codebase && dice.chance(9_000);
        let work = dice.span(
            Duration::from_millis(50),
            Duration::from_secs(*dice.pick(&[1, 5, 40]).unwrap_or(&5)),
        );
        let message = |kind: &str, name: &str| format!("{{\"type\":\"{kind}\",\"{name}\":\"{named}\"}}\n");
        // It goes on with the conversation that it was asked to go on with.
        let conversation = file.session.clone().unwrap_or_else(|| prompt.len().to_string());
        let session = (
            work / 3,
            format!("{{\"type\":\"session\",\"id\":\"{conversation}\"}}\n"),
        );
        let exit = |lines: Vec<(Duration, String)>, end, code| Self {
            lines: std::iter::once(session.clone()).chain(lines).collect(),
            end: (end, AgentExit::Exited(code)),
            defies: dice.span(Duration::ZERO, Duration::from_secs(15)),
            limit: None,
        };
        let soon = work + Duration::from_millis(20);
        let answer = || vec![(work, message("final", "text"))];
        let kind = if world.profile.offers && commits && dice.chance(7_000) {
            4
        } else if world.profile.spite && !world.profile.offers && dice.chance(3_000) {
            10
        } else {
            dice.below(14)
        };
        let script = match kind {
            0..=2 => exit(answer(), soon, 0),
            3 => exit(vec![(work, message("ask", "question"))], soon, 0),
            4..=6 if commits => exit(vec![(work, message("offer_landing", "summary"))], soon, 0),
            4..=6 => exit(answer(), soon, 0),
            7 => exit(Vec::new(), soon, 1),
            8 => exit(answer(), soon, 1),
            // It stays after it has answered.
            9 => exit(answer(), Duration::from_secs(100_000), 0),
            // It works for long, and says nothing.
            10 => exit(
                Vec::new(),
                dice.span(Duration::from_secs(60), Duration::from_secs(400)),
                0,
            ),
            // A budget ends it, now and then after it has answered.
            11 | 13 => Self {
                end: (soon, AgentExit::Signalled(15)),
                limit: Some(Limit::Awake),
                ..exit(if dice.chance(3_000) { answer() } else { Vec::new() }, soon, 0)
            },
            // Nobody sees its end, which is a fault.
            _ if world.is_calm() => exit(answer(), soon, 0),
            _ => Self {
                end: (soon, AgentExit::Unknown),
                ..exit(if dice.chance(5_000) { answer() } else { Vec::new() }, soon, 0)
            },
        };
        Chosen { script, commits }
    }
}
