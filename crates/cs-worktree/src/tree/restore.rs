//! A tree whose git directory is gone gets a new one: its files stay as they are and are compared with the card's head.

use std::fs;
use std::io;

use super::clone::NewTree;
use super::{Tree, WORK_DIR};
use crate::Worktrees;
use crate::error::WorktreeError;
use crate::keys::Oid;
use crate::repository::Repository;
use crate::runner::{Call, World};
use crate::store::Store;

impl Worktrees {
    /// Makes the git directory of a tree anew when there is nothing in its place. Whatever else stands there is the agent's
    /// doing and stays. Without one, git in the tree would find a repository further up.
    pub(super) async fn restore_git_dir(
        &self,
        store: &Store,
        repository: &Repository,
        tree: &Tree,
        head: &Oid,
    ) -> Result<(), WorktreeError> {
        let place = tree.path.join(".git");
        match place.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(_) | Err(_) => return Ok(()),
        }
        tracing::warn!(tree = %tree.path.display(), "the git directory of a tree is gone; it is made anew");
        let new = NewTree {
            spec: &tree.spec,
            head,
            base: &tree.base_commit,
        };
        let half = self.bare_clone(store, repository, &new).await?;
        let made = half.path().join(WORK_DIR).join(".git");
        let branch = tree.spec.branch.full_ref();
        let on_made = |op| Call::new(World::Ours, op).git_dir(&made);
        let update = on_made("update-ref").args(["update-ref", branch.as_str(), head.as_str()]);
        self.git().ok(update).await?;
        let point = on_made("symbolic-ref").args(["symbolic-ref", "HEAD", branch.as_str()]);
        self.git().ok(point).await?;
        let index = on_made("read-tree").args(["read-tree", "HEAD"]);
        self.git().ok(index).await?;
        fs::rename(&made, &place).map_err(WorktreeError::io("put in place", &place))
    }
}
