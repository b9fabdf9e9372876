//! What an agent committed comes whole, however its repositories look, and stays; else the tree stays (G1, G2).

use std::fs;
use std::path::Path;

use cs_worktree::*;

use crate::bench::*;

fn path(path: &str) -> RepoPath {
    RepoPath::from_bytes(path)
}

/// Salvages and expects a reason for which the tree is kept.
async fn check_kept(bench: &Bench, tree: &Tree, expected: Special) -> Salvage {
    let salvage = bench.salvage(tree, "r1").await;
    let Completeness::Partial(reasons) = &salvage.completeness else {
        panic!("{expected:?}: {:?}", salvage.completeness);
    };
    assert!(reasons.contains(&expected), "{expected:?} is not in {reasons:?}");
    salvage
}

async fn commit_all(dir: &Path, message: &str) -> String {
    git(dir, &["add", "-A"]).await;
    git(dir, &["commit", "-q", "-m", message]).await;
    git(dir, &["rev-parse", "HEAD"]).await
}

/// Makes a repository with one commit.
async fn repository_at(dir: &Path, file: &str) -> String {
    fs::create_dir_all(dir).unwrap();
    git(dir, &["init", "-q", "-b", "main"]).await;
    fs::write(dir.join(file), file).unwrap();
    commit_all(dir, file).await
}

async fn is_held(bench: &Bench, commit: &str) -> bool {
    let holders = ["for-each-ref", "--contains", commit, "refs/cs-panel/run/r1"];
    !bench.in_store(&holders).await.is_empty()
}

#[tokio::test]
async fn a_repository_inside_whose_history_is_cut_off_keeps_the_tree() {
    let bench = Bench::new().await;
    let upstream = bench.dir.path().join("upstream");
    repository_at(&upstream, "one").await;
    fs::write(upstream.join("two"), "two").unwrap();
    commit_all(&upstream, "two").await;
    let tree = bench.prepare("c1").await;
    let url = format!("file://{}", upstream.display());
    git(&tree.path, &["clone", "-q", "--depth", "1", &url, "dep"]).await;
    let dep = tree.path.join("dep");
    git(&dep, &["switch", "-q", "-c", "mine"]).await;
    fs::write(dep.join("three"), "three").unwrap();
    commit_all(&dep, "three").await;
    git(&dep, &["switch", "-q", "main"]).await;
    check_kept(&bench, &tree, Special::NestedRepository(path("dep"))).await;
}

#[tokio::test]
async fn a_tree_that_hides_its_refs_is_kept() {
    for place in ["config", "more"] {
        let bench = Bench::new().await;
        let tree = bench.prepare("c1").await;
        git(&tree.path, &["branch", "hidden"]).await;
        if place == "more" {
            git(&tree.path, &["config", "include.path", "more"]).await;
        }
        let file = tree.path.join(".git").join(place);
        let file = file.to_str().unwrap();
        git(
            &tree.path,
            &["config", "-f", file, "transfer.hideRefs", "refs/heads/hidden"],
        )
        .await;
        check_kept(&bench, &tree, Special::HistoryIncomplete).await;
    }
}

#[tokio::test]
async fn a_head_that_git_refuses_to_take_is_not_the_one_that_was_seen_before() {
    let bench = Bench::new().await;
    let upstream = bench.dir.path().join("upstream");
    repository_at(&upstream, "one").await;
    fs::write(upstream.join("two"), "two").unwrap();
    commit_all(&upstream, "two").await;
    let tree = bench.prepare("c1").await;
    assert!(bench.worktrees.status(&tree).await.unwrap().is_clean());
    let url = format!("file://{}", upstream.display());
    git(&tree.path, &["fetch", "-q", "--depth", "1", &url, "main"]).await;
    git(&tree.path, &["reset", "-q", "--hard", "FETCH_HEAD"]).await;
    let status = bench.worktrees.status(&tree).await.unwrap();
    assert!(status.special.contains(&Special::HeadUnreadable), "{status:?}");
    let collected = bench.collect(&tree, "r1").await;
    assert!(!collected.head_readable);
    check_kept(&bench, &tree, Special::HeadUnreadable).await;
}

