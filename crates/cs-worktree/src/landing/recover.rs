//! After a crash: did the move happen, and what did a half one leave?

use std::path::Path;
use std::time::Duration;

use super::execute::{Standing, is_at_new, is_on_base, keep, note_base, standing};
use super::index::IndexLock;
use super::preflight::Place;
use super::rollback::Begun;
use super::{How, Move, MoveRecovery, rollback, transfer};
use crate::Worktrees;
use crate::error::WorktreeError;
use crate::procs;
use crate::repository;
use crate::store::Store;

/// How often, and after which pause, a git that still lives is looked for again: 5 s in all.
const LOOKS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(100);

impl Worktrees {
    /// Finds out what became of a journaled move whose result is not known, and undoes a half one.
    ///
    /// A file that the move changes is put back if it holds the old content, the new, the beginning of the new, or is
    /// missing; any other content is somebody's edit and stays. Where the user has committed meanwhile, that holds for the files that
    /// they did not commit. The lock of the index that this move held is let go of. Another's is left alone: then it is
    /// [`MoveRecovery::Busy`]. Files that the move does not change are not touched. Idempotent.
    ///
    /// # Errors
    /// [`WorktreeError::CodebaseBusy`], or git or the disk failed: ask again.
    pub async fn recover_move(&self, landing: &Move) -> Result<MoveRecovery, WorktreeError> {
        let _lock = self.lock(&landing.codebase).await?;
        let store = self.store(&landing.codebase);
        let place = match &landing.how {
            How::NotCheckedOut => None,
            How::CheckedOut { worktree, git_dir } => Some(Place::new(worktree, git_dir)),
        };
        let nobody = match place {
            Some(place) => wait_for_nobody(landing, place).await,
            None => true,
        };
        transfer::let_go(landing);
        let standing = standing(self.git(), landing).await?;
        if standing == Standing::Done {
            note_base(&store, landing).await;
        }
        let Some(place) = place.filter(|place| place.worktree.is_dir()) else {
            let done = standing == Standing::Done;
            match place.and_then(|place| IndexLock::left(landing, place)) {
                Some(left) if done => drop(left.keep()?),
                Some(left) => left.release()?,
                None => {}
            }
            return Ok(if done {
                MoveRecovery::Done
            } else {
                MoveRecovery::NotMoved
            });
        };
        if standing == Standing::Done || is_at_new(self.git(), landing, place).await? {
            // The copy that git has finished before it moved the branch.
            if let Some(left) = IndexLock::left(landing, place) {
                keep(&store, landing, place, left).await?;
            }
            return Ok(if standing == Standing::Done {
                MoveRecovery::Done
            } else {
                MoveRecovery::NotMoved
            });
        }
        if !nobody {
            return Ok(MoveRecovery::Busy);
        }
        undo(&store, landing, place).await
    }
}

async fn undo(store: &Store, landing: &Move, place: Place<'_>) -> Result<MoveRecovery, WorktreeError> {
    let Some(lock) = IndexLock::take(store, landing, place).await? else {
        return Ok(MoveRecovery::Busy);
    };
    let index = lock.path().to_owned();
    let place = place.with_index(&index);
    if !can_be_begun(store, landing, place).await? {
        // Another branch is there now; whatever is there is theirs.
        let recovered = rollback::report(store, landing, place).await?;
        lock.release()?;
        return Ok(recovered);
    }
    // The user may have gone on meanwhile: what the move wrote is not theirs for that.
    let recovered = rollback::roll_back(store, landing, place, Begun::AsTheFilesSay).await;
    match recovered {
        // Whatever went wrong, nobody acts any more.
        Ok(MoveRecovery::NotMoved) | Err(_) => lock.release()?,
        Ok(
            MoveRecovery::Done
            | MoveRecovery::RolledBack
            | MoveRecovery::ForeignEdits { .. }
            | MoveRecovery::Busy,
        ) => drop(lock.keep()?),
    }
    recovered
}

/// Waits until no git works in the tree. Where the system does not tell, the tree counts as in use while it is locked.
async fn wait_for_nobody(landing: &Move, place: Place<'_>) -> bool {
    let lock = place.git_dir.join("index.lock");
    let is_free = || !lock_is_there(&lock) || IndexLock::is_left(landing, place);
    for _ in 0..LOOKS {
        match procs::git_in(&[place.worktree, place.git_dir]) {
            procs::Users::None if is_free() || !is_held(&lock) => return true,
            procs::Users::Unknown if is_free() => return true,
            procs::Users::None | procs::Users::Some | procs::Users::Unknown => {
                tokio::time::sleep(PAUSE).await
            }
        }
    }
    false
}

/// Whether somebody has the lock of the index: other programs than git take it, too, and are not known by their name.
fn is_held(lock: &Path) -> bool {
    lock_is_there(lock) && procs::users_of(lock) == procs::Users::Some
}

fn lock_is_there(lock: &Path) -> bool {
    lock.symlink_metadata().is_ok()
}

/// Without the commit that lands in the user's repository no merge can have begun, nor where they are on another branch.
async fn can_be_begun(store: &Store, landing: &Move, place: Place<'_>) -> Result<bool, WorktreeError> {
    let known = repository::commit_of(&store.git, place.call("rev-parse"), landing.new.as_str()).await?;
    Ok(known.is_some() && is_on_base(&store.git, landing, place).await?)
}
