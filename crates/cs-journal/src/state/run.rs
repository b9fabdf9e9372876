//! The stages of an attempt of a run.

use cs_model::{OperationId, Time};

use super::Next;
use crate::event::RunEvent;

/// What is known of an execution. Shim and agent are the daemon's own texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// The name of its directory.
    pub dir: String,
    /// The process that holds it.
    pub shim: String,
    /// The agent's process.
    pub agent: String,
}

/// Who owns an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// The claim that took it.
    Claimed,
    /// Its preparation; nothing runs.
    Prepared {
        /// The name of the execution's directory.
        dir: String,
    },
    /// Its execution, which has no prompt yet.
    Registered {
        /// The name of the execution's directory.
        dir: String,
        /// The process that holds it.
        shim: String,
    },
    /// Its execution; the agent works.
    Started(Execution),
    /// Its outcome, which the record does not have yet.
    Settling {
        /// The execution that has ended.
        execution: Execution,
        /// The outcome.
        outcome: String,
    },
    /// Its execution, which is still to be closed and accounted for.
    Acknowledged(Execution),
    /// The note that it could not be started.
    Failed {
        /// The name of the execution's directory, if there is one.
        dir: Option<String>,
        /// Why.
        reason: String,
    },
    /// The receipt that it was cut short.
    Interrupted {
        /// The name of the execution's directory, if there is one.
        dir: Option<String>,
        /// The id of the report.
        operation: OperationId,
        /// When.
        at: Time,
    },
}

impl RunEvent {
    /// Returns the native session that came with an outcome.
    pub(super) fn session(&self) -> Option<&str> {
        match self {
            Self::Outcome { session, .. } => session.as_deref(),
            Self::Prepared { .. }
            | Self::Registered { .. }
            | Self::Started { .. }
            | Self::Acknowledged
            | Self::Closed
            | Self::Failed { .. }
            | Self::Interrupted { .. }
            | Self::Void => None,
        }
    }
}

