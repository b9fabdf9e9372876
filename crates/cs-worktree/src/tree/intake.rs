//! Where a card stands before a start, and the person's own commits on its branch.
//!
//! A tree that is there is brought forward without running git in it: our git directory, the tree's files, the tree's
//! index. Nothing of the tree's configuration is read.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::{PersonCommits, Tree, TreeSpec, make_ref};
use crate::borders::Border;
use crate::disk;
use crate::error::WorktreeError;
use crate::keys::{CardKey, Oid};
use crate::parse::{self, GITLINK};
use crate::path::RepoPath;
use crate::plain;
use crate::special::Special;
use crate::status::{self, Look};
use crate::store::{self, RefMove, Store};

/// The longest `HEAD` that is read.
const HEAD_MAX_BYTES: u64 = 4096;

/// Where a card stands, and what the person's branch has beyond that.
#[derive(Debug)]
pub(super) struct Position {
    pub(super) is_new: bool,
    pub(super) head: Oid,
    pub(super) base: Oid,
    /// How many commits the base has that the card has not.
    pub(super) behind: usize,
    ahead: Ahead,
}

/// The card's branch in the user's repository, compared with the card's head.
#[derive(Debug)]
enum Ahead {
    /// All of it is what agents have committed, also where they have thrown it away since.
    No,
    By {
        tip: Oid,
        count: usize,
    },
    Diverged,
}

impl Position {
    /// A fresh clone is made at the accepted head, so that nothing has to wait.
    pub(super) fn person_when_cloned(&self) -> PersonCommits {
        match &self.ahead {
            Ahead::No => PersonCommits::None,
            Ahead::By { count, .. } => PersonCommits::Taken { count: *count },
            Ahead::Diverged => PersonCommits::Diverged,
        }
    }
}

/// Reads where the card stands; a card without refs begins here, at the tip of its base, or at its branch in the user's
/// repository when this machine's store was lost. `remote` is the tip of the remote's branch where that counts as the base.
pub(super) async fn position(
    store: &Store,
    spec: &TreeSpec,
    remote: Option<&Oid>,
) -> Result<Position, WorktreeError> {
    let names = Names::of(spec);
    let refs = store.commits_of(&names.all()).await?;
    let tip = refs.get(&names.branch).cloned();
    let onto = remote.or_else(|| refs.get(&names.onto)).cloned();
    let (head, base, is_new) = match (refs.get(&names.head), refs.get(&names.base)) {
        (Some(head), Some(base)) => (head.clone(), base.clone(), false),
        (Some(_), None) => {
            return Err(WorktreeError::Corrupt {
                what: "a card without its base".into(),
            });
        }
        (None, noted) => {
            let known = Known {
                tip: tip.as_ref(),
                onto: onto.as_ref(),
                noted,
            };
            let (head, base) = begin(store, spec, known).await?;
            (head, base, true)
        }
    };
    let ahead = match tip {
        None => Ahead::No,
        Some(tip) if tip == head || store.is_ancestor(&tip, &head).await? => Ahead::No,
        Some(tip) if store.is_ancestor(&head, &tip).await? => {
            let count = store.count(&head, &tip).await?;
            Ahead::By { tip, count }
        }
        Some(tip) if store.is_of_runs(&tip).await? => Ahead::No,
        Some(_) => Ahead::Diverged,
    };
    let behind = match &onto {
        Some(onto) if *onto != head => store.count(&head, onto).await?,
        Some(_) | None => 0,
    };
    Ok(Position {
        is_new,
        head,
        base,
        behind,
        ahead,
    })
}

/// The refs of the store that say where a card stands.
struct Names {
    branch: String,
    head: String,
    base: String,
    onto: String,
}

impl Names {
    fn of(spec: &TreeSpec) -> Self {
        Self {
            branch: store::base_ref(&spec.branch),
            head: store::head_ref(&spec.card),
            base: store::card_base_ref(&spec.card),
            onto: store::base_ref(&spec.base_branch),
        }
    }

    fn all(&self) -> [String; 4] {
        [&self.branch, &self.head, &self.base, &self.onto].map(Clone::clone)
    }
}

/// What is known of a card that begins.
#[derive(Debug, Clone, Copy)]
struct Known<'a> {
    /// Its branch in the user's repository, when this machine's store was lost.
    tip: Option<&'a Oid>,
    /// The tip of its base.
    onto: Option<&'a Oid>,
    /// The base that was noted before a crash.
    noted: Option<&'a Oid>,
}

