//! Takes up an attempt that a former process left, or that this one lost sight of. The execution's directory says what is
//! left of it; whether its lock is held decides, never whether a pid exists.

use std::sync::Arc;

use cs_fence::Fenced;
use cs_harness::Harness;
use cs_journal::{ClaimedRun, Registered, Started};
use cs_record::{Card, StoppedRun};
use cs_supervise::{AgentExit, Closed, StopRequest};
use tokio::time::Instant;

use super::failing::FailureNote;
use super::interrupted::report_interrupted;
use super::live::{Live, LiveState};
use super::settle::{mark, named, report_failed};
use super::start::note_process;
use super::{Carried, Incomplete, Trouble, Work, unlisted, untraced, used};
use crate::context::Context;
use crate::executions::{Found, StopSwitch, execution_name, plain_harness};

/// What is left of an execution.
#[derive(Debug)]
enum Left {
    /// Nothing of the agent ever ran.
    Nothing,
    /// Its directory says nothing: somebody has removed it, if it was ever there.
    NoTrace,
    /// It runs, or it ran.
    Live(LiveState),
}

/// Takes up an attempt whose shim was registered: the agent may have its prompt or not (P8, P9).
pub(super) async fn registered(
    cx: &Context,
    registered: Registered,
    stop: &StopSwitch,
) -> Result<Option<Live>, Trouble> {
    let name = registered.dir().to_owned();
    let state = match look(cx, &name).await? {
        Left::Nothing => None,
        Left::NoTrace => untraced::registered(cx, &registered)
            .await?
            .map(LiveState::Closed),
        Left::Live(state) => Some(state),
    };
    let Some(state) = state else {
        report_interrupted(cx, registered.interrupted()?).await?;
        return Ok(None);
    };
    let state = match state {
        LiveState::Closed(Closed {
            exit: AgentExit::SpawnFailed(failure),
            ..
        }) => {
            let reason = format!("{failure} ({})", registered.row().agent);
            let class = cs_model::FailureClass::InvalidRequest;
            report_failed(
                cx,
                registered.failed(&FailureNote::new(class, reason).to_json()?)?,
            )
            .await?;
            return Ok(None);
        }
        state @ (LiveState::Running(_) | LiveState::Closed(_)) => state,
    };
    let agent = match &state {
        LiveState::Running(running) => serde_json::to_string(running.agent())?,
        LiveState::Closed(_) => "null".to_owned(),
    };
    let started = registered.started(&agent)?;
    take_up(cx, started, (name, state), stop).await.map(Some)
}

/// Takes up an attempt whose agent had started (P10, P11).
pub(super) async fn started(
    cx: &Context,
    started: Started,
    stop: &StopSwitch,
) -> Result<Option<Live>, Trouble> {
    let name = started.dir().to_owned();
    let state = match look(cx, &name).await? {
        // It had started, so what its directory says is not all that there was: nobody will ever know what it did.
        Left::Nothing | Left::NoTrace => LiveState::Closed(untraced::started(cx, &started).await?),
        Left::Live(state) => state,
    };
    take_up(cx, started, (name, state), stop).await.map(Some)
}

async fn take_up(
    cx: &Context,
    started: Started,
    (name, state): (String, LiveState),
    stop: &StopSwitch,
) -> Result<Live, Trouble> {
    let row = started.row().clone();
    let card = card_of(cx, &started).await?;
    let harness = harness_of(cx, &name, &row).await?;
    cx.secrets.know(row.run, row.epoch).await;
    if let LiveState::Running(running) = &state {
        let agent = running.agent().clone();
        note_process(cx, &started, &agent, stop).await;
        let paused = cx.paused_by(row.run, row.epoch);
        let paused = paused.map_or_else(String::new, |note| format!(", paused by {}", note.by));
        cx.out(&format!(
            "resume {} attempt {} of card {}: its agent still runs, pid {}{paused}",
            row.run.short(),
            row.epoch,
            row.card.short(),
            agent.pid
        ));
    }
    Ok(Live {
        started,
        name,
        harness,
        card,
        state,
    })
}

