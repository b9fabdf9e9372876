//! From a claim to a running agent: prepare, hold, register, check, GO (PS-1 to PS-6).
//!
//! Every failure between the claim and the GO ends in the ledger: as a note of why the run could not be started, or as an
//! interruption that gives it back. None leaves a run that reads `running` without a process (PS-11).

use cs_fence::{Attempt, Fenced, ProcessFact};
use cs_journal::{Claimed, ClaimedRun, Prepared, Registered, Started, Woke};
use cs_model::{Epoch, FailureClass, RunState};
use cs_record::RunBrief;
use cs_supervise::{AgentExit, Closed, Feature, GoError, HoldError, Lack, StopRequest};

use super::failing::{fail, fail_registered, not_spawned, used_up, without_agent};
use super::interrupted::report_interrupted;
use super::live::{Live, LiveState};
use super::ready::{Ready, make_ready, model_of, sessions_of};
use super::session::{Conversation, conversation};
use super::unready::Unready;
use super::{Trouble, unlisted};
use crate::admission::Admission;
use crate::agents::AgentSetup;
use crate::borders::Border;
use crate::bounds::Bounds;
use crate::context::Context;
use crate::executions::{
    Allowance, AttemptFile, ExecutionNote, Found, HeldExecution, HoldTrouble, Launch, RuleTold,
    RunningExecution, StopLevel, StopSwitch, execution_name,
};

/// What was made ready for an attempt, on its way to the GO.
struct Start<'a> {
    name: String,
    ready: Ready,
    brief: RunBrief,
    stop: &'a StopSwitch,
}

impl Start<'_> {
    fn live(self, started: Started, state: LiveState) -> Live {
        Live {
            started,
            name: self.name,
            harness: self.ready.harness,
            card: self.brief.card,
            state,
        }
    }
}

/// Starts a claimed attempt. Nothing: it will not run, and what is to be told is in the ledger.
pub(super) async fn start(
    cx: &Context,
    claimed: Claimed,
    stop: &StopSwitch,
) -> Result<Option<Live>, Trouble> {
    if claimed.row().resumed_at.is_some() {
        cx.deps.borders.reach(Border::P16);
    }
    let Some(brief) = brief(cx, &claimed.attempt()).await? else {
        // The world moved while nobody looked (CJ-14).
        claimed.void()?;
        return Ok(None);
    };
    let (run, epoch) = (claimed.row().run, claimed.row().epoch);
    let names = cx.deps.executions.names(run, epoch).await.map_err(unlisted)?;
    if let Some(last) = names.last() {
        // Preparing comes before the directory: the ledger has lost that it was prepared.
        return start_again(cx, claimed.prepare(last)?, stop).await;
    }
    end_former(cx, claimed.row()).await?;
    let prepared = claimed.prepare(&execution_name(run, epoch, 1))?;
    begin(cx, prepared, brief, stop).await
}

/// Starts an attempt whose preparation died: what it may have spawned was never registered, so nothing of it had a prompt. A
/// ledger that was damaged may have lost that; then the execution is taken up, never started twice.
pub(super) async fn start_again(
    cx: &Context,
    prepared: Prepared,
    stop: &StopSwitch,
) -> Result<Option<Live>, Trouble> {
    if was_started(cx, prepared.dir()).await? {
        tracing::error!(
            name = prepared.dir(),
            "the ledger does not know of an agent that was started"
        );
        return super::adopt::registered(cx, prepared.registered("null")?, stop).await;
    }
    let Some(brief) = brief(cx, &prepared.attempt()).await? else {
        prepared.void()?;
        return Ok(None);
    };
    end_former(cx, prepared.row()).await?;
    let name = new_name(cx, prepared.row()).await?;
    let prepared = prepared.prepare_again(&name)?;
    begin(cx, prepared, brief, stop).await
}

