//! A landing: the merge of a card's accepted work into its base, as a job of the daemon.
//!
//! Its steps are in the ledger. The merge is made in the store, where nothing points at it; the move of the base is written
//! down before it is made; a daemon that finds a written move without a result asks git what became of it.

use std::sync::Arc;

use cs_fence::LandingAttempt;
use cs_journal::{LandingClaimed, LandingDone, LandingWorking, NotDurable};
use cs_record::{FencedLanding, LandingResult};
use cs_worktree::{ErrorClass, LandingPlan, Move, MoveOutcome, MoveRecovery, Refusal, RepoPath};
use serde::{Deserialize, Serialize};

use crate::attempt::Trouble;
use crate::borders::Border;
use crate::context::Context;
use crate::trees::{Planned, TreeError};

/// How often a base may move under a landing before it is refused.
const REPLANS_MAX: usize = 5;

/// A landing in the stage in which it was found.
#[derive(Debug)]
pub(crate) enum LandingWork {
    /// Taken, nothing was done.
    Claimed(LandingClaimed),
    /// Steps were made.
    Working(LandingWorking),
}

/// A step, as the ledger keeps it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
enum Step {
    /// This move is about to be made.
    Move {
        /// The move.
        plan: Box<Move>,
    },
    /// The last move was not made: its base had moved.
    Replan,
}

/// A result, as the ledger keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
enum ResultRow {
    /// The base holds the work.
    Landed {
        /// The commit.
        commit: String,
        /// For people.
        report: String,
    },
    /// It goes back to the agent.
    Conflict {
        /// For the agent.
        report: String,
    },
    /// It cannot be done as things are.
    Refused {
        /// For people.
        report: String,
    },
}

impl From<ResultRow> for LandingResult {
    fn from(row: ResultRow) -> Self {
        match row {
            ResultRow::Landed { commit, report } => Self::Landed {
                commit,
                report,
                evidence: None,
            },
            ResultRow::Conflict { report } => Self::Conflict { report },
            ResultRow::Refused { report } => Self::Refused { report },
        }
    }
}

/// Why a landing could not be carried on now.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LandingTrouble {
    #[error(transparent)]
    Common(#[from] Trouble),
    #[error(transparent)]
    Tree(#[from] TreeError),
    #[error("a git process still works in the working tree of the base")]
    Busy,
}

impl From<cs_record::RecordError> for LandingTrouble {
    fn from(error: cs_record::RecordError) -> Self {
        Self::Common(error.into())
    }
}

impl From<serde_json::Error> for LandingTrouble {
    fn from(error: serde_json::Error) -> Self {
        Self::Common(error.into())
    }
}

impl<S: std::fmt::Debug> From<NotDurable<S>> for LandingTrouble {
    fn from(refused: NotDurable<S>) -> Self {
        Self::Common(refused.into())
    }
}

/// Carries a landing to its end.
pub(crate) async fn land(cx: Arc<Context>, work: LandingWork) -> Result<(), LandingTrouble> {
    let done = match work {
        LandingWork::Claimed(claimed) => {
            cx.deps.borders.reach(Border::L1);
            from_the_claim(&cx, claimed).await?
        }
        LandingWork::Working(working) => go_on(&cx, working).await?,
    };
    cx.deps.borders.reach(Border::L5);
    settle_landing(&cx, done).await
}

/// What to do next.
#[derive(Debug)]
enum Next {
    /// It is over.
    Result(ResultRow),
    /// Make this move.
    Move(Box<Move>),
}

async fn from_the_claim(cx: &Context, claimed: LandingClaimed) -> Result<LandingDone, LandingTrouble> {
    let attempt = claimed.attempt();
    match plan(cx, attempt).await? {
        Next::Result(result) => Ok(claimed.result(&serde_json::to_string(&result)?)?),
        Next::Move(plan) => {
            cx.deps.borders.reach(Border::L2);
            let working = claimed.step(&step(&plan)?)?;
            execute(cx, working, plan).await
        }
    }
}

fn step(plan: &Move) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Step::Move {
        plan: Box::new(plan.clone()),
    })
}

/// Keeps a result before the record is told.
fn done(working: LandingWorking, result: &ResultRow) -> Result<LandingDone, LandingTrouble> {
    Ok(working.result(&serde_json::to_string(result)?)?)
}

