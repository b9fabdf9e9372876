//! `land --dry-run`: what a landing would come to, with nothing accepted and nothing moved.

use cs_daemon::LandingPolicy;
use cs_model::{LandMethod, LandingTarget};
use cs_record::{Card, CardDetail};
use cs_worktree::{
    BranchName, BranchPattern, LandedHow, LandingPlan, Preview, PreviewSpec, RemoteBranch, Repository,
    Verdict, Worktrees,
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
    let goes = found.goes().await?;
    let along = found.along(&goes).await?;
    let lands = match (&preview.plan, &goes) {
        (LandingPlan::AlreadyLanded { .. }, _) => true,
        (LandingPlan::NothingToLand, _) | (_, Goes::Nowhere) => false,
        (_, Goes::Request(_)) | (LandingPlan::Ready(_), Goes::Here | Goes::Pushed(_)) => true,
        (LandingPlan::Conflict(_) | LandingPlan::Refused(_), Goes::Here | Goes::Pushed(_)) => false,
    };
    if app.global.json {
        app.out.json(&wire(card, &found, &preview, (&goes, along)))?;
    } else {
        app.out.line(&said(card, &found, &preview, (&goes, along)))?;
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

/// What a landing moves.
enum Goes {
    /// The local base.
    Here,
    /// The remote's base, then the local one.
    Pushed(RemoteBranch),
    /// No base: the card's branch becomes this one.
    Request(RemoteBranch),
    /// It would have to go to a remote, and none can be told.
    Nowhere,
}

impl Asked {
    /// What a landing would move: the daemon asks git the same.
    async fn goes(&self) -> Result<Goes, Failure> {
        let (git, tree) = (self.worktrees.git(), &self.spec.tree);
        let pushed = |to: Option<RemoteBranch>| to.map(Goes::Pushed);
        Ok(match self.policy.target {
            Some(LandingTarget::Local) => Goes::Here,
            None => pushed(self.repository.followed(git, &self.spec.base).await?).unwrap_or(Goes::Here),
            Some(LandingTarget::Push) => {
                pushed(self.repository.remote_of(git, &self.spec.base).await?).unwrap_or(Goes::Nowhere)
            }
            Some(LandingTarget::PullRequest) => {
                let to = self.repository.remote_of(git, &tree.base_branch).await?;
                to.map_or(Goes::Nowhere, |to| {
                    Goes::Request(RemoteBranch {
                        branch: tree.branch.clone(),
                        ..to
                    })
                })
            }
        })
    }
}

impl Asked {
    /// How many commits of the person's own go to a remote with it.
    async fn along(&self, goes: &Goes) -> Result<usize, Failure> {
        let (to, card) = match goes {
            Goes::Here | Goes::Nowhere => return Ok(0),
            Goes::Pushed(to) => (to, None),
            Goes::Request(to) => (to, Some(&self.spec.tree.branch)),
        };
        let base = match card {
            None => &self.spec.base,
            Some(_) => &self.spec.tree.base_branch,
        };
        let along = self.worktrees.unpushed_with(&self.repository, base, card, to);
        Ok(along.await?)
    }
}

/// Says how many commits of the person's own go along; nothing where none does.
fn with_own(along: usize, to: &RemoteBranch) -> String {
    if along == 0 {
        return String::new();
    }
    let commits = text::count(along, "commit");
    format!("{commits} of yours that {} does not have yet", to.remote)
}

/// Where a landing that was accepted goes beside the local branch, when it does.
pub(super) async fn goes_to(
    app: &App,
    desk: &Desk,
    detail: &CardDetail,
    args: &LandArgs,
) -> Result<Option<String>, Failure> {
    let found = asked(app, desk, &detail.card, args).await?;
    let name = detail.codebase.as_deref().unwrap_or_default();
    let cure = format!(
        "`cs-panel codebase set {} --target local` keeps landings here",
        text::shell_word(name)
    );
    let goes = found.goes().await?;
    let along = found.along(&goes).await?;
    let with = |to: &RemoteBranch| match with_own(along, to) {
        own if own.is_empty() => own,
        own => format!(", with {own}"),
    };
    Ok(match goes {
        Goes::Here => None,
        Goes::Pushed(to) => Some(format!("it is pushed to {to} first{}; {cure}", with(&to))),
        Goes::Request(to) => Some(format!(
            "its branch is published as {to}{} and no base moves; {cure}",
            with(&to)
        )),
        Goes::Nowhere => Some(format!(
            "it will be refused: {}; {cure}",
            Verdict::NoRemote.public()
        )),
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
    // No base moves for a pull request.
    let is_request = policy.target == Some(LandingTarget::PullRequest);
    let protected = policy.protected.iter().filter(|_| !is_request);
    let spec = PreviewSpec {
        tree,
        base,
        method: cs_daemon::method_of(method),
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

fn wire(card: &Card, asked: &Asked, preview: &Preview, (goes, along): (&Goes, usize)) -> PreviewWire {
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
        unpushed: along,
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
    match (&preview.plan, goes) {
        (LandingPlan::AlreadyLanded { .. } | LandingPlan::NothingToLand, _) => {}
        (_, Goes::Request(_)) => wire.outcome = "published",
        (LandingPlan::Ready(_), Goes::Nowhere) => {
            wire.outcome = "refused";
            wire.reason = Some(Verdict::NoRemote.public());
        }
        (_, Goes::Here | Goes::Pushed(_) | Goes::Nowhere) => {}
    }
    wire
}

fn said(card: &Card, asked: &Asked, preview: &Preview, (goes, along): (&Goes, usize)) -> String {
    let (card, base) = (card.id.short(), &asked.spec.base);
    match (&preview.plan, goes) {
        (LandingPlan::AlreadyLanded { .. } | LandingPlan::NothingToLand, _) => {}
        (plan, Goes::Request(to)) => return request(&card, asked, plan, (to, along)),
        (LandingPlan::Ready(_), Goes::Nowhere) => {
            return format!("card {card} would not land: {}", Verdict::NoRemote.public());
        }
        (_, Goes::Here | Goes::Pushed(_) | Goes::Nowhere) => {}
    }
    match &preview.plan {
        LandingPlan::Ready(_) => ready(&card, asked, preview, (goes, along)),
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

fn request(card: &str, asked: &Asked, plan: &LandingPlan, (to, along): (&RemoteBranch, usize)) -> String {
    let base = &asked.spec.base;
    let conflicts = if matches!(plan, LandingPlan::Conflict(_)) {
        format!("; it conflicts with {base} as it is now")
    } else {
        String::new()
    };
    let mut said = format!(
        "card {card} would be published as {to}, for a pull request that you open there for {base}; no base moves{conflicts}"
    );
    if let Some(command) = &asked.policy.verify {
        let command = text::one_line(command, 300);
        said.push_str(&match plan {
            LandingPlan::Ready(_) => {
                format!(
                    "\n  verify  {command} (not run now), on its merge with {base}, before it is published"
                )
            }
            LandingPlan::AlreadyLanded { .. }
            | LandingPlan::NothingToLand
            | LandingPlan::Conflict(_)
            | LandingPlan::Refused(_) => {
                format!("\n  verify  not {command}: there is no merge that it could run on")
            }
        });
    }
    if along > 0 {
        said.push_str(&format!("\n  takes   {} along", with_own(along, to)));
    }
    said
}

fn ready(card: &str, asked: &Asked, preview: &Preview, (goes, along): (&Goes, usize)) -> String {
    let Asked {
        spec, method, policy, ..
    } = asked;
    let base = &spec.base;
    let verify = policy.verify.as_deref().map_or_else(
        || "nothing".to_owned(),
        |command| format!("{} (not run now)", text::one_line(command, 300)),
    );
    let moves = match goes {
        Goes::Pushed(to) if along > 0 => {
            format!("{to}, then {base}\n  takes   {} along", with_own(along, to))
        }
        Goes::Pushed(to) => format!("{to}, then {base}"),
        Goes::Here | Goes::Request(_) | Goes::Nowhere => base.to_string(),
    };
    let others = match preview.others {
        // The card's own base may have been rewritten.
        _ if spec.base == spec.tree.base_branch => String::new(),
        0 => String::new(),
        _ => format!("\n  of that {}", of_others(asked, preview)),
    };
    format!(
        "card {card} would land on {base} by {method}\n  brings  {}, {} changed{others}\n  verify  {verify}\n  moves   {moves}",
        text::count(preview.commits, "commit"),
        text::count(preview.files, "file")
    )
}

/// Says whose the commits are that another branch gets beside the card's.
fn of_others(asked: &Asked, preview: &Preview) -> String {
    let Asked { spec, .. } = asked;
    format!(
        "{} of {} that {} does not have, and not of the card",
        text::count(preview.others, "commit"),
        spec.tree.base_branch,
        spec.base
    )
}

/// What another branch than the card's own base gets beside its work; nothing where that is all, or nobody here can tell.
pub(super) async fn beside(app: &App, desk: &Desk, card: &Card, args: &LandArgs) -> Option<String> {
    args.onto.as_ref()?;
    let found = asked(app, desk, card, args).await.ok()?;
    if found.spec.base == found.spec.tree.base_branch {
        return None;
    }
    let preview = found.worktrees.preview_landing(&found.repository, &found.spec);
    let preview = preview.await.ok().filter(|preview| preview.others > 0)?;
    Some(format!("it brings {}", of_others(&found, &preview)))
}