/// Ends what still runs of the attempt before this one: one tree, one agent. What the ledger knows was waited for; a ledger that was lost
/// knows nothing of an agent whose run a person has stopped since, and neither does a record that was never told of its process.
async fn end_former(cx: &Context, row: &ClaimedRun) -> Result<(), Trouble> {
    for number in (1..row.epoch.get()).rev() {
        let names = cx.deps.executions.names(row.run, Epoch::new(number)).await;
        let found = match names.map_err(unlisted)?.pop() {
            Some(name) => cx.deps.executions.survey(&name).await?,
            None => Found::NoTrace,
        };
        let closed = match found {
            Found::Running(running) => {
                cx.said(&format!(
                    "run {} attempt {number} of card {} still runs, and nothing here knows of it: it is stopped",
                    row.run.short(),
                    row.card.short()
                ));
                running.stop(StopRequest::default()).await?
            }
            Found::Closed(closed) => closed,
            Found::NeverStarted | Found::Foreign => return Ok(()),
            Found::NoTrace if super::untraced::former(cx, row, Epoch::new(number)).await? => continue,
            Found::NoTrace => return Err(still_there()),
        };
        return if closed.is_over() {
            Ok(())
        } else {
            Err(still_there())
        };
    }
    Ok(())
}

fn still_there() -> Trouble {
    Trouble::Local {
        what: "something of the attempt before it is still there",
        source: std::io::ErrorKind::ResourceBusy.into(),
    }
}

/// Makes sure that nothing is left of an execution that was never registered. Says whether its agent was started all the same:
/// then the ledger has lost what it knew.
async fn was_started(cx: &Context, name: &str) -> Result<bool, Trouble> {
    Ok(match cx.deps.executions.survey(name).await? {
        Found::Running(_) | Found::Closed(_) => true,
        Found::NeverStarted | Found::NoTrace | Found::Foreign => false,
    })
}

async fn brief(cx: &Context, attempt: &Attempt) -> Result<Option<RunBrief>, Trouble> {
    match cx.deps.record.reads.run_brief(attempt).await? {
        Fenced::Applied(brief) => Ok(Some(brief)),
        Fenced::Stale(standing) => {
            cx.said(&format!("not started: {standing}"));
            Ok(None)
        }
    }
}

/// A name that no execution of this attempt has had.
async fn new_name(cx: &Context, row: &ClaimedRun) -> Result<String, Trouble> {
    let names = cx.deps.executions.names(row.run, row.epoch).await;
    let number = names.map_err(unlisted)?.len() + 1;
    Ok(execution_name(row.run, row.epoch, number))
}

/// What is noted of an attempt beside its execution.
fn attempt_file(
    cx: &Context,
    prepared: &Prepared,
    brief: &RunBrief,
    (agent, conversation): (&AgentSetup, &Conversation),
    bounds: Bounds,
) -> AttemptFile {
    let row = prepared.row();
    AttemptFile {
        attempt: prepared.attempt(),
        row: row.clone(),
        harness: agent.config.kind().to_string(),
        allowance: Allowance::from(&agent.limits).within(bounds),
        session: conversation.session.clone(),
        before: conversation.before,
        losses: conversation.losses,
        model: model_of(row, agent),
        sessions: sessions_of(cx, agent),
        rules: brief.rules.iter().map(RuleTold::from).collect(),
    }
}

async fn begin(
    cx: &Context,
    prepared: Prepared,
    brief: RunBrief,
    stop: &StopSwitch,
) -> Result<Option<Live>, Trouble> {
    cx.deps.borders.reach(Border::P6);
    let row = prepared.row().clone();
    let Some(agent) = cx.deps.agents.now().get(&row.agent).cloned() else {
        return without_agent(cx, prepared).await;
    };
    let bounds = agent.bounds;
    let spent_micro_usd = brief.card.usage.cost_microusd.unwrap_or(0);
    if let Some(reason) = bounds.card_is_used_up(spent_micro_usd) {
        return used_up(cx, prepared, reason).await;
    }
    let conversation = conversation(cx, &row, agent.config.kind()).await?;
    let bounds = Bounds {
        micro_usd: bounds.most_micro_usd(spent_micro_usd),
        ..bounds
    };
    let file = attempt_file(cx, &prepared, &brief, (&agent, &conversation), bounds);
    let name = prepared.dir().to_owned();
    let note = ExecutionNote::Attempt(file);
    let made = cx.deps.executions.create(&name, &note).await;
    made.map_err(|source| Trouble::Local {
        what: "the directory of the execution cannot be made",
        source,
    })?;
    let ready = tokio::select! {
        biased;
        // Nothing runs yet. The attempt is given back, and the next pass reads from the row what became of it.
        () = stop.asked(StopLevel::Ladder) => return Ok(None),
        ready = make_ready(cx, &row, &brief, &agent, (&name, &conversation)) => ready,
    };
    let ready = match ready {
        Ok(ready) => ready,
        Err(unready) => return fail(cx, prepared, unready).await,
    };
    let launch = Launch {
        spec: &ready.spec,
        files: &ready.files,
    };
    let held = match cx.deps.executions.hold(&name, &launch).await {
        Ok(held) => held,
        // The attempt stays as it is and is tried again when there is some: nothing is wrong with it, so no try is counted.
        Err(error) if error.is_shortage() => return Err(Trouble::Shortage(error)),
        Err(error) => return fail(cx, prepared, not_held(&row, &error)).await,
    };
    cx.deps.borders.reach(Border::P7);
    let registered = prepared.registered(held.shim())?;
    cx.deps.borders.reach(Border::P8);
    let start = Start {
        name,
        ready,
        brief,
        stop,
    };
    go(cx, registered, held, start).await
}

