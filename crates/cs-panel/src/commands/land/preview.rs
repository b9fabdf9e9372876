//! `land --dry-run`: what a landing would come to, with nothing accepted and nothing moved.

use cs_daemon::LandingPolicy;
use cs_model::{LandMethod, LandingTarget};
use cs_record::Card;
use cs_worktree::{
    BranchName, BranchPattern, LandedHow, LandingPlan, Preview, PreviewSpec, Repository, Worktrees,
};

use super::super::place;
use super::LandArgs;
use crate::app::{App, Desk};
use crate::failure::Failure;
use crate::text;
use crate::wire::PreviewWire;

/// So many files and messages of a conflict are shown.
const SHOWN: usize = 20;

/// Carries out `land --dry-run`. What would not land ends with the exit code of a refusal, its reason on standard output.
pub(super) async fn preview(app: &App, desk: &Desk, card: &Card, args: &LandArgs) -> Result<(), Failure> {
    let found = asked(app, desk, card, args).await?;
    let preview = found
        .worktrees
        .preview_landing(&found.repository, &found.spec)
        .await?;
    let moves = found.moves().await?;
    let lands = matches!(
        preview.plan,
        LandingPlan::Ready(_) | LandingPlan::AlreadyLanded { .. }
    );
    if app.global.json {
        app.out.json(&wire(card, &found, &preview))?;
    } else {
        app.out.line(&said(card, &found, &preview, &moves))?;
    }
    if lands { Ok(()) } else { Err(Failure::Said(3)) }
}

/// What is asked of git, and what the codebase says of landings.
struct Asked {
    worktrees: Worktrees,
    repository: Repository,
    spec: PreviewSpec,
    method: LandMethod,
    policy: LandingPolicy,
}

impl Asked {
    /// What a landing would move.
    async fn moves(&self) -> Result<String, Failure> {
        let base = &self.spec.base;
        let remote = self.repository.remote_of(self.worktrees.git(), base).await?;
        Ok(match (self.policy.target, remote) {
            (Some(LandingTarget::PullRequest), _) => "no branch; the card's is published".to_owned(),
            (Some(LandingTarget::Push) | None, Some(remote)) => format!("{remote}, then {base}"),
            (Some(LandingTarget::Push), None) => {
                format!("{base} at a remote, and it has none: it would be refused")
            }
            (Some(LandingTarget::Local), _) | (None, None) => base.to_string(),
        })
    }
}

/// Where a landing that was accepted goes beside the local branch, when it does.
pub(super) async fn goes_to(
    app: &App,
    desk: &Desk,
    card: &Card,
    args: &LandArgs,
) -> Result<Option<String>, Failure> {
    let found = asked(app, desk, card, args).await?;
    let remote = found
        .repository
        .remote_of(found.worktrees.git(), &found.spec.base)
        .await?;
    let cure = "`cs-panel codebase set NAME --target local` keeps landings here";
    Ok(match (found.policy.target, remote) {
        (Some(LandingTarget::Push) | None, Some(remote)) => {
            Some(format!("it is pushed to {remote} first; {cure}"))
        }
        (Some(LandingTarget::PullRequest), Some(remote)) => Some(format!(
            "its branch is published at {} and no base moves; {cure}",
            remote.remote
        )),
        (Some(LandingTarget::Local), _) | (_, None) => None,
    })
}

async fn asked(app: &App, desk: &Desk, card: &Card, args: &LandArgs) -> Result<Asked, Failure> {
    let tree = place::spec_of(card)?.ok_or_else(|| place::no_codebase(desk, card.id))?;
    let worktrees = Worktrees::new(desk.state.git(), app.git(&desk.state).await?);
    let repository = place::repository(desk, &worktrees, card).await?;
    let checkout = match card.codebase {
        Some(codebase) => desk.checkouts.find(codebase)?,
        None => None,
    };
    let policy = checkout
        .map(|checkout| checkout.landing.policy())
        .unwrap_or_default();
    let base = match args.onto.as_deref() {
        Some(onto) => branch(onto)?,
        None => tree.base_branch.clone(),
    };
    let method = args.method.unwrap_or(policy.method);
    let protected = policy.protected.iter();
    let spec = PreviewSpec {
        tree,
        base,
        method: match method {
            LandMethod::Merge => cs_worktree::LandMethod::Merge,
            LandMethod::Squash => cs_worktree::LandMethod::Squash,
            LandMethod::Rebase => cs_worktree::LandMethod::Rebase,
        },
        protected: protected
            .filter_map(|pattern| BranchPattern::new(pattern.as_str()).ok())
            .collect(),
    };
    Ok(Asked {
        worktrees,
        repository,
        spec,
        method,
        policy,
    })
}

