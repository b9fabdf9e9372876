//! Several at once: cards (G7), landings and the user (G11); history that an agent rewrote (G5).

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use cs_supervise::command::Exit;
use cs_worktree::*;

use crate::bench::*;

/// Five commits, as an agent makes them.
const FIVE_COMMITS: &str = "for n in 1 2 3 4 5; do echo $n > f$n && git add -A && \\
    git -c user.name=A -c user.email=a@example.org commit -q -m $n || exit 1; done";

/// G7: forty cards of one codebase at once, while its user commits, packs and cleans up.
#[tokio::test]
async fn g7_forty_cards_are_made_and_worked_on_at_once() {
    let bench = Bench::new().await;
    let user = bench.user.clone();
    let goes_on = async {
        for n in 0.. {
            git(
                &user,
                &[
                    "commit",
                    "-q",
                    "--allow-empty",
                    "-m",
                    &format!("the user goes on {n}"),
                ],
            )
            .await;
            git(&user, &["repack", "-q", "-a", "-d"]).await;
        }
    };
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..40 {
        let (worktrees, repository) = (bench.worktrees.clone(), bench.repository.clone());
        let (spec, home) = (bench.spec(&format!("c{n}")), bench.dir.path().join("home"));
        tasks.spawn(async move {
            let prepared = worktrees.prepare_tree(&repository, &spec).await.unwrap();
            let script = [OsStr::new("-c"), OsStr::new(FIVE_COMMITS)];
            let done = run_in(&prepared.tree.path, &home, "sh", &script).await;
            assert_eq!(
                done.exit,
                Exit::Code(0),
                "{}",
                String::from_utf8_lossy(&done.stderr)
            );
            let key = run_key(&format!("r{n}"));
            let collected = worktrees
                .collect(&repository, &prepared.tree, &key)
                .await
                .unwrap();
            assert_eq!(collected.new_commits, 5);
            if n % 8 == 0 {
                worktrees.salvage(&prepared.tree, &key, "a test").await.unwrap();
            }
            prepared
        });
    }
    let prepared = tokio::select! {
        biased;
        prepared = tasks.join_all() => prepared,
        () = goes_on => unreachable!("the user never ends"),
    };
    let paths: BTreeSet<_> = prepared.iter().map(|p| p.tree.path.clone()).collect();
    assert_eq!(paths.len(), 40);
    assert!(prepared.iter().all(|p| p.attachment == Attachment::Created));
    let heads = ["for-each-ref", "--format=%(refname)", "refs/cs-panel/card/*/head"];
    assert_eq!(bench.in_store(&heads).await.lines().count(), 40);
    let own = [
        "rev-list",
        "--count",
        "--glob=refs/cs-panel/card/*/head",
        "--not",
        "refs/cs-panel/base/main",
    ];
    assert_eq!(bench.in_store(&own).await, "200", "commits are missing");
    let shown = git(&bench.user, &["for-each-ref", "refs/heads/cs"]).await;
    assert_eq!(shown.lines().count(), 40);
    let cards = fs::read_dir(bench.dir.path().join("state/cards")).unwrap();
    assert!(
        cards
            .flatten()
            .all(|card| fs::read_dir(card.path()).unwrap().count() == 1)
    );
    bench.in_store(&["fsck", "--strict"]).await;
}

