//! Contents of git-lfs that a push would point to without bringing them.

use super::{Publish, RemoteBranch};
use crate::error::WorktreeError;
use crate::lfs;
use crate::repository::Repository;
use crate::runner::Call;
use crate::store::Store;

/// How many contents the commits point to that no branch of the remote did, as the user last fetched them.
pub(super) async fn new_contents(
    store: &Store,
    repository: &Repository,
    publish: &Publish,
    to: &RemoteBranch,
) -> Result<usize, WorktreeError> {
    let call = |op| -> Call { repository.call(op).borrow_objects(&store.dir.join("objects")) };
    let known = format!("--remotes={}", to.remote);
    let pointers = lfs::pointers_in(store, &call, &publish.commit, &[&known]).await?;
    Ok(pointers.len())
}
