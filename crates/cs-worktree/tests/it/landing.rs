//! A landing on a base in every state that a user's repository can be in (G9).

use std::fs;
use std::path::{Path, PathBuf};

use cs_worktree::*;

use crate::bench::*;

fn paths(names: &[&str]) -> Vec<RepoPath> {
    names.iter().map(|n| RepoPath::from_bytes(*n)).collect()
}

/// The card changes `src/a.txt` and adds `added/new.txt` and `.env`.
async fn card(bench: &Bench) -> (Tree, Oid) {
    let tree = bench.prepare("c1").await;
    fs::write(tree.path.join("src/a.txt"), "landed\n").unwrap();
    fs::create_dir(tree.path.join("added")).unwrap();
    fs::write(tree.path.join("added/new.txt"), "landed\n").unwrap();
    fs::write(tree.path.join(".env"), "landed\n").unwrap();
    git(&tree.path, &["add", "-A", "-f"]).await;
    git(&tree.path, &["commit", "-q", "-m", "work"]).await;
    let tip = bench.collect(&tree, "r1").await.tip;
    (tree, tip)
}

/// Brings the user's tree into a state after a plan was made, and expects this refusal from plan and execution, with
/// nothing changed.
async fn check_refused<F: Future<Output = ()>>(make: impl FnOnce(PathBuf) -> F, expected: Refusal) {
    let bench = Bench::new().await;
    let (tree, tip) = card(&bench).await;
    let planned = bench.ready(&tree, &tip, "l1").await;
    make(bench.user.clone()).await;
    let before = picture(&bench.user);
    let base = git(&bench.user, &["rev-parse", "main"]).await;
    let index = fs::read(bench.user.join(".git/index")).unwrap();
    assert_eq!(
        bench.plan(&tree, &tip, "l1").await,
        LandingPlan::Refused(expected.clone())
    );
    assert_eq!(
        bench.worktrees.execute_move(&planned).await.unwrap(),
        MoveOutcome::Refused(expected)
    );
    assert!(picture(&bench.user) == before, "a refused landing changed a file");
    assert!(
        fs::read(bench.user.join(".git/index")).unwrap() == index,
        "a refused landing changed the index"
    );
    assert_eq!(git(&bench.user, &["rev-parse", "main"]).await, base);
    assert_eq!(git(&bench.user, &["stash", "list"]).await, "");
}

/// Brings the user's tree into a state, and expects the landing to go through and every other file to be left alone.
async fn check_lands<F: Future<Output = ()>>(config: &str, make: impl FnOnce(PathBuf) -> F) {
    let bench = Bench::with_config(config).await;
    let (tree, tip) = card(&bench).await;
    make(bench.user.clone()).await;
    let others = |root: &Path| {
        let landed = ["src/a.txt", "added", "added/new.txt", ".env"].map(|p| root.join(p));
        let mut picture = picture(root);
        picture.retain(|(path, _, _)| !landed.contains(path));
        picture
    };
    let before = others(&bench.user);
    let ready = bench.ready(&tree, &tip, "l1").await;
    assert_eq!(
        bench.worktrees.execute_move(&ready).await.unwrap(),
        MoveOutcome::Moved
    );
    assert_eq!(git(&bench.user, &["rev-parse", "main"]).await, ready.new.as_str());
    assert_eq!(git(&bench.user, &["show", "main:src/a.txt"]).await, "landed");
    assert!(
        others(&bench.user) == before,
        "a landing changed a file that is not its own"
    );
    assert_eq!(git(&bench.user, &["stash", "list"]).await, "");
    let log = git(&bench.user, &["log", "-1", "--format=%P", "main"]).await;
    assert_eq!(
        log,
        format!("{} {tip}", ready.old),
        "a merge commit of base and card"
    );
}

async fn write(user: PathBuf, file: &str, content: &str) {
    fs::create_dir_all(user.join(file).parent().unwrap()).unwrap();
    fs::write(user.join(file), content).unwrap();
}

/// Invariant 12.
#[tokio::test]
async fn it_lands_beside_unstaged_and_staged_changes_of_other_files() {
    check_lands("", async |user| {
        write(user.clone(), "src/b.txt", "staged\n").await;
        git(&user, &["add", "src/b.txt"]).await;
        write(user.clone(), "README", "unstaged\n").await;
        write(user, "untracked", "x").await;
    })
    .await;
}

#[tokio::test]
async fn it_lands_whatever_the_user_has_configured() {
    let config = "[merge]\n\tautoStash = true\n\tff = false\n\tverifySignatures = true\n[rebase]\n\tautoStash = true\n\
                  [pull]\n\trebase = true\n[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = /nonexistent\n\
                  [branch \"main\"]\n\tmergeOptions = --no-ff --squash\n[core]\n\tfsmonitor = /nonexistent\n\
                  [fetch]\n\tprune = true\n\tpruneTags = true\n[user]\n\tuseConfigOnly = true\n";
    check_lands(config, async |user| {
        write(user, "README", "dirty\n").await;
    })
    .await;
}

