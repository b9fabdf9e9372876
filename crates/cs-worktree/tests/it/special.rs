//! What a snapshot cannot carry (G1, G2): it is found, named, and the tree is kept. Removal loses nothing (G15).

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use cs_worktree::*;

use crate::bench::*;

/// Salvages, expects this reason among those for a partial salvage, and that no proof for a removal comes out.
async fn check(bench: &Bench, tree: &Tree, expected: Special) -> Salvage {
    let salvage = bench.salvage(tree, "r1").await;
    let Completeness::Partial(reasons) = &salvage.completeness else {
        panic!("{expected:?}: {:?}", salvage.completeness);
    };
    assert!(reasons.contains(&expected), "{expected:?} is not in {reasons:?}");
    assert!(salvage.proof().is_none());
    let collected = bench.collect(tree, "r1").await;
    assert!(collected.dirty);
    salvage
}

fn path(path: &str) -> RepoPath {
    RepoPath::from_bytes(path)
}

#[tokio::test]
async fn a_changed_file_under_a_filter_keeps_the_tree() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    bench
        .agent_commits(&tree, ".gitattributes", "*.bin filter=secret\n")
        .await;
    assert!(bench.worktrees.status(&tree).await.unwrap().is_clean());
    fs::write(tree.path.join("big.bin"), [0; 100]).unwrap();
    check(&bench, &tree, Special::Filtered(path("big.bin"))).await;
}

/// The pointer of a content of 100 zeros, as the program `git-lfs` writes it.
const POINTER: &str = "version https://git-lfs.github.com/spec/v1\n\
    oid sha256:cd00e292c5970d3c5e2f0ffa5171e555bc46bfc4faddfb4a418b6840b86e79a3\nsize 100\n";

#[tokio::test]
async fn a_file_of_lfs_is_saved_as_a_pointer_and_its_content_comes_back() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let attributes = "*.bin filter=lfs diff=lfs merge=lfs -text\n";
    bench.agent_commits(&tree, ".gitattributes", attributes).await;
    bench.agent_commits(&tree, "known.bin", POINTER).await;
    // What `git lfs pull` does: the content in the place of the pointer. Nothing has changed.
    fs::write(tree.path.join("known.bin"), [0; 100]).unwrap();
    let status = bench.worktrees.status(&tree).await.unwrap();
    assert!(status.is_clean(), "{status:?}");
    fs::write(tree.path.join("new.bin"), [0; 100]).unwrap();
    fs::write(tree.path.join("pointer.bin"), POINTER).unwrap();
    fs::create_dir_all(tree.path.join(".git/lfs/objects/ab/cd")).unwrap();
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Complete);
    let commit = salvage.commit.clone().unwrap();
    for name in ["new.bin", "pointer.bin", "known.bin"] {
        let text = bench.in_store(&["show", &format!("{commit}:{name}")]).await;
        assert_eq!(text, POINTER.trim(), "{name}");
    }
    let to = bench.dir.path().canonicalize().unwrap().join("back");
    let reference = salvage.reference.clone().unwrap();
    bench
        .worktrees
        .restore_to_directory(&tree.spec.codebase, &reference, &to)
        .await
        .unwrap();
    assert_eq!(fs::read(to.join("new.bin")).unwrap(), [0; 100]);
    bench.worktrees.discard(salvage.proof().unwrap()).await.unwrap();
}

#[tokio::test]
async fn contents_that_only_the_trees_own_lfs_has_go_to_the_store() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let name = "cd00e292c5970d3c5e2f0ffa5171e555bc46bfc4faddfb4a418b6840b86e79a3";
    let objects = tree.path.join(".git/lfs/objects/cd/00");
    fs::create_dir_all(&objects).unwrap();
    fs::write(objects.join(name), [0; 100]).unwrap();
    fs::write(objects.join("e".repeat(64)), "not what its name says").unwrap();
    bench.salvage(&tree, "r1").await;
    let kept = bench.store().join("lfs/objects/cd/00").join(name);
    assert_eq!(fs::read(kept).unwrap(), [0; 100]);
    let no_object = bench.store().join("lfs/objects/ee/ee").join("e".repeat(64));
    assert!(!no_object.exists());
}

#[tokio::test]
async fn every_operation_under_way_keeps_the_tree() {
    for (file, busy) in [
        ("CHERRY_PICK_HEAD", BusyWith::CherryPick),
        ("REVERT_HEAD", BusyWith::Revert),
        ("rebase-merge/x", BusyWith::Rebase),
        ("rebase-apply/x", BusyWith::Rebase),
        ("BISECT_START", BusyWith::Bisect),
        ("index.lock", BusyWith::IndexLock),
    ] {
        let bench = Bench::new().await;
        let tree = bench.prepare("c1").await;
        let file = tree.path.join(".git").join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
        check(&bench, &tree, Special::UnderWay(busy)).await;
    }
}

