//! How the commits of a landing come into the user's repository.

use std::fs;
use std::path::{Path, PathBuf};

use cs_worktree::*;

use crate::bench::*;

fn files(dir: &Path, end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path());
    files
        .filter(|file| file.extension().is_some_and(|is| is == end))
        .collect()
}

/// A landing of a merge on a base that nobody has checked out.
async fn planned(bench: &Bench) -> Move {
    let (tree, tip) = bench.card_with("c1", "src/a.txt", "landed\n").await;
    git(&bench.user, &["switch", "-q", "-c", "elsewhere"]).await;
    bench.ready(&tree, &tip, "l1").await
}

async fn check_moves(bench: &Bench, planned: &Move) {
    let outcome = bench.worktrees.execute_move(planned).await.unwrap();
    assert_eq!(outcome, MoveOutcome::Moved);
    assert_eq!(
        git(&bench.user, &["rev-parse", "main"]).await,
        planned.new.as_str()
    );
    git(&bench.user, &["fsck", "--strict"]).await;
    bench.in_store(&["fsck", "--strict"]).await;
}

#[tokio::test]
async fn the_pack_of_a_landing_is_marked_only_until_the_base_has_moved() {
    let bench = Bench::new().await;
    let planned = planned(&bench).await;
    let packs = bench.user.join(".git/objects/pack");
    let before = files(&packs, "pack").len();
    check_moves(&bench, &planned).await;
    assert_eq!(files(&packs, "pack").len(), before + 1);
    assert!(files(&packs, "keep").is_empty());
}

#[tokio::test]
async fn what_the_user_no_longer_holds_of_a_card_comes_with_its_landing() {
    let bench = Bench::new().await;
    let planned = planned(&bench).await;
    let held = planned.held.clone().expect("the card was collected");
    git(&bench.user, &["update-ref", "-d", &held.name]).await;
    let branch = git(
        &bench.user,
        &["for-each-ref", "--format=%(refname)", "refs/heads/cs"],
    )
    .await;
    git(&bench.user, &["update-ref", "-d", &branch]).await;
    git(&bench.user, &["reflog", "expire", "--expire=now", "--all"]).await;
    git(&bench.user, &["gc", "-q", "--prune=now"]).await;
    let is_there = try_git(&bench.user, &["cat-file", "-e", held.commit.as_str()]).await;
    assert_ne!(is_there.exit, cs_supervise::command::Exit::Code(0));
    check_moves(&bench, &planned).await;
}

#[tokio::test]
async fn the_mark_that_a_crash_left_goes_and_another_stays() {
    let bench = Bench::new().await;
    let planned = planned(&bench).await;
    let packs = bench.user.join(".git/objects/pack");
    fs::create_dir_all(&packs).unwrap();
    let (own, other) = (packs.join("pack-1.keep"), packs.join("pack-2.keep"));
    fs::write(&own, "cs-panel: landing l1\n").unwrap();
    fs::write(&other, "cs-panel: landing l10\n").unwrap();
    let recovered = bench.worktrees.recover_move(&planned).await.unwrap();
    assert_eq!(recovered, MoveRecovery::NotMoved);
    assert_eq!(files(&packs, "keep"), [other]);
}

#[tokio::test]
async fn what_a_crash_left_of_a_plan_is_never_taken_for_an_object() {
    let bench = Bench::new().await;
    let (tree, tip) = bench.card_with("c1", "src/a.txt", "landed\n").await;
    git(&bench.user, &["switch", "-q", "-c", "elsewhere"]).await;
    // On an unmoved base the merge has the tree of the card, which the store has; a plan there makes the directories.
    bench.ready(&tree, &tip, "l1").await;
    let tree_of_card = format!("{tip}^{{tree}}");
    let merged = bench.in_store(&["rev-parse", &tree_of_card]).await;
    let quarantine = bench.dir.path().join("state/repos/code/quarantine");
    assert!(!quarantine.join("info/alternates").exists());
    let torn = quarantine.join(&merged[..2]).join(&merged[2..]);
    fs::create_dir_all(torn.parent().unwrap()).unwrap();
    fs::write(&torn, "").unwrap();
    fs::write(quarantine.join("info/alternates"), "").unwrap();
    let again = bench.ready(&tree, &tip, "l2").await;
    assert!(!torn.exists());
    check_moves(&bench, &again).await;
}