impl Stage {
    /// Returns the stage's name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::Prepared { .. } => "prepared",
            Self::Registered { .. } => "registered",
            Self::Started(_) => "started",
            Self::Settling { .. } => "settling",
            Self::Acknowledged(_) => "acknowledged",
            Self::Failed { .. } => "failed",
            Self::Interrupted { .. } => "interrupted",
        }
    }

    /// Says whether a start is under way: the attempt is taken, and no execution answers for it yet (CJ-24).
    pub(crate) const fn is_starting(&self) -> bool {
        match self {
            Self::Claimed | Self::Prepared { .. } => true,
            Self::Registered { .. }
            | Self::Started(_)
            | Self::Settling { .. }
            | Self::Acknowledged(_)
            | Self::Failed { .. }
            | Self::Interrupted { .. } => false,
        }
    }

    /// Says whether an execution that is not proven closed answers for it.
    pub(crate) const fn may_run(&self) -> bool {
        match self {
            Self::Registered { .. } | Self::Started(_) => true,
            Self::Claimed
            | Self::Prepared { .. }
            | Self::Settling { .. }
            | Self::Acknowledged(_)
            | Self::Failed { .. }
            | Self::Interrupted { .. } => false,
        }
    }

    /// Says where an event leads, or nothing when it cannot follow here.
    pub(crate) fn after(&self, event: &RunEvent) -> Option<Next<Self>> {
        match self {
            Self::Claimed => match event {
                RunEvent::Prepared { dir } => stage(Self::Prepared { dir: dir.clone() }),
                RunEvent::Failed { reason } => failed(None, reason),
                RunEvent::Interrupted { operation, at } => interrupted(None, *operation, *at),
                RunEvent::Void => Some(Next::Over),
                RunEvent::Registered { .. }
                | RunEvent::Started { .. }
                | RunEvent::Outcome { .. }
                | RunEvent::Acknowledged
                | RunEvent::Closed => None,
            },
            // A preparation of a dead process is void and is made again (P6, P7).
            Self::Prepared { dir } => match event {
                RunEvent::Prepared { dir } => stage(Self::Prepared { dir: dir.clone() }),
                RunEvent::Registered { shim } => stage(Self::Registered {
                    dir: dir.clone(),
                    shim: shim.clone(),
                }),
                RunEvent::Failed { reason } => failed(Some(dir), reason),
                RunEvent::Interrupted { operation, at } => interrupted(Some(dir), *operation, *at),
                RunEvent::Void => Some(Next::Over),
                RunEvent::Started { .. }
                | RunEvent::Outcome { .. }
                | RunEvent::Acknowledged
                | RunEvent::Closed => None,
            },
            Self::Registered { dir, shim } => match event {
                RunEvent::Started { agent } => stage(Self::Started(Execution {
                    dir: dir.clone(),
                    shim: shim.clone(),
                    agent: agent.clone(),
                })),
                RunEvent::Failed { reason } => failed(Some(dir), reason),
                RunEvent::Interrupted { operation, at } => interrupted(Some(dir), *operation, *at),
                RunEvent::Void => Some(Next::Over),
                RunEvent::Prepared { .. }
                | RunEvent::Registered { .. }
                | RunEvent::Outcome { .. }
                | RunEvent::Acknowledged
                | RunEvent::Closed => None,
            },
            Self::Started(execution) => match event {
                RunEvent::Outcome { outcome, .. } => settling(execution, outcome),
                RunEvent::Interrupted { operation, at } => interrupted(Some(&execution.dir), *operation, *at),
                RunEvent::Prepared { .. }
                | RunEvent::Registered { .. }
                | RunEvent::Started { .. }
                | RunEvent::Acknowledged
                | RunEvent::Closed
                | RunEvent::Failed { .. }
                | RunEvent::Void => None,
            },
            Self::Settling { execution, .. } => match event {
                RunEvent::Outcome { outcome, .. } => settling(execution, outcome),
                RunEvent::Acknowledged => stage(Self::Acknowledged(execution.clone())),
                RunEvent::Prepared { .. }
                | RunEvent::Registered { .. }
                | RunEvent::Started { .. }
                | RunEvent::Closed
                | RunEvent::Failed { .. }
                | RunEvent::Interrupted { .. }
                | RunEvent::Void => None,
            },
            Self::Acknowledged(_) => match event {
                RunEvent::Closed => Some(Next::Over),
                RunEvent::Prepared { .. }
                | RunEvent::Registered { .. }
                | RunEvent::Started { .. }
                | RunEvent::Outcome { .. }
                | RunEvent::Acknowledged
                | RunEvent::Failed { .. }
                | RunEvent::Interrupted { .. }
                | RunEvent::Void => None,
            },
            Self::Failed { .. } | Self::Interrupted { .. } => match event {
                RunEvent::Acknowledged => Some(Next::Over),
                RunEvent::Prepared { .. }
                | RunEvent::Registered { .. }
                | RunEvent::Started { .. }
                | RunEvent::Outcome { .. }
                | RunEvent::Closed
                | RunEvent::Failed { .. }
                | RunEvent::Interrupted { .. }
                | RunEvent::Void => None,
            },
        }
    }

    /// Returns events that lead from `Claimed` to this stage.
    pub(super) fn events(&self) -> Vec<RunEvent> {
        match self {
            Self::Claimed => Vec::new(),
            Self::Prepared { dir } => prepared(Some(dir)).collect(),
            Self::Registered { dir, shim } => {
                let registered = RunEvent::Registered { shim: shim.clone() };
                prepared(Some(dir)).chain([registered]).collect()
            }
            Self::Started(execution) => execution.events(),
            Self::Settling { execution, outcome } => {
                let mut events = execution.events();
                events.push(outcome_event(outcome));
                events
            }
            Self::Acknowledged(execution) => {
                let mut events = execution.events();
                events.extend([outcome_event(""), RunEvent::Acknowledged]);
                events
            }
            Self::Failed { dir, reason } => {
                let failed = RunEvent::Failed {
                    reason: reason.clone(),
                };
                prepared(dir.as_deref()).chain([failed]).collect()
            }
            Self::Interrupted { dir, operation, at } => {
                let interrupted = RunEvent::Interrupted {
                    operation: *operation,
                    at: *at,
                };
                prepared(dir.as_deref()).chain([interrupted]).collect()
            }
        }
    }
}

impl Execution {
    fn events(&self) -> Vec<RunEvent> {
        vec![
            RunEvent::Prepared {
                dir: self.dir.clone(),
            },
            RunEvent::Registered {
                shim: self.shim.clone(),
            },
            RunEvent::Started {
                agent: self.agent.clone(),
            },
        ]
    }
}

/// The session is not repeated: it is kept on its own.
fn outcome_event(outcome: &str) -> RunEvent {
    RunEvent::Outcome {
        outcome: outcome.to_owned(),
        session: None,
    }
}

fn prepared(dir: Option<&str>) -> impl Iterator<Item = RunEvent> {
    dir.map(|dir| RunEvent::Prepared { dir: dir.to_owned() })
        .into_iter()
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "it is an arm of `after`, next to those that refuse"
)]
fn stage(stage: Stage) -> Option<Next<Stage>> {
    Some(Next::Stage(stage))
}

fn settling(execution: &Execution, outcome: &str) -> Option<Next<Stage>> {
    stage(Stage::Settling {
        execution: execution.clone(),
        outcome: outcome.to_owned(),
    })
}

fn failed(dir: Option<&String>, reason: &str) -> Option<Next<Stage>> {
    stage(Stage::Failed {
        dir: dir.cloned(),
        reason: reason.to_owned(),
    })
}

fn interrupted(dir: Option<&String>, operation: OperationId, at: Time) -> Option<Next<Stage>> {
    stage(Stage::Interrupted {
        dir: dir.cloned(),
        operation,
        at,
    })
}
