//! The life of a card, from the first look at the repository to the landed commit and the emptied trash.

use std::fs;
use std::time::Duration;

use cs_supervise::command::Exit;
use cs_worktree::*;

use crate::bench::*;

/// A user who is in the middle of something: one file changed, one new.
async fn busy_user() -> Bench {
    let bench = Bench::new().await;
    fs::write(bench.user.join("src/b.txt"), "the user is working here\n").unwrap();
    fs::write(bench.user.join("notes"), "untracked\n").unwrap();
    bench
}

/// A card with one commit and one file that is not committed.
async fn worked_on(bench: &Bench) -> (Tree, Collected) {
    let tree = bench.prepare("c1").await;
    bench.agent_commits(&tree, "src/a.txt", "a changed\n").await;
    fs::write(tree.path.join("left over"), "x").unwrap();
    let collected = bench.collect(&tree, "r1").await;
    (tree, collected)
}

#[tokio::test]
async fn a_git_directory_that_an_agent_removed_is_made_anew_around_its_files() {
    let bench = Bench::new().await;
    let (tree, collected) = worked_on(&bench).await;
    fs::remove_dir_all(tree.path.join(".git")).unwrap();
    fs::write(tree.path.join("src/a.txt"), "a changed again\n").unwrap();
    let again = bench.prepare("c1").await;
    assert_eq!(again.path, tree.path);
    assert_eq!(
        fs::read_to_string(tree.path.join("src/a.txt")).unwrap(),
        "a changed again\n"
    );
    let status = bench.worktrees.status(&tree).await.unwrap();
    let changed: Vec<_> = status
        .entries
        .iter()
        .map(|entry| entry.path.to_string())
        .collect();
    assert_eq!(changed, ["left over", "src/a.txt"], "{status:?}");
    assert_eq!(status.special, [], "nothing is amiss any more");
    bench.agent_commits(&tree, "src/b.txt", "b\n").await;
    let collected_again = bench.collect(&tree, "r2").await;
    assert!(!collected_again.history_rewritten, "{collected_again:?}");
    assert_ne!(
        collected_again.tip, collected.tip,
        "its new commit is on top of the old ones"
    );
}

#[tokio::test]
async fn a_tree_that_somebody_removed_is_made_again_from_what_was_collected() {
    let bench = Bench::new().await;
    let (tree, _) = worked_on(&bench).await;
    let place = tree.path.parent().unwrap().to_owned();
    for remains in ["the file that says whose it was", "an empty directory"] {
        fs::remove_dir_all(&tree.path).unwrap();
        if remains == "an empty directory" {
            fs::remove_file(place.join("tree.json")).unwrap();
        }
        assert_eq!(bench.worktrees.find_tree(&tree.spec).unwrap(), None, "{remains}");
        let again = bench.prepare("c1").await;
        assert_eq!(again.path, tree.path);
        let text = fs::read_to_string(again.path.join("src/a.txt")).unwrap();
        assert_eq!(text, "a changed\n", "{remains}");
    }
    fs::remove_dir_all(&tree.path).unwrap();
    fs::write(place.join("thesis"), "precious").unwrap();
    let refused = bench.worktrees.prepare_tree(&bench.repository, &tree.spec).await;
    assert!(
        matches!(refused, Err(WorktreeError::NotOurTree { .. })),
        "{refused:?}"
    );
    assert_eq!(fs::read_to_string(place.join("thesis")).unwrap(), "precious");
}