#[tokio::test]
async fn it_lands_on_a_base_that_nobody_has_checked_out() {
    check_lands("", async |user| {
        git(&user, &["switch", "-q", "-c", "elsewhere"]).await;
        write(user, "src/b.txt", "dirty\n").await;
    })
    .await;
}

#[tokio::test]
async fn it_lands_in_the_second_working_tree_that_has_the_base() {
    let bench = Bench::new().await;
    let (tree, tip) = card(&bench).await;
    git(&bench.user, &["switch", "-q", "-c", "elsewhere"]).await;
    git(&bench.user, &["worktree", "add", "-q", "../second tree", "main"]).await;
    let second = bench.user.with_file_name("second tree");
    fs::write(second.join("README"), "dirty\n").unwrap();
    let ready = bench.ready(&tree, &tip, "l1").await;
    assert!(matches!(&ready.how, How::CheckedOut { worktree, .. } if *worktree == second));
    assert_eq!(
        bench.worktrees.execute_move(&ready).await.unwrap(),
        MoveOutcome::Moved
    );
    assert_eq!(fs::read_to_string(second.join("src/a.txt")).unwrap(), "landed\n");
    assert_eq!(git(&second, &["status", "--porcelain"]).await, "M README");
    assert_eq!(git(&bench.user, &["status", "--porcelain"]).await, "");
}

/// Invariant 12.
#[tokio::test]
async fn an_unstaged_overlap_is_refused() {
    let files = paths(&["src/a.txt"]);
    check_refused(
        async |user| write(user, "src/a.txt", "mine\n").await,
        Refusal::DirtyOverlap { files },
    )
    .await;
}

#[tokio::test]
async fn a_staged_overlap_is_refused() {
    let files = paths(&["added/new.txt", "src/a.txt"]);
    let make = async |user: PathBuf| {
        write(user.clone(), "src/a.txt", "mine\n").await;
        write(user.clone(), "added/new.txt", "mine\n").await;
        git(&user, &["add", "-A"]).await;
    };
    check_refused(make, Refusal::DirtyOverlap { files }).await;
}

#[tokio::test]
async fn a_deleted_overlap_is_refused() {
    let files = paths(&["src/a.txt"]);
    let make = async |user: PathBuf| fs::remove_file(user.join("src/a.txt")).unwrap();
    check_refused(make, Refusal::DirtyOverlap { files }).await;
}

#[tokio::test]
async fn an_untracked_overlap_is_refused_even_with_the_same_bytes() {
    for content in ["mine\n", "landed\n"] {
        let files = paths(&["added/new.txt"]);
        let make = async |user: PathBuf| write(user, "added/new.txt", content).await;
        check_refused(make, Refusal::UntrackedOverlap { files }).await;
    }
}

#[tokio::test]
async fn an_untracked_file_in_the_place_of_a_directory_is_refused() {
    let files = paths(&["added"]);
    check_refused(
        async |user| write(user, "added", "a file").await,
        Refusal::UntrackedOverlap { files },
    )
    .await;
}

#[tokio::test]
async fn a_directory_with_files_in_the_place_of_a_file_is_refused() {
    let files = paths(&["added/new.txt/mine"]);
    let make = async |user: PathBuf| write(user, "added/new.txt/mine", "x").await;
    check_refused(make, Refusal::UntrackedOverlap { files }).await;
}

#[tokio::test]
async fn an_ignored_overlap_is_refused() {
    let files = paths(&[".env"]);
    let make = async |user: PathBuf| write(user, ".env", "SECRET\n").await;
    check_refused(make, Refusal::IgnoredOverlap { files }).await;
}

#[tokio::test]
async fn files_that_git_is_told_to_take_for_unchanged_are_refused() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let files = paths(&["src/a.txt"]);
        let make = async |user: PathBuf| {
            git(&user, &["update-index", flag, "src/a.txt"]).await;
            write(user, "src/a.txt", "mine\n").await;
        };
        check_refused(make, Refusal::DirtyOverlap { files }).await;
    }
}

#[tokio::test]
async fn a_busy_working_tree_is_refused() {
    for (file, busy) in [
        ("index.lock", BusyWith::IndexLock),
        ("MERGE_HEAD", BusyWith::Merge),
        ("CHERRY_PICK_HEAD", BusyWith::CherryPick),
        ("REVERT_HEAD", BusyWith::Revert),
        ("rebase-merge", BusyWith::Rebase),
    ] {
        let make = async |user: PathBuf| fs::write(user.join(".git").join(file), "").unwrap();
        check_refused(make, Refusal::BaseBusy(busy)).await;
    }
}

