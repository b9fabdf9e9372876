//! From a running agent to the acknowledged outcome.
//!
//! The outcome is in the ledger before the record is told, and stays there until the record has answered; the live
//! settlement and its replay after a restart are the same function (ST-2, ST-10, ST-11).

use std::sync::Arc;

use cs_fence::{Attempt, Fenced, ProcessFact};
use cs_harness::{PANEL_SERVER, Seen};
use cs_journal::{Acknowledged, ClaimedRun, FailedPreparation, Settling, Started};
use cs_model::{Publish, RunState};
use cs_settle::{Answer, Capped, GaveUp, GiveUp, Kind, MAX_TRIES, SettleAs, SettleFacts, Used, settle_as};
use cs_supervise::{Closed, NamedProcess};
use tokio::time::Instant;

use super::failing::FailureNote;
use super::interrupted::report_interrupted;
use super::keep::{End, process_of};
use super::live::{Live, end_of};
use super::word::word_of;
use super::{Carried, Incomplete, Trouble, Work, still_there, used};
use crate::borders::Border;
use crate::context::Context;
use crate::executions::{Found, StopSwitch};
use crate::outcome::{AttemptOutcome, Telling};
use crate::publications::of_attempt;

/// Follows an attempt to its end and settles it.
pub(super) async fn to_the_end(cx: &Arc<Context>, live: Live, stop: &StopSwitch) -> Result<Carried, Trouble> {
    let Live {
        started,
        name,
        harness,
        card,
        state,
    } = live;
    cx.deps.borders.reach(Border::P10);
    let mut ended = end_of(cx, (&started, &name), harness.as_ref(), state, stop).await?;
    cx.deps.borders.reach(Border::P11);
    if !ended.closed.is_over() {
        let incomplete = incomplete(cx, started, name, &ended.closed).await;
        return Ok(Carried::Incomplete(Box::new(incomplete)));
    }
    say_leaks(cx, &started, &ended.closed);
    say_tools_missing(cx, started.row(), &ended.seen);
    let (run, epoch) = (started.row().run, started.row().epoch);
    cx.save_tree(&card, run, epoch, "an attempt ended").await;
    let file = cx.deps.executions.attempt(&name).await;
    cx.secrets.know_missing(run, epoch).await;
    let word = word_of(cx, (&name, &started.attempt()), harness.as_ref(), &mut ended).await?;
    let is_redirected = ended.was_stopped() && cx.is_redirected(&started.attempt()).await?;
    let end = End::of(
        cx,
        started.row(),
        (name, harness, file),
        (ended, word, is_redirected),
    )?;
    if end.was_cut_short() {
        if let Some(session) = end.session() {
            cx.journal.know_session(run, session)?;
        }
        let (attempt, process) = (started.attempt(), process_of(&started));
        report_interrupted(cx, started.interrupted()?).await?;
        clear(cx, &attempt, process.as_ref()).await?;
        return Ok(Carried::Over);
    }
    cx.forget_pause(run, epoch);
    let settling = end.keep(cx, started)?;
    cx.deps.borders.reach(Border::P12);
    // Before the record knows: a crash in between loses none.
    cx.note_publication(&card, Publish::OnEnd, &of_attempt(run, epoch));
    settle(cx, settling).await?;
    Ok(Carried::Over)
}

/// Says that an agent worked without its tools, where it tells that.
fn say_tools_missing(cx: &Context, row: &ClaimedRun, seen: &Seen) {
    let mut servers = seen.servers().iter();
    if servers.any(|server| server.name == PANEL_SERVER && !server.connected) {
        cx.said(&format!(
            "run {} attempt {} worked without the tools of cs-panel: its agent could not start the server `{PANEL_SERVER}`. Look whether \
             the program of this daemon is still in its place, and at `tools.log` in the directory of the execution.",
            row.run.short(),
            row.epoch
        ));
    }
}