/// What was done to the `.git` of a tree, and the reason that must come out.
async fn check_broken(breaks: impl Fn(&std::path::Path), expected: Special) {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    breaks(&tree.path.join(".git"));
    check(&bench, &tree, expected).await;
}

#[tokio::test]
async fn a_broken_git_directory_is_named() {
    let remove = |git_dir: &std::path::Path| fs::remove_dir_all(git_dir).unwrap();
    check_broken(remove, Special::HeadUnreadable).await;
    let dangle =
        |git_dir: &std::path::Path| fs::write(git_dir.join("HEAD"), "ref: refs/heads/none\n").unwrap();
    check_broken(dangle, Special::HeadUnreadable).await;
    let corrupt = |git_dir: &std::path::Path| fs::write(git_dir.join("index"), "nonsense").unwrap();
    check_broken(corrupt, Special::IndexUnreadable).await;
}

#[tokio::test]
async fn a_file_over_the_limit_is_left_out_and_keeps_the_tree() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let big = File::create(tree.path.join("big")).unwrap();
    big.set_len((50 << 20) + 1).unwrap();
    fs::write(tree.path.join("small"), "x").unwrap();
    let salvage = check(&bench, &tree, Special::TooLarge(path("big"))).await;
    let commit = salvage.commit.unwrap();
    assert_eq!(
        bench
            .in_store(&["ls-tree", "--name-only", commit.as_str(), "big", "small"])
            .await,
        "small"
    );
}

#[tokio::test]
async fn a_socket_keeps_the_tree() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let _socket = std::os::unix::net::UnixListener::bind(tree.path.join("s")).unwrap();
    check(&bench, &tree, Special::NotAFile(path("s"))).await;
}

#[tokio::test]
async fn a_file_that_cannot_be_read_keeps_the_tree() {
    let bench = Bench::new().await;
    // Root reads everything.
    if bench.dir.path().metadata().unwrap().uid() == 0 {
        return;
    }
    let tree = bench.prepare("c1").await;
    fs::write(tree.path.join("closed"), "x").unwrap();
    fs::set_permissions(tree.path.join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
    fs::write(tree.path.join("open"), "x").unwrap();
    let salvage = check(&bench, &tree, Special::Unreadable(path("closed"))).await;
    let commit = salvage.commit.unwrap();
    assert_eq!(
        bench
            .in_store(&["ls-tree", "--name-only", commit.as_str(), "open", "closed"])
            .await,
        "open"
    );
}

/// Invariant 11.
#[tokio::test]
async fn a_tree_that_changed_after_its_salvage_is_not_discarded() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Nothing);
    fs::write(tree.path.join("x.ignored"), "even an ignored file counts").unwrap();
    let refused = bench.worktrees.discard(salvage.proof().unwrap()).await;
    assert!(matches!(refused, Err(WorktreeError::TreeChanged)), "{refused:?}");
    assert!(tree.path.join("x.ignored").exists());
}

#[tokio::test]
async fn emptying_the_trash_leaves_the_targets_of_links_alone() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let shared = bench.dir.path().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::write(shared.join("module"), "shared").unwrap();
    std::os::unix::fs::symlink(&shared, tree.path.join("node_modules")).unwrap();
    fs::create_dir(tree.path.join("closed")).unwrap();
    fs::write(tree.path.join("closed/x"), "x").unwrap();
    fs::set_permissions(tree.path.join("closed"), fs::Permissions::from_mode(0o555)).unwrap();
    let salvage = bench.salvage(&tree, "r1").await;
    let trashed = bench.worktrees.discard(salvage.proof().unwrap()).await.unwrap();
    let now = trashed
        .join("discarded.json")
        .metadata()
        .unwrap()
        .modified()
        .unwrap();
    fs::create_dir(trashed.with_file_name("not ours")).unwrap();
    let emptied = bench
        .worktrees
        .empty_trash(std::time::Duration::ZERO, now)
        .await
        .unwrap();
    assert_eq!((emptied.deleted, emptied.kept.len()), (1, 1));
    assert!(!trashed.exists());
    assert_eq!(fs::read_to_string(shared.join("module")).unwrap(), "shared");
}

#[tokio::test]
async fn a_tree_in_which_a_process_works_is_not_discarded() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let salvage = bench.salvage(&tree, "r1").await;
    let staying = Staying::start(&tree.path, "sleep", &["600"]);
    let refused = bench.worktrees.discard(salvage.proof().unwrap()).await;
    staying.end().await;
    assert!(
        matches!(&refused, Err(WorktreeError::TreeInUse { pid, program }) if *pid > 0 && program == "sleep"),
        "{refused:?}"
    );
    assert!(tree.path.exists());
}
