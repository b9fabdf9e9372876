//! A landing that is killed in the middle (G13).

use std::ffi::OsStr;
use std::fs;

use cs_supervise::command::Exit;
use cs_worktree::*;

use crate::bench::*;

/// A planned landing that changes, deletes and adds files, with an unrelated dirty file of the user.
async fn planned(bench: &Bench) -> Move {
    let tree = bench.prepare("c1").await;
    fs::write(tree.path.join("src/a.txt"), "landed a\n").unwrap();
    fs::write(tree.path.join("README"), "landed readme\n").unwrap();
    fs::create_dir(tree.path.join("added")).unwrap();
    fs::write(tree.path.join("added/new.txt"), "landed new\n").unwrap();
    fs::write(tree.path.join("added/large.txt"), "landed large\n".repeat(1000)).unwrap();
    fs::remove_file(tree.path.join("gone.txt")).unwrap();
    bench.agent_commits(&tree, "last", "x").await;
    let tip = bench.collect(&tree, "r1").await.tip;
    fs::write(bench.user.join("src/b.txt"), "the user's own\n").unwrap();
    bench.ready(&tree, &tip, "l1").await
}

async fn bench() -> Bench {
    let bench = Bench::new().await;
    fs::write(bench.user.join("gone.txt"), "going\n").unwrap();
    git(&bench.user, &["add", "-A"]).await;
    git(&bench.user, &["commit", "-q", "-m", "one more"]).await;
    bench
}

/// The merge commit is in the user's repository, as it is when the merge begins.
async fn begin(bench: &Bench, planned: &Move) {
    let name = format!("refs/cs-panel/land/{}", planned.landing);
    let refspec = format!("+{name}:{name}");
    git(
        &bench.user,
        &["fetch", "-q", bench.store().to_str().unwrap(), &refspec],
    )
    .await;
}

/// After the recovery everything is as before, and the landing goes through.
async fn check_restored(bench: &Bench, planned: &Move, before: &[(std::path::PathBuf, u32, Vec<u8>)]) {
    assert!(picture(&bench.user) == before, "the files are not what they were");
    assert_eq!(git(&bench.user, &["status", "--porcelain"]).await, "M src/b.txt");
    assert_eq!(
        bench.worktrees.recover_move(planned).await.unwrap(),
        MoveRecovery::NotMoved
    );
    assert_eq!(
        bench.worktrees.execute_move(planned).await.unwrap(),
        MoveOutcome::Moved
    );
    assert_eq!(
        bench.worktrees.recover_move(planned).await.unwrap(),
        MoveRecovery::Done
    );
    assert_eq!(git(&bench.user, &["status", "--porcelain"]).await, "M src/b.txt");
    assert_eq!(
        fs::read_to_string(bench.user.join("added/new.txt")).unwrap(),
        "landed new\n"
    );
}

#[tokio::test]
async fn half_written_files_and_our_lock_are_undone() {
    let bench = bench().await;
    let planned = planned(&bench).await;
    let before = picture(&bench.user);
    begin(&bench, &planned).await;
    let user = &bench.user;
    fs::write(user.join(".git/index.lock"), OUR_LOCK).unwrap();
    fs::write(user.join(".git/index.cs-panel-l1"), "an index").unwrap();
    fs::write(user.join(".git/index.cs-panel-l1.lock"), "half an index").unwrap();
    fs::write(user.join("README"), "landed readme\n").unwrap();
    fs::remove_file(user.join("src/a.txt")).unwrap();
    fs::remove_file(user.join("gone.txt")).unwrap();
    fs::create_dir(user.join("added")).unwrap();
    fs::write(user.join("added/new.txt"), "").unwrap();
    fs::write(user.join("added/large.txt"), "landed large\n".repeat(400)).unwrap();
    assert_eq!(
        bench.worktrees.recover_move(&planned).await.unwrap(),
        MoveRecovery::RolledBack
    );
    assert_eq!(indexes(&bench), ["index"]);
    check_restored(&bench, &planned, &before).await;
    assert_eq!(indexes(&bench), ["index"]);
}