#[tokio::test]
async fn a_base_under_rebase_or_bisect_is_refused_although_it_is_checked_out_nowhere() {
    let rebase = async |user: PathBuf| {
        write(user.clone(), "README", "on main\n").await;
        git(&user, &["commit", "-q", "-a", "-m", "one more"]).await;
        try_git(
            &user,
            &[
                "-c",
                "sequence.editor=sed -i s/pick/edit/",
                "rebase",
                "-q",
                "-i",
                "HEAD~1",
            ],
        )
        .await;
    };
    check_busy(rebase, BusyWith::Rebase).await;
    let bisect = async |user: PathBuf| {
        for n in 0..3 {
            write(user.clone(), "README", &format!("{n}\n")).await;
            git(&user, &["commit", "-q", "-a", "-m", "one more"]).await;
        }
        git(&user, &["bisect", "start", "HEAD", "HEAD~3"]).await;
    };
    check_busy(bisect, BusyWith::Bisect).await;
}

async fn check_busy<F: Future<Output = ()>>(make: impl FnOnce(PathBuf) -> F, busy: BusyWith) {
    let bench = Bench::new().await;
    let (tree, tip) = card(&bench).await;
    make(bench.user.clone()).await;
    assert_eq!(git(&bench.user, &["branch", "--show-current"]).await, "");
    assert_eq!(
        bench.plan(&tree, &tip, "l1").await,
        LandingPlan::Refused(Refusal::BaseBusy(busy))
    );
}

#[tokio::test]
async fn a_base_that_was_deleted_is_refused() {
    let bench = Bench::new().await;
    let (tree, tip) = card(&bench).await;
    git(&bench.user, &["branch", "-m", "main", "trunk"]).await;
    assert_eq!(
        bench.plan(&tree, &tip, "l1").await,
        LandingPlan::Refused(Refusal::BaseMissing)
    );
}

#[tokio::test]
async fn a_conflict_names_its_files_and_moves_nothing() {
    let bench = Bench::new().await;
    let (tree, tip) = card(&bench).await;
    write(bench.user.clone(), "src/a.txt", "theirs\n").await;
    git(&bench.user, &["commit", "-q", "-a", "-m", "theirs"]).await;
    let base = git(&bench.user, &["rev-parse", "main"]).await;
    let LandingPlan::Conflict(Conflict { files, messages, .. }) = bench.plan(&tree, &tip, "l1").await else {
        panic!("no conflict")
    };
    assert_eq!(files, paths(&["src/a.txt"]));
    assert!(messages.iter().any(|m| m.contains("CONFLICT")), "{messages:?}");
    assert_eq!(git(&bench.user, &["rev-parse", "main"]).await, base);
}

#[tokio::test]
async fn a_card_without_commits_has_nothing_to_land() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let tip = bench.collect(&tree, "r1").await.tip;
    assert_eq!(bench.plan(&tree, &tip, "l1").await, LandingPlan::NothingToLand);
}

#[tokio::test]
async fn what_the_card_has_not_landed_yet_is_told_by_its_tree() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let has_new = async |landed: &[Oid]| bench.worktrees.has_new_commits(&tree, landed).await.unwrap();
    assert!(!has_new(&[]).await);
    bench.agent_commits(&tree, "new", "work").await;
    assert!(has_new(&[]).await, "a commit that nobody collected counts");
    let tip = bench.collect(&tree, "r1").await.tip;
    let landing = bench.ready(&tree, &tip, "l1").await;
    let unknown = Oid::new("1".repeat(40)).unwrap();
    assert!(has_new(std::slice::from_ref(&unknown)).await);
    assert!(!has_new(&[unknown, landing.new.clone()]).await);
    git(&tree.path, &["commit", "-q", "--allow-empty", "-m", "more"]).await;
    assert!(has_new(&[landing.new]).await);
}

#[tokio::test]
async fn a_card_that_the_person_merged_by_hand_counts_as_landed() {
    let bench = Bench::new().await;
    let (tree, tip) = card(&bench).await;
    git(&bench.user, &["merge", "-q", tree.spec.branch.as_str()]).await;
    assert_eq!(
        bench.plan(&tree, &tip, "l1").await,
        LandingPlan::AlreadyLanded {
            commit: tip,
            how: LandedHow::Ancestor
        }
    );
}

#[tokio::test]
async fn a_refusal_tells_a_person_what_to_do() {
    let refusal = Refusal::DirtyOverlap {
        files: paths(&["a", "b\nc"]),
    };
    let text = "the landing changes files that have uncommitted changes; commit or stash them: a, b\\x0ac";
    assert_eq!(refusal.to_string(), text);
}

