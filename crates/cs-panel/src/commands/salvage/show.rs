//! `salvage show`: the files of one thing that is kept, and what else its attempt left.

use cs_worktree::{Completeness, EntryKind, RepoPath, SavedDetail, WorktreeError, Worktrees};
use serde::Serialize;

use super::entry;
use super::kept::{Kept, KeptWire, What};
use crate::app::App;
use crate::failure::Failure;
use crate::text;

/// How many files and refs are shown to people.
const SHOWN: usize = 50;

/// What `salvage show --json` prints.
#[derive(Debug, Serialize)]
struct DetailWire {
    kept: KeptWire,
    files: Vec<FileWire>,
    /// Whether all of the tree is in the snapshot; null where that was not noted.
    complete: Option<bool>,
    /// What the snapshot does not hold.
    missing: Vec<String>,
    /// New files that only rules of the agent ignore: in the snapshot, and not in it.
    hidden: HiddenWire,
    /// Repositories that were inside the tree, and below which refs their commits are.
    inside: Vec<InsideWire>,
    /// All refs that the attempt left.
    refs: Vec<RefWire>,
}

#[derive(Debug, Serialize)]
struct FileWire {
    path: String,
    kind: &'static str,
}

#[derive(Debug, Default, Serialize)]
struct HiddenWire {
    saved: Vec<String>,
    /// The first hundred.
    left: Vec<String>,
    left_count: usize,
    /// They were not looked for: there is too much in the tree.
    unknown: bool,
}

#[derive(Debug, Serialize)]
struct InsideWire {
    path: String,
    refs: String,
    files: Option<String>,
}

#[derive(Debug, Serialize)]
struct RefWire {
    #[serde(rename = "ref")]
    reference: String,
    commit: String,
}

/// Carries out `salvage show`.
pub(super) async fn show(app: &App, worktrees: &Worktrees, kept: &Kept) -> Result<(), Failure> {
    let reference = match &kept.what {
        What::Snapshot(work) => Some(work.reference.as_str()),
        What::Tree(tree) => tree.reference.as_deref(),
    };
    let detail = match reference {
        Some(reference) => match worktrees.saved_detail(&kept.codebase, reference).await {
            Ok(detail) => Some(detail),
            // A tree outlives the refs of its attempts only when somebody removed them.
            Err(WorktreeError::NotSaved { .. }) => None,
            Err(error) => return Err(error.into()),
        },
        None => None,
    };
    let wire = detail_wire(kept, detail);
    if app.global.json {
        return app.out.json(&wire);
    }
    let mut page = entry(kept, app);
    let mut block = |head: &str, lines: Vec<String>| {
        if lines.is_empty() {
            return;
        }
        page.push_str(&format!("\n{head}\n"));
        let more = lines.len().saturating_sub(SHOWN);
        for line in lines.iter().take(SHOWN) {
            page.push_str(&format!("  {}\n", text::one_line(line, 500)));
        }
        if more > 0 {
            page.push_str(&format!("  and {more} more (--json names all)\n"));
        }
    };
    let files = wire
        .files
        .iter()
        .map(|file| format!("{:9} {}", file.kind, file.path));
    block("not committed:", files.collect());
    block("not in the snapshot, the tree was kept for it:", wire.missing);
    block(
        "saved although rules of the agent ignore them (look for secrets before you push):",
        wire.hidden.saved,
    );
    let head = format!(
        "ignored by rules of the agent and not in the snapshot ({}):",
        text::count(wire.hidden.left_count, "file")
    );
    block(&head, wire.hidden.left);
    let inside = wire
        .inside
        .iter()
        .map(|inside| format!("{}  below {}", inside.path, inside.refs));
    block("repositories inside:", inside.collect());
    let refs = wire
        .refs
        .iter()
        .map(|kept| format!("{}  {}", &kept.commit, kept.reference));
    block("refs of the attempt (each can become a branch):", refs.collect());
    app.out.line(&page)
}

fn detail_wire(kept: &Kept, detail: Option<SavedDetail>) -> DetailWire {
    let mut wire = DetailWire {
        kept: kept.wire(),
        files: Vec::new(),
        complete: None,
        missing: Vec::new(),
        hidden: HiddenWire::default(),
        inside: Vec::new(),
        refs: Vec::new(),
    };
    let Some(detail) = detail else { return wire };
    wire.files.extend(detail.files.iter().map(|entry| FileWire {
        path: entry.path.to_string(),
        kind: match entry.kind {
            EntryKind::Untracked => "new",
            EntryKind::Modified => "changed",
            EntryKind::Deleted => "deleted",
        },
    }));
    wire.complete = detail
        .completeness
        .as_ref()
        .map(|it| !matches!(it, Completeness::Partial(_)));
    if let Some(Completeness::Partial(missing)) = detail.completeness {
        wire.missing = missing.iter().map(ToString::to_string).collect();
    }
    let names = |paths: Vec<RepoPath>| paths.iter().map(ToString::to_string).collect();
    wire.hidden = HiddenWire {
        saved: names(detail.hidden.saved),
        left: names(detail.hidden.left),
        left_count: detail.hidden.left_count,
        unknown: detail.hidden.is_unknown,
    };
    wire.inside
        .extend(detail.inside.into_iter().map(|inside| InsideWire {
            path: inside.path.to_string(),
            refs: inside.refs,
            files: inside.files.map(|commit| commit.to_string()),
        }));
    wire.refs
        .extend(detail.refs.into_iter().map(|(reference, commit)| RefWire {
            reference,
            commit: commit.to_string(),
        }));
    wire
}