/// B2: what forty linked working trees of one repository come to, so that the test above is known to see something.
#[tokio::test]
async fn g7_control_linked_working_trees_with_tracking_get_in_each_others_way() {
    let bench = Bench::new().await;
    git(&bench.user, &["clone", "-q", "--bare", ".", "../remote.git"]).await;
    git(&bench.user, &["remote", "add", "origin", "../remote.git"]).await;
    git(&bench.user, &["fetch", "-q", "origin"]).await;
    let mut tasks = tokio::task::JoinSet::new();
    // One place for ten: at most one of them can have it.
    for n in 0..10 {
        let user = bench.user.clone();
        tasks.spawn(async move {
            let branch = format!("b{n}");
            let add = [
                "worktree",
                "add",
                "-q",
                "-b",
                &branch,
                "../one place",
                "origin/main",
            ];
            try_git(&user, &add).await.exit == Exit::Code(0)
        });
    }
    let made = tasks.join_all().await.into_iter().filter(|ok| *ok).count();
    let branches = git(&bench.user, &["for-each-ref", "refs/heads/b*"]).await;
    assert!(
        made <= 1 && branches.lines().count() > made,
        "no branch without a tree was left"
    );
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
    let half = bench.dir.path().join("state/cards/c1/.new-code.abc/work");
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

/// While git writes the files, the user commits in the only way that asks no lock of the index, and tries the others. Invariant 13.
#[tokio::test]
async fn a_commit_beside_the_writing_of_the_files_leaves_nothing_of_the_landing() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    fs::write(tree.path.join("README"), "landed\n").unwrap();
    fs::remove_file(tree.path.join("src/b.txt")).unwrap();
    bench.agent_commits(&tree, "src/new.txt", "landed\n").await;
    let tip = bench.collect(&tree, "r1").await.tip;
    let planned = bench.ready(&tree, &tip, "l1").await;
    fs::write(bench.user.join("mine.txt"), "mine\n").unwrap();
    meanwhile(
        &bench,
        "git add mine.txt 2>../add; git commit -q --allow-empty -m all 2>../commit; \
         git update-ref refs/heads/main $(git commit-tree main^{tree} -p main -m meanwhile)",
    )
    .await;
    let before = picture(&bench.user);
    let moved = bench.worktrees.execute_move(&planned).await.unwrap();
    assert_eq!(moved, MoveOutcome::BaseMoved);
    for refused in ["add", "commit"] {
        let said = fs::read_to_string(bench.user.with_file_name(refused)).unwrap();
        assert!(said.contains("index.lock"), "{refused}: {said}");
    }
    assert!(picture(&bench.user) == before, "the files are not what they were");
    assert_eq!(git(&bench.user, &["status", "--porcelain"]).await, "?? mine.txt");
    assert_eq!(git(&bench.user, &["log", "-1", "--format=%s"]).await, "meanwhile");
    let again = bench.ready(&tree, &tip, "l1").await;
    let moved = bench.worktrees.execute_move(&again).await.unwrap();
    assert_eq!(moved, MoveOutcome::Moved);
    assert_eq!(git(&bench.user, &["status", "--porcelain"]).await, "?? mine.txt");
}

/// A planned landing that changes `README` and adds a file.
async fn changed_and_added(bench: &Bench) -> Move {
    let tree = bench.prepare("c1").await;
    fs::write(tree.path.join("README"), "landed\n").unwrap();
    bench.agent_commits(&tree, "src/new.txt", "landed\n").await;
    let tip = bench.collect(&tree, "r1").await.tip;
    bench.ready(&tree, &tip, "l1").await
}

/// What git moves then is the new branch. Its index and its files are those of the landing, and the base is landed on anew.
#[tokio::test]
async fn a_branch_that_is_made_while_the_files_are_written_is_whole() {
    for make in [
        "git switch -q -c other",
        "git branch -m main other && git branch main",
    ] {
        let bench = Bench::new().await;
        let planned = changed_and_added(&bench).await;
        meanwhile(&bench, make).await;
        let moved = bench.worktrees.execute_move(&planned).await.unwrap();
        assert_eq!(moved, MoveOutcome::BaseMoved, "{make}");
        assert_eq!(git(&bench.user, &["status", "--porcelain"]).await, "", "{make}");
        assert_eq!(
            git(&bench.user, &["rev-parse", "HEAD"]).await,
            planned.new.as_str(),
            "{make}"
        );
        assert_eq!(
            git(&bench.user, &["rev-parse", "main"]).await,
            planned.old.as_str(),
            "{make}"
        );
        assert!(!bench.user.join(".git/index.lock").exists(), "{make}");
    }
}