/// A failure of this machine; its text goes to the local log only.
fn not_held(row: &ClaimedRun, error: &HoldTrouble) -> Unready {
    tracing::warn!(run = %row.run, epoch = %row.epoch, error = error as &dyn std::error::Error, "no shim for the execution");
    let (class, reason) = match error {
        // Trying again changes neither the system nor the file.
        HoldTrouble::Hold(HoldError::Unsupported {
            feature: Feature::Namespace,
            source: Lack::System(source),
        }) => (
            FailureClass::InvalidRequest,
            format!(
                "`containment = \"namespace\"` is asked for the agent `{}`, and this system does not let this user make a PID \
                 namespace ({source}): let it (user namespaces, or root), or take the key out, then `cs-panel retry`",
                row.agent
            ),
        ),
        HoldTrouble::Hold(_) => (
            FailureClass::Infrastructure,
            "the supervisor of the agent could not be started".to_owned(),
        ),
        HoldTrouble::Files(_) => (
            FailureClass::Infrastructure,
            "the files of the agent cannot be written".to_owned(),
        ),
    };
    Unready::new(class, reason)
}

/// Authorises the agent, if it still may run: the row is read again, then admission is asked (PS-3, AF-9).
async fn go(
    cx: &Context,
    registered: Registered,
    held: Box<dyn HeldExecution>,
    start: Start<'_>,
) -> Result<Option<Live>, Trouble> {
    let standing = cx.deps.record.attempts.standing(&registered.attempt()).await?;
    let current = matches!(&standing, Fenced::Applied(standing)
        if standing.row.is_some_and(|(_, state)| state == RunState::Running));
    if !current {
        held.abandon().await?;
        registered.void()?;
        return Ok(None);
    }
    if let Some(why) = why_not(cx, &start).await? {
        held.abandon().await?;
        cx.said(&format!(
            "card {} not started: {why}",
            start.brief.card.id.short()
        ));
        report_interrupted(cx, registered.interrupted()?).await?;
        return Ok(None);
    }
    pause_first(cx, &registered, held.as_ref()).await;
    cx.secrets
        .know(registered.row().run, registered.row().epoch)
        .await;
    let gone = tokio::select! {
        biased;
        // Whether the agent has its prompt by now, the execution's directory tells.
        () = start.stop.asked(StopLevel::Ladder) => None,
        gone = held.go(&start.ready.prompt) => Some(gone),
    };
    let Some(gone) = gone else {
        return super::adopt::registered(cx, registered, start.stop).await;
    };
    match gone {
        Ok(running) => started(cx, registered, running, start).await.map(Some),
        Err(GoError::SpawnFailed { failure, closed }) => {
            let reason = not_spawned(cx, &failure, &start.ready.spec, &registered.row().agent);
            tracing::warn!(run = %registered.row().run, ?closed, %reason, "the agent could not be started");
            fail_registered(cx, registered, FailureClass::InvalidRequest, reason).await
        }
        Err(GoError::PromptTooLong) => {
            let reason = GoError::PromptTooLong.to_string();
            fail_registered(cx, registered, FailureClass::InvalidRequest, reason).await
        }
        Err(GoError::ShimEnded { closed }) => ended_at_once(cx, registered, *closed, start).await,
        Err(error) => Err(Trouble::Go(error)),
    }
}