/// The name of a branch that was given.
pub(super) fn branch(name: &str) -> Result<BranchName, Failure> {
    BranchName::new(name).map_err(|error| {
        Failure::Usage(format!(
            "`{}` cannot name a branch ({error}), expected one of your branches, such as `main`",
            text::one_line(name, 80)
        ))
    })
}

fn wire(card: &Card, asked: &Asked, preview: &Preview) -> PreviewWire {
    let mut wire = PreviewWire {
        card: card.id,
        base: asked.spec.base.to_string(),
        method: asked.method,
        outcome: "ready",
        commits: preview.commits,
        files: preview.files,
        landed_as: None,
        conflicts: Vec::new(),
        reason: None,
        policy: asked.policy.clone().into(),
    };
    match &preview.plan {
        LandingPlan::Ready(_) => {}
        LandingPlan::AlreadyLanded { commit, .. } => {
            wire.outcome = "already_landed";
            wire.landed_as = Some(commit.to_string());
        }
        LandingPlan::NothingToLand => wire.outcome = "nothing_to_land",
        LandingPlan::Conflict(conflict) => {
            wire.outcome = "conflict";
            wire.conflicts = conflict.files.iter().map(ToString::to_string).collect();
        }
        LandingPlan::Refused(refusal) => {
            wire.outcome = "refused";
            wire.reason = Some(refusal.to_string());
        }
    }
    wire
}

fn said(card: &Card, asked: &Asked, preview: &Preview, moves: &str) -> String {
    let (card, base) = (card.id.short(), &asked.spec.base);
    match &preview.plan {
        LandingPlan::Ready(_) => ready(&card, asked, preview, moves),
        LandingPlan::AlreadyLanded { commit, how } => format!(
            "{base} holds the work of card {card} already, {}: landing it moves nothing",
            came(*how, commit.short())
        ),
        LandingPlan::NothingToLand => {
            format!(
                "card {card} has no commit of its own, or none that changes anything: there is nothing to land"
            )
        }
        LandingPlan::Conflict(conflict) => {
            let mut said = format!("card {card} conflicts with {base} and would go back to its agent");
            let lines = conflict.files.iter().map(ToString::to_string);
            let lines = lines.chain(
                conflict
                    .messages
                    .iter()
                    .map(|message| message.trim_end().to_owned()),
            );
            for line in lines.take(SHOWN) {
                said.push_str(&format!("\n  {}", text::one_line(&line, 300)));
            }
            said
        }
        LandingPlan::Refused(refusal) => format!("card {card} would not land on {base}: {refusal}"),
    }
}

fn came(how: LandedHow, commit: &str) -> String {
    match how {
        LandedHow::ThisLanding | LandedHow::Ancestor => format!("by commit {commit}"),
        LandedHow::EachCommit => format!("commit by commit, the last as {commit}"),
        LandedHow::Squashed => format!("squashed as {commit}"),
        LandedHow::AddsNothing => "since a merge would change nothing".to_owned(),
    }
}

fn ready(card: &str, asked: &Asked, preview: &Preview, moves: &str) -> String {
    let Asked {
        spec, method, policy, ..
    } = asked;
    let base = &spec.base;
    let verify = policy.verify.as_deref().map_or_else(
        || "nothing".to_owned(),
        |command| format!("{} (not run now)", text::one_line(command, 300)),
    );
    format!(
        "card {card} would land on {base} by {method}\n  brings  {}, {} changed\n  verify  {verify}\n  moves   {moves}",
        text::count(preview.commits, "commit"),
        text::count(preview.files, "file")
    )
}
