//! The way back of what was saved.

use std::fs;
use std::time::{Duration, SystemTime};

use cs_worktree::*;

use crate::bench::*;

/// A card with a commit and something of every kind uncommitted, and its salvage.
async fn salvaged(bench: &Bench) -> (Tree, Salvage) {
    let (tree, _) = bench.card_with("c1", "src/a.txt", "committed\n").await;
    fs::write(tree.path.join("README"), "in progress\n").unwrap();
    fs::write(tree.path.join("new file"), "new\n").unwrap();
    fs::remove_file(tree.path.join("src/b.txt")).unwrap();
    let salvage = bench.salvage(&tree, "r1").await;
    (tree, salvage)
}

fn code() -> CodebaseKey {
    CodebaseKey::new("code").unwrap()
}

#[tokio::test]
async fn a_snapshot_is_listed_with_its_card_its_reason_and_its_time() {
    let bench = Bench::new().await;
    assert_eq!(bench.worktrees.saved_work(&code()).await.unwrap(), []);
    let (tree, first) = salvaged(&bench).await;
    fs::write(tree.path.join("more"), "more\n").unwrap();
    let second = bench.salvage(&tree, "r1").await;
    let listed = bench.worktrees.saved_work(&code()).await.unwrap();
    let references: Vec<_> = listed.iter().map(|work| Some(work.reference.clone())).collect();
    assert_eq!(references, [second.reference, first.reference.clone()]);
    let work = &listed[1];
    assert_eq!(work.card, Some(CardKey::new("c1").unwrap()));
    assert_eq!(work.reason, "the agent was stopped");
    assert!(work.at > SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000));
    let detail = bench
        .worktrees
        .saved_detail(&code(), &first.reference.unwrap())
        .await
        .unwrap();
    assert_eq!(detail.work, *work);
    assert_eq!(detail.completeness, Some(Completeness::Complete));
    let kinds: Vec<_> = detail
        .files
        .iter()
        .map(|f| (f.path.to_string(), f.kind))
        .collect();
    let expected = [
        ("README", EntryKind::Modified),
        ("new file", EntryKind::Untracked),
        ("src/b.txt", EntryKind::Deleted),
    ];
    assert_eq!(kinds, expected.map(|(path, kind)| (path.to_owned(), kind)));
    assert!(
        detail.refs.iter().any(|(name, _)| name.ends_with("r1/HEAD")),
        "{detail:?}"
    );
}

#[tokio::test]
async fn a_snapshot_comes_back_as_a_directory_with_everything_uncommitted_again() {
    let bench = Bench::new().await;
    let (tree, salvage) = salvaged(&bench).await;
    let expected = picture(&tree.path);
    let at = |root: &std::path::Path, picture: &[(std::path::PathBuf, u32, Vec<u8>)]| {
        let strip = |(path, mode, bytes): &(std::path::PathBuf, u32, Vec<u8>)| {
            (path.strip_prefix(root).unwrap().to_owned(), *mode, bytes.clone())
        };
        picture.iter().map(strip).collect::<Vec<_>>()
    };
    bench.worktrees.discard(salvage.proof().unwrap()).await.unwrap();
    let to = bench.dir.path().canonicalize().unwrap().join("back here");
    let reference = salvage.reference.unwrap();
    let restored = bench
        .worktrees
        .restore_to_directory(&code(), &reference, &to)
        .await
        .unwrap();
    assert_eq!(restored.commit, salvage.commit.unwrap());
    assert_eq!(at(&to, &picture(&to)), at(&tree.path, &expected));
    let status = git(&to, &["status", "--porcelain"]).await;
    assert_eq!(status, "M README\n D src/b.txt\n?? \"new file\"");
    let again = bench
        .worktrees
        .restore_to_directory(&code(), &reference, &to)
        .await;
    assert!(matches!(again, Err(WorktreeError::Occupied { .. })), "{again:?}");
    let left = fs::read_dir(bench.dir.path()).unwrap().flatten();
    let halves = left.filter(|e| e.file_name().to_string_lossy().starts_with(".cs-panel-restore"));
    assert_eq!(halves.count(), 0);
}

/// Invariant 12.
#[tokio::test]
async fn a_snapshot_comes_back_as_a_branch_and_nothing_else_of_the_user_moves() {
    let bench = Bench::new().await;
    let (_, salvage) = salvaged(&bench).await;
    let before = picture(&bench.user);
    let index = fs::read(bench.user.join(".git/index")).unwrap();
    let branch = BranchName::new("rescued").unwrap();
    let reference = salvage.reference.unwrap();
    for _ in 0..2 {
        let commit = bench
            .worktrees
            .restore_to_branch(&bench.repository, &code(), &reference, &branch)
            .await
            .unwrap();
        assert_eq!(Some(commit), salvage.commit);
    }
    assert_eq!(git(&bench.user, &["show", "rescued:new file"]).await, "new");
    assert!(picture(&bench.user) == before && fs::read(bench.user.join(".git/index")).unwrap() == index);
    let taken = BranchName::new("main").unwrap();
    let refused = bench
        .worktrees
        .restore_to_branch(&bench.repository, &code(), &reference, &taken)
        .await;
    assert!(
        matches!(refused, Err(WorktreeError::BranchCollision { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn what_is_not_saved_is_said_to_be_unknown() {
    let bench = Bench::new().await;
    salvaged(&bench).await;
    for name in [
        "refs/cs-panel/run/r9/salvage/1",
        "HEAD",
        "--all",
        "refs/cs-panel/run/r1/HEAD",
    ] {
        let shown = bench.worktrees.saved_detail(&code(), name).await;
        assert!(
            matches!(shown, Err(WorktreeError::NotSaved { .. })),
            "{name}: {shown:?}"
        );
    }
}

#[tokio::test]
async fn a_trashed_tree_is_listed_with_its_reason_and_can_be_put_back() {
    let bench = Bench::new().await;
    assert_eq!(bench.worktrees.trashed().unwrap(), []);
    let (tree, salvage) = salvaged(&bench).await;
    let before = picture(&tree.path);
    let place = bench.worktrees.discard(salvage.proof().unwrap()).await.unwrap();
    let listed = bench.worktrees.trashed().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0].path, &listed[0].spec), (&place, &tree.spec));
    assert_eq!(listed[0].reason, "the agent was stopped");
    assert_eq!(listed[0].reference, salvage.reference);
    let back = bench.worktrees.restore_trashed(&listed[0]).await.unwrap();
    assert_eq!(back, tree);
    assert!(picture(&tree.path) == before);
    assert_eq!(bench.worktrees.trashed().unwrap(), []);
    let gone = bench.worktrees.restore_trashed(&listed[0]).await;
    assert!(matches!(gone, Err(WorktreeError::NotOurTree { .. })), "{gone:?}");
}
