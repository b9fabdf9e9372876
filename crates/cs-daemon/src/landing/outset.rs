//! What a landing comes to at its outset, on the base as it is then.

use cs_fence::LandingAttempt;
use cs_journal::ClaimedLanding;
use cs_model::LandingTarget;
use cs_worktree::LandingPlan;

use super::ledger::ResultRow;
use super::patience::patiently;
use super::words::{Merged, conflict, list, published, refused};
use super::{LandingTrouble, Next, first_step};
use crate::borders::Border;
use crate::context::Context;
use crate::trees::{Planned, TreeError, tree_spec};

/// Says what a landing comes to on the base as it is now.
pub(super) async fn plan(
    cx: &Context,
    row: &ClaimedLanding,
    attempt: LandingAttempt,
) -> Result<Next, LandingTrouble> {
    // First: a checkout that is not known for the moment must not look like one that is not there.
    let policy = cx.deps.checkouts.landing(row.codebase)?;
    let is_request = policy.target == Some(LandingTarget::PullRequest);
    let is_verified = policy.verify.is_some();
    let brief = cx.deps.record.reads.landing_brief(attempt.landing).await?;
    let base = brief.landing.base.as_deref().unwrap_or_default();
    let refuse = |report: String| Next::Result(ResultRow::Refused { report });
    if tree_spec(&brief.card)
        .map_err(TreeError::from)?
        .is_some_and(|of| of.branch.as_str() == base)
    {
        return Ok(refuse(format!(
            "Not landed: {base} is the branch of the card itself, which has its work already. Accept it again for another branch."
        )));
    }
    let landings = &cx.deps.landings;
    let planned = patiently(|| landings.plan_landing(&brief, attempt.epoch));
    let plan = match planned.await? {
        Planned::Plan(plan) => plan,
        none @ (Planned::NoCodebase
        | Planned::NoWork
        | Planned::Uncommitted(_)
        | Planned::Beside(_)
        | Planned::Waiting(_)) => {
            return Ok(refuse(not_planned(&none)));
        }
    };
    Ok(match plan {
        LandingPlan::Conflict(_) if is_request => {
            publish_for_request(cx, row, base, Merged::Conflicts { is_verified }).await?
        }
        LandingPlan::Refused(refusal) if is_request => {
            let why = is_verified.then(|| refusal.to_string());
            publish_for_request(cx, row, base, Merged::Not { why }).await?
        }
        LandingPlan::Ready(plan) => {
            cx.deps.borders.reach(Border::L2);
            first_step(cx, row, attempt, Box::new(plan)).await?
        }
        LandingPlan::AlreadyLanded { commit, .. } => Next::Result(ResultRow::Landed {
            report: format!(
                "{base} already holds the work of this card, by commit {}.",
                commit.short()
            ),
            commit: commit.as_str().to_owned(),
            evidence: None,
        }),
        LandingPlan::NothingToLand => {
            refuse("The card has no commit of its own: there is nothing to land.".to_owned())
        }
        LandingPlan::Conflict(found) => Next::Result(conflict(base, &found)),
        LandingPlan::Refused(refusal) => Next::Result(refused(&refusal)),
    })
}

/// Why there is nothing that could be merged.
fn not_planned(planned: &Planned) -> String {
    match planned {
        Planned::NoCodebase => "The card has no codebase: there is nothing to land.".to_owned(),
        Planned::NoWork | Planned::Plan(_) => {
            "The card was never worked on: there is nothing to land.".to_owned()
        }
        Planned::Beside(branch) => format!(
            "Not landed: `{branch}` in your repository has commits of yours that cannot be added to the card's work, since they do not come \
             after it. Rename that branch (`git branch -m {branch} OTHER`) and accept it again: then the card's own work lands."
        ),
        Planned::Waiting(branch) => format!(
            "Not landed: `{branch}` in your repository has commits of yours, and the card's tree cannot take them in: it is on another branch, \
             or a file that git ignores is in the way. Send a message that asks the agent to put that right, and accept it again."
        ),
        Planned::Uncommitted(files) => format!(
            "These files of the card's tree are not committed, and only commits land: {}. Send a message that asks the agent to commit \
             or remove them.",
            list(files)
        ),
    }
}

/// Publishes the branch of a card for a pull request. Repeated it finds that the remote has it.
pub(super) async fn publish_for_request(
    cx: &Context,
    row: &ClaimedLanding,
    base: &str,
    how: Merged,
) -> Result<Next, LandingTrouble> {
    let card = cx.deps.record.cards.card(row.card).await?.card;
    let there = cx.deps.trees.publish_card(&card).await?;
    tracing::info!(landing = %row.landing, verdict = %there.verdict, "published for a pull request");
    Ok(Next::Result(published(base, &there, &how)))
}
