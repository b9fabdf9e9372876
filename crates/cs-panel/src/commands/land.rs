//! `land`: accepts the landing of a card's work. A daemon carries it out.

use clap::Args;
use cs_model::{IdSource, LandingId};
use cs_record::{AcceptLanding, Card};
use cs_worktree::{EntryKind, TreeStatus, Worktrees};

use crate::app::{App, Desk};
use crate::failure::Failure;
use crate::os::SystemIds;
use crate::text;
use crate::wire::LandingWire;

/// How many uncommitted files are listed.
const FILES_LISTED: usize = 50;

#[derive(Debug, Args)]
pub(crate) struct LandArgs {
    /// The card: its id, or the last digits of it.
    card: String,
}

/// Carries out `land`.
pub(crate) async fn land(app: &App, args: &LandArgs) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let id = desk.ports.reads.find_card(&args.card).await?;
    let detail = desk.ports.reads.card(id).await?;
    refuse_uncommitted(app, &desk, &detail.card).await?;
    let person = app.person(&desk.state).await?;
    let landing = LandingId::from_uuid(SystemIds.uuid_v7());
    let accepted = desk
        .ports
        .acts
        .accept_landing(&AcceptLanding {
            landing,
            card: id,
            person,
        })
        .await?;
    app.wake(&desk).await;
    if app.global.json {
        return app.out.json(&LandingWire::from(&accepted));
    }
    let onto = detail
        .card
        .base
        .map(|base| format!(" on {base}"))
        .unwrap_or_default();
    app.out.line(&format!(
        "landing {} of card {}{onto} is accepted; a daemon carries it out",
        accepted.id.short(),
        id.short()
    ))
}

/// Refuses while the card's tree on this machine holds what is not committed: it would not land.
async fn refuse_uncommitted(app: &App, desk: &Desk, card: &Card) -> Result<(), Failure> {
    let spec = cs_daemon::tree_spec(card).map_err(|error| {
        Failure::failed(
            error,
            format!("the tree of card {} cannot be named", card.id.short()),
        )
    })?;
    let Some(spec) = spec else { return Ok(()) };
    let worktrees = Worktrees::new(desk.state.git(), app.git(&desk.state).await?);
    let Some(tree) = worktrees.find_tree(&spec)? else {
        return Ok(());
    };
    let status = worktrees.status(&tree).await?;
    if status.is_clean() {
        return Ok(());
    }
    let card = card.id.short();
    Err(Failure::Refused(format!(
        "the tree of card {card} holds what is not committed and would not land:\n{}\
         ask its agent to commit or remove it with `cs-panel send --card {card} MESSAGE`, or do it in {}",
        list(&status),
        tree.path.display()
    )))
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
