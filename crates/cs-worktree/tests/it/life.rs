//! The life of a card, from the first look at the repository to the landed commit and the emptied trash.

use std::fs;
use std::time::{Duration, SystemTime};

use cs_supervise::command::Exit;
use cs_worktree::*;

use crate::bench::*;

#[tokio::test]
async fn a_card_lives_from_the_first_look_to_the_emptied_trash() {
    let bench = Bench::new().await;
    fs::write(bench.user.join("src/b.txt"), "the user is working here\n").unwrap();
    fs::write(bench.user.join("notes"), "untracked\n").unwrap();
    let seen = Repository::inspect(bench.worktrees.git(), &bench.user.join("src"))
        .await
        .unwrap();
    assert_eq!(seen.base_branch.as_str(), "main");
    assert_eq!((seen.uncommitted, seen.has_remote), (2, false));

    let before = picture(&bench.user);
    let index = fs::read(bench.user.join(".git/index")).unwrap();
    let prepared = bench
        .worktrees
        .prepare_tree(&bench.repository, &bench.spec("c1"))
        .await
        .unwrap();
    assert_eq!(prepared.attachment, Attachment::Created);
    assert_eq!(prepared.person, PersonCommits::None);
    assert_eq!(prepared.head, seen.base_commit);
    let tree = prepared.tree;
    assert_eq!(
        git(&tree.path, &["branch", "--show-current"]).await,
        "cs/c1-a-title"
    );
    assert_eq!(fs::read_to_string(tree.path.join("src/b.txt")).unwrap(), "b\n");
    assert_ne!(try_git(&tree.path, &["push", "-q"]).await.exit, Exit::Code(0));

    bench.agent_commits(&tree, "src/a.txt", "a changed\n").await;
    fs::write(tree.path.join("left over"), "x").unwrap();
    let collected = bench.collect(&tree, "r1").await;
    assert_eq!(
        (
            collected.new_commits,
            collected.dirty,
            collected.history_rewritten
        ),
        (1, true, false)
    );
    assert_eq!(collected.user_branch, UserBranch::Made);
    assert_eq!(
        git(&bench.user, &["rev-parse", "cs/c1-a-title"]).await,
        collected.tip.as_str()
    );
    assert_eq!(
        bench.collect(&tree, "r1").await,
        Collected {
            user_branch: UserBranch::UpToDate,
            ..collected.clone()
        }
    );
    let status = bench.worktrees.status(&tree).await.unwrap();
    assert_eq!(status.entries.len(), 1);
    assert_eq!(status.entries[0].path.to_string(), "left over");
    let diff = bench.worktrees.diff(&tree.spec).await.unwrap();
    let diff = String::from_utf8(diff).unwrap();
    assert!(
        diff.contains("+a changed") && diff.contains("left over"),
        "{diff}"
    );
    let log = bench.worktrees.log_summary(&tree.spec).await.unwrap();
    assert_eq!(log.len(), 1);
    assert_eq!(log[0].subject, "change src/a.txt");
    assert_eq!(picture(&bench.user), before);
    assert_eq!(fs::read(bench.user.join(".git/index")).unwrap(), index);

    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Complete);
    let ready = bench.ready(&tree, &collected.tip, "l1").await;
    assert!(matches!(ready.how, How::CheckedOut { .. }));
    assert_eq!(
        bench.worktrees.execute_move(&ready).await.unwrap(),
        MoveOutcome::Moved
    );
    assert_eq!(
        bench.worktrees.execute_move(&ready).await.unwrap(),
        MoveOutcome::Moved
    );
    assert_eq!(
        bench.worktrees.recover_move(&ready).await.unwrap(),
        MoveRecovery::Done
    );
    assert_eq!(
        fs::read_to_string(bench.user.join("src/a.txt")).unwrap(),
        "a changed\n"
    );
    assert_eq!(
        fs::read_to_string(bench.user.join("src/b.txt")).unwrap(),
        "the user is working here\n"
    );
    assert_eq!(
        git(
            &bench.user,
            &[
                "log",
                "-1",
                "--format=%an %cn %(trailers:key=Cs-Panel-Card,valueonly)"
            ]
        )
        .await,
        "Person cs-panel c1"
    );
    let again = bench.plan(&tree, &collected.tip, "l1").await;
    assert_eq!(again, LandingPlan::AlreadyLanded { commit: ready.new });

    let trashed = bench.worktrees.discard(salvage.proof().unwrap()).await.unwrap();
    assert!(!tree.path.exists() && trashed.join("work/left over").exists());
    let hour = Duration::from_secs(3600);
    let now = fs::metadata(trashed.join("discarded.json"))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(bench.worktrees.empty_trash(hour, now).await.unwrap().young, 1);
    assert_eq!(
        bench
            .worktrees
            .empty_trash(hour, later(now, hour))
            .await
            .unwrap()
            .deleted,
        1
    );
    assert!(!trashed.exists());
    let prepared = bench
        .worktrees
        .prepare_tree(&bench.repository, &tree.spec)
        .await
        .unwrap();
    assert_eq!(prepared.attachment, Attachment::Recloned);
    assert_eq!(prepared.head, collected.tip);
}

fn later(now: SystemTime, by: Duration) -> SystemTime {
    now + by
}
