//! Takes up an attempt that a former process left, or that this one lost sight of. The execution's directory says what is
//! left of it; whether its lock is held decides, never whether a pid exists.

use std::sync::Arc;

use cs_fence::Fenced;
use cs_harness::Harness;
use cs_journal::{Registered, Started};
use cs_record::{Card, StoppedRun};
use cs_supervise::{AgentExit, Closed, ExecutionDir, StopRequest, Verdict, survey};

use super::settle::{Live, LiveState, report_failed, report_interrupted};
use super::start::{FailureNote, SURVEY_BUDGET, note_process};
use super::{AttemptFile, StopSwitch, Trouble};
use crate::context::Context;

/// What is left of an execution.
#[derive(Debug)]
enum Left {
    /// Nothing of the agent ever ran.
    Nothing,
    /// It runs, or it ran.
    Live(Box<LiveState>),
}

/// Takes up an attempt whose shim was registered: the agent may have its prompt or not (P8, P9).
pub(super) async fn registered(
    cx: &Context,
    registered: Registered,
    stop: &StopSwitch,
) -> Result<Option<Live>, Trouble> {
    let dir = ExecutionDir::at(cx.state.execution(registered.dir()));
    let state = match look(cx, &dir).await? {
        Left::Nothing => {
            report_interrupted(cx, registered.interrupted()?).await?;
            return Ok(None);
        }
        Left::Live(state) => *state,
    };
    let state = match state {
        LiveState::Closed(Closed {
            exit: AgentExit::SpawnFailed(failure),
            ..
        }) => {
            let reason = format!("{failure} ({})", registered.row().agent);
            let class = cs_model::FailureClass::InvalidRequest;
            report_failed(cx, registered.failed(&FailureNote { class, reason }.to_json()?)?).await?;
            return Ok(None);
        }
        state @ (LiveState::Running(_) | LiveState::Closed(_)) => state,
    };
    let agent = match &state {
        LiveState::Running(running) => serde_json::to_string(running.agent())?,
        LiveState::Closed(_) => "null".to_owned(),
    };
    let started = registered.started(&agent)?;
    take_up(cx, started, (dir, state), stop).await.map(Some)
}

/// Takes up an attempt whose agent had started (P10, P11).
pub(super) async fn started(
    cx: &Context,
    started: Started,
    stop: &StopSwitch,
) -> Result<Option<Live>, Trouble> {
    let dir = ExecutionDir::at(cx.state.execution(started.dir()));
    match look(cx, &dir).await? {
        Left::Nothing => {
            // Its directory is gone or empty, although it had started: nothing runs, and nobody knows what it did.
            tracing::warn!(run = %started.row().run, epoch = %started.row().epoch, "no trace of the execution is left");
            report_interrupted(cx, started.interrupted()?).await?;
            Ok(None)
        }
        Left::Live(state) => take_up(cx, started, (dir, *state), stop).await.map(Some),
    }
}

async fn take_up(
    cx: &Context,
    started: Started,
    (dir, state): (ExecutionDir, LiveState),
    stop: &StopSwitch,
) -> Result<Live, Trouble> {
    let row = started.row().clone();
    let card = card_of(cx, &started).await?;
    let harness = harness_of(&dir)?;
    if let LiveState::Running(running) = &state {
        let agent = running.agent().clone();
        note_process(cx, &started, &agent, stop).await;
        cx.out(&format!(
            "resume {} attempt {} of card {}: its agent still runs, pid {}",
            row.run.short(),
            row.epoch,
            row.card.short(),
            agent.pid()
        ));
    }
    Ok(Live {
        started,
        dir,
        harness,
        card,
        state,
    })
}

/// Finds how to read what the agent of an execution says: as it was started, not as it is configured now.
fn harness_of(dir: &ExecutionDir) -> Result<Arc<dyn Harness>, Trouble> {
    let noted = AttemptFile::read(dir).and_then(|file| file.harness());
    noted.ok_or_else(|| Trouble::Local {
        what: "how its agent speaks is not noted beside its execution",
        source: std::io::ErrorKind::NotFound.into(),
    })
}

/// Reads the card of an attempt, whether the attempt is current or not.
async fn card_of(cx: &Context, started: &Started) -> Result<Card, Trouble> {
    if let Fenced::Applied(brief) = cx.deps.record.reads.run_brief(&started.attempt()).await? {
        return Ok(brief.card);
    }
    Ok(cx.deps.record.cards.card(started.row().card).await?.card)
}

/// Closes what is left of a run that is over by the record and that the ledger does not know.
pub(super) async fn leftover(cx: &Context, run: &StoppedRun) -> Result<(), Trouble> {
    let names = cx.state.executions_of(run.run, run.epoch);
    let names = names.map_err(|source| Trouble::Local {
        what: "the executions cannot be listed",
        source,
    })?;
    let mut known = None;
    for name in names {
        let dir = ExecutionDir::at(cx.state.execution(&name));
        if let Left::Live(state) = look(cx, &dir).await?
            && let LiveState::Running(running) = *state
        {
            let stopped = running.stop(StopRequest::default()).await?;
            tracing::info!(run = %run.run, ?stopped, "a run that the ledger did not know was closed");
        }
        known = AttemptFile::read(&dir).or(known);
    }
    let Some(file) = known else {
        cx.said(&format!(
            "run {} is over, and nothing of it is left here",
            run.run.short()
        ));
        return Ok(());
    };
    let cleared = cx
        .deps
        .record
        .attempts
        .clear_process(&file.attempt, &run.process)
        .await?;
    tracing::debug!(?cleared, run = %run.run, "the process is off the record");
    Ok(())
}

async fn look(cx: &Context, dir: &ExecutionDir) -> Result<Left, Trouble> {
    let closed = match survey(dir, SURVEY_BUDGET).await? {
        Verdict::NeverStarted(_) => return Ok(Left::Nothing),
        Verdict::Adopted(running) => return Ok(Left::Live(Box::new(LiveState::Running(running)))),
        Verdict::Waiting(waiting) => waiting.stopper().stop(StopRequest::FORCE).await?,
        Verdict::ShimHung(hung) => {
            tracing::warn!(dir = %dir.path().display(), shim = ?hung.shim(), "the shim does not answer and is killed");
            hung.end().await?
        }
        Verdict::ForeignShim => {
            cx.said(&format!(
                "something that is not ours answers in {}: it is left alone",
                dir.path().display()
            ));
            return Err(Trouble::Local {
                what: "something else answers in the place of the shim",
                source: std::io::ErrorKind::PermissionDenied.into(),
            });
        }
        Verdict::Finished(closed)
        | Verdict::ShimDiedClosing(closed)
        | Verdict::ShimLost(closed)
        | Verdict::HostRebooted(closed) => closed,
    };
    match closed.exit {
        AgentExit::NeverStarted => Ok(Left::Nothing),
        AgentExit::SpawnFailed(_) | AgentExit::Exited(_) | AgentExit::Signalled(_) | AgentExit::Unknown => {
            Ok(Left::Live(Box::new(LiveState::Closed(closed))))
        }
    }
}
