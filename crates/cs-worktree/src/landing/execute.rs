//! The move of the base.

use std::fs;
use std::time::Duration;

use super::index::{IndexLock, Kept};
use super::preflight::{self, Place};
use super::rollback::Begun;
use super::{How, Move, MoveOutcome, MoveRecovery, Refusal, look, rollback, transfer};
use crate::Worktrees;
use crate::borders::Border;
use crate::busy::{self, BusyWith};
use crate::error::{GitError, WorktreeError};
use crate::keys::{BranchName, Oid};
use crate::lfs;
use crate::repository::{self, Repository};
use crate::runner::{Answer, Git};
use crate::store::{self, RefChange, RefMove, Store};

/// A checkout of many large files, perhaps through the user's filters, takes its time.
const MERGE_LIMIT: Duration = Duration::from_secs(600);

/// How the base stands to a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It contains the commit that lands.
    Done,
    /// It is where the plan found it.
    Before,
    /// It is elsewhere, or gone.
    Elsewhere,
}

impl Worktrees {
    /// Moves the base as planned. The caller has journaled the move before, and calls [`Worktrees::recover_move`] if it
    /// dies or gets an error in between.
    ///
    /// Everything is looked at again first. Repeated after success it says [`MoveOutcome::Moved`]. In a working tree no file
    /// with uncommitted changes and no untracked or ignored file is overwritten, and nothing is stashed.
    ///
    /// # Errors
    /// [`WorktreeError::CodebaseBusy`], or git failed: then the state is told by [`Worktrees::recover_move`].
    pub async fn execute_move(&self, landing: &Move) -> Result<MoveOutcome, WorktreeError> {
        let _lock = self.lock(&landing.codebase).await?;
        let store = self.store(&landing.codebase);
        let held = landing.held.as_ref().map(|held| held.name.as_str());
        let looked = look::look(self.git(), &landing.repository, &landing.base_branch, held);
        let Some(base) = looked.await? else {
            return Ok(MoveOutcome::BaseMoved);
        };
        match stands(self.git(), landing, &base.tip).await? {
            Standing::Done => {
                note_base(&store, landing).await;
                return Ok(MoveOutcome::Moved);
            }
            Standing::Elsewhere => return Ok(MoveOutcome::BaseMoved),
            Standing::Before => {}
        }
        match base.way {
            Err(refusal) => return Ok(MoveOutcome::Refused(refusal)),
            Ok(how) if how != landing.how => return Ok(MoveOutcome::BaseMoved),
            Ok(_) => {}
        }
        lfs::bring_to_user(&store, &landing.repository, &landing.new, &[landing.old.as_str()]).await?;
        let _kept = transfer::bring(&store, landing, base.beside.as_ref()).await?;
        self.reach(Border::MergeShown);
        let outcome = match &landing.how {
            How::NotCheckedOut => set_base(self.git(), landing).await?,
            How::CheckedOut { worktree, git_dir } => {
                fast_forward(&store, landing, Place::new(worktree, git_dir)).await?
            }
        };
        if outcome == MoveOutcome::Moved {
            self.reach(Border::MoveMade);
            note_base(&store, landing).await;
        }
        Ok(outcome)
    }
}

/// Notes in the store where the base is now, so that the next landing has nothing to fetch. Whatever comes of it, a fetch mends.
pub(super) async fn note_base(store: &Store, landing: &Move) {
    let name = store::base_ref(&landing.base_branch);
    let moved = store.move_ref(&name, &landing.new, Some(&landing.old)).await;
    tracing::debug!(?moved, "noted where the base is");
}

/// How the base stands now.
pub(super) async fn standing(git: &Git, landing: &Move) -> Result<Standing, WorktreeError> {
    match landing.repository.branch_tip(git, &landing.base_branch).await? {
        Some(tip) => stands(git, landing, &tip).await,
        None => Ok(Standing::Elsewhere),
    }
}

async fn stands(git: &Git, landing: &Move, tip: &Oid) -> Result<Standing, WorktreeError> {
    if *tip == landing.old {
        return Ok(Standing::Before);
    }
    let done =
        *tip == landing.new || contains(git, &landing.repository, &landing.base_branch, &landing.new).await?;
    Ok(if done { Standing::Done } else { Standing::Elsewhere })
}

async fn contains(
    git: &Git,
    repository: &Repository,
    base: &BranchName,
    commit: &Oid,
) -> Result<bool, WorktreeError> {
    let call = repository.call("merge-base");
    let call = call.args(["merge-base", "--is-ancestor", commit.as_str(), &base.full_ref()]);
    // A commit that is not in the repository at all is in none of its branches.
    Ok(git.run(call).await?.code == 0)
}

async fn set_base(git: &Git, landing: &Move) -> Result<MoveOutcome, WorktreeError> {
    // Somebody may be about to check it out as it was.
    if busy::an_index_is_locked(&landing.repository.common_dir) {
        return Ok(MoveOutcome::Refused(Refusal::BaseBusy(BusyWith::IndexLock)));
    }
    let change = RefChange {
        new: &landing.new,
        old: Some(&landing.old),
        note: "cs-panel: land",
    };
    let call = landing.repository.call("update-ref");
    match store::move_ref(git, call, &landing.base_branch.full_ref(), change).await {
        Ok(RefMove::Moved) => Ok(MoveOutcome::Moved),
        Ok(RefMove::Stale) => Ok(MoveOutcome::BaseMoved),
        Err(WorktreeError::Git(GitError::Locked { .. })) => {
            Ok(MoveOutcome::Refused(Refusal::BaseBusy(BusyWith::RefLock)))
        }
        Err(error) => Err(error),
    }
}