/// Takes up a landing whose daemon died: the last written move tells what to ask git.
async fn go_on(cx: &Context, working: LandingWorking) -> Result<LandingDone, LandingTrouble> {
    let last = working
        .steps()
        .last()
        .map(|step| serde_json::from_str::<Step>(step))
        .transpose()?;
    let working = match last {
        None | Some(Step::Replan) => working,
        Some(Step::Move { plan }) => match cx.deps.trees.recover_move(&plan).await? {
            MoveRecovery::Done => return done(working, &landed(&plan)),
            MoveRecovery::NotMoved | MoveRecovery::RolledBack => not_made(working)?,
            MoveRecovery::Busy => return Err(LandingTrouble::Busy),
            MoveRecovery::ForeignEdits { files } => {
                let report = format!(
                    "The landing was cut short, and these files were edited since: {}. They were left as they are: bring \
                     them in order, then accept the landing again.",
                    list(&files)
                );
                return done(working, &ResultRow::Refused { report });
            }
        },
    };
    match replan(cx, working).await? {
        Replanned::Done(done) => Ok(done),
        Replanned::Move(working, plan) => execute(cx, working, plan).await,
    }
}

/// Notes that the last written move was not made.
fn not_made(working: LandingWorking) -> Result<LandingWorking, LandingTrouble> {
    Ok(working.step(&serde_json::to_string(&Step::Replan)?)?)
}

/// What planning anew came to.
#[derive(Debug)]
enum Replanned {
    /// The landing is over.
    Done(LandingDone),
    /// This move is written down and about to be made.
    Move(LandingWorking, Box<Move>),
}

/// Plans anew on the base as it is now.
async fn replan(cx: &Context, working: LandingWorking) -> Result<Replanned, LandingTrouble> {
    match plan(cx, working.attempt()).await? {
        Next::Result(result) => Ok(Replanned::Done(done(working, &result)?)),
        Next::Move(plan) => {
            let working = working.step(&step(&plan)?)?;
            Ok(Replanned::Move(working, plan))
        }
    }
}

/// Moves the base. When it had moved meanwhile, everything begins again, a bounded number of times.
async fn execute(
    cx: &Context,
    mut working: LandingWorking,
    mut planned: Box<Move>,
) -> Result<LandingDone, LandingTrouble> {
    for _ in 0..REPLANS_MAX {
        cx.deps.borders.reach(Border::L3);
        let outcome = cx.deps.trees.execute_move(&planned).await?;
        cx.deps.borders.reach(Border::L4);
        match outcome {
            MoveOutcome::Moved => return done(working, &landed(&planned)),
            MoveOutcome::Refused(refusal) => return done(working, &refused(&refusal)),
            MoveOutcome::BaseMoved => match replan(cx, not_made(working)?).await? {
                Replanned::Done(done) => return Ok(done),
                Replanned::Move(next, plan) => (working, planned) = (next, plan),
            },
        }
    }
    let report = format!(
        "The branch {} moved {REPLANS_MAX} times while the landing was under way: accept it again when it is quiet.",
        planned.base_branch.as_str()
    );
    done(working, &ResultRow::Refused { report })
}

/// Says what a landing comes to on the base as it is now. What only a person can put right refuses it: nothing was moved yet,
/// repeating it would help nobody, and as long as it is under way no other landing of the codebase begins.
async fn plan(cx: &Context, attempt: LandingAttempt) -> Result<Next, LandingTrouble> {
    match try_plan(cx, attempt).await {
        Err(LandingTrouble::Tree(error)) if error.class() != ErrorClass::Transient => {
            tracing::warn!(landing = %attempt.landing, error = &error as &dyn std::error::Error, "not landed");
            let report = format!(
                "Not landed: {}. Put that right, then accept it again.",
                error.public()
            );
            Ok(Next::Result(ResultRow::Refused { report }))
        }
        other => other,
    }
}

