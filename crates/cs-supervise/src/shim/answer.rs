//! What clients ask of the shim, and what it answers.

use std::io;
use std::time::{Duration, Instant};

use super::connection::Event;
use super::contain;
use super::ladder::Ladder;
use super::serve::{End, Running, Shim, Stage};
use crate::cgroup::Tier;
use crate::closed::AgentExit;
use crate::dir::{self, Aside};
use crate::hold::MAX_PROMPT_BYTES;
use crate::pause::PausedBy;
use crate::wire::{self, Phase, Refusal, Reply, Request};

impl Shim {
    pub(super) fn serve_connection(&mut self, index: usize) {
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
                Event::Request(Request::Pause) => Some(self.pause()),
                Event::Request(Request::Resume) => Some(self.resume()),
                Event::Request(Request::Renew) => Some(self.renew()),
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
            Err(error) => {
                self.connections[index].discard_prompt(prompt_bytes);
                Some(self.broken("store the prompt", &error))
            }
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
        let (agent, group) = match contain::start(&self.dir, &self.spec, &self.ident) {
            Ok(started) => started,
            Err((failure, group)) => {
                let end = End::without_agent(AgentExit::SpawnFailed(failure.clone()), false);
                self.close(end.in_group(group));
                return Reply::SpawnFailed { failure };
            }
        };
        let identity = agent.identity.clone();
        let tier = match (&self.namespace, &group) {
            (Some(_), _) => Tier::Namespace,
            (None, Some(_)) => Tier::Cgroup,
            (None, None) => Tier::Subreaper,
        };
        let mut running = Running::new(agent, group, tier, &self.spec);
        // Before anything that takes time: it is to do nothing.
        if self.pause_at_start {
            running.pause(PausedBy::Request);
        }
        let paused = running.paused;
        let written = self.dir.write_durably(
            dir::AGENT,
            &wire::Agent {
                agent: identity.clone(),
            },
        );
        self.stage = Stage::Running(running);
        match written {
            Ok(()) => Reply::Started {
                agent: identity,
                paused,
                tier,
            },
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

    pub(super) fn never_start(&mut self, stopped_by_us: bool) {
        self.close(End::without_agent(AgentExit::NeverStarted, stopped_by_us));
    }

    /// Something that must be written cannot be. Before GO that is the end.
    pub(super) fn broken(&mut self, op: &str, error: &io::Error) -> Reply {
        if matches!(self.stage, Stage::Held) {
            self.never_start(false);
        }
        Reply::Broken {
            op: op.to_owned(),
            errno: error.raw_os_error().unwrap_or(0),
            text: error.to_string(),
            lacks: None,
        }
    }

    fn phase(&self) -> Phase {
        match &self.stage {
            Stage::Held => Phase::Held,
            Stage::Running(running) => Phase::Running {
                agent: running.agent.identity.clone(),
                paused: running.paused,
                tier: running.tier,
            },
            Stage::Closing { agent, .. } | Stage::Writing { agent, .. } => {
                Phase::Closing { agent: agent.clone() }
            }
            Stage::Done => Phase::Closing { agent: None },
        }
    }
}