/// Says why an attempt that is ready is not to start.
async fn why_not(cx: &Context, start: &Start<'_>) -> Result<Option<String>, Trouble> {
    if start.stop.is_asked(StopLevel::Redirect) && !start.stop.is_asked(StopLevel::Ladder) {
        return Ok(Some(
            "a new message came meanwhile; it starts with that".to_owned(),
        ));
    }
    Ok(match cx.admission(start.brief.card.codebase).await? {
        Admission::Open => None,
        Admission::Closed(reasons) => {
            let reasons: Vec<_> = reasons.iter().map(ToString::to_string).collect();
            Some(reasons.join("; "))
        }
    })
}

/// Lets an agent that a person has paused before it ran stand still from its start on (PS-31). The shim is there: who pauses it from
/// now on reaches it.
async fn pause_first(cx: &Context, registered: &Registered, held: &dyn HeldExecution) {
    let row = registered.row();
    let Some(note) = cx.paused_by(row.run, row.epoch) else {
        return;
    };
    match held.pause().await {
        Ok(()) => cx.said(&format!(
            "card {} was paused by {} before its agent ran: it stands still until `cs-panel resume {0}`",
            row.card.short(),
            note.by
        )),
        Err(error) => cx.warn(
            row.run,
            row.epoch,
            "its agent could not be paused at its start",
            &error,
        ),
    }
}

/// The agent runs. From here its work is worth more than the bookkeeping (PS-10).
async fn started(
    cx: &Context,
    registered: Registered,
    running: Box<dyn RunningExecution>,
    start: Start<'_>,
) -> Result<Live, Trouble> {
    cx.deps.borders.reach(Border::P9);
    let agent = running.agent().clone();
    let started = registered.started(&serde_json::to_string(&agent)?)?;
    note_process(cx, &started, &agent, start.stop).await;
    announce(cx, &started, &start.brief, &agent);
    Ok(start.live(started, LiveState::Running(running)))
}

/// Writes the process on the row. Failing to do so is reported, never a reason to kill (PS-10). An attempt that the record
/// does not know any more has nothing to work for, and nobody else will ever end it: it is stopped.
pub(super) async fn note_process(cx: &Context, started: &Started, agent: &ProcessFact, stop: &StopSwitch) {
    let row = started.row();
    match cx
        .deps
        .record
        .attempts
        .record_process(&started.attempt(), agent)
        .await
    {
        Ok(Fenced::Applied(())) => {}
        // It has asked since, which nobody could before its process was noted.
        Ok(Fenced::Stale(standing)) if standing.row == Some((row.epoch, RunState::Asked)) => {}
        Ok(Fenced::Stale(standing)) => {
            cx.said(&format!(
                "run {} attempt {} runs and is stopped: {standing}",
                row.run.short(),
                row.epoch
            ));
            stop.raise(StopLevel::Ladder);
        }
        Err(error) => cx.warn(
            row.run,
            row.epoch,
            "its process could not be noted on the record",
            &error,
        ),
    }
}

/// The shim ended before it answered: whether anything ran is in the end that it stored.
async fn ended_at_once(
    cx: &Context,
    registered: Registered,
    closed: Closed,
    start: Start<'_>,
) -> Result<Option<Live>, Trouble> {
    if closed.exit == AgentExit::NeverStarted {
        report_interrupted(cx, registered.interrupted()?).await?;
        return Ok(None);
    }
    let started = registered.started("null")?;
    Ok(Some(start.live(started, LiveState::Closed(closed))))
}

/// One line per start, with a fixed first word (UI-2).
fn announce(cx: &Context, started: &Started, brief: &RunBrief, agent: &ProcessFact) {
    let row = started.row();
    let (word, why) = match &row.woke {
        Woke::Turns(turns) if turns.len() == 1 => ("run", "1 new turn".to_owned()),
        Woke::Turns(turns) => ("run", format!("{} new turns", turns.len())),
        Woke::Answer(_) => ("rearm", "what it asked was answered".to_owned()),
        Woke::Question(_) => ("rearm", "an agent that it sent asks".to_owned()),
        Woke::Children(children) => ("rearm", format!("{} of its agents have ended", children.len())),
        Woke::Dispatched => ("dispatch", "it was sent".to_owned()),
        Woke::Retry => ("retry", "its last attempt failed".to_owned()),
        Woke::Interrupted => ("resume", "its last attempt was cut short".to_owned()),
    };
    cx.out(&format!(
        "{word} {} attempt {} of card {} ({}): {why}; agent {}, pid {}",
        row.run.short(),
        row.epoch,
        row.card.short(),
        brief.card.title,
        row.agent,
        agent.pid
    ));
}
