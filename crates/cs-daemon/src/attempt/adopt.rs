//! Takes up an attempt that a former process left, or that this one lost sight of. The execution's directory says what is
//! left of it; whether its lock is held decides, never whether a pid exists.

use cs_fence::Fenced;
use cs_journal::{Registered, Started};
use cs_record::{Card, StoppedRun};
use cs_supervise::{AgentExit, Closed, ExecutionDir, StopRequest, Verdict, survey};

use super::ready::harness_of;
use super::settle::{Live, LiveState, report_failed, report_interrupted};
use super::start::{FailureNote, SURVEY_BUDGET, note_process};
use super::{AttemptFile, Trouble};
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
pub(super) async fn registered(cx: &Context, registered: Registered) -> Result<Option<Live>, Trouble> {
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
    take_up(cx, started, dir, state).await.map(Some)
}

/// Takes up an attempt whose agent had started (P10, P11).
pub(super) async fn started(cx: &Context, started: Started) -> Result<Option<Live>, Trouble> {
    let dir = ExecutionDir::at(cx.state.execution(started.dir()));
    match look(cx, &dir).await? {
        Left::Nothing => {
            // Its directory is gone or empty, although it had started: nothing runs, and nobody knows what it did.
            tracing::warn!(run = %started.row().run, epoch = %started.row().epoch, "no trace of the execution is left");
            report_interrupted(cx, started.interrupted()?).await?;
            Ok(None)
        }
        Left::Live(state) => take_up(cx, started, dir, *state).await.map(Some),
    }
}

async fn take_up(
    cx: &Context,
    started: Started,
    dir: ExecutionDir,
    state: LiveState,
) -> Result<Live, Trouble> {
    let row = started.row().clone();
    let card = card_of(cx, &started).await?;
    let as_started = AttemptFile::read(&dir).and_then(|file| file.harness());
    let harness = match as_started.map_or_else(|| harness_of(cx, &row.agent), Ok) {
        Ok(harness) => harness,
        Err(unready) => {
            // Nothing says any more how it speaks: its output cannot be read.
            cx.said(&format!(
                "run {} attempt {}: {}",
                row.run.short(),
                row.epoch,
                unready.reason
            ));
            return Err(Trouble::Local {
                what: "its agent is not configured any more",
                source: std::io::ErrorKind::NotFound.into(),
            });
        }
    };
    if let LiveState::Running(running) = &state {
        let agent = running.agent().clone();
        note_process(cx, &started, &agent).await;
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
