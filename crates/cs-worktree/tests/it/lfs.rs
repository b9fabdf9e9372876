//! Contents of git-lfs go where their pointers go: to the user at a collection, a landing and a restore.

use std::fs;
use std::path::{Path, PathBuf};

use cs_worktree::*;

use crate::bench::*;

/// The digest of 100 zeros, and the pointer to them as the program `git-lfs` writes it.
const NAME: &str = "cd00e292c5970d3c5e2f0ffa5171e555bc46bfc4faddfb4a418b6840b86e79a3";
const POINTER: &str = "version https://git-lfs.github.com/spec/v1\n\
    oid sha256:cd00e292c5970d3c5e2f0ffa5171e555bc46bfc4faddfb4a418b6840b86e79a3\nsize 100\n";
const ATTRIBUTES: &str = "*.bin filter=lfs diff=lfs merge=lfs -text\n";

fn object_in(git_dir: &Path) -> PathBuf {
    git_dir.join("lfs/objects/cd/00").join(NAME)
}

/// An agent with git-lfs commits a file: its pointer is committed, its content is in the tree's own LFS.
async fn agent_commits_to_lfs(bench: &Bench, tree: &Tree) {
    bench.agent_commits(tree, ".gitattributes", ATTRIBUTES).await;
    bench.agent_commits(tree, "big.bin", POINTER).await;
    let object = object_in(&tree.path.join(".git"));
    fs::create_dir_all(object.parent().unwrap()).unwrap();
    fs::write(object, [0; 100]).unwrap();
}

#[tokio::test]
async fn a_collection_brings_contents_of_lfs_to_the_user() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    agent_commits_to_lfs(&bench, &tree).await;
    bench.collect(&tree, "r1").await;
    let brought = fs::read(object_in(&bench.user.join(".git"))).unwrap();
    assert_eq!(brought, [0; 100]);
}

#[tokio::test]
async fn contents_of_lfs_go_where_the_user_keeps_theirs() {
    let bench = Bench::new().await;
    git(&bench.user, &["config", "lfs.storage", "elsewhere"]).await;
    let tree = bench.prepare("c1").await;
    agent_commits_to_lfs(&bench, &tree).await;
    bench.collect(&tree, "r1").await;
    let elsewhere = bench.user.join(".git/elsewhere/objects/cd/00").join(NAME);
    assert_eq!(fs::read(elsewhere).unwrap(), [0; 100]);
}

/// The store has more than the user asked for: a content that is only uncommitted stays there.
#[tokio::test]
async fn a_landing_brings_the_contents_that_it_lands_and_no_others() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    agent_commits_to_lfs(&bench, &tree).await;
    fs::write(tree.path.join("uncommitted.bin"), [1; 100]).unwrap();
    let tip = bench.collect(&tree, "r1").await.tip;
    bench.salvage(&tree, "r1").await;
    // The collection brought them already; a landing does not rely on that.
    fs::remove_dir_all(bench.user.join(".git/lfs")).unwrap();
    let ready = bench.ready(&tree, &tip, "l1").await;
    let outcome = bench.worktrees.execute_move(&ready).await.unwrap();
    assert_eq!(outcome, MoveOutcome::Moved);
    assert_eq!(fs::read(object_in(&bench.user.join(".git"))).unwrap(), [0; 100]);
    let all = fs::read_dir(bench.user.join(".git/lfs/objects")).unwrap();
    assert_eq!(all.count(), 1);
    let in_store = fs::read_dir(bench.store().join("lfs/objects")).unwrap();
    assert_eq!(in_store.count(), 2);
}

#[tokio::test]
async fn a_landing_stops_before_the_base_moves_where_a_content_cannot_be_brought() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    agent_commits_to_lfs(&bench, &tree).await;
    let tip = bench.collect(&tree, "r1").await.tip;
    let lfs = bench.user.join(".git/lfs");
    fs::remove_dir_all(&lfs).unwrap();
    fs::write(&lfs, "a file in the way").unwrap();
    let before = git(&bench.user, &["rev-parse", "main"]).await;
    let ready = bench.ready(&tree, &tip, "l1").await;
    let refused = bench.worktrees.execute_move(&ready).await;
    assert!(matches!(refused, Err(WorktreeError::Io { .. })), "{refused:?}");
    assert_eq!(git(&bench.user, &["rev-parse", "main"]).await, before);
}

#[tokio::test]
async fn a_restored_branch_has_its_contents_of_lfs() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    bench.agent_commits(&tree, ".gitattributes", ATTRIBUTES).await;
    fs::write(tree.path.join("big.bin"), [0; 100]).unwrap();
    let reference = bench.salvage(&tree, "r1").await.reference.unwrap();
    let branch = BranchName::new("rescued").unwrap();
    let code = &tree.spec.codebase;
    let restored = bench
        .worktrees
        .restore_to_branch(&bench.repository, code, &reference, &branch)
        .await;
    restored.unwrap();
    assert_eq!(fs::read(object_in(&bench.user.join(".git"))).unwrap(), [0; 100]);
}

/// What a user's own checkout holds depends on whether they have git-lfs; so does a restored directory.
async fn check_restored(config: &str, expected: &[u8]) {
    let bench = Bench::with_config(config).await;
    let tree = bench.prepare("c1").await;
    agent_commits_to_lfs(&bench, &tree).await;
    bench.collect(&tree, "r1").await;
    fs::write(tree.path.join("README"), "uncommitted\n").unwrap();
    let reference = bench.salvage(&tree, "r1").await.reference.unwrap();
    let to = bench.dir.path().canonicalize().unwrap().join("back");
    let code = &tree.spec.codebase;
    let restored = bench.worktrees.restore_to_directory(code, &reference, &to).await;
    restored.unwrap();
    assert_eq!(fs::read(to.join("big.bin")).unwrap(), expected, "{config}");
    assert_eq!(fs::read(object_in(&to.join(".git"))).unwrap(), [0; 100]);
    let status = git(&to, &["status", "--porcelain"]).await;
    assert!(
        status.starts_with("M README") && status.lines().count() == 1,
        "{status}"
    );
}

#[tokio::test]
async fn committed_files_of_lfs_come_back_with_their_contents() {
    check_restored("", POINTER.as_bytes()).await;
    // A stand-in for git-lfs: the bench has one content only.
    let clean = POINTER.replace('\n', "\\\\n");
    check_restored(
        &format!("[filter \"lfs\"]\n\tclean = \"printf '{clean}'\"\n"),
        &[0; 100],
    )
    .await;
}
