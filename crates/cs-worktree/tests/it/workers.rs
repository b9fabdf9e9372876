//! Workers have trees of their own, at the tip of the card; their commits come back to the owner's tree.

use std::fs;

use cs_worktree::*;

use crate::bench::*;

async fn prepared(bench: &Bench, spec: &TreeSpec) -> Tree {
    let made = bench.worktrees.prepare_tree(&bench.repository, spec).await;
    made.unwrap().tree
}

#[tokio::test]
async fn a_workers_commits_come_back_to_the_owner_with_what_they_conflict_in() {
    let bench = Bench::new().await;
    let (owner, tip) = bench.card_with("c1", "src/a.txt", "of the owner\n").await;
    let specs = [1, 2, 3].map(|n| owner.spec.for_worker(n).unwrap());
    assert_eq!(specs[0].branch.as_str(), "cs/c1-a-title--1");
    let mut trees = Vec::new();
    for spec in &specs {
        trees.push(prepared(&bench, spec).await);
    }
    assert_eq!(git(&trees[0].path, &["rev-parse", "HEAD"]).await, tip.as_str());
    assert_eq!(
        git(&trees[0].path, &["branch", "--show-current"]).await,
        "cs/c1-a-title--1"
    );
    bench.agent_commits(&trees[0], "one", "1\n").await;
    bench
        .agent_commits(&trees[1], "src/a.txt", "of the worker\n")
        .await;
    for (n, tree) in trees.iter().enumerate() {
        bench.collect(tree, &format!("w{n}")).await;
    }
    bench
        .agent_commits(&owner, "src/a.txt", "the owner went on\n")
        .await;
    fs::write(owner.path.join("README"), "uncommitted\n").unwrap();
    let before = (
        picture(&owner.path),
        fs::read(owner.path.join(".git/index")).unwrap(),
    );
    for _ in 0..2 {
        let brought = bench.worktrees.bring_workers(&owner, &specs).await.unwrap();
        let seen: Vec<_> = brought
            .iter()
            .map(|b| (b.new_commits, b.conflicts.len()))
            .collect();
        assert_eq!(seen, [(1, 0), (1, 1), (0, 0)]);
        assert_eq!(brought[1].conflicts, [RepoPath::from_bytes(*b"src/a.txt")]);
    }
    assert!(
        (
            picture(&owner.path),
            fs::read(owner.path.join(".git/index")).unwrap()
        ) == before
    );
    git(
        &owner.path,
        &["merge", "-q", "-m", "together", "origin/cs/c1-a-title--1"],
    )
    .await;
    assert_eq!(fs::read_to_string(owner.path.join("one")).unwrap(), "1\n");
    git(&owner.path, &["fsck", "--strict"]).await;
    let never = owner.spec.for_worker(9).unwrap();
    assert_eq!(bench.worktrees.bring_workers(&owner, &[never]).await.unwrap(), []);
}

#[tokio::test]
async fn a_workers_tree_of_a_card_that_was_never_worked_on_is_refused() {
    let bench = Bench::new().await;
    let spec = bench.spec("c1").for_worker(1).unwrap();
    let made = bench.worktrees.prepare_tree(&bench.repository, &spec).await;
    assert!(matches!(made, Err(WorktreeError::NoCard)), "{made:?}");
}
