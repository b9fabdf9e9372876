//! `diff`: what the agent of a card changed.

use clap::Args;
use cs_worktree::{WorktreeError, Worktrees};
use serde::Serialize;

use crate::app::App;
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The card: its id, or the last digits of it.
    card: String,
}

/// What `diff --json` prints.
#[derive(Debug, Serialize)]
struct DiffWire {
    branch: String,
    base: String,
    commits: Vec<CommitWire>,
    /// The patch, with what is not UTF-8 replaced.
    patch: String,
}

#[derive(Debug, Serialize)]
struct CommitWire {
    commit: String,
    author: String,
    subject: String,
}

/// Carries out `diff`.
pub(crate) async fn diff(app: &App, args: &DiffArgs) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let id = desk.ports.reads.find_card(&args.card).await?;
    let card = desk.ports.reads.card(id).await?.card;
    let short = id.short();
    let spec = cs_daemon::tree_spec(&card)
        .map_err(|error| Failure::failed(error, format!("the tree of card {short} cannot be named")))?;
    let Some(spec) = spec else {
        return Err(Failure::Refused(format!(
            "card {short} has no codebase, there is nothing to compare; its files are in {}",
            desk.state.plain_dir(id).display()
        )));
    };
    let worktrees = Worktrees::new(desk.state.git(), app.git(&desk.state).await?);
    let patch = match worktrees.diff(&spec).await {
        Ok(patch) => patch,
        Err(WorktreeError::NoCard) => {
            return Err(Failure::Refused(format!(
                "card {short} was not worked on here yet; see `cs-panel show {short}`"
            )));
        }
        Err(error) => return Err(error.into()),
    };
    if app.global.json {
        let commits = worktrees
            .log_summary(&spec)
            .await?
            .into_iter()
            .map(|commit| CommitWire {
                commit: commit.commit.to_string(),
                author: commit.author,
                subject: commit.subject,
            });
        return app.out.json(&DiffWire {
            branch: spec.branch.to_string(),
            base: spec.base_branch.to_string(),
            commits: commits.collect(),
            patch: String::from_utf8_lossy(&patch).into_owned(),
        });
    }
    if patch.is_empty() {
        app.out
            .said(&format!("the agent of card {short} changed nothing"));
        return Ok(());
    }
    app.out.patch(&patch)
}
