//! `diff`: what the agent of a card changed.

use clap::Args;
use cs_worktree::WorktreeError;
use serde::Serialize;

use super::place::{Place, no_codebase};
use crate::app::App;
use crate::exec;
use crate::failure::Failure;
use crate::patch::{self, FileStat};

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The card: its id, or the first or last of the digits that are shown.
    card: String,
    /// Only the files, and how many lines of each were added and removed.
    #[arg(long)]
    stat: bool,
    /// Print all at once, also at a terminal.
    #[arg(long)]
    no_pager: bool,
}

/// What `diff --json` prints.
#[derive(Debug, Serialize)]
struct DiffWire {
    branch: String,
    base: String,
    commits: Vec<CommitWire>,
    files: Vec<FileStat>,
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
    let place = Place::find(app, &desk, &args.card).await?;
    let id = place.card().id;
    let short = id.short();
    let Some(spec) = &place.spec else {
        return Err(no_codebase(&desk, id));
    };
    let worktrees = &place.worktrees;
    let patch = match worktrees.diff(spec).await {
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
            .log_summary(spec)
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
            files: patch::stat(&patch),
            patch: String::from_utf8_lossy(&patch).into_owned(),
        });
    }
    if patch.is_empty() {
        app.out
            .said(&format!("the agent of card {short} changed nothing"));
        return Ok(());
    }
    print(app, args, &patch)
}

/// Prints a patch: for a person at a terminal harmless, coloured and paged; byte for byte where a program reads it.
fn print(app: &App, args: &DiffArgs, patch: &[u8]) -> Result<(), Failure> {
    let at_terminal = crate::out::stdout_is_terminal();
    let coloured = at_terminal && !app.env.no_color;
    let page = match (args.stat, at_terminal) {
        (true, _) => patch::stat_page(&patch::stat(patch), coloured).into_bytes(),
        (false, true) => patch::for_terminal(patch, coloured).into_bytes(),
        (false, false) => patch.to_owned(),
    };
    match exec::pager(&app.env).filter(|_| !args.no_pager) {
        Some(pager) => Err(exec::become_pager(&app.env, pager, &page)),
        None => app.out.bytes(&page),
    }
}
