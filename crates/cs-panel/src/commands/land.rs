//! `land`: accepts the landing of a card's work. A daemon carries it out.

mod preview;

use clap::Args;
use cs_model::{IdSource, LandMethod, LandingId, RunState};
use cs_record::{AcceptLanding, Card, CardDetail, Landing, Run};
use cs_worktree::{BranchName, EntryKind, Oid, Tree, TreeStatus, Worktrees};

use super::one_of::one_of;
use super::place;
use crate::app::{App, Desk};
use crate::failure::Failure;
use crate::os::SystemIds;
use crate::text;
use crate::wire::LandingWire;

/// How many uncommitted files are listed.
const FILES_LISTED: usize = 50;

#[derive(Debug, Args)]
pub(crate) struct LandArgs {
    /// The card: its id, or the first or last of the digits that are shown.
    card: String,
    /// Land on this branch of yours in the place of the card's base.
    #[arg(long, value_name = "BRANCH")]
    onto: Option<String>,
    /// How the commits come onto it, in the place of what the codebase says: merge, squash or rebase.
    #[arg(long = "by", value_name = "METHOD", value_parser = one_of(LandMethod::ALL, LandMethod::as_str))]
    method: Option<LandMethod>,
    /// Say what the landing would come to, and accept nothing. No verify command runs.
    #[arg(long)]
    dry_run: bool,
}

impl LandArgs {
    /// Whether nothing is to be accepted.
    pub(crate) const fn is_dry_run(&self) -> bool {
        self.dry_run
    }
}

/// Carries out `land`.
pub(crate) async fn land(app: &App, args: &LandArgs) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let id = desk.ports.reads.find_card(&args.card).await?;
    let detail = desk.ports.reads.card(id).await?;
    refuse_by_tree(app, &desk, &detail).await?;
    if let Some(onto) = &args.onto {
        refuse_own_branch(&detail.card, &preview::branch(onto)?)?;
    }
    if args.dry_run {
        return preview::preview(app, &desk, &detail.card, args).await;
    }
    let beside = preview::beside(app, &desk, &detail.card, args).await;
    let person = app.person(&desk.state).await?;
    let landing = LandingId::from_uuid(SystemIds.uuid_v7());
    let accepted = desk
        .ports
        .acts
        .accept_landing(&AcceptLanding {
            landing,
            card: id,
            person,
            onto: args.onto.clone(),
            method: args.method,
        })
        .await?;
    app.wake(&desk).await;
    if app.global.json {
        return app.out.json(&LandingWire::from(&accepted));
    }
    let onto = accepted
        .base
        .map(|base| format!(" on {base}"))
        .unwrap_or_default();
    app.out.line(&format!(
        "landing {} of card {}{onto} is accepted; a daemon carries it out",
        accepted.id.short(),
        id.short()
    ))?;
    if let Some(said) = beside {
        app.out.said(&said);
    }
    // Only the machine that has the checkout can tell.
    if let Ok(Some(said)) = preview::goes_to(app, &desk, &detail, args).await {
        app.out.said(&said);
    }
    Ok(())
}

/// Refuses to land a card on the branch that holds its own work: nothing would come to any base.
fn refuse_own_branch(card: &Card, onto: &BranchName) -> Result<(), Failure> {
    let Some(spec) = place::spec_of(card)?.filter(|spec| spec.branch == *onto) else {
        return Ok(());
    };
    Err(Failure::Refused(format!(
        "{onto} is the branch of card {} itself, which has its work already; land it on another one with --onto, or on {} without",
        card.id.short(),
        spec.base_branch
    )))
}

/// Refuses what the card's tree on this machine shows not to land: what is not committed, or nothing new. Without a tree here,
/// and while the record says more of why it does not land, nothing is refused.
async fn refuse_by_tree(app: &App, desk: &Desk, detail: &CardDetail) -> Result<(), Failure> {
    let card = &detail.card;
    let at_work = |run: &Run| run.state == RunState::Running || run.again_at.is_some();
    let is_landing = |landing: &Landing| !landing.state.is_over();
    if detail.runs.iter().any(at_work) || detail.landings.iter().any(is_landing) {
        return Ok(());
    }
    let Some(spec) = place::spec_of(card)? else {
        return Ok(());
    };
    let worktrees = Worktrees::new(desk.state.git(), app.git(&desk.state).await?);
    let Some(tree) = worktrees.find_tree(&spec)? else {
        return Ok(());
    };
    let status = worktrees.status(&tree).await?;
    if !status.is_clean() {
        return Err(uncommitted(card, &tree, &status));
    }
    let landed = detail
        .landings
        .iter()
        .filter_map(|landing| landing.commit.clone());
    let landed: Vec<Oid> = landed.filter_map(|commit| Oid::new(commit).ok()).collect();
    if worktrees.has_new_commits(&tree, &landed).await? {
        return Ok(());
    }
    Err(nothing_new(card, &landed))
}

fn uncommitted(card: &Card, tree: &Tree, status: &TreeStatus) -> Failure {
    let card = card.id.short();
    Failure::Refused(format!(
        "the tree of card {card} holds what is not committed and would not land:\n{}\
         ask its agent to commit or remove it with `cs-panel send --card {card} MESSAGE`, or do it in {}",
        list(status),
        tree.path.display()
    ))
}

fn nothing_new(card: &Card, landed: &[Oid]) -> Failure {
    let short = card.id.short();
    let what = if landed.is_empty() {
        "has no commit of its own"
    } else {
        "has no commit that has not landed already"
    };
    Failure::Refused(format!(
        "card {short} {what}, there is nothing to land; send its agent more with `cs-panel send --card {short} MESSAGE`"
    ))
}

fn list(status: &TreeStatus) -> String {
    let file = |entry: &cs_worktree::StatusEntry| {
        let what = match entry.kind {
            EntryKind::Modified => "changed",
            EntryKind::Deleted => "deleted",
            EntryKind::Untracked => "new",
        };
        format!("  {what:8} {}\n", entry.path)
    };
    let mut list: String = status.entries.iter().take(FILES_LISTED).map(file).collect();
    if status.entries.len() > FILES_LISTED {
        list.push_str(&format!(
            "  and {}\n",
            text::count(status.entries.len() - FILES_LISTED, "more file")
        ));
    }
    list.extend(status.special.iter().map(|special| format!("  {special}\n")));
    list
}