/// A `git switch` that writes its files has read the tip of the branch, and says so only in the end.
#[tokio::test]
async fn a_base_that_somebody_may_be_checking_out_is_not_moved() {
    let bench = Bench::new().await;
    let (tree, tip) = bench.card_with("c1", "src/a.txt", "landed\n").await;
    git(
        &bench.user,
        &["worktree", "add", "-q", "../linked", "-b", "linked"],
    )
    .await;
    git(&bench.user, &["switch", "-q", "-c", "elsewhere"]).await;
    let planned = bench.ready(&tree, &tip, "l1").await;
    for git_dir in [".git", ".git/worktrees/linked"] {
        let lock = bench.user.join(git_dir).join("index.lock");
        fs::write(&lock, "").unwrap();
        let moved = bench.worktrees.execute_move(&planned).await.unwrap();
        assert_eq!(
            moved,
            MoveOutcome::Refused(Refusal::BaseBusy(BusyWith::IndexLock)),
            "{git_dir}"
        );
        fs::remove_file(&lock).unwrap();
    }
    let moved = bench.worktrees.execute_move(&planned).await.unwrap();
    assert_eq!(moved, MoveOutcome::Moved);
}

/// As git tells them to.
#[tokio::test]
async fn a_user_who_removes_our_lock_keeps_what_they_stage() {
    let bench = Bench::new().await;
    let planned = changed_and_added(&bench).await;
    fs::write(bench.user.join("mine.txt"), "mine\n").unwrap();
    meanwhile(&bench, "rm .git/index.lock; git add mine.txt").await;
    let moved = bench.worktrees.execute_move(&planned).await.unwrap();
    assert_eq!(moved, MoveOutcome::Moved);
    assert_eq!(git(&bench.user, &["status", "--porcelain"]).await, "A  mine.txt");
}

/// A filter that is required and fails takes git down in the middle, and the way back needs it too.
#[tokio::test]
async fn a_landing_that_cannot_be_undone_leaves_no_lock() {
    let bench = Bench::new().await;
    let planned = changed_and_added(&bench).await;
    meanwhile(&bench, "exit 1").await;
    git(&bench.user, &["config", "filter.meanwhile.smudge", "exit 1"]).await;
    git(&bench.user, &["config", "filter.meanwhile.required", "true"]).await;
    let moved = bench.worktrees.execute_move(&planned).await;
    assert!(!matches!(moved, Ok(MoveOutcome::Moved)), "{moved:?}");
    assert!(!bench.user.join(".git/index.lock").exists());
    let recovered = bench.worktrees.recover_move(&planned).await;
    assert!(!matches!(recovered, Ok(MoveRecovery::Done)), "{recovered:?}");
    assert!(!bench.user.join(".git/index.lock").exists());
    // With the filter mended all of it is as before.
    git(&bench.user, &["config", "filter.meanwhile.smudge", "cat"]).await;
    bench.worktrees.recover_move(&planned).await.unwrap();
    assert_eq!(git(&bench.user, &["status", "--porcelain"]).await, "");
}

/// What the user has staged of another file stays staged, byte for byte, and a file that changed in the moment in which the index was
/// written is not taken for unchanged.
#[tokio::test]
async fn what_is_staged_beside_a_landing_stays_staged() {
    let bench = Bench::new().await;
    let (tree, tip) = bench.card_with("c1", "src/a.txt", "landed\n").await;
    fs::write(bench.user.join("src/b.txt"), "staged\n").unwrap();
    git(&bench.user, &["add", "src/b.txt"]).await;
    fs::write(bench.user.join("src/b.txt"), "edited\n").unwrap();
    let planned = bench.ready(&tree, &tip, "l1").await;
    let moved = bench.worktrees.execute_move(&planned).await.unwrap();
    assert_eq!(moved, MoveOutcome::Moved);
    assert_eq!(git(&bench.user, &["show", ":src/b.txt"]).await, "staged");
    assert_eq!(git(&bench.user, &["status", "--porcelain"]).await, "MM src/b.txt");
}

