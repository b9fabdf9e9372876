//! The commits of a landing on their way from the store to the user's repository.

use super::Move;
use crate::collect;
use crate::error::{GitError, WorktreeError};
use crate::runner::COPY_LIMIT;
use crate::store::{self, Store};

/// More objects go as one pack, which only a fetch can hold together with a ref while somebody cleans up.
const LOOSE_MAX: u32 = 500;
/// Where a pack says how many objects it has.
const COUNT_AT: std::ops::Range<usize> = 8..12;

/// Brings the commits that land, and nothing else, into the user's repository. Their base is there, so all else is.
///
/// A fetch would start six processes for the few objects of a common landing; it is for the others, and for whatever goes wrong.
pub(super) async fn bring(
    store: &Store,
    landing: &Move,
    objects: Option<Vec<u8>>,
) -> Result<(), WorktreeError> {
    if let Some(pack) = objects {
        let unpack = landing
            .repository
            .call("unpack-objects")
            .args(["unpack-objects", "-q"]);
        let answer = store.git.run(unpack.stdin(pack)).await?;
        if answer.code == 0 {
            return Ok(());
        }
        tracing::debug!(error = %answer.into_error("unpack-objects"), "the commits are fetched instead");
    }
    let refspec = format!("+{}:{}", landing.new, store::land_ref(&landing.landing));
    collect::fetch_into(&store.git, &landing.repository, store, &refspec).await
}

/// The objects, if they are few.
pub(super) async fn pack(store: &Store, landing: &Move) -> Result<Option<Vec<u8>>, WorktreeError> {
    let pack = store.call("pack-objects").limit(COPY_LIMIT);
    let pack = pack.args([
        "pack-objects",
        "-q",
        "--revs",
        "--stdout",
        "--window=0",
        "--threads=1",
    ]);
    let pack = match store
        .git
        .run(pack.stdin(format!("{}\n^{}\n", landing.new, landing.old)))
        .await
    {
        Ok(answer) if answer.code == 0 => answer.stdout,
        Ok(answer) => {
            tracing::debug!(error = %answer.into_error("pack-objects"), "the commits are fetched instead");
            return Ok(None);
        }
        Err(GitError::OverCap { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let count = pack.get(COUNT_AT).and_then(|bytes| bytes.try_into().ok());
    let is_small = count.is_some_and(|bytes| u32::from_be_bytes(bytes) <= LOOSE_MAX);
    Ok(is_small.then_some(pack))
}
