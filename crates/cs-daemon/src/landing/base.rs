//! What makes a verified merge a landing: the push to the remote's base, where there is one, and the move of the local one.

use std::sync::{Arc, PoisonError};

use cs_journal::ClaimedLanding;
use cs_record::Evidence;
use cs_worktree::{ErrorClass, LocalAfterPublish, Move, MoveOutcome, MoveRecovery, Verdict};
use tokio::sync::oneshot;

use super::ledger::{ResultRow, Step};
use super::patience::patiently;
use super::words::{Landed, list, not_pushed, refused};
use super::{LandingTrouble, Next, move_step};
use crate::borders::Border;
use crate::context::Context;
use crate::trees::{BasePush, TreeError};

/// Moves the base. When it had moved meanwhile, everything begins again.
pub(super) async fn execute(cx: &Context, of: &Landed<'_>) -> Result<Next, LandingTrouble> {
    cx.deps.borders.reach(Border::L3);
    let outcome = match to_its_end(cx, of.plan).await {
        Some(Ok(outcome)) => outcome,
        Some(Err(error)) => return after_error(cx, of, error).await,
        None => return Err(LandingTrouble::Busy),
    };
    cx.deps.borders.reach(Border::L4);
    Ok(match (outcome, of.pushed) {
        (MoveOutcome::Moved, _) => Next::Result(of.whole()),
        (MoveOutcome::Refused(refusal), None) => Next::Result(refused(&refusal)),
        (MoveOutcome::Refused(refusal), Some(_)) => Next::Result(of.but_local(&refusal.to_string())),
        (MoveOutcome::BaseMoved, None) => Next::Step(Step::Replan),
        (MoveOutcome::BaseMoved, Some(to)) => Next::Step(pushed_step(of, to)),
    })
}

/// Makes the move in a task of its own, which nobody cuts short who stops to wait for it. `None`: the task ended without a word.
async fn to_its_end(cx: &Context, plan: &Move) -> Option<Result<MoveOutcome, TreeError>> {
    let (landings, plan) = (Arc::clone(&cx.deps.landings), plan.clone());
    let (tell, told) = oneshot::channel();
    {
        let mut moves = cx.moves.lock().unwrap_or_else(PoisonError::into_inner);
        while moves.try_join_next().is_some() {}
        moves.spawn(async move {
            let made = patiently(|| landings.execute_move(&plan)).await;
            // Who waited for it may have left.
            drop(tell.send(made));
        });
    }
    told.await.ok()
}

/// A move that failed may have been made all the same, or half.
async fn after_error(cx: &Context, of: &Landed<'_>, error: TreeError) -> Result<Next, LandingTrouble> {
    match recover(cx, of).await? {
        // It was not made: the error is the reason.
        Next::Step(_) => Err(error.into()),
        Next::Result(result) => Ok(Next::Result(result)),
    }
}

/// Asks git what became of a move that a daemon before this one has written.
pub(super) async fn recover(cx: &Context, of: &Landed<'_>) -> Result<Next, LandingTrouble> {
    let files = match cx.deps.landings.recover_move(of.plan).await? {
        MoveRecovery::Done => return Ok(Next::Result(of.whole())),
        MoveRecovery::NotMoved | MoveRecovery::RolledBack => {
            return Ok(Next::Step(
                of.pushed.map_or(Step::Replan, |to| pushed_step(of, to)),
            ));
        }
        MoveRecovery::Busy => return Err(LandingTrouble::Busy),
        MoveRecovery::ForeignEdits { files } => list(&files),
    };
    if of.pushed.is_some() {
        let why = format!(
            "that was cut short, and these files were edited since, so they were left as they are: {files}"
        );
        return Ok(Next::Result(of.but_local(&why)));
    }
    Ok(Next::Result(ResultRow::Refused {
        report: format!(
            "The landing was cut short, and these files were edited since: {files}. They were left as they are: bring them in \
             order, then accept the landing again."
        ),
    }))
}

fn pushed_step(of: &Landed<'_>, to: &str) -> Step {
    Step::Pushed {
        plan: Box::new(of.plan.clone()),
        evidence: of.evidence.cloned(),
        to: to.to_owned(),
    }
}

/// Pushes what is to land to the remote's base, before anything moves here. Repeated it finds that the remote has it.
pub(super) async fn push(
    cx: &Context,
    row: &ClaimedLanding,
    plan: &Move,
    evidence: Option<&Evidence>,
) -> Result<Next, LandingTrouble> {
    cx.deps.borders.reach(Border::U1);
    let target = cx.deps.checkouts.landing(row.codebase)?.target;
    let published = match cx.deps.landings.push_base(plan, target).await? {
        BasePush::BaseMoved => return Ok(Next::Step(Step::Replan)),
        BasePush::Tried(published) => published,
    };
    cx.deps.borders.reach(Border::U2);
    Ok(match &published.to {
        Some(to) if published.verdict.is_at_remote() => Next::Step(Step::Pushed {
            plan: Box::new(plan.clone()),
            evidence: evidence.cloned(),
            to: to.to_string(),
        }),
        _ if published.verdict == Verdict::NoRemote && target.is_none() => {
            move_step(Box::new(plan.clone()), evidence.cloned())
        }
        _ => {
            tracing::warn!(landing = %row.landing, verdict = %published.verdict, "not pushed");
            Next::Result(not_pushed(plan.base_branch.as_str(), &published))
        }
    })
}

/// The remote has what landed: whatever the local base is now, that is no longer in question.
pub(super) async fn follow_remote(
    cx: &Context,
    of: &Landed<'_>,
    is_enough: bool,
) -> Result<Next, LandingTrouble> {
    cx.deps.borders.reach(Border::U3);
    if is_enough {
        return Ok(Next::Result(of.but_local("it moved again and again meanwhile")));
    }
    let local = match cx.deps.landings.local_after_push(of.plan).await {
        Err(error) if error.class() != ErrorClass::Transient => {
            return Ok(Next::Result(of.but_local(&error.public())));
        }
        other => other?,
    };
    Ok(match local {
        LocalAfterPublish::Holds => Next::Result(of.whole()),
        LocalAfterPublish::Movable(next) => Next::Step(Step::Move {
            plan: Box::new(next),
            evidence: of.evidence.cloned(),
            pushed: of.pushed.map(str::to_owned),
        }),
        LocalAfterPublish::Diverged { own, .. } => Next::Result(of.but_local(&own_commits(own))),
        LocalAfterPublish::Refused(refusal) => Next::Result(of.but_local(&refusal.to_string())),
    })
}

fn own_commits(own: usize) -> String {
    let commits = if own == 1 { "commit" } else { "commits" };
    format!("it has {own} {commits} that the remote does not have")
}