/// Runs a script in the user's repository once, while git writes `README` there.
async fn meanwhile(bench: &Bench, script: &str) {
    let once = format!(
        "unset GIT_INDEX_FILE GIT_DIR GIT_WORK_TREE; if mkdir ../once 2>/dev/null; then {script}; fi; cat"
    );
    fs::write(
        bench.user.join(".git/info/attributes"),
        "README filter=meanwhile\n",
    )
    .unwrap();
    git(&bench.user, &["config", "filter.meanwhile.smudge", &once]).await;
    git(&bench.user, &["config", "filter.meanwhile.clean", "cat"]).await;
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

/// Lands until it is done, as a daemon does: a base that moved, or that somebody holds, is planned on again.
async fn land(worktrees: Worktrees, repository: Repository, spec: LandingSpec) -> LandingPlan {
    for _ in 0..1_000 {
        let planned = match worktrees.plan_landing(&repository, &spec).await.unwrap() {
            LandingPlan::Ready(planned) => planned,
            LandingPlan::Refused(Refusal::BaseBusy(_)) => continue,
            other => return other,
        };
        match worktrees.execute_move(&planned).await.unwrap() {
            MoveOutcome::Moved => return LandingPlan::Ready(planned),
            MoveOutcome::BaseMoved | MoveOutcome::Refused(Refusal::BaseBusy(_)) => {}
            MoveOutcome::Refused(other) => panic!("{other}"),
        }
    }
    panic!("the base never held still");
}

/// The user commits to `main`, checked out or not, and tries again while somebody holds it.
async fn user_goes_on(user: PathBuf, round: u32) {
    let message = format!("of the user {round}");
    for _ in 0..1_000 {
        let done = if round < 10 {
            try_git(&user, &["commit", "-q", "--allow-empty", "-m", &message]).await
        } else {
            let old = git(&user, &["rev-parse", "main"]).await;
            let tree = format!("{old}^{{tree}}");
            let new = git(&user, &["commit-tree", &tree, "-p", &old, "-m", &message]).await;
            try_git(&user, &["update-ref", "refs/heads/main", &new, &old]).await
        };
        if done.exit == Exit::Code(0) {
            return;
        }
    }
    panic!("the user never got to commit");
}

/// G11. Invariant 13.
#[tokio::test]
async fn g11_in_twenty_rounds_two_cards_and_the_user_meet_on_the_base_and_nothing_is_lost() {
    let bench = Bench::new().await;
    let (one, _) = bench.card_with("c1", "one", "0\n").await;
    let (two, _) = bench.card_with("c2", "two", "0\n").await;
    let methods = [LandMethod::Merge, LandMethod::Squash];
    for round in 0..20 {
        if round == 10 {
            git(&bench.user, &["switch", "-q", "-c", "elsewhere"]).await;
        }
        let mut tasks = tokio::task::JoinSet::new();
        for (tree, file) in [(&one, "one"), (&two, "two")] {
            bench.agent_commits(tree, &format!("{file}-{round}"), "x\n").await;
            let tip = bench.collect(tree, &format!("{file}-{round}")).await.tip;
            let spec = LandingSpec {
                method: methods[usize::from(file == "two")],
                ..bench.landing_spec(tree, &tip, &format!("{file}-{round}"))
            };
            tasks.spawn(land(bench.worktrees.clone(), bench.repository.clone(), spec));
        }
        let mut user = tokio::task::JoinSet::new();
        user.spawn(user_goes_on(bench.user.clone(), round));
        for plan in tasks.join_all().await {
            assert!(matches!(plan, LandingPlan::Ready(_)), "round {round}: {plan:?}");
        }
        user.join_all().await;
    }
    let files = git(&bench.user, &["ls-tree", "-r", "--name-only", "main"]).await;
    for round in 0..20 {
        for file in ["one", "two"] {
            let name = format!("{file}-{round}");
            assert!(files.lines().any(|line| line == name), "{name} is lost");
        }
    }
    let of_user = git(&bench.user, &["log", "--grep=of the user", "--format=%h", "main"]).await;
    assert_eq!(of_user.lines().count(), 20, "commits of the user are lost");
    let landed = git(
        &bench.user,
        &["log", "--grep=Cs-Panel-Landing:", "--format=%h", "main"],
    )
    .await;
    assert_eq!(landed.lines().count(), 40);
    git(&bench.user, &["switch", "-q", "main"]).await;
    assert_eq!(git(&bench.user, &["status", "--porcelain"]).await, "");
}

/// G11.
#[tokio::test]
async fn of_two_cards_that_change_the_same_lines_one_lands_and_the_other_conflicts() {
    let bench = Bench::new().await;
    let mut tasks = tokio::task::JoinSet::new();
    for card in ["c1", "c2"] {
        let (tree, tip) = bench.card_with(card, "src/a.txt", &format!("{card}\n")).await;
        let spec = bench.landing_spec(&tree, &tip, card);
        tasks.spawn(land(bench.worktrees.clone(), bench.repository.clone(), spec));
    }
    let plans = tasks.join_all().await;
    let landed: Vec<&Move> = plans
        .iter()
        .filter_map(|plan| match plan {
            LandingPlan::Ready(landed) => Some(landed),
            _ => None,
        })
        .collect();
    let conflicts = plans
        .iter()
        .filter(|plan| matches!(plan, LandingPlan::Conflict(_)))
        .count();
    assert_eq!((landed.len(), conflicts), (1, 1), "{plans:?}");
    assert_eq!(
        git(&bench.user, &["rev-parse", "main"]).await,
        landed[0].new.as_str()
    );
}

/// G11: the user's branches move by compare-and-set, everywhere in the source.
#[test]
fn a_branch_of_the_user_is_moved_with_its_old_value() {
    let mut dirs = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let (mut of_user, mut moved) = (0, 0);
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            of_user += text.matches("repository.call(\"update-ref\")").count();
            moved += text.matches("move_ref(").count();
            for (at, _) in text
                .matches("repository.call(\"update-ref\")")
                .map(|hit| (hit.as_ptr() as usize - text.as_ptr() as usize, hit))
            {
                let next: String = text[at..].lines().take(8).collect();
                assert!(
                    next.contains("move_ref("),
                    "{} moves a branch in another way",
                    path.display()
                );
            }
        }
    }
    assert!(of_user > 2 && moved > of_user, "{of_user} {moved}");
}