/// Finds how to read what the agent of an execution says: as it was started, not as it is configured now. Where its directory is gone
/// nothing of what it said is left, so any way will do.
async fn harness_of(cx: &Context, name: &str, row: &ClaimedRun) -> Result<Arc<dyn Harness>, Trouble> {
    let noted = match cx.deps.executions.attempt(name).await {
        None if !cx.state.execution(name).exists() => plain_harness(row.agent.as_str()),
        noted => noted.and_then(|file| file.harness()),
    };
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

/// Closes what is left of a run that is over by the record and that the ledger does not know. What is not over keeps its slot and
/// its tree: its process stays on the record.
pub(super) async fn leftover(cx: &Context, run: StoppedRun) -> Result<Carried, Trouble> {
    let names = cx.deps.executions.names(run.run, run.epoch).await;
    let mut known = None;
    for name in names.map_err(unlisted)? {
        let closed = match look(cx, &name).await? {
            Left::Nothing | Left::NoTrace => None,
            Left::Live(LiveState::Running(running)) => Some(running.stop(StopRequest::default()).await?),
            Left::Live(LiveState::Closed(closed)) => Some(closed),
        };
        if let Some(closed) = closed {
            if let Some(left) = survivors(&closed) {
                let incomplete = left_behind(cx, run, name, left).await;
                return Ok(Carried::Incomplete(Box::new(incomplete)));
            }
            tracing::info!(run = %run.run, ?closed, "a run that the ledger did not know was ended");
            if let Some(file) = cx.deps.executions.attempt(&name).await {
                used::tell_unknown(cx, &name, &file).await?;
                known = Some(file);
            }
        }
    }
    // What never started has no process on the record: then its directory does not say all.
    let Some(file) = known else {
        return without_a_trace(cx, run).await;
    };
    let cleared = cx
        .deps
        .record
        .attempts
        .clear_process(&file.attempt, &run.process)
        .await?;
    tracing::debug!(?cleared, run = %run.run, "the process is off the record");
    Ok(Carried::Over)
}

/// Ends what is left of a run that is over by the record and of which this machine has nothing but what stands there.
async fn without_a_trace(cx: &Context, run: StoppedRun) -> Result<Carried, Trouble> {
    let ended = untraced::leftover(cx, &run).await?;
    let what = match ended.found.is_empty() {
        true => "nothing of it is left here".to_owned(),
        false => format!(
            "the directory of its execution was removed while something of it ran: {}",
            untraced::what_became(&ended)
        ),
    };
    cx.said(&format!("run {} is over, and {what}", run.run.short()));
    if ended.proof.is_some() {
        untraced::forget(cx, (run.run, run.epoch), &run.process).await?;
        return Ok(Carried::Over);
    }
    let left = ended.survivors.iter().map(named).collect();
    let name = execution_name(run.run, run.epoch, 1);
    let incomplete = left_behind(cx, run, name, left).await;
    Ok(Carried::Incomplete(Box::new(incomplete)))
}

/// Names what keeps an execution from being over; nothing when its end is proven, or a person has dismissed what is left.
fn survivors(closed: &Closed) -> Option<Vec<String>> {
    (!closed.is_over()).then(|| closed.survivors.iter().map(named).collect())
}

/// Marks what could not be ended. It is looked at again when a person asks for its end or dismisses it, and now and then.
async fn left_behind(cx: &Context, run: StoppedRun, execution: String, left: Vec<String>) -> Incomplete {
    if let Some(file) = cx.deps.executions.attempt(&execution).await {
        mark(cx, &file.attempt, &run.process, &left).await;
    }
    Incomplete {
        run: run.run,
        card: run.card,
        work: Work::Leftover(run),
        left,
        has_directory: cx.state.execution(&execution).exists(),
        execution,
        looked_at: Instant::now(),
    }
}

async fn look(cx: &Context, name: &str) -> Result<Left, Trouble> {
    match cx.deps.executions.survey(name).await? {
        Found::NeverStarted => Ok(Left::Nothing),
        Found::NoTrace => Ok(Left::NoTrace),
        Found::Running(running) => Ok(Left::Live(LiveState::Running(running))),
        Found::Closed(closed) => Ok(Left::Live(LiveState::Closed(closed))),
        Found::Foreign => {
            cx.said(&format!(
                "something that is not ours answers in the execution {name}: it is left alone"
            ));
            Err(Trouble::Local {
                what: "something else answers in the place of the shim",
                source: std::io::ErrorKind::PermissionDenied.into(),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use cs_supervise::Proof;

    use super::*;

    /// An end that left something.
    fn unproven() -> Closed {
        Closed {
            exit: AgentExit::Exited(0),
            stopped_by_us: true,
            proof: None,
            leaked: Vec::new(),
            survivors: Vec::new(),
            rounds: 3,
            ended_at_unix_micros: 0,
            limit: None,
            worked: None,
            dismissed_at_unix_micros: None,
        }
    }

    /// Invariant 7.
    #[test]
    fn a_leftover_keeps_its_card_until_its_end_is_proven_or_a_person_has_dismissed_it() {
        assert_eq!(survivors(&unproven()), Some(Vec::new()));
        let proven = Closed {
            proof: Some(Proof::SubreaperEmpty),
            ..unproven()
        };
        assert_eq!(survivors(&proven), None);
        let dismissed = Closed {
            dismissed_at_unix_micros: Some(1),
            ..unproven()
        };
        assert_eq!(survivors(&dismissed), None);
    }
}
