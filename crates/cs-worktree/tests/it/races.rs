//! Several at once: cards (G7), landings and the user (G11); history that an agent rewrote (G5).

use std::collections::BTreeSet;
use std::fs;

use cs_worktree::*;

use crate::bench::*;

#[tokio::test]
async fn ten_cards_are_prepared_at_once() {
    let bench = Bench::new().await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..10 {
        let (worktrees, repository, spec) = (
            bench.worktrees.clone(),
            bench.repository.clone(),
            bench.spec(&format!("c{n}")),
        );
        tasks.spawn(async move { worktrees.prepare_tree(&repository, &spec).await.unwrap() });
    }
    let prepared = tasks.join_all().await;
    let paths: BTreeSet<_> = prepared.iter().map(|p| p.tree.path.clone()).collect();
    assert_eq!(paths.len(), 10);
    assert!(prepared.iter().all(|p| p.attachment == Attachment::Created));
    bench.in_store(&["fsck", "--strict"]).await;
}

#[tokio::test]
async fn one_card_asked_for_by_two_processes_has_one_tree() {
    let bench = Bench::new().await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..4 {
        // Each has locks of its own, like a process.
        let other = Bench::open(bench.dir.path()).await;
        let (repository, spec) = (bench.repository.clone(), bench.spec("c1"));
        tasks.spawn(async move { other.prepare_tree(&repository, &spec).await.unwrap().attachment });
    }
    let attachments = tasks.join_all().await;
    let created = attachments.iter().filter(|a| **a == Attachment::Created).count();
    assert_eq!(created, 1, "{attachments:?}");
    let beside = fs::read_dir(bench.dir.path().join("state/cards/c1"))
        .unwrap()
        .count();
    assert_eq!(beside, 1);
}

#[tokio::test]
async fn what_a_crash_left_of_a_clone_is_swept() {
    let bench = Bench::new().await;
    let half = bench.dir.path().join("state/cards/c1/.new-code-abc/work");
    fs::create_dir_all(&half).unwrap();
    fs::write(half.join("half"), "x").unwrap();
    let prepared = bench
        .worktrees
        .prepare_tree(&bench.repository, &bench.spec("c1"))
        .await
        .unwrap();
    assert_eq!(prepared.attachment, Attachment::Created);
    assert!(!half.exists());
}

#[tokio::test]
async fn lock_files_that_a_killed_git_left_in_the_store_do_not_stop_anything() {
    let bench = Bench::new().await;
    let (tree, _) = bench.card_with("c1", "x", "1").await;
    for lock in [
        "refs/cs-panel/card/c1/head.lock",
        "packed-refs.lock",
        "refs/cs-panel/base/main.lock",
    ] {
        fs::write(bench.store().join(lock), "").unwrap();
    }
    bench.prepare("c1").await;
    bench.agent_commits(&tree, "y", "2").await;
    assert_eq!(bench.collect(&tree, "r2").await.new_commits, 1);
}

/// Invariant 13.
#[tokio::test]
async fn a_base_that_moved_after_the_plan_is_not_overwritten() {
    for checked_out in [true, false] {
        let bench = Bench::new().await;
        let (tree, tip) = bench.card_with("c1", "src/a.txt", "landed\n").await;
        let planned = bench.ready(&tree, &tip, "l1").await;
        fs::write(bench.user.join("README"), "the user goes on\n").unwrap();
        git(&bench.user, &["commit", "-q", "-a", "-m", "meanwhile"]).await;
        let meanwhile = git(&bench.user, &["rev-parse", "main"]).await;
        if !checked_out {
            git(&bench.user, &["switch", "-q", "-c", "elsewhere"]).await;
        }
        assert_eq!(
            bench.worktrees.execute_move(&planned).await.unwrap(),
            MoveOutcome::BaseMoved
        );
        assert_eq!(git(&bench.user, &["rev-parse", "main"]).await, meanwhile);
        let again = bench.ready(&tree, &tip, "l1").await;
        assert_eq!(
            bench.worktrees.execute_move(&again).await.unwrap(),
            MoveOutcome::Moved
        );
        assert_eq!(git(&bench.user, &["rev-parse", "main^1"]).await, meanwhile);
    }
}

