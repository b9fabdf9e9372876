//! Undoing a half fast-forward, file by file.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::Path;

use super::preflight::{self, Place};
use super::{Move, MoveRecovery};
use crate::borders::Border;
use crate::error::WorktreeError;
use crate::keys::Oid;
use crate::parse::{self, GITLINK, RawChange};
use crate::path::RepoPath;
use crate::plain;
use crate::store::Store;

/// What a changed path holds on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnDisk {
    /// What it held before the move.
    Old,
    /// Something that the move wrote, or nothing although it held something.
    Ours,
    /// Something else.
    Foreign,
}

#[derive(Clone, Copy)]
enum Side {
    Old,
    New,
}

/// What tells that the move was begun, where the user has committed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begun {
    /// The index that git worked on, and nobody else.
    AsTheIndexSays,
    /// A file that holds what the move writes.
    AsTheFilesSay,
}

/// Puts everything back that the move wrote.
pub(super) async fn roll_back(
    store: &Store,
    landing: &Move,
    place: Place<'_>,
    begun: Begun,
) -> Result<MoveRecovery, WorktreeError> {
    let changes = preflight::changes(store, landing).await?;
    if let Some(later) = later(store, landing, place).await? {
        // A file that is missing or empty is the user's doing, unless the move has written others.
        let is_begun = match begun {
            Begun::AsTheIndexSays => !indexed(store, place, &changes, [&landing.old, &landing.new])
                .await?
                .is_empty(),
            Begun::AsTheFilesSay => is_begun(store, place, &changes).await?,
        };
        return if is_begun {
            roll_back_below(store, landing, place, (&changes, &later)).await
        } else {
            Ok(MoveRecovery::NotMoved)
        };
    }
    let (ours, mut foreign) = classify(store, landing, place, &changes).await?;
    let staged = indexed(store, place, &changes, [&landing.old, &landing.new]).await?;
    if ours.is_empty() && staged.is_empty() {
        return Ok(MoveRecovery::NotMoved);
    }
    foreign.extend(put_back(store, place, ours, &staged).await?);
    if foreign.is_empty() {
        return Ok(MoveRecovery::RolledBack);
    }
    foreign.sort();
    Ok(MoveRecovery::ForeignEdits { files: foreign })
}

/// The same where the user has committed meanwhile: what they did not commit, and the move wrote, becomes what it was. Of what they did
/// commit the files that still hold something else of the move are named.
async fn roll_back_below(
    store: &Store,
    landing: &Move,
    place: Place<'_>,
    (changes, later): (&[RawChange], &[RawChange]),
) -> Result<MoveRecovery, WorktreeError> {
    let (found, _) = classify(store, landing, place, changes).await?;
    let committed: BTreeSet<&RepoPath> = later.iter().map(|change| &change.path).collect();
    let (theirs, ours): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|change| committed.contains(&change.path));
    let differs = differing(store, place, later, Side::New).await?;
    let theirs = theirs.into_iter().map(|change| change.path);
    let mut foreign: Vec<RepoPath> = theirs.filter(|path| differs.contains(path)).collect();
    let is_back = !ours.is_empty();
    if !ours.is_empty() {
        let index = indexed(store, place, &ours, [&landing.old, &landing.new]).await?;
        foreign.extend(put_back(store, place, ours, &index).await?);
    }
    foreign.sort();
    Ok(match (foreign.is_empty(), is_back) {
        (false, _) => MoveRecovery::ForeignEdits { files: foreign },
        (true, true) => MoveRecovery::RolledBack,
        (true, false) => MoveRecovery::NotMoved,
    })
}

/// What the user has committed since the move was planned; nothing where the base is what it was.
async fn later(
    store: &Store,
    landing: &Move,
    place: Place<'_>,
) -> Result<Option<Vec<RawChange>>, WorktreeError> {
    let head = crate::repository::commit_of(&store.git, place.call("rev-parse"), "HEAD").await?;
    let Some(head) = head.filter(|head| *head != landing.old) else {
        return Ok(None);
    };
    let changes = preflight::between(&store.git, place.call("diff-tree"), [&landing.old, &head]).await?;
    Ok(Some(changes))
}

/// Whether a file holds the whole of what the move writes into it.
async fn is_begun(store: &Store, place: Place<'_>, changes: &[RawChange]) -> Result<bool, WorktreeError> {
    let not_old = differing(store, place, changes, Side::Old).await?;
    let not_new = differing(store, place, changes, Side::New).await?;
    let is_written = |change: &&RawChange| {
        let is_there = change.path.below(place.worktree).symlink_metadata().is_ok();
        let is_old = !change.is_added() && !not_old.contains(&change.path);
        is_there && !is_old && !change.is_deleted() && !not_new.contains(&change.path)
    };
    Ok(changes
        .iter()
        .filter(|change| change.new_mode != GITLINK)
        .any(|change| is_written(&change)))
}