/// G5.
#[tokio::test]
async fn g5_a_tree_without_a_stash_and_with_a_forced_branch_is_gathered_whole() {
    let bench = Bench::new().await;
    let (tree, start) = bench.card_with("c1", "zero", "0").await;
    let work = &tree.path;
    bench.agent_commits(&tree, "a", "1").await;
    let a = git(work, &["rev-parse", "HEAD"]).await;
    git(work, &["switch", "-q", "--detach"]).await;
    let branch = tree.spec.branch.as_str();
    git(work, &["branch", "-q", "-f", branch, "HEAD~2"]).await;
    let forced = git(work, &["rev-parse", branch]).await;
    git(work, &["switch", "-q", branch]).await;
    assert!(!work.join(".git/refs/stash").exists());
    let collected = bench.collect(&tree, "r2").await;
    assert!(collected.head_readable && collected.history_rewritten);
    assert_eq!(
        (collected.tip.as_str(), collected.user_branch),
        (forced.as_str(), UserBranch::Diverged)
    );
    for commit in [a.as_str(), start.as_str(), &forced] {
        let holders = bench
            .in_store(&["for-each-ref", "--contains", commit, "refs/cs-panel/run/r2"])
            .await;
        assert!(!holders.is_empty(), "{commit} is on no ref of the run");
    }
    // Control: a plain fetch of what is not there takes nothing at all.
    let store = bench.store();
    let git_dir = work.join(".git");
    let plain = [
        "--git-dir",
        store.to_str().unwrap(),
        "fetch",
        "-q",
        git_dir.to_str().unwrap(),
        "+refs/stash:refs/x/stash",
        "+refs/heads/*:refs/x/*",
    ];
    assert_ne!(try_git(&bench.user, &plain).await.exit, Exit::Code(0));
    assert_eq!(bench.in_store(&["for-each-ref", "refs/x"]).await, "");
}

/// G8: a lock that a living process holds is no leftover.
#[tokio::test]
async fn a_lock_in_the_store_that_somebody_holds_is_waited_for_and_left() {
    let bench = Bench::new().await;
    bench.prepare("c1").await;
    fs::write(bench.user.join("README"), "the base goes on\n").unwrap();
    git(&bench.user, &["commit", "-q", "-a", "-m", "on"]).await;
    let lock = bench.store().join("refs/cs-panel/base/main.lock");
    fs::write(&lock, "").unwrap();
    let holder = Staying::holding(&lock).await;
    let spec = bench.spec("c2");
    let refused = bench.worktrees.prepare_tree(&bench.repository, &spec).await;
    let error = refused.unwrap_err();
    assert!(
        matches!(error, WorktreeError::Git(GitError::Locked { .. })),
        "{error}"
    );
    assert_eq!(error.class(), ErrorClass::Transient);
    assert!(lock.exists());
    holder.end().await;
    bench.prepare("c2").await;
}

/// G5.
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