#[tokio::test]
async fn a_landing_is_not_taken_for_another_whose_name_begins_with_it() {
    let bench = Bench::new().await;
    let one = bench.card_with("c1", "one", "1\n").await;
    let ready = bench.ready(&one.0, &one.1, "l10").await;
    assert_eq!(
        bench.worktrees.execute_move(&ready).await.unwrap(),
        MoveOutcome::Moved
    );
    let found = bench.plan(&one.0, &one.1, "l10").await;
    assert_eq!(
        found,
        LandingPlan::AlreadyLanded {
            commit: ready.new,
            how: LandedHow::ThisLanding
        }
    );
    let other = bench.plan(&one.0, &one.1, "l1").await;
    assert_eq!(
        other,
        LandingPlan::AlreadyLanded {
            commit: one.1,
            how: LandedHow::Ancestor
        }
    );
}

#[tokio::test]
async fn a_branch_that_another_git_holds_is_refused_and_its_lock_is_left() {
    let bench = Bench::new().await;
    let (tree, tip) = card(&bench).await;
    git(&bench.user, &["switch", "-q", "-c", "elsewhere"]).await;
    let ready = bench.ready(&tree, &tip, "l1").await;
    let lock = bench.user.join(".git/refs/heads/main.lock");
    fs::write(&lock, "").unwrap();
    let refused = MoveOutcome::Refused(Refusal::BaseBusy(BusyWith::RefLock));
    assert_eq!(bench.worktrees.execute_move(&ready).await.unwrap(), refused);
    assert!(lock.exists());
    fs::remove_file(lock).unwrap();
    assert_eq!(
        bench.worktrees.execute_move(&ready).await.unwrap(),
        MoveOutcome::Moved
    );
}

/// Git writes files and index before it finds that it cannot move the branch.
#[tokio::test]
async fn a_checked_out_base_whose_branch_cannot_be_moved_is_as_before() {
    let lock = async |user: PathBuf| fs::write(user.join(".git/refs/heads/main.lock"), "").unwrap();
    let held = MoveOutcome::Refused(Refusal::BaseBusy(BusyWith::RefLock));
    check_not_moved(lock, held).await;
    let no_log = async |user: PathBuf| {
        let log = user.join(".git/logs/refs/heads/main");
        fs::remove_file(&log).unwrap();
        fs::create_dir_all(&log).unwrap();
        fs::write(log.join("in the way"), "").unwrap();
    };
    check_not_moved(no_log, MoveOutcome::Refused(Refusal::ByGit)).await;
}

async fn check_not_moved<F: Future<Output = ()>>(make: impl FnOnce(PathBuf) -> F, expected: MoveOutcome) {
    let bench = Bench::new().await;
    let (tree, tip) = card(&bench).await;
    write(bench.user.clone(), "README", "dirty\n").await;
    let ready = bench.ready(&tree, &tip, "l1").await;
    make(bench.user.clone()).await;
    let before = picture(&bench.user);
    assert_eq!(bench.worktrees.execute_move(&ready).await.unwrap(), expected);
    assert!(picture(&bench.user) == before, "{expected:?}: a file changed");
    assert_eq!(git(&bench.user, &["status", "--porcelain"]).await, "M README");
    assert_eq!(git(&bench.user, &["rev-parse", "main"]).await, ready.old.as_str());
    // What was in the way goes, and the landing goes through.
    let _ = fs::remove_file(bench.user.join(".git/refs/heads/main.lock"));
    let _ = fs::remove_dir_all(bench.user.join(".git/logs/refs/heads/main"));
    let again = bench.ready(&tree, &tip, "l1").await;
    assert_eq!(
        bench.worktrees.execute_move(&again).await.unwrap(),
        MoveOutcome::Moved
    );
}

#[tokio::test]
async fn it_lands_in_a_working_tree_reached_through_a_link() {
    let bench = Bench::new().await;
    let real = bench.dir.path().canonicalize().unwrap().join("real");
    fs::create_dir(&real).unwrap();
    let link = bench.user.with_file_name("link");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let (tree, tip) = card(&bench).await;
    git(&bench.user, &["switch", "-q", "-c", "elsewhere"]).await;
    git(&bench.user, &["worktree", "add", "-q", "../link/second", "main"]).await;
    let ready = bench.ready(&tree, &tip, "l1").await;
    assert_eq!(
        bench.worktrees.execute_move(&ready).await.unwrap(),
        MoveOutcome::Moved
    );
    assert_eq!(
        fs::read_to_string(real.join("second/src/a.txt")).unwrap(),
        "landed\n"
    );
}