/// Notes where a card begins, and gives its head and its base. The base ref is made first: a crash in between begins again,
/// with a base that is still right.
async fn begin(store: &Store, spec: &TreeSpec, known: Known<'_>) -> Result<(Oid, Oid), WorktreeError> {
    let base = match &spec.worker_of {
        Some(card) => store.card_head(card).await?,
        None => known.onto.cloned().ok_or_else(|| WorktreeError::BaseMissing {
            branch: spec.base_branch.clone(),
        })?,
    };
    let head = known.tip.cloned().unwrap_or_else(|| base.clone());
    let base = if head == base {
        base
    } else {
        store.merge_base(&base, &head).await?.unwrap_or(base)
    };
    let name = store::card_base_ref(&spec.card);
    match known.noted {
        None => make_ref(store, &name, &base).await?,
        Some(old) if *old == base => {}
        Some(old) => drop(store.move_ref(&name, &base, Some(old)).await?),
    }
    store.borders.reach(Border::BaseNoted);
    make_ref(store, &store::head_ref(&spec.card), &head).await?;
    store.borders.reach(Border::CardNoted);
    Ok((head, base))
}

/// Moves the card's head to the person's tip where that fast-forwards, and gives the head.
pub(super) async fn accept(store: &Store, card: &CardKey, position: &Position) -> Result<Oid, WorktreeError> {
    let Ahead::By { tip, .. } = &position.ahead else {
        return Ok(position.head.clone());
    };
    match store
        .move_ref(&store::head_ref(card), tip, Some(&position.head))
        .await?
    {
        RefMove::Moved => Ok(tip.clone()),
        RefMove::Stale => Err(WorktreeError::Corrupt {
            what: "the card's head moved under our lock".into(),
        }),
    }
}

/// Brings a tree that is there to the person's tip, if it stands on the card's head and has nothing uncommitted.
pub(super) async fn take_in(
    store: &Store,
    tree: &Tree,
    position: &Position,
) -> Result<PersonCommits, WorktreeError> {
    let (tip, count) = match &position.ahead {
        Ahead::No => return Ok(PersonCommits::None),
        Ahead::Diverged => return Ok(PersonCommits::Diverged),
        Ahead::By { tip, count } => (tip, *count),
    };
    let seen = status::look(store, tree).await?;
    // A git directory that is not safe to read has no head.
    let is_own =
        seen.head.is_some() && on_branch(tree) && own_directories(&tree.path) && has_own_index(&tree.path);
    if is_own && seen.head.as_ref() == Some(tip) {
        // An earlier one was cut off after its last step in the tree.
        accept(store, &tree.spec.card, position).await?;
        return Ok(PersonCommits::Taken { count });
    }
    if !is_own || seen.head.as_ref() != Some(&position.head) {
        return Ok(PersonCommits::Waiting { count });
    }
    // One that was cut off earlier, before the branch moved, has left the files and the index of the tip.
    let is_brought = has_index_of(store, &seen, tip).await?;
    if !is_brought && (!is_clean(&seen) || is_in_the_way(store, tree, &seen, tip).await?) {
        return Ok(PersonCommits::Waiting { count });
    }
    bring_objects(store, tree, &position.head, tip).await?;
    if !is_brought {
        let update = store
            .call("read-tree")
            .work_tree(&tree.path)
            .index(&tree.path.join(".git/index"));
        let update = update.args(["read-tree", "-m", "-u", position.head.as_str(), tip.as_str()]);
        if store.git.run(update).await?.code != 0 {
            // Git has found something in the way, before it wrote anything.
            return Ok(PersonCommits::Waiting { count });
        }
    }
    store.borders.reach(Border::FilesBrought);
    let branch = tree.path.join(".git").join(tree.spec.branch.full_ref());
    disk::write_atomically(&branch, format!("{tip}\n").as_bytes())?;
    store.borders.reach(Border::TreeMoved);
    accept(store, &tree.spec.card, position).await?;
    Ok(PersonCommits::Taken { count })
}

/// Whether nothing in a tree can be mistaken for what a move of it has done. Repositories inside it are not touched by one.
fn is_clean(seen: &Look) -> bool {
    let is_apart = |special: &Special| {
        matches!(
            special,
            Special::NestedRepository(_) | Special::Submodule(_) | Special::Beside(_)
        )
    };
    seen.entries.is_empty() && seen.staged.is_empty() && seen.special.iter().all(is_apart)
}