/// Puts files back, and what the index holds of these changes; gives the files that cannot be, since something else stands in their way.
async fn put_back(
    store: &Store,
    place: Place<'_>,
    mut ours: Vec<RawChange>,
    changes: &[RawChange],
) -> Result<Vec<RepoPath>, WorktreeError> {
    for change in ours.iter().filter(|c| c.is_added()) {
        remove_added(place.worktree, &change.path)?;
    }
    store.borders.reach(Border::AddedRemoved);
    ours.retain(|c| !c.is_added());
    // What stands in the way now is not the move's.
    let blocked = |change: &RawChange| is_blocked(place.worktree, &change.path);
    let in_the_way = ours
        .iter()
        .filter(|c| blocked(c))
        .map(|c| c.path.clone())
        .collect();
    ours.retain(|c| !blocked(c));
    set_index(store, place, changes, Side::Old).await?;
    store.borders.reach(Border::IndexPutBack);
    let names: Vec<u8> = ours
        .iter()
        .flat_map(|c| [c.path.as_bytes(), b"\0"].concat())
        .collect();
    if !names.is_empty() {
        let restore =
            place
                .call("checkout-index")
                .args(["checkout-index", "-f", "-u", "-q", "-z", "--stdin"]);
        store.git.ok(restore.stdin(names)).await?;
    }
    store.borders.reach(Border::FilesPutBack);
    refresh_index(store, place).await?;
    Ok(in_the_way)
}

/// Sets what the index holds of these changes to one of their sides.
async fn set_index(
    store: &Store,
    place: Place<'_>,
    changes: &[RawChange],
    side: Side,
) -> Result<(), WorktreeError> {
    let set = place
        .call("update-index")
        .args(["update-index", "-z", "--index-info"]);
    store.git.ok(set.stdin(index_info(changes, side))).await?;
    Ok(())
}

/// Lets the index know how its files look now. The exit code only says whether something differs.
async fn refresh_index(store: &Store, place: Place<'_>) -> Result<(), WorktreeError> {
    let refresh = place
        .call("update-index")
        .args(["update-index", "-q", "--refresh"]);
    store.git.run(refresh).await?;
    Ok(())
}

/// Names the files that still hold what the move wrote, without touching any.
pub(super) async fn report(
    store: &Store,
    landing: &Move,
    place: Place<'_>,
) -> Result<MoveRecovery, WorktreeError> {
    if crate::repository::commit_of(&store.git, place.call("rev-parse"), landing.new.as_str())
        .await?
        .is_none()
    {
        return Ok(MoveRecovery::NotMoved);
    }
    let changes = preflight::changes(store, landing).await?;
    let (ours, _) = classify(store, landing, place, &changes).await?;
    let files: Vec<RepoPath> = ours.into_iter().map(|c| c.path).collect();
    Ok(if files.is_empty() {
        MoveRecovery::NotMoved
    } else {
        MoveRecovery::ForeignEdits { files }
    })
}

async fn classify(
    store: &Store,
    landing: &Move,
    place: Place<'_>,
    changes: &[RawChange],
) -> Result<(Vec<RawChange>, Vec<RepoPath>), WorktreeError> {
    let not_old = differing(store, place, changes, Side::Old).await?;
    let not_new = differing(store, place, changes, Side::New).await?;
    let mut ours = Vec::new();
    let mut foreign = Vec::new();
    for change in changes
        .iter()
        .filter(|c| c.old_mode != GITLINK && c.new_mode != GITLINK)
    {
        let on_disk = match change.path.below(place.worktree).symlink_metadata() {
            Err(_) if change.is_added() => OnDisk::Old,
            Err(_) => OnDisk::Ours,
            // A directory of its own instead of the file: its files are judged one by one.
            Ok(meta) if meta.is_dir() && change.is_added() => OnDisk::Old,
            Ok(meta) if meta.is_dir() => OnDisk::Ours,
            Ok(_) if !change.is_added() && !not_old.contains(&change.path) => OnDisk::Old,
            Ok(_) if !change.is_deleted() && !not_new.contains(&change.path) => OnDisk::Ours,
            Ok(_) if is_beginning(store, landing, place, change).await? => OnDisk::Ours,
            Ok(_) => OnDisk::Foreign,
        };
        match on_disk {
            OnDisk::Old => {}
            OnDisk::Ours => ours.push(change.clone()),
            OnDisk::Foreign => foreign.push(change.path.clone()),
        }
    }
    Ok((ours, foreign))
}