#[tokio::test]
async fn a_tree_starts_at_the_base_without_what_the_user_has_not_committed() {
    let bench = busy_user().await;
    let inside = bench.user.join("src");
    let seen = Repository::inspect(bench.worktrees.git(), &inside).await.unwrap();
    assert_eq!(seen.base_branch.as_str(), "main");
    assert_eq!((seen.uncommitted, seen.has_remote), (2, false));
    let spec = bench.spec("c1");
    let prepared = bench
        .worktrees
        .prepare_tree(&bench.repository, &spec)
        .await
        .unwrap();
    assert_eq!(prepared.attachment, Attachment::Created);
    assert_eq!(prepared.person, PersonCommits::None);
    assert_eq!(prepared.head, seen.base_commit);
    let work = prepared.tree.path;
    assert_eq!(git(&work, &["branch", "--show-current"]).await, "cs/c1-a-title");
    assert_eq!(fs::read_to_string(work.join("src/b.txt")).unwrap(), "b\n");
    let pushed = try_git(&work, &["push", "-q"]).await;
    assert_ne!(pushed.exit, Exit::Code(0), "a push from a tree goes nowhere");
    let again = bench
        .worktrees
        .prepare_tree(&bench.repository, &spec)
        .await
        .unwrap();
    assert_eq!(again.attachment, Attachment::Reattached);
}

/// Invariant 12.
#[tokio::test]
async fn an_attempt_is_collected_and_shown_without_touching_the_users_files() {
    let bench = busy_user().await;
    let before = picture(&bench.user);
    let index = fs::read(bench.user.join(".git/index")).unwrap();
    let (tree, collected) = worked_on(&bench).await;
    assert_eq!(collected.new_commits, 1);
    assert!(collected.dirty && !collected.history_rewritten && collected.head_readable);
    assert_eq!(collected.user_branch, UserBranch::Made);
    let shown = git(&bench.user, &["rev-parse", "cs/c1-a-title"]).await;
    assert_eq!(shown, collected.tip.as_str());
    let again = bench.collect(&tree, "r1").await;
    let user_branch = UserBranch::UpToDate;
    assert_eq!(
        again,
        Collected {
            user_branch,
            ..collected
        }
    );
    let status = bench.worktrees.status(&tree).await.unwrap();
    let path = RepoPath::from_bytes(*b"left over");
    let kind = EntryKind::Untracked;
    assert_eq!(status.entries, [StatusEntry { path, kind }]);
    let diff = String::from_utf8(bench.worktrees.diff(&tree.spec).await.unwrap()).unwrap();
    assert!(
        diff.contains("+a changed") && diff.contains("left over"),
        "{diff}"
    );
    let log = bench.worktrees.log_summary(&tree.spec).await.unwrap();
    assert_eq!(log.len(), 1);
    assert_eq!(log[0].subject, "change src/a.txt");
    assert!(picture(&bench.user) == before, "a file of the user was touched");
    assert!(
        fs::read(bench.user.join(".git/index")).unwrap() == index,
        "the user's index was touched"
    );
}

/// WT-8: a recovered claim goes through the same landing again. Invariant 13.
#[tokio::test]
async fn a_card_lands_once_however_often_it_is_carried_out() {
    let bench = busy_user().await;
    let (tree, collected) = worked_on(&bench).await;
    let ready = bench.ready(&tree, &collected.tip, "l1").await;
    assert_eq!(
        bench.ready(&tree, &collected.tip, "l1").await,
        ready,
        "the same plan for the same base"
    );
    assert!(matches!(ready.how, How::CheckedOut { .. }));
    for _ in 0..2 {
        let outcome = bench.worktrees.execute_move(&ready).await.unwrap();
        assert_eq!(outcome, MoveOutcome::Moved);
    }
    let recovered = bench.worktrees.recover_move(&ready).await.unwrap();
    assert_eq!(recovered, MoveRecovery::Done);
    let read = |file: &str| fs::read_to_string(bench.user.join(file)).unwrap();
    assert_eq!(read("src/a.txt"), "a changed\n");
    assert_eq!(read("src/b.txt"), "the user is working here\n");
    let format = "--format=%an %cn %(trailers:key=Cs-Panel-Card,valueonly)";
    let log = git(&bench.user, &["log", "-1", format]).await;
    assert_eq!(log, "Person cs-panel c1");
    let again = bench.plan(&tree, &collected.tip, "l1").await;
    assert_eq!(
        again,
        LandingPlan::AlreadyLanded {
            commit: ready.new,
            how: LandedHow::ThisLanding
        }
    );
}