/// What was gathered first stays although the agent has rewritten it since, also when its reflog is gone.
#[tokio::test]
async fn a_second_collect_under_the_same_key_keeps_what_the_first_one_took() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    bench.agent_commits(&tree, "a", "first").await;
    let first = bench.collect(&tree, "r1").await.tip;
    fs::write(tree.path.join("a"), "amended").unwrap();
    git(&tree.path, &["commit", "-q", "-a", "--amend", "-m", "amended"]).await;
    fs::remove_dir_all(tree.path.join(".git/logs")).unwrap();
    let second = bench.collect(&tree, "r1").await.tip;
    assert_ne!(first, second);
    assert!(
        is_held(&bench, first.as_str()).await,
        "{first} is on no ref of the run"
    );
    assert!(is_held(&bench, second.as_str()).await);
}

#[tokio::test]
async fn a_commit_that_the_store_has_on_no_ref_is_put_on_one() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    bench.agent_commits(&tree, "a", "first").await;
    let lost = git(&tree.path, &["rev-parse", "HEAD"]).await;
    // The objects come to the store without any ref: as after a fetch that was cut off.
    let source = tree.path.join(".git");
    bench
        .in_store(&["fetch", "-q", source.to_str().unwrap(), "HEAD"])
        .await;
    git(&tree.path, &["reset", "-q", "--hard", "HEAD^"]).await;
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Nothing);
    assert!(is_held(&bench, &lost).await, "{lost} is on no ref of the run");
}

#[tokio::test]
async fn a_branch_that_became_a_directory_of_branches_is_gathered_again() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    git(&tree.path, &["branch", "a"]).await;
    bench.collect(&tree, "r1").await;
    git(&tree.path, &["branch", "-m", "a", "a/b"]).await;
    bench.agent_commits(&tree, "new", "new").await;
    let head = git(&tree.path, &["rev-parse", "HEAD"]).await;
    let collected = bench.collect(&tree, "r1").await;
    assert!(collected.head_readable);
    assert_eq!(collected.tip.as_str(), head);
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Nothing);
    bench
        .in_store(&["rev-parse", "refs/cs-panel/run/r1/refs/heads/a/b"])
        .await;
}

/// One bad ref keeps the tree, and nothing else.
#[tokio::test]
async fn a_branch_that_cannot_be_fetched_does_not_keep_head_and_the_others_away() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    git(&tree.path, &["switch", "-q", "-c", "bad"]).await;
    bench.agent_commits(&tree, "bad", "bad").await;
    let blob = git(&tree.path, &["rev-parse", "HEAD:bad"]).await;
    git(&tree.path, &["switch", "-q", "-c", "good", "HEAD^"]).await;
    bench.agent_commits(&tree, "good", "good").await;
    let good = git(&tree.path, &["rev-parse", "HEAD"]).await;
    fs::remove_file(tree.path.join(".git/objects").join(&blob[..2]).join(&blob[2..])).unwrap();
    let collected = bench.collect(&tree, "r1").await;
    assert!(collected.head_readable);
    assert_eq!(collected.tip.as_str(), good);
    check_kept(&bench, &tree, Special::HistoryIncomplete).await;
}

/// A pipe in a git directory must neither hold us up nor the lock of the codebase.
#[tokio::test]
async fn a_pipe_in_a_git_directory_holds_nobody_up() {
    for place in [
        "config",
        "HEAD",
        "commondir",
        "packed-refs",
        "refs/heads/pipe",
        "logs/HEAD",
        "MERGE_HEAD",
    ] {
        let bench = Bench::new().await;
        let tree = bench.prepare("c1").await;
        fs::write(tree.path.join("mine"), "mine").unwrap();
        let pipe = tree.path.join(".git").join(place);
        drop(fs::remove_file(&pipe));
        let home = bench.dir.path().join("home");
        run_in(&tree.path, &home, "mkfifo", &[pipe.as_os_str()]).await;
        let salvage = check_kept(&bench, &tree, Special::HeadUnreadable).await;
        let commit = salvage.commit.unwrap();
        let text = bench.in_store(&["show", &format!("{commit}:mine")]).await;
        assert_eq!(text, "mine", "{place}");
    }
}
