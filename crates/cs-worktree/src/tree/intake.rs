//! Where a card stands before a start, and the person's own commits on its branch.
//!
//! A tree that is there is brought forward without running git in it: our git directory, the tree's files, the tree's
//! index. Nothing of the tree's configuration is read.

use std::fs;
use std::path::Path;

use super::{PersonCommits, Tree, TreeSpec, make_ref};
use crate::borders::Border;
use crate::error::WorktreeError;
use crate::keys::{CardKey, Oid};
use crate::status;
use crate::store::{self, RefMove, Store};

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
    No,
    By { tip: Oid, count: usize },
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
    let tip = store.commit(&store::base_ref(&spec.branch)).await?;
    let known = store.commit(&store::head_ref(&spec.card)).await?;
    let (head, is_new) = match known {
        Some(head) => (head, false),
        None => (begin(store, spec, tip.as_ref(), remote).await?, true),
    };
    let base = store.commit(&store::card_base_ref(&spec.card)).await?;
    let base = base.ok_or_else(|| WorktreeError::Corrupt {
        what: "a card without its base".into(),
    })?;
    let ahead = match tip {
        None => Ahead::No,
        Some(tip) if tip == head || store.is_ancestor(&tip, &head).await? => Ahead::No,
        Some(tip) if store.is_ancestor(&head, &tip).await? => {
            let count = store.count(&head, &tip).await?;
            Ahead::By { tip, count }
        }
        Some(_) => Ahead::Diverged,
    };
    let onto = match remote {
        Some(remote) => Some(remote.clone()),
        None => store.commit(&store::base_ref(&spec.base_branch)).await?,
    };
    let behind = match &onto {
        Some(onto) => store.count(&head, onto).await?,
        None => 0,
    };
    Ok(Position {
        is_new,
        head,
        base,
        behind,
        ahead,
    })
}

/// The base ref is made first: a crash in between begins again, with a base that is still right.
async fn begin(
    store: &Store,
    spec: &TreeSpec,
    tip: Option<&Oid>,
    remote: Option<&Oid>,
) -> Result<Oid, WorktreeError> {
    let base = match (&spec.worker_of, remote) {
        (Some(card), _) => Some(store.card_head(card).await?),
        (None, Some(remote)) => Some(remote.clone()),
        (None, None) => store.commit(&store::base_ref(&spec.base_branch)).await?,
    };
    let base = base.ok_or_else(|| WorktreeError::BaseMissing {
        branch: spec.base_branch.clone(),
    })?;
    let head = tip.cloned().unwrap_or_else(|| base.clone());
    let base = store.merge_base(&base, &head).await?.unwrap_or(base);
    let name = store::card_base_ref(&spec.card);
    match store.commit(&name).await? {
        None => make_ref(store, &name, &base).await?,
        Some(old) if old == base => {}
        Some(old) => drop(store.move_ref(&name, &base, Some(&old)).await?),
    }
    store.borders.reach(Border::BaseNoted);
    make_ref(store, &store::head_ref(&spec.card), &head).await?;
    store.borders.reach(Border::CardNoted);
    Ok(head)
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
    let clean = seen.entries.is_empty() && seen.special.is_empty();
    let at_head = seen.head.as_ref() == Some(&position.head) && on_branch(tree);
    if !clean || !at_head || !own_directories(&tree.path) {
        return Ok(PersonCommits::Waiting { count });
    }
    bring_objects(store, tree, &position.head, tip).await?;
    let update = store
        .call("read-tree")
        .work_tree(&tree.path)
        .index(&tree.path.join(".git/index"));
    let update = update.args(["read-tree", "-m", "-u", position.head.as_str(), tip.as_str()]);
    if store.git.run(update).await?.code != 0 {
        // An untracked or ignored file is in the way; git has checked that before it wrote anything.
        return Ok(PersonCommits::Waiting { count });
    }
    let branch = tree.path.join(".git").join(tree.spec.branch.full_ref());
    crate::disk::write_atomically(&branch, format!("{tip}\n").as_bytes())?;
    accept(store, &tree.spec.card, position).await?;
    Ok(PersonCommits::Taken { count })
}

fn on_branch(tree: &Tree) -> bool {
    let head = fs::read(tree.path.join(".git/HEAD")).unwrap_or_default();
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