#[tokio::test]
async fn a_base_that_was_checked_out_after_the_plan_is_planned_again() {
    let bench = Bench::new().await;
    let (tree, tip) = bench.card_with("c1", "src/a.txt", "landed\n").await;
    git(&bench.user, &["switch", "-q", "-c", "elsewhere"]).await;
    let planned = bench.ready(&tree, &tip, "l1").await;
    assert_eq!(planned.how, How::NotCheckedOut);
    git(&bench.user, &["switch", "-q", "main"]).await;
    assert_eq!(
        bench.worktrees.execute_move(&planned).await.unwrap(),
        MoveOutcome::BaseMoved
    );
    assert_eq!(git(&bench.user, &["status", "--porcelain"]).await, "");
}

#[tokio::test]
async fn two_cards_land_at_once_and_the_base_holds_both() {
    let bench = Bench::new().await;
    let one = bench.card_with("c1", "one", "1\n").await;
    let two = bench.card_with("c2", "two", "2\n").await;
    let mut tasks = tokio::task::JoinSet::new();
    for (n, (tree, tip)) in [one, two].into_iter().enumerate() {
        let spec = bench.landing_spec(&tree, &tip, &format!("l{n}"));
        let (worktrees, repository) = (bench.worktrees.clone(), bench.repository.clone());
        tasks.spawn(async move {
            for _ in 0..5 {
                match worktrees.plan_landing(&repository, &spec).await.unwrap() {
                    LandingPlan::Ready(ready) => match worktrees.execute_move(&ready).await.unwrap() {
                        MoveOutcome::BaseMoved => {}
                        outcome => return outcome,
                    },
                    other => panic!("{other:?}"),
                }
            }
            MoveOutcome::BaseMoved
        });
    }
    assert_eq!(tasks.join_all().await, [MoveOutcome::Moved, MoveOutcome::Moved]);
    assert_eq!(fs::read_to_string(bench.user.join("one")).unwrap(), "1\n");
    assert_eq!(fs::read_to_string(bench.user.join("two")).unwrap(), "2\n");
    assert_eq!(git(&bench.user, &["status", "--porcelain"]).await, "");
}

#[tokio::test]
async fn rewritten_history_is_told_and_nothing_of_it_is_lost() {
    let bench = Bench::new().await;
    let (tree, start) = bench.card_with("c1", "zero", "0").await;
    let work = &tree.path;
    bench.agent_commits(&tree, "a", "1").await;
    let a = git(work, &["rev-parse", "HEAD"]).await;
    fs::write(work.join("a"), "2").unwrap();
    git(work, &["commit", "-q", "-a", "--amend", "-m", "b"]).await;
    let b = git(work, &["rev-parse", "HEAD"]).await;
    fs::write(work.join("a"), "stashed").unwrap();
    git(work, &["stash", "-q"]).await;
    let stash = git(work, &["rev-parse", "stash"]).await;
    git(work, &["reset", "-q", "--hard", "HEAD~2"]).await;
    git(work, &["switch", "-q", "-c", "other"]).await;
    bench.agent_commits(&tree, "c", "3").await;
    let c = git(work, &["rev-parse", "HEAD"]).await;
    git(work, &["branch", "-q", "-D", tree.spec.branch.as_str()]).await;
    let collected = bench.collect(&tree, "r2").await;
    assert!(collected.history_rewritten);
    assert_eq!(collected.tip.as_str(), c);
    assert_eq!(collected.user_branch, UserBranch::Diverged);
    for commit in [start.as_str(), &a, &b, &stash, &c] {
        let holders = bench
            .in_store(&["for-each-ref", "--contains", commit, "refs/cs-panel/run/r2"])
            .await;
        assert!(!holders.is_empty(), "{commit} is on no ref of the run");
    }
    assert_eq!(
        git(&bench.user, &["rev-parse", tree.spec.branch.as_str()]).await,
        start.as_str()
    );
}
