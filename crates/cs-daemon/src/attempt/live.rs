//! An agent that has its prompt, up to its end.

use std::sync::Arc;

use cs_harness::Harness;
use cs_journal::Started;
use cs_record::Card;
use cs_supervise::Closed;

use super::Trouble;
use super::nearly::say_when_nearly_used_up;
use super::word::tools_of;
use crate::context::Context;
use crate::executions::{ExecutionEnd, Patience, RunningExecution, StopSwitch};
use crate::tools;

/// An attempt whose agent had its prompt.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) started: Started,
    /// The name of its execution.
    pub(super) name: String,
    pub(super) harness: Arc<dyn Harness>,
    pub(super) card: Card,
    pub(super) state: LiveState,
}

/// Whether its agent still runs.
#[derive(Debug)]
pub(super) enum LiveState {
    /// It runs.
    Running(Box<dyn RunningExecution>),
    /// It ended while nobody looked.
    Closed(Closed),
}

/// Follows an agent to its end, and hears its tools meanwhile.
pub(super) async fn end_of(
    cx: &Arc<Context>,
    (started, name): (&Started, &str),
    harness: &dyn Harness,
    state: LiveState,
    stop: &StopSwitch,
) -> Result<ExecutionEnd, Trouble> {
    match state {
        LiveState::Running(mut running) => {
            let settings = &cx.deps.settings;
            let patience = Patience {
                when_done: settings.grace_when_done,
                after_word: settings.grace_after_word,
                stop_step: settings.stop_grace,
            };
            tokio::select! {
                biased;
                ended = running.follow(harness, patience, stop) => Ok(ended?),
                never = say_when_nearly_used_up(cx, name, started.row()) => match never {},
                never = tools::serve(cx, tools_of(started, name), stop) => match never {},
            }
        }
        LiveState::Closed(closed) => Ok(ExecutionEnd {
            seen: cx.deps.executions.heard(name, harness).await?,
            closed,
        }),
    }
}
