//! Commits that the person makes on the card's branch in their own repository.

use std::fs;

use cs_worktree::*;

use crate::bench::*;

/// A card with a commit of the agent, and a commit of the person on top of it in the user's repository.
async fn card_with_person_commit(bench: &Bench) -> (Tree, String) {
    let (tree, _) = bench.card_with("c1", "src/a.txt", "agent\n").await;
    git(&bench.user, &["switch", "-q", tree.spec.branch.as_str()]).await;
    fs::write(bench.user.join("src/b.txt"), "person\n").unwrap();
    git(&bench.user, &["commit", "-q", "-a", "-m", "by the person"]).await;
    let tip = git(&bench.user, &["rev-parse", "HEAD"]).await;
    git(&bench.user, &["switch", "-q", "main"]).await;
    (tree, tip)
}

#[tokio::test]
async fn commits_of_the_person_are_taken_into_the_tree_before_a_start() {
    let bench = Bench::new().await;
    let (tree, tip) = card_with_person_commit(&bench).await;
    fs::write(tree.path.join("cache.ignored"), "kept").unwrap();
    git(&tree.path, &["gc", "-q"]).await;
    let prepared = bench
        .worktrees
        .prepare_tree(&bench.repository, &tree.spec)
        .await
        .unwrap();
    assert_eq!(prepared.attachment, Attachment::Reattached);
    assert_eq!(prepared.person, PersonCommits::Taken { count: 1 });
    assert_eq!(prepared.head.as_str(), tip);
    assert_eq!(git(&tree.path, &["rev-parse", "HEAD"]).await, tip);
    assert_eq!(git(&tree.path, &["status", "--porcelain"]).await, "");
    assert_eq!(
        fs::read_to_string(tree.path.join("src/b.txt")).unwrap(),
        "person\n"
    );
    assert_eq!(
        fs::read_to_string(tree.path.join("cache.ignored")).unwrap(),
        "kept"
    );
    git(&tree.path, &["fsck", "--strict"]).await;
    bench.agent_commits(&tree, "more", "x").await;
    assert_eq!(bench.collect(&tree, "r2").await.user_branch, UserBranch::Moved);
}

#[tokio::test]
async fn commits_of_the_person_wait_while_the_tree_is_dirty() {
    let bench = Bench::new().await;
    let (tree, _) = card_with_person_commit(&bench).await;
    fs::write(tree.path.join("README"), "agent is at it\n").unwrap();
    let prepared = bench
        .worktrees
        .prepare_tree(&bench.repository, &tree.spec)
        .await
        .unwrap();
    assert_eq!(prepared.person, PersonCommits::Waiting { count: 1 });
    assert_eq!(fs::read_to_string(tree.path.join("src/b.txt")).unwrap(), "b\n");
}

#[tokio::test]
async fn a_diverged_branch_is_said_and_left_alone() {
    let bench = Bench::new().await;
    let (tree, tip) = card_with_person_commit(&bench).await;
    bench.agent_commits(&tree, "other", "x").await;
    assert_eq!(bench.collect(&tree, "r2").await.user_branch, UserBranch::Diverged);
    assert_eq!(
        git(&bench.user, &["rev-parse", tree.spec.branch.as_str()]).await,
        tip
    );
    let prepared = bench
        .worktrees
        .prepare_tree(&bench.repository, &tree.spec)
        .await
        .unwrap();
    assert_eq!(prepared.person, PersonCommits::Diverged);
}

#[tokio::test]
async fn a_checked_out_card_branch_is_not_moved() {
    let bench = Bench::new().await;
    let (tree, tip) = bench.card_with("c1", "src/a.txt", "agent\n").await;
    git(
        &bench.user,
        &[
            "worktree",
            "add",
            "-q",
            "../second tree",
            tree.spec.branch.as_str(),
        ],
    )
    .await;
    bench.agent_commits(&tree, "more", "x").await;
    assert_eq!(
        bench.collect(&tree, "r2").await.user_branch,
        UserBranch::CheckedOut
    );
    assert_eq!(
        git(&bench.user, &["rev-parse", tree.spec.branch.as_str()]).await,
        tip.as_str()
    );
}

#[tokio::test]
async fn a_lost_store_begins_again_at_the_card_branch_of_the_user() {
    let bench = Bench::new().await;
    let (tree, tip) = bench.card_with("c1", "src/a.txt", "agent\n").await;
    fs::remove_dir_all(bench.dir.path().join("state")).unwrap();
    let bench = Bench {
        worktrees: Bench::open(bench.dir.path()).await,
        ..bench
    };
    let prepared = bench
        .worktrees
        .prepare_tree(&bench.repository, &tree.spec)
        .await
        .unwrap();
    assert_eq!(prepared.head, tip);
    assert_eq!(prepared.tree.base_commit, tree.base_commit);
    assert_eq!(bench.worktrees.log_summary(&tree.spec).await.unwrap().len(), 1);
}