/// Invariant 11.
#[tokio::test]
async fn a_salvaged_tree_goes_through_the_trash_and_can_come_back() {
    let bench = busy_user().await;
    let (tree, collected) = worked_on(&bench).await;
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Complete);
    let trashed = bench.worktrees.discard(salvage.proof().unwrap()).await.unwrap();
    assert!(!tree.path.exists() && trashed.join("work/left over").exists());
    let hour = Duration::from_secs(3600);
    let mark = fs::metadata(trashed.join("discarded.json")).unwrap();
    let discarded = mark.modified().unwrap();
    let emptied = bench.worktrees.empty_trash(hour, discarded).await.unwrap();
    assert_eq!((emptied.deleted, emptied.young), (0, 1));
    let emptied = bench.worktrees.empty_trash(hour, discarded + hour).await.unwrap();
    assert_eq!((emptied.deleted, emptied.young), (1, 0));
    assert!(!trashed.exists());
    let prepared = bench
        .worktrees
        .prepare_tree(&bench.repository, &tree.spec)
        .await
        .unwrap();
    assert_eq!(prepared.attachment, Attachment::Recloned);
    assert_eq!(prepared.head, collected.tip);
    let commit = salvage.commit.unwrap();
    assert_eq!(
        bench.in_store(&["show", &format!("{commit}:left over")]).await,
        "x"
    );
}

#[tokio::test]
async fn a_branch_that_the_user_deleted_is_exported_at_what_the_agent_committed() {
    let bench = Bench::new().await;
    let (tree, tip) = bench.card_with("c1", "src/a.txt", "agent\n").await;
    let user = &bench.repository.toplevel;
    git(user, &["branch", "-D", tree.spec.branch.as_str()]).await;
    let to = bench.dir.path().canonicalize().unwrap().join("again");
    let exported = bench
        .worktrees
        .export_worktree(&bench.repository, &tree.spec, &to);
    exported.await.unwrap();
    assert_eq!(git(&to, &["rev-parse", "HEAD"]).await, tip.as_str());
    git(user, &["worktree", "remove", to.to_str().unwrap()]).await;
}

#[tokio::test]
async fn a_card_is_exported_as_a_linked_working_tree_that_the_user_owns() {
    let bench = Bench::new().await;
    let (tree, tip) = bench.card_with("c1", "src/a.txt", "agent\n").await;
    let to = bench.dir.path().canonicalize().unwrap().join("-opened here");
    let export = || {
        bench
            .worktrees
            .export_worktree(&bench.repository, &tree.spec, &to)
    };
    export().await.unwrap();
    assert_eq!(git(&to, &["rev-parse", "HEAD"]).await, tip.as_str());
    assert_eq!(
        git(&to, &["branch", "--show-current"]).await,
        tree.spec.branch.as_str()
    );
    let again = export().await;
    assert!(matches!(again, Err(WorktreeError::Occupied { .. })), "{again:?}");
    bench.agent_commits(&tree, "more", "x").await;
    assert_eq!(
        bench.collect(&tree, "r2").await.user_branch,
        UserBranch::CheckedOut
    );
    let place = to.with_file_name("other");
    let twice = bench
        .worktrees
        .export_worktree(&bench.repository, &tree.spec, &place)
        .await;
    let in_use = matches!(&twice, Err(WorktreeError::BranchInUse { path, .. }) if *path == to);
    assert!(in_use, "{twice:?}");
    let unknown = bench.spec("c9");
    let refused = bench
        .worktrees
        .export_worktree(&bench.repository, &unknown, &place)
        .await;
    assert!(matches!(refused, Err(WorktreeError::NoCard)), "{refused:?}");
}