async fn try_plan(cx: &Context, attempt: LandingAttempt) -> Result<Next, LandingTrouble> {
    let brief = cx.deps.record.reads.landing_brief(attempt.landing).await?;
    let base = brief.card.base.as_deref().unwrap_or_default();
    let refuse = |report: String| Next::Result(ResultRow::Refused { report });
    let plan = match cx.deps.trees.plan_landing(&brief, attempt.epoch).await? {
        Planned::Plan(plan) => plan,
        Planned::NoCodebase => {
            return Ok(refuse(
                "The card has no codebase: there is nothing to land.".to_owned(),
            ));
        }
        Planned::NoWork => {
            return Ok(refuse(
                "The card was never worked on: there is nothing to land.".to_owned(),
            ));
        }
        Planned::Uncommitted(files) => {
            return Ok(refuse(format!(
                "These files of the card's tree are not committed, and only commits land: {}. Send a message that asks the \
                 agent to commit or remove them.",
                list(&files)
            )));
        }
    };
    Ok(match plan {
        LandingPlan::Ready(plan) => Next::Move(Box::new(plan)),
        LandingPlan::AlreadyLanded { commit, .. } => Next::Result(ResultRow::Landed {
            report: format!(
                "{base} already holds the work of this card, by commit {}.",
                commit.short()
            ),
            commit: commit.as_str().to_owned(),
        }),
        LandingPlan::NothingToLand => {
            refuse("The card has no commit of its own: there is nothing to land.".to_owned())
        }
        LandingPlan::Conflict(found) => Next::Result(conflict(base, &found.files, &found.messages)),
        LandingPlan::Refused(refusal) => Next::Result(refused(&refusal)),
    })
}

fn landed(plan: &Move) -> ResultRow {
    ResultRow::Landed {
        commit: plan.new.as_str().to_owned(),
        report: format!("Landed on {} as {}.", plan.base_branch.as_str(), plan.new.short()),
    }
}

fn refused(refusal: &Refusal) -> ResultRow {
    ResultRow::Refused {
        report: format!("Not landed: {refusal}. Then accept it again."),
    }
}

fn conflict(base: &str, files: &[RepoPath], messages: &[String]) -> ResultRow {
    let mut report = format!("Your work conflicts with {base} and was not landed.");
    if !files.is_empty() {
        report.push_str(&format!(" Files in conflict: {}.", list(files)));
    }
    for message in messages.iter().take(20) {
        report.push_str(&format!("\n{}", message.trim_end()));
    }
    report.push_str(&format!(
        "\nRun `git fetch origin`, merge origin/{base} into your branch, resolve the conflicts, commit, and offer to land again."
    ));
    ResultRow::Conflict { report }
}

fn list(files: &[RepoPath]) -> String {
    const SHOWN: usize = 20;
    let shown: Vec<String> = files.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = files.len().saturating_sub(SHOWN);
    if more > 0 {
        format!("{} and {more} more", shown.join(", "))
    } else {
        shown.join(", ")
    }
}

/// Tells the record the result of a landing, under its fence, and acknowledges it. Repeating it is harmless.
pub(crate) async fn settle_landing(cx: &Context, done: LandingDone) -> Result<(), LandingTrouble> {
    let result: ResultRow = serde_json::from_str(done.result())?;
    let card = done.row().card;
    let (word, report) = match &result {
        ResultRow::Landed { report, .. } => ("landed", report.clone()),
        ResultRow::Conflict { report } => ("conflict", report.clone()),
        ResultRow::Refused { report } => ("refused", report.clone()),
    };
    let settled = cx
        .deps
        .record
        .landings
        .settle_landing(&done.attempt(), &result.into())
        .await?;
    cx.deps.borders.reach(Border::L6);
    match settled {
        FencedLanding::Applied => cx.out(&told(word, &card.short(), &report)),
        FencedLanding::Stale { .. } => cx.said(&format!(
            "the result of a landing of card {} was not taken",
            card.short()
        )),
    }
    done.acknowledged()?;
    cx.wake.notify_one();
    Ok(())
}

/// The line for people, with a fixed first word (UI-2): a report that begins with that word does not say it again.
fn told(word: &str, card: &str, report: &str) -> String {
    let line = report.lines().next().unwrap_or_default();
    match line.split_once(' ') {
        Some((first, rest)) if first.eq_ignore_ascii_case(word) => format!("{word} card {card} {rest}"),
        _ => format!("{word} card {card}: {line}"),
    }
}
