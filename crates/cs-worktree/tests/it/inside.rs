//! Repositories inside a tree (G1): their files are in the snapshot, their commits on refs, and the tree may go.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cs_worktree::*;

use crate::bench::*;

/// A card whose tree holds every kind of repository that an agent can leave in one.
async fn full_of_repositories(bench: &Bench) -> Tree {
    let tree = bench.prepare("c1").await;
    let work = &tree.path;
    let put = |path: &str, text: &str| {
        let file = work.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    put("fresh/new.txt", "without a commit");
    git(&work.join("fresh"), &["init", "-q"]).await;
    put("lib/one.txt", "committed");
    put("lib/.gitignore", "*.log\n");
    git(&work.join("lib"), &["init", "-q"]).await;
    git(&work.join("lib"), &["add", "-A"]).await;
    git(&work.join("lib"), &["commit", "-q", "-m", "one"]).await;
    put("lib/one.txt", "in progress");
    put("lib/two.txt", "untracked");
    put("lib/ignored.log", "noise");
    put("lib/deeper/three.txt", "in the inner one");
    git(&work.join("lib/deeper"), &["init", "-q"]).await;
    git(&work.join("lib/deeper"), &["add", "-A"]).await;
    git(&work.join("lib/deeper"), &["commit", "-q", "-m", "deep"]).await;
    put("broken/.git", "gitdir: /nonexistent\n");
    put("broken/four.txt", "beside a broken link");
    git(work, &["worktree", "add", "-q", "--detach", "linked"]).await;
    put("linked/five.txt", "committed nowhere else");
    git(&work.join("linked"), &["add", "-A"]).await;
    git(&work.join("linked"), &["commit", "-q", "-m", "five"]).await;
    put("linked/six.txt", "in the linked tree");
    put("mine.txt", "of the tree itself");
    tree
}

/// Every regular file below the tree that is in no `.git` and is not ignored, with its bytes.
fn files_on_disk(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = picture(root).into_iter().filter(|(path, ..)| path.is_file());
    let name = |path: &Path| path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
    files
        .map(|(path, _, bytes)| (name(&path), bytes))
        .filter(|(name, _)| !name.ends_with(".log"))
        .collect()
}

async fn files_in_store(bench: &Bench, commit: &Oid) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for line in bench.in_store(&["ls-tree", "-r", commit.as_str()]).await.lines() {
        let (what, path) = line.split_once('\t').unwrap();
        assert!(!what.starts_with("160000"), "{line} is a link");
        let text = bench.in_store(&["show", &format!("{commit}:{path}")]).await;
        files.insert(path.to_owned(), text.into_bytes());
    }
    files
}

/// G1. Invariant 11.
#[tokio::test]
async fn g1_every_file_of_repositories_inside_a_tree_is_saved_and_their_commits_too() {
    let bench = Bench::new().await;
    let tree = full_of_repositories(&bench).await;
    let deep = git(&tree.path.join("lib/deeper"), &["rev-parse", "HEAD"]).await;
    let lib = git(&tree.path.join("lib"), &["rev-parse", "HEAD"]).await;
    let five = git(&tree.path.join("linked"), &["rev-parse", "HEAD"]).await;
    let before = picture(&tree.path);

    let salvage = bench.salvage(&tree, "r1").await;

    assert_eq!(salvage.completeness, Completeness::Complete);
    assert!(picture(&tree.path) == before, "a file of the tree was touched");
    let commit = salvage.commit.clone().unwrap();
    let mut on_disk = files_on_disk(&tree.path);
    for bytes in on_disk.values_mut() {
        *bytes = String::from_utf8(bytes.clone()).unwrap().trim().into();
    }
    assert_eq!(files_in_store(&bench, &commit).await, on_disk);
    for commit in [&deep, &lib, &five] {
        let holders = bench
            .in_store(&[
                "for-each-ref",
                "--contains",
                commit,
                "refs/cs-panel/run/r1/nested",
            ])
            .await;
        assert!(!holders.is_empty(), "{commit} is on no ref of the run");
    }
    let again = bench.salvage(&tree, "r1").await;
    assert_eq!(
        (again.reference, again.commit),
        (salvage.reference.clone(), Some(commit))
    );
    bench.worktrees.discard(salvage.proof().unwrap()).await.unwrap();
    bench.in_store(&["fsck", "--strict"]).await;
}

#[tokio::test]
async fn g1_control_a_plain_add_stops_at_a_repository_without_a_commit() {
    let bench = Bench::new().await;
    let tree = full_of_repositories(&bench).await;
    let added = try_git(&tree.path, &["add", "-A"]).await;
    assert_eq!(added.exit, cs_supervise::command::Exit::Code(128));
}