/// Takes the process of an attempt off the record, once its end is proven; until then the card is ready for nothing.
async fn clear(cx: &Context, attempt: &Attempt, process: Option<&ProcessFact>) -> Result<(), Trouble> {
    let Some(process) = process else { return Ok(()) };
    let cleared = cx.deps.record.attempts.clear_process(attempt, process).await?;
    tracing::debug!(?cleared, %attempt, "the process is off the record");
    cx.wake.notify_one();
    Ok(())
}

/// Tells the record an outcome, under the fence, and acknowledges it. Repeating it after a crash is harmless.
pub(crate) async fn settle(cx: &Context, settling: Settling) -> Result<(), Trouble> {
    let outcome: AttemptOutcome = serde_json::from_str(settling.outcome())?;
    let row = settling.row().clone();
    let attempt = settling.attempt();
    let standing = match cx.deps.record.attempts.standing(&attempt).await? {
        Fenced::Applied(standing) => standing.row,
        // One that has asked while it ran may act no more, but it still has to settle.
        Fenced::Stale(standing) if standing.row == Some((row.epoch, RunState::Asked)) => standing.row,
        Fenced::Stale(standing) => {
            cx.said(&format!(
                "run {} attempt {} counts no more: {standing}",
                row.run.short(),
                row.epoch
            ));
            if standing.row.is_none_or(|(epoch, _)| epoch != row.epoch) {
                // Its conversation holds what the record does not: nobody goes on with it (OW-11).
                cx.journal.forget_session(row.run)?;
            }
            None
        }
    };
    let taken = match standing {
        Some((_, state)) => tell(cx, &settling, &outcome, state).await?,
        None => false,
    };
    if !taken {
        used::tell(cx, &attempt, outcome.used()).await?;
    }
    clear(cx, &attempt, outcome.process.as_ref()).await?;
    cx.deps.borders.reach(Border::P13);
    let acknowledged = settling.acknowledged()?;
    cx.secrets.forget(row.run, row.epoch);
    close_acknowledged(cx, acknowledged).await?;
    cx.wake.notify_one();
    Ok(())
}

/// Tells the record an outcome. Says whether it took it, with what the attempt used up.
async fn tell(
    cx: &Context,
    settling: &Settling,
    outcome: &AttemptOutcome,
    state: RunState,
) -> Result<bool, Trouble> {
    let row = settling.row();
    let telling = outcome.telling();
    let kind = match &telling {
        Telling::Answer(_) => Kind::Success,
        Telling::GiveUp(failure) => Kind::Failure(failure.class),
        Telling::Capped(_) => Kind::Capped,
    };
    let facts = SettleFacts {
        outcome: kind,
        kind: row.kind,
        state,
        card_has_owner: true,
    };
    match (settle_as(&facts), telling) {
        (SettleAs::Answer, Telling::Answer(answer)) => answered(cx, settling, &answer).await,
        (SettleAs::AnswerWithoutText, telling) => {
            let used = telling.into_used();
            answered(
                cx,
                settling,
                &Answer {
                    text: None,
                    ask: None,
                    used,
                },
            )
            .await
        }
        (SettleAs::GiveUp | SettleAs::Answer, Telling::GiveUp(failure)) => {
            gave_up(cx, settling, &failure).await
        }
        (SettleAs::GiveUp | SettleAs::Answer, Telling::Capped(budget)) => capped(cx, settling, &budget).await,
        (SettleAs::GiveUp, Telling::Answer(answer)) => answered(cx, settling, &answer).await,
        (SettleAs::Nothing, _) => {
            cx.said(&format!(
                "run {} attempt {} was already over: {state}",
                row.run.short(),
                row.epoch
            ));
            Ok(false)
        }
    }
}

