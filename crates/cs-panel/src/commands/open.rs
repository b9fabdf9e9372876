//! `open`: the way into the tree of a card.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::place::{Place, no_codebase, repository};
use crate::app::{App, Desk};
use crate::exec;
use crate::failure::Failure;
use crate::text;

#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// The card: its id, or the first or last of the digits that are shown.
    card: String,
    /// Start your shell there, with CS_PANEL_CARD set.
    #[arg(long, conflicts_with = "worktree")]
    shell: bool,
    /// Make a linked worktree of your own repository in this directory, at the card's branch.
    #[arg(long, value_name = "DIR")]
    worktree: Option<PathBuf>,
}

/// What `open --json` prints.
#[derive(Debug, Serialize)]
struct OpenWire {
    card: cs_model::CardId,
    path: String,
    branch: Option<String>,
    base: Option<String>,
    /// Whether an agent works there at the moment.
    at_work: bool,
}

/// Carries out `open`.
pub(crate) async fn open(app: &App, args: &OpenArgs) -> Result<(), Failure> {
    if args.shell && app.global.json {
        return Err(Failure::Usage(
            "a shell prints no JSON; leave out --json or --shell".to_owned(),
        ));
    }
    let desk = app.desk().await?;
    let place = Place::find(app, &desk, &args.card).await?;
    if let Some(to) = &args.worktree {
        return export(app, &desk, &place, &app.env.absolute(to)).await;
    }
    let path = place.path(&desk)?;
    let short = place.card().id.short();
    if let Some(run) = place.at_work(&desk) {
        app.out.said(&format!(
            "agent {} works there at the moment and sees what you change; wait for it, or `cs-panel stop {short}`",
            run.agent
        ));
    }
    if app.global.json {
        return print(app, &desk, &place, path);
    }
    if !args.shell {
        return app.out.path(&path);
    }
    app.out.said(&format!(
        "a shell in the tree of card {short} ({}); leave it with `exit`",
        text::one_line(&place.card().title, 80)
    ));
    Err(exec::become_shell(&app.env, &path, &[("CS_PANEL_CARD", short)]))
}

async fn export(app: &App, desk: &Desk, place: &Place, to: &std::path::Path) -> Result<(), Failure> {
    let Some(spec) = &place.spec else {
        return Err(no_codebase(desk, place.card().id));
    };
    let short = place.card().id.short();
    let repository = repository(desk, &place.worktrees, place.card()).await?;
    let exported = place.worktrees.export_worktree(&repository, spec, to).await;
    exported.map_err(|error| match error {
        cs_worktree::WorktreeError::NoCard => Failure::Refused(format!(
            "card {short} was not worked on here yet; see `cs-panel show {short}`"
        )),
        error => error.into(),
    })?;
    let tree = place.worktrees.find_tree(spec)?;
    if let Some(tree) = tree {
        let status = place.worktrees.status(&tree).await?;
        if !status.entries.is_empty() {
            app.out.said(&format!(
                "{} in the card's tree not committed, and so not in it; `cs-panel open {short}` says where they are",
                match status.entries.len() {
                    1 => "1 file is".to_owned(),
                    many => format!("{many} files are"),
                }
            ));
        }
    }
    app.out.said(&format!(
        "branch {0} is checked out there: while it is, what the agent commits from now on waits in the store; your commits on it come to the agent at its next start. `git worktree remove` ends it",
        spec.branch
    ));
    if app.global.json {
        return print(app, desk, place, to.to_owned());
    }
    app.out.path(to)
}

fn print(app: &App, desk: &Desk, place: &Place, path: PathBuf) -> Result<(), Failure> {
    app.out.json(&OpenWire {
        card: place.card().id,
        path: path.to_string_lossy().into_owned(),
        branch: place.spec.as_ref().map(|spec| spec.branch.to_string()),
        base: place.spec.as_ref().map(|spec| spec.base_branch.to_string()),
        at_work: place.at_work(desk).is_some(),
    })
}
