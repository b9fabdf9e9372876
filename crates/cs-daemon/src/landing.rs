//! A landing: the merge of a card's accepted work into its base, as a job of the daemon.
//!
//! Its steps are in the ledger. The merge is made in the store, where nothing points at it; where the codebase has a verify command
//! it has to pass on that very commit; the move of the base is written down before it is made. A daemon that finds a verify that was
//! begun follows it or reads what it said, and one that finds a written move without a result asks git what became of it.

mod base;
mod ledger;
mod outset;
mod patience;
mod tries;
mod verify;
mod words;

use std::sync::Arc;

use cs_fence::LandingAttempt;
use cs_journal::{ClaimedLanding, LandingClaimed, LandingDone, LandingWorking, NotDurable};
use cs_model::{LandingTarget, Publish};
use cs_record::{Evidence, FencedLanding};
use cs_worktree::Move;

use self::ledger::{Job, ResultRow, Step};
use self::tries::{Tries, given_up, too_many_moves};
use self::verify::{Verdict, Verify};
pub(crate) use self::verify::{is_running as verify_runs, landing_of};
use self::words::{Landed, Merged, stopped, told, verify_failed};
use crate::attempt::Trouble;
use crate::borders::Border;
use crate::context::Context;
use crate::executions::{HoldTrouble, StopLevel, StopSwitch};
use crate::trees::TreeError;

/// How often the verify of one life of a landing is begun, since nobody saw the end of those before, or a base moved.
const VERIFIES_MAX: usize = 20;

/// A landing in the stage in which it was found.
#[derive(Debug)]
pub(crate) enum LandingWork {
    /// Taken, nothing was done.
    Claimed(LandingClaimed),
    /// Steps were made.
    Working(LandingWorking),
}

impl LandingWork {
    /// What the claim gave.
    pub(crate) fn row(&self) -> &ClaimedLanding {
        match self {
            Self::Claimed(claimed) => claimed.row(),
            Self::Working(working) => working.row(),
        }
    }

    /// Which attempt of it this is.
    pub(crate) fn attempt(&self) -> LandingAttempt {
        match self {
            Self::Claimed(claimed) => claimed.attempt(),
            Self::Working(working) => working.attempt(),
        }
    }

    /// The last step that was written and done, and how often it was tried to come so far.
    fn so_far(&self) -> Result<(Option<Step>, Tries), serde_json::Error> {
        let (mut last, mut tries) = (None, Tries::default());
        let steps = match self {
            Self::Claimed(_) => &[],
            Self::Working(working) => working.steps(),
        };
        for step in steps {
            let step: Step = serde_json::from_str(step)?;
            tries.count(&step);
            if !matches!(step, Step::Trouble { .. }) {
                last = Some(step);
            }
        }
        Ok((last, tries))
    }

    /// Writes a step.
    fn step(self, step: &Step) -> Result<Self, LandingTrouble> {
        let step = serde_json::to_string(step)?;
        Ok(Self::Working(match self {
            Self::Claimed(claimed) => claimed.step(&step)?,
            Self::Working(working) => working.step(&step)?,
        }))
    }

    /// Keeps the result before the record is told.
    fn done(self, result: &ResultRow) -> Result<LandingDone, LandingTrouble> {
        let result = serde_json::to_string(result)?;
        Ok(match self {
            Self::Claimed(claimed) => claimed.result(&result)?,
            Self::Working(working) => working.result(&result)?,
        })
    }
}

/// Why a landing could not be carried on now.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LandingTrouble {
    #[error(transparent)]
    Common(#[from] Trouble),
    #[error(transparent)]
    Tree(#[from] TreeError),
    #[error("a git process still works in the working tree of the base, or has left its `index.lock` there")]
    Busy,
    #[error("its verify cannot be held")]
    NotHeld(#[source] HoldTrouble),
    #[error(
        "its verify is not proven closed; {left}; end them, or look after them and say so with `cs-panel execution dismiss {execution}`"
    )]
    Left {
        /// What.
        left: String,
        /// Of which execution.
        execution: String,
    },
}

