//! `gc`: what the record forgets, and what this machine removes of cards that are over.

use std::sync::Arc;

use clap::Args;
use cs_daemon::{Leftover, Leftovers, MachineLeftovers, Removed, What};
use cs_model::{CardId, Time};
use cs_worktree::Worktrees;
use serde::Serialize;

use crate::app::{App, Desk};
use crate::failure::Failure;
use crate::text;
use crate::wire::OldOperationWire;

/// How many rows go in one transaction, so that nobody waits long for it.
const AT_ONCE: u32 = 1_000;
/// Why a row of the journal may go.
const WHY_ROW: &str = "over 7 days old, and so is the end of all that it took";

#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// Only list what would go, and why.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Serialize)]
struct GcWire {
    dry_run: bool,
    operations: Vec<OldOperationWire>,
    leftovers: Vec<LeftoverWire>,
    /// What could not be removed, and why.
    kept: Vec<String>,
}

#[derive(Debug, Serialize)]
struct LeftoverWire {
    kind: &'static str,
    name: String,
    card: Option<CardId>,
    /// Since when its time runs: it was put away then, or its card was over.
    since: Time,
    why: &'static str,
}

/// Carries out `gc`.
pub(crate) async fn gc(app: &App, args: &GcArgs) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let worktrees = Worktrees::new(desk.state.git(), app.git(&desk.state).await?);
    let machine = MachineLeftovers::new(desk.state.clone(), worktrees, Arc::clone(&desk.ports.reads));
    let operations = forget_operations(&desk, args.dry_run).await?;
    let found = machine.find(app.now()).await?;
    let removed = if args.dry_run {
        Removed::default()
    } else {
        machine.remove(&found, app.now()).await?
    };
    if app.global.json {
        return app.out.json(&GcWire {
            dry_run: args.dry_run,
            operations,
            leftovers: found.iter().map(wire).collect(),
            kept: removed.kept,
        });
    }
    for kept in &removed.kept {
        app.out.said(&format!("not removed: {kept}"));
    }
    let rows = text::count(operations.len(), "journal row");
    if args.dry_run {
        list(app, &operations, &found)?;
        let things = text::count(found.len(), "thing");
        app.out.said(&format!(
            "{rows} would be forgotten, {things} of cards that are over removed"
        ));
        return Ok(());
    }
    let packed = match removed.packed {
        0 => String::new(),
        stores => format!("; packed anew: {}", text::count(stores, "store")),
    };
    app.out.line(&format!(
        "{rows} forgotten; removed: {}, {}, the refs of {}{packed}",
        text::count(removed.trees, "tree"),
        text::count(removed.executions, "execution"),
        text::count(removed.runs, "attempt")
    ))
}

async fn forget_operations(desk: &Desk, dry_run: bool) -> Result<Vec<OldOperationWire>, Failure> {
    let mut operations = Vec::new();
    loop {
        let limit = if dry_run { u32::MAX } else { AT_ONCE };
        let gone = desk.ports.housekeeping.forget_operations(limit, dry_run).await?;
        operations.extend(gone.iter().map(OldOperationWire::from));
        if dry_run || gone.len() < AT_ONCE as usize {
            return Ok(operations);
        }
    }
}

fn list(app: &App, operations: &[OldOperationWire], found: &[Leftover]) -> Result<(), Failure> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for row in operations {
        rows.push(vec![
            format!("{} {}", row.kind, row.operation),
            "-".to_owned(),
            row.at.to_the_second(),
            WHY_ROW.to_owned(),
        ]);
    }
    for leftover in found.iter().map(wire) {
        rows.push(vec![
            format!("{} {}", leftover.kind.replace('_', " "), leftover.name),
            leftover.card.map_or_else(|| "-".to_owned(), |card| card.short()),
            leftover.since.to_the_second(),
            leftover.why.to_owned(),
        ]);
    }
    if rows.is_empty() {
        return Ok(());
    }
    app.out.table(&["WHAT", "CARD", "SINCE", "WHY"], rows)
}

fn wire(leftover: &Leftover) -> LeftoverWire {
    let (kind, name) = match &leftover.what {
        What::Tree(tree) => ("tree", tree.path.to_string_lossy().into_owned()),
        What::Execution { name } => ("execution", name.clone()),
        What::RunRefs { refs, .. } => ("run_refs", refs.run.to_string()),
        What::StoreFiles(files) => ("store_files", files.codebase.to_string()),
    };
    LeftoverWire {
        kind,
        name,
        card: leftover.card,
        since: leftover.since,
        why: leftover.what.why(),
    }
}

impl From<cs_daemon::LeftoversError> for Failure {
    fn from(error: cs_daemon::LeftoversError) -> Self {
        match error {
            cs_daemon::LeftoversError::Record(error) => error.into(),
            cs_daemon::LeftoversError::Worktree(error) => error.into(),
            error @ cs_daemon::LeftoversError::State(_) => Self::Failed(error.into()),
        }
    }
}
