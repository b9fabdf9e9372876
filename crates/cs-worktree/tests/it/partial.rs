//! Repositories that lack objects: nothing is downloaded for them unasked, nothing fails without a sentence.

use std::fs;
use std::path::PathBuf;

use cs_worktree::*;

use crate::bench::*;

/// A user whose repository is a partial clone: contents of its older commits are on the remote only.
async fn partial_clone() -> (Bench, Repository) {
    let bench = Bench::new().await;
    fs::write(bench.user.join("README"), "newer\n").unwrap();
    git(&bench.user, &["commit", "-q", "-a", "-m", "second"]).await;
    git(&bench.user, &["config", "uploadpack.allowFilter", "true"]).await;
    let url = format!("file://{}", bench.user.display());
    git(
        &bench.user,
        &["clone", "-q", "--filter=blob:none", &url, "../partial"],
    )
    .await;
    let seen = Repository::inspect(bench.worktrees.git(), &partial(&bench)).await;
    (bench, seen.unwrap().repository)
}

fn partial(bench: &Bench) -> PathBuf {
    bench.user.with_file_name("partial")
}

async fn missing(dir: &std::path::Path) -> usize {
    let list = ["rev-list", "--objects", "--all", "--missing=print"];
    let listed = git(dir, &list).await;
    listed.lines().filter(|line| line.starts_with('?')).count()
}

#[tokio::test]
async fn a_partial_clone_that_lacks_something_is_refused_with_the_cure_and_nothing_is_downloaded() {
    let (bench, repository) = partial_clone().await;
    let lacks = missing(&partial(&bench)).await;
    assert!(lacks > 0);
    let spec = bench.spec("c1");
    // As an older git has written it.
    let config = partial(&bench).join(".git/config");
    let text = fs::read_to_string(&config).unwrap();
    let old = text.replace("promisor = true", "") + "[extensions]\n\tpartialClone = origin\n";
    fs::write(&config, old.replace("formatversion = 0", "formatversion = 1")).unwrap();
    let refused = bench
        .worktrees
        .prepare_tree(&repository, &spec)
        .await
        .unwrap_err();
    assert!(
        matches!(&refused, WorktreeError::PartialClone { .. }),
        "{refused}"
    );
    fs::write(&config, text).unwrap();
    let refused = bench
        .worktrees
        .prepare_tree(&repository, &spec)
        .await
        .unwrap_err();
    assert!(
        matches!(&refused, WorktreeError::PartialClone { remote, .. } if remote == "origin"),
        "{refused}"
    );
    assert!(!refused.public().contains(bench.dir.path().to_str().unwrap()));
    assert_eq!(missing(&partial(&bench)).await, lacks);
    // The cure that the error names.
    assert!(
        refused
            .to_string()
            .contains("git fetch --refetch --no-filter origin")
    );
    git(
        &partial(&bench),
        &["fetch", "-q", "--refetch", "--no-filter", "origin"],
    )
    .await;
    bench.worktrees.prepare_tree(&repository, &spec).await.unwrap();
}

#[tokio::test]
async fn a_card_lives_and_lands_in_a_partial_clone_that_lacks_nothing() {
    let (bench, repository) = partial_clone().await;
    git(
        &partial(&bench),
        &["fetch", "-q", "--refetch", "--no-filter", "origin"],
    )
    .await;
    let spec = bench.spec("c1");
    let tree = bench
        .worktrees
        .prepare_tree(&repository, &spec)
        .await
        .unwrap()
        .tree;
    bench.agent_commits(&tree, "src/a.txt", "agent\n").await;
    let collected = bench.worktrees.collect(&repository, &tree, &run_key("r1")).await;
    let landing = bench.landing_spec(&tree, &collected.unwrap().tip, "l1");
    let plan = bench.worktrees.plan_landing(&repository, &landing).await.unwrap();
    let LandingPlan::Ready(ready) = plan else {
        panic!("{plan:?}")
    };
    let outcome = bench.worktrees.execute_move(&ready).await.unwrap();
    assert_eq!(outcome, MoveOutcome::Moved);
    let landed = fs::read_to_string(partial(&bench).join("src/a.txt")).unwrap();
    assert_eq!(landed, "agent\n");
}

/// A salvage asks nothing of the user's repository, whatever has become of that.
#[tokio::test]
async fn a_tree_that_became_a_partial_clone_is_saved_and_says_so() {
    let (bench, _) = partial_clone().await;
    let tree = bench.prepare("c1").await;
    let url = format!("file://{}", bench.user.display());
    git(&tree.path, &["config", "remote.origin.url", &url]).await;
    git(
        &tree.path,
        &["fetch", "-q", "--refetch", "--filter=blob:none", "origin"],
    )
    .await;
    bench.agent_commits(&tree, "src/a.txt", "committed\n").await;
    fs::write(tree.path.join("new"), "uncommitted\n").unwrap();
    let salvage = bench.salvage(&tree, "r1").await;
    let Completeness::Partial(reasons) = &salvage.completeness else {
        panic!("{:?}", salvage.completeness);
    };
    assert!(reasons.contains(&Special::PartialClone), "{reasons:?}");
    let commit = salvage.commit.unwrap();
    for (file, text) in [("src/a.txt", "committed"), ("new", "uncommitted")] {
        assert_eq!(bench.in_store(&["show", &format!("{commit}:{file}")]).await, text);
    }
}

/// The remote's branch `from` gives way to `to`, and cards begin there before and after.
async fn check_replaced(from: &str, to: &str) {
    let bench = Bench::new().await;
    git(&bench.user, &["clone", "-q", "--bare", ".", "../remote.git"]).await;
    git(&bench.user, &["remote", "add", "origin", "../remote.git"]).await;
    let remote = bench.user.with_file_name("remote.git");
    let mut heads = Vec::new();
    for (card, branch, gone) in [("c1", from, None), ("c2", to, Some(from))] {
        let commit = ["commit-tree", "-p", "main", "-m", branch, "main^{tree}"];
        let commit = git(&remote, &commit).await;
        if let Some(gone) = gone {
            git(&remote, &["branch", "-q", "-D", gone]).await;
            git(&bench.user, &["branch", "-q", "-D", gone]).await;
        }
        git(&remote, &["branch", "-q", branch, &commit]).await;
        git(&bench.user, &["branch", "-q", branch, "main"]).await;
        git(&bench.user, &["fetch", "-q", "--prune", "origin"]).await;
        let spec = TreeSpec {
            base_branch: BranchName::new(branch).unwrap(),
            ..bench.spec(card)
        };
        let prepared = bench.worktrees.prepare_tree(&bench.repository, &spec).await;
        let prepared = prepared.unwrap();
        assert_eq!(prepared.base.standing, Standing::Behind);
        assert_eq!(prepared.head.as_str(), commit, "{branch}");
        heads.push(commit);
    }
    for head in heads {
        bench.in_store(&["cat-file", "-e", &head]).await;
    }
    bench.in_store(&["fsck", "--strict"]).await;
}

#[tokio::test]
async fn a_branch_of_a_remote_that_gave_way_to_one_below_it_is_no_obstacle() {
    check_replaced("a", "a/b").await;
    check_replaced("a/b", "a").await;
}