impl LandingTrouble {
    /// Whether a row of the ledger or of the record about this landing cannot be read. Others need not wait for that.
    pub(crate) const fn is_corrupt(&self) -> bool {
        match self {
            Self::Common(trouble) => trouble.is_corrupt() || matches!(trouble, Trouble::Payload(_)),
            Self::Tree(_) | Self::Busy | Self::NotHeld(_) | Self::Left { .. } => false,
        }
    }
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

/// Carries a landing to its end. A stop ends it as long as nothing has moved; a push and a move are never stopped.
pub(crate) async fn land(
    cx: Arc<Context>,
    work: LandingWork,
    stop: StopSwitch,
) -> Result<(), LandingTrouble> {
    if let LandingWork::Claimed(_) = &work {
        cx.deps.borders.reach(Border::L1);
    }
    let done = carry_out(&cx, work, &stop).await?;
    cx.deps.borders.reach(Border::L5);
    settle_landing(&cx, done).await
}

/// Notes that the branch of a card that has landed is to be published, where its codebase wants that. What comes of it changes nothing of
/// the landing.
async fn note_publication(cx: &Context, row: &ClaimedLanding) {
    match cx.deps.record.cards.card(row.card).await {
        Ok(detail) => {
            let what = row.landing.to_string();
            cx.note_publication(&detail.card, Publish::OnLanding, &what);
        }
        Err(error) => {
            tracing::warn!(card = %row.card, error = &error as &dyn std::error::Error, "its branch is not published")
        }
    }
}

/// What to do next.
#[derive(Debug)]
enum Next {
    /// It is over.
    Result(ResultRow),
    /// This is to be written, and then done.
    Step(Step),
}

/// Makes step after step. Each says what to do next, whether this daemon wrote it or one before.
async fn carry_out(
    cx: &Context,
    mut work: LandingWork,
    stop: &StopSwitch,
) -> Result<LandingDone, LandingTrouble> {
    let (mut last, tries) = work.so_far()?;
    let mut round = Round {
        is_ours: false,
        tries,
    };
    loop {
        let next = match after(cx, &work, last.as_ref(), round, stop).await {
            Err(LandingTrouble::Tree(error)) => {
                tracing::warn!(landing = %work.row().landing, error = &error as &dyn std::error::Error, "not landed now");
                if round.tries.is_last(&error) {
                    return work.done(&given_up(last.as_ref(), &error));
                }
                let why = error.public();
                // It waits in the ledger, from where it is taken up again.
                work.step(&Step::Trouble { why })?;
                return Err(error.into());
            }
            next => next?,
        };
        match next {
            Next::Result(result) => return work.done(&result),
            // Nothing has moved.
            Next::Step(step) if step.begins_something() && stop.is_asked(StopLevel::Ladder) => {
                return work.done(&stopped());
            }
            Next::Step(step) => {
                work = work.step(&step)?;
                round.tries.count(&step);
                last = Some(step);
                round.is_ours = true;
            }
        }
    }
}

/// What is known of the last step beside what is written of it.
#[derive(Debug, Clone, Copy)]
struct Round {
    /// Whether this daemon wrote it.
    is_ours: bool,
    /// How often it was tried to come so far.
    tries: Tries,
}

/// Says what follows a step, and does what it is about.
async fn after(
    cx: &Context,
    work: &LandingWork,
    last: Option<&Step>,
    round: Round,
    stop: &StopSwitch,
) -> Result<Next, LandingTrouble> {
    match last {
        Some(Step::Replan) if round.tries.are_too_many_replans() => Ok(Next::Result(too_many_moves())),
        None | Some(Step::Replan | Step::Trouble { .. }) => {
            outset::plan(cx, work.row(), work.attempt()).await
        }
        Some(Step::Verify { plan, execution, job }) => {
            let of = Verify {
                row: work.row(),
                plan,
                execution,
                job,
            };
            let verdict = if round.is_ours {
                cx.deps.borders.reach(Border::V1);
                of.run(cx, stop).await?
            } else {
                of.take_up(cx, stop).await?
            };
            after_verify(cx, &of, work.attempt(), verdict).await
        }
        Some(Step::Verified { plan, evidence, said }) => {
            cx.deps.borders.reach(Border::V5);
            if evidence.exit.is_passed() && stop.is_asked(StopLevel::Ladder) {
                Ok(Next::Result(stopped()))
            } else if evidence.exit.is_passed() {
                land_step(cx, work.row(), plan.clone(), Some(evidence.clone())).await
            } else {
                Ok(Next::Result(verify_failed(plan, evidence.clone(), said)))
            }
        }
        Some(Step::Stopped { execution }) => {
            verify::close(cx, execution, StopLevel::Ladder).await?;
            Ok(Next::Result(stopped()))
        }
        Some(Step::Push { plan, evidence }) => base::push(cx, work.row(), plan, evidence.as_ref()).await,
        Some(Step::Pushed { plan, evidence, to }) => {
            let of = Landed {
                plan,
                evidence: evidence.as_ref(),
                pushed: Some(to),
            };
            base::follow_remote(cx, &of, round.tries.are_too_many_follows()).await
        }
        Some(Step::Move {
            plan,
            evidence,
            pushed,
        }) => {
            let of = Landed {
                plan,
                evidence: evidence.as_ref(),
                pushed: pushed.as_deref(),
            };
            if round.is_ours {
                base::execute(cx, &of).await
            } else {
                base::recover(cx, &of).await
            }
        }
    }
}

/// Says what follows a verify. What nobody saw the end of is begun anew, a bounded number of times.
async fn after_verify(
    cx: &Context,
    of: &Verify<'_>,
    attempt: LandingAttempt,
    verdict: Verdict,
) -> Result<Next, LandingTrouble> {
    let plan = Box::new(of.plan.clone());
    Ok(match verdict {
        Verdict::Said { evidence, said } => {
            cx.deps.borders.reach(Border::V4);
            Next::Step(Step::Verified { plan, evidence, said })
        }
        Verdict::Stop => Next::Step(Step::Stopped {
            execution: of.execution.to_owned(),
        }),
        Verdict::Again => verify_step(cx, attempt, plan, of.job.clone()).await?,
    })
}

/// The first step of a planned move: to verify it, or to make it where nothing is to be verified.
async fn first_step(
    cx: &Context,
    row: &ClaimedLanding,
    attempt: LandingAttempt,
    plan: Box<Move>,
) -> Result<Next, LandingTrouble> {
    match verify::job(cx, row)? {
        Some(job) => verify_step(cx, attempt, plan, job).await,
        None => land_step(cx, row, plan, None).await,
    }
}

/// What makes a merge a landing: the push, where a remote may have the base, else the move.
async fn land_step(
    cx: &Context,
    row: &ClaimedLanding,
    plan: Box<Move>,
    evidence: Option<Evidence>,
) -> Result<Next, LandingTrouble> {
    Ok(match cx.deps.checkouts.landing(row.codebase)?.target {
        Some(LandingTarget::Local) => move_step(plan, evidence),
        None | Some(LandingTarget::Push) => Next::Step(Step::Push { plan, evidence }),
        Some(LandingTarget::PullRequest) => {
            let how = match evidence {
                None => Merged::Cleanly,
                Some(evidence) => Merged::Verified(evidence),
            };
            outset::publish_for_request(cx, row, plan.base_branch.as_str(), how).await?
        }
    })
}

fn move_step(plan: Box<Move>, evidence: Option<Evidence>) -> Next {
    Next::Step(Step::Move {
        plan,
        evidence,
        pushed: None,
    })
}

async fn verify_step(
    cx: &Context,
    attempt: LandingAttempt,
    plan: Box<Move>,
    job: Job,
) -> Result<Next, LandingTrouble> {
    if verify::begun(cx, attempt).await? >= VERIFIES_MAX {
        return Ok(Next::Result(ResultRow::Refused {
            report: format!(
                "Not landed: its verify was begun {VERIFIES_MAX} times and never came to an end that counts. Nothing has moved; see \
                 to the machine, then accept it again."
            ),
        }));
    }
    let execution = verify::new_name(cx, attempt).await?;
    Ok(Next::Step(Step::Verify { plan, execution, job }))
}

/// Tells the record the result of a landing, under its fence, and acknowledges it. Repeating it is harmless.
pub(crate) async fn settle_landing(cx: &Context, done: LandingDone) -> Result<(), LandingTrouble> {
    let result: ResultRow = serde_json::from_str(done.result())?;
    let card = done.row().card;
    let (word, report) = result.told();
    let line = told(word, &card.short(), report);
    let has_landed = matches!(result, ResultRow::Landed { .. });
    if has_landed {
        // Before the record knows: a crash in between loses none.
        note_publication(cx, done.row()).await;
    }
    let settled = cx
        .deps
        .record
        .landings
        .settle_landing(&done.attempt(), &result.into())
        .await?;
    cx.deps.borders.reach(Border::L6);
    match settled {
        FencedLanding::Applied => cx.out(&line),
        FencedLanding::Stale { .. } => cx.said(&format!(
            "the result of a landing of card {} was not taken",
            card.short()
        )),
    }
    done.acknowledged()?;
    cx.wake.notify_one();
    Ok(())
}