/// Whether the tree's own index is that of a commit.
async fn has_index_of(store: &Store, seen: &Look, tip: &Oid) -> Result<bool, WorktreeError> {
    let write = store.call("write-tree").index(&seen.own_index());
    let written = store.git.run(write.arg("write-tree")).await?;
    let ask = store
        .call("rev-parse")
        .args(["rev-parse".to_owned(), format!("{tip}^{{tree}}")]);
    let wanted = store.git.ok(ask).await?;
    Ok(written.code == 0 && written.stdout == wanted)
}

/// Whether anything stands where the tip has a file, other than a file of the head. Git itself overwrites what is ignored.
async fn is_in_the_way(store: &Store, tree: &Tree, seen: &Look, tip: &Oid) -> Result<bool, WorktreeError> {
    let diff = store
        .call("diff-tree")
        .args(["diff-tree", "-r", "--raw", "-z", "--no-renames"]);
    let diff = store
        .git
        .ok(diff.args([seen.parent.as_str(), tip.as_str()]))
        .await?;
    let changes = parse::raw_diff("diff-tree", &diff)?;
    let of_head = changes
        .iter()
        .filter(|change| !change.is_added() && change.old_mode != GITLINK);
    let of_head: BTreeSet<&RepoPath> = of_head.map(|change| &change.path).collect();
    let root = &tree.path;
    let in_repository = |path: &RepoPath| {
        let mut repositories = seen.repositories.iter();
        repositories.any(|inside| path.is_within(inside) || inside.is_within(path))
    };
    let blocked = |path: &RepoPath| {
        let is_foreign = |dir: RepoPath| {
            !of_head.contains(&dir)
                && dir
                    .below(root)
                    .symlink_metadata()
                    .is_ok_and(|meta| !meta.is_dir())
        };
        path.parents().any(is_foreign) || holds_other_files(root, path, &of_head)
    };
    Ok(changes
        .iter()
        .any(|change| in_repository(&change.path) || !change.is_deleted() && blocked(&change.path)))
}

/// Whether there is anything at a path, or below it, but these files and directories.
fn holds_other_files(root: &Path, path: &RepoPath, known: &BTreeSet<&RepoPath>) -> bool {
    let mut paths = vec![path.clone()];
    while let Some(path) = paths.pop() {
        let place = path.below(root);
        match place.symlink_metadata() {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            Ok(meta) if meta.is_dir() => {
                let Ok(entries) = fs::read_dir(&place) else {
                    return true;
                };
                let names = entries.flatten().map(|entry| entry.file_name());
                paths.extend(names.map(|name| RepoPath::from_bytes(name.as_bytes()).inside(&path)));
            }
            Ok(_) if known.contains(&path) => {}
            Ok(_) | Err(_) => return true,
        }
    }
    false
}

fn on_branch(tree: &Tree) -> bool {
    let head = plain::read(&tree.path.join(".git/HEAD"), HEAD_MAX_BYTES).unwrap_or_default();
    head == format!("ref: {}\n", tree.spec.branch.full_ref()).into_bytes()
}

/// Whether the places that are written to are directories of the tree itself, not links out of it.
pub(crate) fn own_directories(work: &Path) -> bool {
    let needed = [
        ".git",
        ".git/objects",
        ".git/objects/pack",
        ".git/refs",
        ".git/refs/heads",
    ];
    let is_dir = |place: &str| work.join(place).symlink_metadata().is_ok_and(|m| m.is_dir());
    // Git removes the directory of the card's branch when it packs the refs; it is made again.
    let last = ".git/refs/heads/cs";
    needed.into_iter().all(is_dir) && (is_dir(last) || work.join(last).symlink_metadata().is_err())
}

/// Git writes the index of a tree through a link to wherever that leads.
fn has_own_index(work: &Path) -> bool {
    let index = work.join(".git/index");
    index.symlink_metadata().is_ok_and(|meta| meta.is_file())
}

/// Writes the commits between two tips into the tree's object directory as one pack.
pub(crate) async fn bring_objects(
    store: &Store,
    tree: &Tree,
    from: &Oid,
    to: &Oid,
) -> Result<(), WorktreeError> {
    let pack = store
        .call("pack-objects")
        .args(["pack-objects", "--quiet", "--revs"]);
    let pack = pack
        .arg(tree.path.join(".git/objects/pack/pack"))
        .stdin(format!("{to}\n^{from}\n"));
    store.git.ok(pack).await?;
    Ok(())
}