/// The changed paths whose file is not what it is on one side of the move, by a small index that holds only them.
async fn differing(
    store: &Store,
    place: Place<'_>,
    changes: &[RawChange],
    side: Side,
) -> Result<BTreeSet<RepoPath>, WorktreeError> {
    let temp = store.temp_dir()?;
    let index = temp.path().join("index");
    let call = |op| place.call(op).index(&index);
    let fill = call("update-index").args(["update-index", "-z", "--index-info"]);
    store.git.ok(fill.stdin(index_info(changes, side))).await?;
    // Its exit code only says whether something differs.
    store
        .git
        .run(call("update-index").args(["update-index", "-q", "--refresh"]))
        .await?;
    let diff = call("diff-files").args(["diff-files", "--raw", "-z", "--no-renames", "--no-ext-diff"]);
    let diff = parse::raw_diff("diff-files", &store.git.ok(diff.arg("--no-textconv")).await?)?;
    Ok(diff.into_iter().map(|change| change.path).collect())
}

/// Input of `update-index --index-info`; what is not on that side is removed.
fn index_info(changes: &[RawChange], side: Side) -> Vec<u8> {
    let mut info = Vec::new();
    // Removals first: a file may stand where the other side has a directory.
    for removals in [true, false] {
        for change in changes {
            let (mode, oid) = match side {
                Side::Old => (change.old_mode, &change.old),
                Side::New => (change.new_mode, &change.new),
            };
            if (mode == 0) == removals {
                info.extend(format!("{mode:o} {oid}\t").into_bytes());
                info.extend(change.path.as_bytes());
                info.push(0);
            }
        }
    }
    info
}

/// Whether the file on disk is a beginning of what the move was writing: git was killed in the middle of it.
async fn is_beginning(
    store: &Store,
    landing: &Move,
    place: Place<'_>,
    change: &RawChange,
) -> Result<bool, WorktreeError> {
    let file = change.path.below(place.worktree);
    let Ok(meta) = file.symlink_metadata() else {
        return Ok(false);
    };
    if !meta.is_file() || change.is_deleted() {
        return Ok(false);
    }
    if meta.len() == 0 {
        return Ok(true);
    }
    let mut name = std::ffi::OsString::from(format!("{}:", landing.new));
    name.push(change.path.below(Path::new("")));
    let show = place.call("cat-file").args(["cat-file", "--filters"]).arg(name);
    let answer = store.git.run(show).await?;
    let mut there = Vec::new();
    let limit = answer.stdout.len() as u64 + 1;
    let read = plain::open(&file).and_then(|f| f.take(limit).read_to_end(&mut there));
    read.map_err(WorktreeError::io("read", &file))?;
    Ok(answer.code == 0 && answer.stdout.starts_with(&there))
}

/// Those of the changes that the index holds as they are on the second side, where the first side has something else. What it holds
/// beside both is staged by the person.
async fn indexed(
    store: &Store,
    place: Place<'_>,
    changes: &[RawChange],
    [from, to]: [&Oid; 2],
) -> Result<Vec<RawChange>, WorktreeError> {
    let diff = |side: &Oid| {
        let diff = place.call("diff-index").reads_only();
        let options = ["--raw", "-z", "--no-renames", "--no-ext-diff", "--no-textconv"];
        diff.args(["diff-index", "--cached"])
            .args(options)
            .arg(side.as_str())
    };
    let paths = |out: Vec<u8>| -> Result<BTreeSet<RepoPath>, WorktreeError> {
        let differ = parse::raw_diff("diff-index", &out)?.into_iter();
        Ok(differ.map(|change| change.path).collect())
    };
    let differ_from = paths(store.git.ok(diff(from)).await?)?;
    let differ_to = paths(store.git.ok(diff(to)).await?)?;
    let is_to = |change: &&RawChange| differ_from.contains(&change.path) && !differ_to.contains(&change.path);
    Ok(changes.iter().filter(is_to).cloned().collect())
}

/// Brings what the index still holds as it was before a move that was made to what the move made of it.
pub(super) async fn bring_index_forward(
    store: &Store,
    landing: &Move,
    place: Place<'_>,
) -> Result<(), WorktreeError> {
    let changes = preflight::changes(store, landing).await?;
    let behind = indexed(store, place, &changes, [&landing.new, &landing.old]).await?;
    if behind.is_empty() {
        return Ok(());
    }
    set_index(store, place, &behind, Side::New).await?;
    refresh_index(store, place).await
}

/// Removes an added file and the directories that are empty without it.
fn remove_added(root: &Path, path: &RepoPath) -> Result<(), WorktreeError> {
    let file = path.below(root);
    fs::remove_file(&file).map_err(WorktreeError::io("remove", &file))?;
    for parent in path.parents() {
        // A directory that is not empty stays, and so do those above it.
        if fs::remove_dir(parent.below(root)).is_err() {
            break;
        }
    }
    Ok(())
}

/// Whether something that is not a directory stands above the path, or a directory with files in its place: writing
/// the file would remove that.
fn is_blocked(root: &Path, path: &RepoPath) -> bool {
    let mut above = path.parents().map(|p| p.below(root).symlink_metadata());
    let file = path.below(root);
    let is_dir = file.symlink_metadata().is_ok_and(|m| m.is_dir());
    above.any(|meta| meta.is_ok_and(|m| !m.is_dir())) || (is_dir && fs::remove_dir(&file).is_err())
}