async fn answered(cx: &Context, settling: &Settling, answer: &Answer) -> Result<bool, Trouble> {
    let row = settling.row();
    let (run, epoch, card) = (row.run.short(), row.epoch, row.card.short());
    match cx
        .deps
        .record
        .settlements
        .answer(&settling.attempt(), answer)
        .await?
    {
        Fenced::Stale(standing) => {
            cx.said(&format!(
                "run {run} attempt {epoch}: its answer was not taken: {standing}"
            ));
            return Ok(false);
        }
        Fenced::Applied(done) => {
            if done.asked || answer.ask.is_some() {
                cx.deps.borders.reach(Border::P14);
            }
            let what = match (&answer.ask, done.turn, done.asked) {
                (Some(ask), _, _) if ask.offer.is_some() => {
                    format!(
                        "offers to land; `cs-panel land {card}` accepts, `cs-panel answer {card} TEXT` declines"
                    )
                }
                (Some(_), _, _) => format!("asks; `cs-panel answer {card} TEXT` answers"),
                (None, _, true) => "waits for the answer to its question".to_owned(),
                (None, turn, false) => {
                    let how = turn.map_or("finished without words", |_| "answered");
                    format!("{how}; {}", looks(row))
                }
            };
            cx.out(&format!("answered {run} attempt {epoch} of card {card}: {what}"));
        }
    }
    Ok(true)
}

/// What a person can do when an agent has come to its end.
fn looks(row: &ClaimedRun) -> String {
    let card = row.card.short();
    match row.codebase {
        Some(_) => format!(
            "`cs-panel show {card}` reads it, `cs-panel diff {card}` shows what it changed, `cs-panel land {card}` lands that"
        ),
        None => format!("`cs-panel show {card}` reads it"),
    }
}

async fn gave_up(cx: &Context, settling: &Settling, failure: &GiveUp) -> Result<bool, Trouble> {
    cx.deps.borders.reach(Border::P15);
    give_up(cx, settling.row(), &settling.attempt(), failure).await
}

/// Tells the record that a budget ended an attempt, and people what comes of that.
async fn capped(cx: &Context, settling: &Settling, capped: &Capped) -> Result<bool, Trouble> {
    cx.deps.borders.reach(Border::P15);
    tell_capped(cx, settling.row(), &settling.attempt(), capped).await
}

async fn tell_capped(
    cx: &Context,
    row: &ClaimedRun,
    attempt: &Attempt,
    capped: &Capped,
) -> Result<bool, Trouble> {
    let done = cx.deps.record.settlements.capped(attempt, capped).await?;
    let taken = matches!(done, Fenced::Applied(_));
    if matches!(done, Fenced::Applied(GaveUp::Failed { .. })) {
        cx.deps.borders.reach(Border::P18);
        let card = row.card.short();
        cx.said(&format!(
            "run {} attempt {} of card {card} was ended: {}; `cs-panel retry {card}` or a new message goes on, with as much again unless the card has cost all that it may",
            row.run.short(),
            row.epoch,
            capped.reason
        ));
        return Ok(taken);
    }
    say_given_up(cx, row, &capped.reason, done);
    Ok(taken)
}

/// Tells the record that an attempt failed, and people what comes of that.
async fn give_up(
    cx: &Context,
    row: &ClaimedRun,
    attempt: &Attempt,
    failure: &GiveUp,
) -> Result<bool, Trouble> {
    let given = cx.deps.record.settlements.give_up(attempt, failure).await?;
    let taken = matches!(given, Fenced::Applied(_));
    if matches!(given, Fenced::Applied(GaveUp::Failed { .. })) {
        cx.deps.borders.reach(Border::P18);
    }
    say_given_up(cx, row, &failure.reason, given);
    Ok(taken)
}

