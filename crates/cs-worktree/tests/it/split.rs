//! An index in two files, `core.splitIndex`, in the user's repository and in the agent's tree.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use cs_worktree::*;

use crate::bench::*;

/// So many files that git keeps most of them in the second file.
const FILES: usize = 60;

fn names_in(dir: &Path, begin: &str) -> Vec<OsString> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    let mut found: Vec<OsString> = names
        .filter(|name| name.to_str().unwrap().starts_with(begin))
        .collect();
    found.sort();
    found
}

async fn split(tree: &Path) {
    git(tree, &["config", "core.splitIndex", "true"]).await;
    git(tree, &["update-index", "--split-index"]).await;
    assert!(!names_in(&tree.join(".git"), "sharedindex.").is_empty());
}

/// A user with many files, and their repository.
async fn bench() -> Bench {
    let bench = Bench::new().await;
    for n in 0..FILES {
        fs::write(bench.user.join(format!("many{n}")), format!("{n}\n")).unwrap();
    }
    git(&bench.user, &["add", "-A"]).await;
    git(&bench.user, &["commit", "-q", "-m", "many"]).await;
    bench
}

#[tokio::test]
async fn a_tree_with_a_split_index_is_saved_and_compared_whole() {
    let bench = bench().await;
    let tree = bench.prepare("c1").await;
    split(&tree.path).await;
    assert!(bench.worktrees.status(&tree).await.unwrap().is_clean());
    fs::write(tree.path.join("new"), "staged").unwrap();
    git(&tree.path, &["add", "new"]).await;
    fs::write(tree.path.join("new"), "in the file").unwrap();
    fs::write(tree.path.join("many7"), "changed\n").unwrap();
    let before = fs::read(tree.path.join(".git/index")).unwrap();
    let shared = names_in(&tree.path.join(".git"), "sharedindex.");
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Complete);
    let index = "refs/cs-panel/run/r1/index/1";
    assert_eq!(bench.in_store(&["show", &format!("{index}:new")]).await, "staged");
    let listed = bench.in_store(&["ls-tree", "-r", "--name-only", index]).await;
    assert_eq!(listed.lines().count(), FILES + 5);
    let commit = salvage.commit.unwrap();
    let changed = bench.in_store(&["show", &format!("{commit}:many7")]).await;
    assert_eq!(changed, "changed");
    let diff = bench.worktrees.diff(&tree.spec).await.unwrap();
    assert!(String::from_utf8(diff).unwrap().contains("+in the file"));
    assert_eq!(fs::read(tree.path.join(".git/index")).unwrap(), before);
    assert_eq!(names_in(&tree.path.join(".git"), "sharedindex."), shared);
    assert_eq!(names_in(&bench.store(), "sharedindex."), Vec::<OsString>::new());
}

#[tokio::test]
async fn conflicts_in_a_split_index_are_seen() {
    let bench = bench().await;
    let tree = bench.prepare("c1").await;
    split(&tree.path).await;
    git(&tree.path, &["switch", "-q", "-c", "other"]).await;
    bench.agent_commits(&tree, "README", "one\n").await;
    git(&tree.path, &["switch", "-q", "-"]).await;
    bench.agent_commits(&tree, "README", "two\n").await;
    try_git(&tree.path, &["merge", "-q", "other"]).await;
    let salvage = bench.salvage(&tree, "r1").await;
    let Completeness::Partial(reasons) = salvage.completeness else {
        panic!("{:?}", salvage.completeness);
    };
    assert!(reasons.contains(&Special::Unmerged), "{reasons:?}");
    assert!(!reasons.contains(&Special::IndexUnreadable), "{reasons:?}");
}

#[tokio::test]
async fn commits_of_the_person_come_into_a_tree_with_a_split_index() {
    let bench = bench().await;
    let (tree, _) = bench.card_with("c1", "src/a.txt", "agent\n").await;
    split(&tree.path).await;
    git(&bench.user, &["switch", "-q", tree.spec.branch.as_str()]).await;
    for n in 0..FILES / 2 {
        fs::write(bench.user.join(format!("many{n}")), "of the person\n").unwrap();
    }
    git(&bench.user, &["commit", "-q", "-a", "-m", "by the person"]).await;
    git(&bench.user, &["switch", "-q", "main"]).await;
    let prepared = bench.worktrees.prepare_tree(&bench.repository, &tree.spec).await;
    assert_eq!(prepared.unwrap().person, PersonCommits::Taken { count: 1 });
    assert_eq!(git(&tree.path, &["status", "--porcelain"]).await, "");
    assert_eq!(names_in(&bench.store(), "sharedindex."), Vec::<OsString>::new());
}

/// Work that is to land in a repository with a split index.
async fn to_land() -> (Bench, Tree, Oid) {
    let bench = bench().await;
    split(&bench.user).await;
    let tree = bench.prepare("c1").await;
    bench.agent_commits(&tree, "many3", "landed\n").await;
    bench.agent_commits(&tree, "added", "landed\n").await;
    let tip = bench.collect(&tree, "r1").await.tip;
    (bench, tree, tip)
}

#[tokio::test]
async fn a_landing_goes_through_in_a_repository_with_a_split_index() {
    let (bench, tree, tip) = to_land().await;
    fs::write(bench.user.join("src/b.txt"), "of the user\n").unwrap();
    let ready = bench.ready(&tree, &tip, "l1").await;
    let outcome = bench.worktrees.execute_move(&ready).await.unwrap();
    assert_eq!(outcome, MoveOutcome::Moved);
    assert_eq!(git(&bench.user, &["status", "--porcelain"]).await, "M src/b.txt");
    assert_eq!(fs::read_to_string(bench.user.join("many3")).unwrap(), "landed\n");
}

/// A landing whose git died when it had written files and no index.
#[tokio::test]
async fn a_half_landing_is_undone_in_a_repository_with_a_split_index() {
    let (bench, tree, tip) = to_land().await;
    let before = picture(&bench.user);
    let ready = bench.ready(&tree, &tip, "l1").await;
    let name = format!("refs/cs-panel/land/{}", ready.landing);
    let store = bench.store();
    let fetch = ["fetch", "-q", store.to_str().unwrap(), &format!("+{name}:{name}")];
    git(&bench.user, &fetch).await;
    fs::write(bench.user.join("many3"), "landed\n").unwrap();
    fs::write(bench.user.join("added"), "landed\n").unwrap();
    let git_dir: PathBuf = bench.user.join(".git");
    let shared = names_in(&git_dir, "sharedindex.");
    let recovered = bench.worktrees.recover_move(&ready).await.unwrap();
    assert_eq!(recovered, MoveRecovery::RolledBack);
    assert!(picture(&bench.user) == before);
    assert_eq!(git(&bench.user, &["status", "--porcelain"]).await, "");
    let more = names_in(&git_dir, "sharedindex.").len() - shared.len();
    assert!(
        more <= 1,
        "indexes of ours left {more} files in the repository of the user"
    );
    let again = bench.ready(&tree, &tip, "l1").await;
    let outcome = bench.worktrees.execute_move(&again).await.unwrap();
    assert_eq!(outcome, MoveOutcome::Moved);
}