/// The index of the user's, and what lies beside it.
fn indexes(bench: &Bench) -> Vec<String> {
    let names = fs::read_dir(bench.user.join(".git")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> = names.filter(|name| name.starts_with("index")).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_new_index_with_the_old_head_is_undone() {
    let bench = bench().await;
    let planned = planned(&bench).await;
    let before = picture(&bench.user);
    begin(&bench, &planned).await;
    git(
        &bench.user,
        &[
            "read-tree",
            "-m",
            "-u",
            planned.old.as_str(),
            planned.new.as_str(),
        ],
    )
    .await;
    assert_eq!(
        fs::read_to_string(bench.user.join("README")).unwrap(),
        "landed readme\n"
    );
    assert_eq!(
        bench.worktrees.recover_move(&planned).await.unwrap(),
        MoveRecovery::RolledBack
    );
    check_restored(&bench, &planned, &before).await;
}

#[tokio::test]
async fn edits_that_somebody_made_after_the_crash_are_kept_and_named() {
    let bench = bench().await;
    let planned = planned(&bench).await;
    begin(&bench, &planned).await;
    fs::write(bench.user.join("src/a.txt"), "landed a\n").unwrap();
    fs::write(bench.user.join("README"), "edited by the user\n").unwrap();
    fs::create_dir(bench.user.join("added")).unwrap();
    fs::write(bench.user.join("added/new.txt"), "landed new\nand edited\n").unwrap();
    let files = ["README", "added/new.txt"].map(RepoPath::from_bytes).into();
    let recovered = bench.worktrees.recover_move(&planned).await.unwrap();
    assert_eq!(recovered, MoveRecovery::ForeignEdits { files });
    assert_eq!(
        fs::read_to_string(bench.user.join("README")).unwrap(),
        "edited by the user\n"
    );
    assert_eq!(fs::read_to_string(bench.user.join("src/a.txt")).unwrap(), "a\n");
    assert_eq!(
        fs::read_to_string(bench.user.join("src/b.txt")).unwrap(),
        "the user's own\n"
    );
}

#[tokio::test]
async fn a_move_that_was_never_begun_is_not_moved() {
    let bench = bench().await;
    let planned = planned(&bench).await;
    let before = picture(&bench.user);
    assert_eq!(
        bench.worktrees.recover_move(&planned).await.unwrap(),
        MoveRecovery::NotMoved
    );
    begin(&bench, &planned).await;
    assert_eq!(
        bench.worktrees.recover_move(&planned).await.unwrap(),
        MoveRecovery::NotMoved
    );
    check_restored(&bench, &planned, &before).await;
}

#[tokio::test]
async fn a_user_who_went_on_keeps_what_they_have() {
    let bench = bench().await;
    let planned = planned(&bench).await;
    begin(&bench, &planned).await;
    fs::write(bench.user.join("README"), "landed readme\n").unwrap();
    git(&bench.user, &["commit", "-q", "-a", "-m", "took it all"]).await;
    let before = picture(&bench.user);
    let recovered = bench.worktrees.recover_move(&planned).await.unwrap();
    assert_eq!(recovered, MoveRecovery::NotMoved);
    assert!(picture(&bench.user) == before);
}

#[tokio::test]
async fn what_a_landing_has_half_written_is_not_taken_for_an_edit_when_the_base_has_moved() {
    let bench = bench().await;
    let planned = planned(&bench).await;
    let before = picture(&bench.user);
    begin(&bench, &planned).await;
    let user = &bench.user;
    fs::write(user.join("README"), "landed readme\n").unwrap();
    fs::remove_file(user.join("src/a.txt")).unwrap();
    fs::create_dir(user.join("added")).unwrap();
    fs::write(user.join("added/new.txt"), "landed new\n").unwrap();
    git(user, &["commit", "-q", "--allow-empty", "-m", "gone on"]).await;
    let recovered = bench.worktrees.recover_move(&planned).await.unwrap();
    assert_eq!(recovered, MoveRecovery::RolledBack);
    assert!(picture(user) == before, "the files are not what they were");
    assert_eq!(git(user, &["status", "--porcelain"]).await, "M src/b.txt");
    // Nothing is written: what is missing now is missing by the user's hand.
    fs::remove_file(user.join("src/a.txt")).unwrap();
    let recovered = bench.worktrees.recover_move(&planned).await.unwrap();
    assert_eq!(recovered, MoveRecovery::NotMoved);
    assert!(!user.join("src/a.txt").exists());
}

#[tokio::test]
async fn a_lock_that_another_program_holds_is_left_alone() {
    let bench = bench().await;
    let planned = planned(&bench).await;
    begin(&bench, &planned).await;
    let lock = bench.user.join(".git/index.lock");
    fs::write(&lock, "held").unwrap();
    let staying = Staying::holding(&lock).await;
    let recovered = bench.worktrees.recover_move(&planned).await.unwrap();
    staying.end().await;
    assert_eq!(recovered, MoveRecovery::Busy);
    assert_eq!(fs::read_to_string(&lock).unwrap(), "held");
}

/// The window in which index and files are new and HEAD is old, made by git itself: it finds the branch locked at the end.
#[tokio::test]
async fn a_merge_that_ended_before_it_moved_the_branch_is_undone() {
    let bench = bench().await;
    let planned = planned(&bench).await;
    let before = picture(&bench.user);
    begin(&bench, &planned).await;
    let lock = bench.user.join(".git/refs/heads/main.lock");
    fs::write(&lock, "").unwrap();
    let merge = ["merge", "-q", "--ff-only", planned.new.as_str()];
    assert_ne!(try_git(&bench.user, &merge).await.exit, Exit::Code(0));
    fs::remove_file(&lock).unwrap();
    let staged = git(&bench.user, &["diff", "--cached", "--name-only"]).await;
    assert!(
        staged.contains("README"),
        "git did not come to the window: {staged}"
    );
    assert_eq!(
        bench.worktrees.recover_move(&planned).await.unwrap(),
        MoveRecovery::RolledBack
    );
    check_restored(&bench, &planned, &before).await;
}

/// Points at which a merge is killed, and the files that it writes.
const KILLS: usize = 10;
const FILES: usize = 4_000;

/// Dropping the future kills git, as the death of the daemon's machine would, at some point of the merge. Invariant 13. (G13)
#[tokio::test]
async fn g13_a_merge_killed_at_ten_points_is_undone_or_done() {
    let bench = bench().await;
    let tree = bench.prepare("c1").await;
    for n in 0..FILES {
        fs::write(
            tree.path.join(format!("file-{n:04}")),
            format!("{n}\n").repeat(50),
        )
        .unwrap();
    }
    bench.agent_commits(&tree, "src/a.txt", "landed\n").await;
    let tip = bench.collect(&tree, "r1").await.tip;
    fs::write(bench.user.join("src/b.txt"), "the user's own\n").unwrap();
    let before = picture(&bench.user);
    let planned = bench.ready(&tree, &tip, "l1").await;
    let mut cut = 0;
    for point in 0..KILLS {
        // Git writes the files in the order of their names: the kill comes when it has got so far.
        let mark = bench.user.join(format!("file-{:04}", point * (FILES / KILLS)));
        let until = async {
            while !mark.exists() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            () = until => {}
            outcome = bench.worktrees.execute_move(&planned) => assert_eq!(outcome.unwrap(), MoveOutcome::Moved),
        }
        let edited = bench.user.join("file-0000");
        // In every other round the user edits a file that the dead git has written.
        let is_edited =
            point % 2 == 1 && git(&bench.user, &["rev-parse", "main"]).await == planned.old.as_str();
        if is_edited {
            // It was written long before the kill.
            fs::write(&edited, "edited by the user\n").unwrap();
        }
        match recovered(&bench, &planned).await {
            MoveRecovery::Done => {
                // The kill came too late: the next one has a base as before.
                git(&bench.user, &["stash", "-q"]).await;
                git(&bench.user, &["reset", "-q", "--hard", planned.old.as_str()]).await;
                git(&bench.user, &["stash", "pop", "-q"]).await;
                continue;
            }
            MoveRecovery::RolledBack if !is_edited => {}
            MoveRecovery::ForeignEdits { files } if is_edited => {
                assert_eq!(files, [RepoPath::from_bytes(*b"file-0000")]);
                assert_eq!(fs::read_to_string(&edited).unwrap(), "edited by the user\n");
                fs::remove_file(&edited).unwrap();
            }
            other => panic!("point {point}: {other:?}"),
        }
        cut += 1;
        assert!(
            picture(&bench.user) == before,
            "the files are not what they were at point {point}"
        );
        assert_eq!(git(&bench.user, &["status", "--porcelain"]).await, "M src/b.txt");
    }
    assert!(cut >= KILLS / 2, "only {cut} merges were cut");
    assert_eq!(
        bench.worktrees.execute_move(&planned).await.unwrap(),
        MoveOutcome::Moved
    );
    assert_eq!(git(&bench.user, &["status", "--porcelain"]).await, "M src/b.txt");
}

/// What was killed may still be dying.
async fn recovered(bench: &Bench, planned: &Move) -> MoveRecovery {
    loop {
        match bench.worktrees.recover_move(planned).await.unwrap() {
            MoveRecovery::Busy => tokio::task::yield_now().await,
            recovered => return recovered,
        }
    }
}

#[tokio::test]
async fn a_lock_of_a_git_that_lives_is_left_alone() {
    let bench = bench().await;
    let planned = planned(&bench).await;
    begin(&bench, &planned).await;
    let lock = bench.user.join(".git/index.lock");
    fs::write(&lock, "held").unwrap();
    // It waits for its standard input.
    let staying = Staying::start(&bench.user, "git", &["cat-file", "--batch"]);
    let recovered = bench.worktrees.recover_move(&planned).await.unwrap();
    staying.end().await;
    assert_eq!(recovered, MoveRecovery::Busy);
    assert_eq!(fs::read_to_string(&lock).unwrap(), "held");
}

/// The daemon died after the branch had moved and before the index was in place; then the user removed the lock, as git says, and staged.
#[tokio::test]
async fn an_index_that_was_left_behind_is_brought_forward_with_what_is_staged_since() {
    for staged in [None, Some("mine.txt")] {
        let bench = bench().await;
        let planned = planned(&bench).await;
        begin(&bench, &planned).await;
        let user = &bench.user;
        let copy = user.join(".git/index.cs-panel-l1");
        fs::copy(user.join(".git/index"), &copy).unwrap();
        let on_copy = format!("GIT_INDEX_FILE={}", copy.display());
        let merge = [
            on_copy.as_str(),
            "git",
            "merge",
            "-q",
            "--ff-only",
            planned.new.as_str(),
        ];
        let merged = run_in(user, &user.join("../home"), "env", &merge.map(OsStr::new)).await;
        assert_eq!(merged.exit, Exit::Code(0));
        match staged {
            None => fs::write(user.join(".git/index.lock"), OUR_LOCK).unwrap(),
            Some(name) => {
                fs::write(user.join(name), "mine\n").unwrap();
                git(user, &["add", name]).await;
            }
        }
        let recovered = bench.worktrees.recover_move(&planned).await.unwrap();
        assert_eq!(recovered, MoveRecovery::Done);
        assert_eq!(indexes(&bench), ["index"]);
        let expected = if staged.is_some() {
            "A  mine.txt\n M src/b.txt"
        } else {
            "M src/b.txt"
        };
        assert_eq!(git(user, &["status", "--porcelain"]).await, expected);
    }
}

/// The move never came to write anything. What is staged of its files is the user's.
#[tokio::test]
async fn what_the_user_has_staged_of_a_file_of_the_move_stays_staged() {
    let bench = bench().await;
    let planned = planned(&bench).await;
    begin(&bench, &planned).await;
    for on_disk in ["staged\n", "edited\n", "readme\n"] {
        fs::write(bench.user.join("README"), "staged\n").unwrap();
        git(&bench.user, &["add", "README"]).await;
        fs::write(bench.user.join("README"), on_disk).unwrap();
        let recovered = bench.worktrees.recover_move(&planned).await.unwrap();
        assert!(
            !matches!(recovered, MoveRecovery::Done | MoveRecovery::Busy),
            "{recovered:?}"
        );
        assert_eq!(
            git(&bench.user, &["show", ":README"]).await,
            "staged",
            "{recovered:?}"
        );
        assert_eq!(fs::read_to_string(bench.user.join("README")).unwrap(), on_disk);
    }
}

/// Whose it is nobody can tell, so only a person may remove it, as git says.
#[tokio::test]
async fn a_lock_that_a_dead_git_has_left_is_left_alone() {
    let bench = bench().await;
    let planned = planned(&bench).await;
    let before = picture(&bench.user);
    begin(&bench, &planned).await;
    fs::write(bench.user.join("README"), "landed readme\n").unwrap();
    let lock = bench.user.join(".git/index.lock");
    for words in ["", "half an index", "cs-panel holds the index for landing l2.\n"] {
        fs::write(&lock, words).unwrap();
        let recovered = bench.worktrees.recover_move(&planned).await.unwrap();
        assert_eq!(recovered, MoveRecovery::Busy);
        assert_eq!(fs::read_to_string(&lock).unwrap(), words);
    }
    fs::remove_file(&lock).unwrap();
    let recovered = bench.worktrees.recover_move(&planned).await.unwrap();
    assert_eq!(recovered, MoveRecovery::RolledBack);
    check_restored(&bench, &planned, &before).await;
}