#[tokio::test]
async fn a_repository_that_the_agent_committed_as_a_link_is_saved_as_files() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let lib = tree.path.join("lib");
    fs::create_dir(&lib).unwrap();
    fs::write(lib.join("code"), "x").unwrap();
    git(&lib, &["init", "-q"]).await;
    git(&lib, &["add", "-A"]).await;
    git(&lib, &["commit", "-q", "-m", "code"]).await;
    bench.agent_commits(&tree, "mine", "y").await;
    let link = git(&tree.path, &["ls-tree", "HEAD", "lib"]).await;
    assert!(link.starts_with("160000"), "{link}");
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Complete);
    let files = files_in_store(&bench, &salvage.commit.unwrap()).await;
    assert_eq!(files["lib/code"], b"x");
}

#[tokio::test]
async fn files_that_the_tree_tracks_are_saved_although_a_repository_inside_ignores_them() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    git(&tree.path.join("src"), &["init", "-q"]).await;
    fs::write(tree.path.join("src/.gitignore"), "*.txt\n").unwrap();
    fs::write(tree.path.join("src/a.txt"), "changed and ignored").unwrap();
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Complete);
    let files = files_in_store(&bench, &salvage.commit.unwrap()).await;
    assert_eq!(files["src/a.txt"], b"changed and ignored");
    assert_eq!(files["src/b.txt"], b"b");
}

#[tokio::test]
async fn a_repository_inside_that_cannot_be_read_keeps_the_tree_and_its_files_are_saved() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let lib = tree.path.join("lib");
    fs::create_dir_all(lib.join(".git")).unwrap();
    fs::write(lib.join("code"), "x").unwrap();
    let salvage = bench.salvage(&tree, "r1").await;
    let path = RepoPath::from_bytes(*b"lib");
    let reasons = vec![Special::NestedRepository(path)];
    assert_eq!(salvage.completeness, Completeness::Partial(reasons));
    let files = files_in_store(&bench, &salvage.commit.unwrap()).await;
    assert_eq!(files["lib/code"], b"x");
}

#[tokio::test]
async fn a_submodule_stays_a_link_and_what_is_uncommitted_in_it_has_a_snapshot_of_its_own() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let url = bench.user.to_str().unwrap();
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        url,
        "sub",
    ];
    git(&tree.path, &add).await;
    git(&tree.path, &["commit", "-q", "-m", "a submodule"]).await;
    let sub = tree.path.join("sub");
    fs::write(sub.join("README"), "unpublished").unwrap();
    git(
        &sub,
        &[
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@b",
            "commit",
            "-q",
            "-a",
            "-m",
            "unpublished",
        ],
    )
    .await;
    let unpublished = git(&sub, &["rev-parse", "HEAD"]).await;
    fs::write(sub.join("src/a.txt"), "in progress").unwrap();
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Complete);
    let holders = bench
        .in_store(&[
            "for-each-ref",
            "--contains",
            &unpublished,
            "refs/cs-panel/run/r1/nested",
        ])
        .await;
    assert!(!holders.is_empty(), "the unpublished commit is on no ref");
    let manifest: serde_json::Value = serde_json::from_slice(&fs::read(&salvage.manifest).unwrap()).unwrap();
    let files = manifest["inside"][0]["files"].as_str().unwrap();
    let text = bench.in_store(&["show", &format!("{files}:src/a.txt")]).await;
    assert_eq!(text, "in progress");
    assert_eq!(salvage.reference, None, "the tree itself has nothing uncommitted");
    let listed = bench.worktrees.saved_work(&tree.spec.codebase).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (listed[0].commit.as_str(), listed[0].reason.as_str()),
        (files, "files of the submodule sub")
    );
    let detail = bench
        .worktrees
        .saved_detail(&tree.spec.codebase, &listed[0].reference)
        .await
        .unwrap();
    assert_eq!(detail.completeness, Some(Completeness::Complete));
    assert_eq!(detail.inside[0].path, RepoPath::from_bytes(*b"sub"));
    fs::write(tree.path.join("README"), "of the tree itself").unwrap();
    let salvage = bench.salvage(&tree, "r1").await;
    let link = bench
        .in_store(&["ls-tree", salvage.commit.unwrap().as_str(), "sub"])
        .await;
    assert!(link.starts_with("160000"), "{link}");
}

#[tokio::test]
async fn a_repository_that_the_tree_ignores_keeps_the_tree() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let lib = tree.path.join("lib.ignored");
    fs::create_dir(&lib).unwrap();
    git(&lib, &["init", "-q"]).await;
    let salvage = bench.salvage(&tree, "r1").await;
    let path = RepoPath::from_bytes(*b"lib.ignored");
    let reasons = vec![Special::NestedRepository(path)];
    assert_eq!(salvage.completeness, Completeness::Partial(reasons));
}
