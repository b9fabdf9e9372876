//! `salvage`: what was saved or put away, and the way back.

mod kept;
mod restore;
mod show;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use cs_worktree::Worktrees;

use self::kept::{Kept, KeptWire, Names, What};
use self::restore::Restoring;
use crate::app::{App, Desk};
use crate::failure::Failure;
use crate::text;

#[derive(Debug, Subcommand)]
pub(crate) enum SalvageCommand {
    /// List what was saved or put away, the newest first.
    List(ListArgs),
    /// Show one thing that is kept: its files, and what else its attempt left.
    Show(ShowArgs),
    /// Bring one thing back.
    Restore(RestoreArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only what is kept of this card: its id, or the first or last of the digits that are shown.
    card: Option<String>,
    /// Only what is kept of this codebase.
    #[arg(long, value_name = "NAME", conflicts_with = "card")]
    codebase: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// What `salvage list` calls it, its ref, or the first digits of its commit.
    name: String,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// What `salvage list` calls it, its ref, or the first digits of its commit.
    name: String,
    #[command(flatten)]
    to: RestoreTo,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct RestoreTo {
    /// A snapshot: into this new directory, with what was not committed not committed again.
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// A snapshot, or any ref that `salvage show` names: as a new branch in your repository.
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// A tree in the trash: back in its place, with everything that was in it.
    #[arg(long)]
    tree: bool,
}

/// Carries out `salvage ...`.
pub(crate) async fn salvage(app: &App, command: &SalvageCommand) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let names = Names::read(&desk).await?;
    let worktrees = Worktrees::new(desk.state.git(), app.git(&desk.state).await?);
    let all = kept::all(&worktrees, &names).await?;
    match command {
        SalvageCommand::List(args) => list(app, &desk, &names, all, args).await,
        SalvageCommand::Show(args) => show::show(app, &worktrees, kept::find(&all, &args.name)?).await,
        SalvageCommand::Restore(args) => {
            let at = Restoring {
                app,
                desk: &desk,
                names: &names,
                worktrees: &worktrees,
            };
            at.restore(&all, args).await
        }
    }
}

async fn list(
    app: &App,
    desk: &Desk,
    names: &Names,
    mut all: Vec<Kept>,
    args: &ListArgs,
) -> Result<(), Failure> {
    if let Some(card) = &args.card {
        let card = desk.ports.reads.find_card(card).await?;
        all.retain(|kept| kept.card == Some(card));
    }
    if let Some(name) = &args.codebase {
        let codebase = names.codebase(name)?;
        all.retain(|kept| kept.codebase == codebase);
    }
    if app.global.json {
        let all: Vec<KeptWire> = all.iter().map(Kept::wire).collect();
        return app.out.json(&all);
    }
    if all.is_empty() {
        app.out.said(
            "nothing is kept: no attempt left anything that was not committed, and no tree is in the trash",
        );
        return Ok(());
    }
    let page: Vec<String> = all.iter().map(|kept| entry(kept, app)).collect();
    app.out.line(&page.join("\n"))
}

fn entry(kept: &Kept, app: &App) -> String {
    let wire = kept.wire();
    let what = match &kept.what {
        What::Snapshot(_) => "files that were not committed",
        What::Tree(_) => "a whole tree, in the trash",
    };
    let mut lines = vec![
        format!(
            "{}  card {}  {}  {} ({})",
            kept.name,
            kept.card_words(),
            text::one_line(wire.title.as_deref().unwrap_or_default(), 60),
            wire.at.to_the_second(),
            text::ago(app.now(), wire.at)
        ),
        format!("  {what}: {}", text::one_line(&wire.reason, 200)),
    ];
    let place = wire.path.map(|path| path.display().to_string());
    lines.extend(place.or(wire.reference).map(|place| format!("  {place}")));
    lines.extend(wire.restore.iter().map(|way| format!("  {way}")));
    lines.join("\n") + "\n"
}