fn say_given_up(cx: &Context, row: &ClaimedRun, reason: &str, given: Fenced<GaveUp>) {
    let (run, epoch, card) = (row.run.short(), row.epoch, row.card.short());
    match given {
        Fenced::Stale(standing) => cx.said(&format!("run {run} attempt {epoch}: its failure was not taken: {standing}")),
        Fenced::Applied(GaveUp::Again { not_before, tries }) => cx.said(&format!(
            "run {run} attempt {epoch} of card {card} failed: {reason}; {tries} of {MAX_TRIES} tries are used, it goes on \
             at {}",
            not_before.to_the_second()
        )),
        Fenced::Applied(GaveUp::Parked) => cx.said(&format!(
            "run {run} attempt {epoch} of card {card} could not work: {reason}; its agent takes no work on this machine \
             until that is mended, then `cs-panel retry {card}` goes on"
        )),
        Fenced::Applied(GaveUp::Asked) => cx.said(&format!(
            "run {run} attempt {epoch} of card {card} ended badly after it had asked: {reason}; its question stands"
        )),
        Fenced::Applied(GaveUp::Failed { .. }) => cx.said(&format!(
            "run {run} attempt {epoch} of card {card} failed for good: {reason}; a new message with `cs-panel send --card \
             {card}` tries again"
        )),
    }
}

/// Accounts for the execution of an attempt whose outcome the record has.
pub(crate) async fn close_acknowledged(cx: &Context, acknowledged: Acknowledged) -> Result<(), Trouble> {
    let name = acknowledged.dir();
    if let Found::Running(running) = cx.deps.executions.survey(name).await? {
        // Its outcome was kept only after its end was proven, so this cannot be; what runs is stopped all the same.
        tracing::error!(name, "an agent runs although its outcome is settled");
        running.stop(cs_supervise::StopRequest::FORCE).await?;
    }
    acknowledged.closed()?;
    Ok(())
}

/// Tells the record that a run could not be started.
pub(crate) async fn report_failed(cx: &Context, failed: FailedPreparation) -> Result<(), Trouble> {
    let note: FailureNote = serde_json::from_str(failed.reason())?;
    cx.deps.borders.reach(Border::P17);
    match note.used_up {
        None => {
            let failure = match note.is_of_route {
                true => GiveUp::of_route(note.class, note.reason),
                false => GiveUp::new(note.class, note.reason),
            };
            give_up(cx, failed.row(), &failed.attempt(), &failure).await?;
        }
        Some(budget) => {
            let capped = Capped {
                cap: budget.into(),
                reason: note.reason,
                used: Used::default(),
            };
            tell_capped(cx, failed.row(), &failed.attempt(), &capped).await?;
        }
    }
    let (run, epoch) = (failed.row().run, failed.row().epoch);
    failed.acknowledged()?;
    cx.secrets.forget(run, epoch);
    cx.wake.notify_one();
    Ok(())
}

async fn incomplete(cx: &Context, started: Started, execution: String, closed: &Closed) -> Incomplete {
    let left: Vec<String> = closed.survivors.iter().map(named).collect();
    let row = started.row().clone();
    if let Some(process) = process_of(&started) {
        mark(cx, &started.attempt(), &process, &left).await;
    }
    Incomplete {
        run: row.run,
        card: row.card,
        work: Work::Started(started),
        left,
        has_directory: cx.state.execution(&execution).exists(),
        execution,
        looked_at: Instant::now(),
    }
}

/// Notes on the record what of an attempt could not be ended. That it could not be noted is said: what is left is there all the same.
pub(super) async fn mark(cx: &Context, attempt: &Attempt, process: &ProcessFact, left: &[String]) {
    let words = still_there(left);
    match cx
        .deps
        .record
        .attempts
        .mark_incomplete(attempt, process, &words)
        .await
    {
        Ok(marked) => tracing::debug!(?marked, %attempt, "what could not be ended is on the record"),
        Err(error) => cx.warn(
            attempt.run,
            attempt.epoch,
            "what could not be ended was not noted on the record",
            &error,
        ),
    }
}

fn say_leaks(cx: &Context, started: &Started, closed: &Closed) {
    if closed.leaked.is_empty() {
        return;
    }
    let leaked: Vec<String> = closed.leaked.iter().map(named).collect();
    cx.said(&format!(
        "run {} attempt {} left processes behind, which were ended: {}",
        started.row().run.short(),
        started.row().epoch,
        leaked.join(", ")
    ));
}

pub(super) fn named(process: &NamedProcess) -> String {
    format!("{} (pid {})", process.name, process.identity.pid())
}