async fn fast_forward(store: &Store, landing: &Move, place: Place<'_>) -> Result<MoveOutcome, WorktreeError> {
    if ref_is_locked(landing, place) {
        return Ok(MoveOutcome::Refused(Refusal::BaseBusy(BusyWith::RefLock)));
    }
    let Some(mut lock) = IndexLock::take(store, landing, place).await? else {
        return Ok(MoveOutcome::Refused(Refusal::BaseBusy(BusyWith::IndexLock)));
    };
    store.borders.reach(Border::IndexLocked);
    let index = lock.path().to_owned();
    let copied = place.with_index(&index);
    // Who switches to what is there already needs the index; who makes a branch does not.
    if !is_on_base(&store.git, landing, copied).await? {
        lock.release()?;
        return Ok(MoveOutcome::BaseMoved);
    }
    if let Some(refusal) = preflight::overlap(store, landing, copied).await? {
        lock.release()?;
        return Ok(MoveOutcome::Refused(refusal));
    }
    lock.in_use();
    let answer = merge(store, landing, copied).await?;
    let standing = standing(&store.git, landing).await?;
    if standing == Standing::Done || is_at_new(&store.git, landing, place).await? {
        store.borders.reach(Border::BaseMoved);
        keep(store, landing, place, lock).await?;
        return Ok(if standing == Standing::Done {
            MoveOutcome::Moved
        } else {
            // What git moved is a branch that the person made of the base meanwhile.
            MoveOutcome::BaseMoved
        });
    }
    let error = answer.into_error("merge");
    tracing::warn!(%error, "git refused to fast-forward the base");
    let outcome = after_refusal(store, landing, copied, (standing, &error)).await;
    lock.release()?;
    outcome
}

/// Puts the index in place that git has made. Where the person has removed the lock meanwhile, their index is brought to the same.
pub(super) async fn keep(
    store: &Store,
    landing: &Move,
    place: Place<'_>,
    lock: IndexLock,
) -> Result<(), WorktreeError> {
    match lock.keep()? {
        Kept::Yes => Ok(()),
        Kept::No => rollback::bring_index_forward(store, landing, place).await,
    }
}

/// Whether what is checked out is the commit that lands.
pub(super) async fn is_at_new(git: &Git, landing: &Move, place: Place<'_>) -> Result<bool, WorktreeError> {
    let head = repository::commit_of(git, place.call("rev-parse"), "HEAD").await?;
    Ok(head.as_ref() == Some(&landing.new))
}

async fn merge(store: &Store, landing: &Move, place: Place<'_>) -> Result<Answer, WorktreeError> {
    let merge = place.call("merge").fails_on_locks().limit(MERGE_LIMIT);
    let merge = merge.args([
        "merge",
        "--quiet",
        "--ff-only",
        "--no-squash",
        "--no-overwrite-ignore",
        "--no-stat",
    ]);
    let merge = merge.args([
        "--no-autostash",
        "--no-verify",
        "--no-verify-signatures",
        "--no-gpg-sign",
    ]);
    Ok(store.git.run(merge.arg(landing.new.as_str())).await?)
}

/// What is left when git ended by itself without moving the base: it checks all files before it writes the first, but the branch
/// only when files and index are written.
async fn after_refusal(
    store: &Store,
    landing: &Move,
    place: Place<'_>,
    (standing, error): (Standing, &GitError),
) -> Result<MoveOutcome, WorktreeError> {
    let undone = rollback::roll_back(store, landing, place, Begun::AsTheIndexSays).await?;
    if let MoveRecovery::ForeignEdits { files } = undone {
        return Ok(MoveOutcome::Refused(Refusal::DirtyOverlap { files }));
    }
    if standing == Standing::Elsewhere {
        return Ok(MoveOutcome::BaseMoved);
    }
    let is_locked = matches!(error, GitError::Locked { .. }) || ref_is_locked(landing, place);
    Ok(MoveOutcome::Refused(if is_locked {
        Refusal::BaseBusy(BusyWith::RefLock)
    } else {
        preflight::overlap(store, landing, place)
            .await?
            .unwrap_or(Refusal::ByGit)
    }))
}

/// Whether the working tree still stands on the base.
pub(super) async fn is_on_base(git: &Git, landing: &Move, place: Place<'_>) -> Result<bool, WorktreeError> {
    let full = landing.base_branch.full_ref();
    // What git would say, without a process of it. Elsewhere than in files it keeps another word there.
    if fs::read(place.git_dir.join("HEAD")).is_ok_and(|head| head == format!("ref: {full}\n").as_bytes()) {
        return Ok(true);
    }
    let head = place
        .call("symbolic-ref")
        .args(["symbolic-ref", "--quiet", "HEAD"]);
    let head = git.run(head).await?;
    Ok(head.stdout == format!("{full}\n").into_bytes())
}

/// Whether a git holds the branch, or died while it did. Only a repository that keeps its refs as files tells so.
fn ref_is_locked(landing: &Move, place: Place<'_>) -> bool {
    let branch = format!("{}.lock", landing.base_branch.full_ref());
    let of_branch = landing.repository.common_dir.join(branch);
    let of_head = place.git_dir.join("HEAD.lock");
    [of_branch, of_head]
        .iter()
        .any(|lock| lock.symlink_metadata().is_ok())
}
