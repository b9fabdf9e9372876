//! What an agent committed comes whole, however its repositories look, and stays; else the tree stays (G1, G2).

use std::fs;
use std::path::Path;

use cs_worktree::*;

use crate::bench::*;

fn path(path: &str) -> RepoPath {
    RepoPath::from_bytes(path)
}

/// Salvages and expects a reason for which the tree is kept.
async fn check_kept(bench: &Bench, tree: &Tree, expected: Special) -> Salvage {
    let salvage = bench.salvage(tree, "r1").await;
    let Completeness::Partial(reasons) = &salvage.completeness else {
        panic!("{expected:?}: {:?}", salvage.completeness);
    };
    assert!(reasons.contains(&expected), "{expected:?} is not in {reasons:?}");
    salvage
}

async fn commit_all(dir: &Path, message: &str) -> String {
    git(dir, &["add", "-A"]).await;
    git(dir, &["commit", "-q", "-m", message]).await;
    git(dir, &["rev-parse", "HEAD"]).await
}

/// Makes a repository with one commit.
async fn repository_at(dir: &Path, file: &str) -> String {
    fs::create_dir_all(dir).unwrap();
    git(dir, &["init", "-q", "-b", "main"]).await;
    fs::write(dir.join(file), file).unwrap();
    commit_all(dir, file).await
}

async fn is_held(bench: &Bench, commit: &str) -> bool {
    let holders = ["for-each-ref", "--contains", commit, "refs/cs-panel/run/r1"];
    !bench.in_store(&holders).await.is_empty()
}

#[tokio::test]
async fn a_repository_inside_whose_history_is_cut_off_keeps_the_tree() {
    let bench = Bench::new().await;
    let upstream = bench.dir.path().join("upstream");
    repository_at(&upstream, "one").await;
    fs::write(upstream.join("two"), "two").unwrap();
    commit_all(&upstream, "two").await;
    let tree = bench.prepare("c1").await;
    let url = format!("file://{}", upstream.display());
    git(&tree.path, &["clone", "-q", "--depth", "1", &url, "dep"]).await;
    let dep = tree.path.join("dep");
    git(&dep, &["switch", "-q", "-c", "mine"]).await;
    fs::write(dep.join("three"), "three").unwrap();
    commit_all(&dep, "three").await;
    git(&dep, &["switch", "-q", "main"]).await;
    check_kept(&bench, &tree, Special::NestedRepository(path("dep"))).await;
}

#[tokio::test]
async fn a_tree_that_hides_its_refs_is_kept() {
    for place in ["config", "more"] {
        let bench = Bench::new().await;
        let tree = bench.prepare("c1").await;
        git(&tree.path, &["branch", "hidden"]).await;
        if place == "more" {
            git(&tree.path, &["config", "include.path", "more"]).await;
        }
        let file = tree.path.join(".git").join(place);
        let file = file.to_str().unwrap();
        git(
            &tree.path,
            &["config", "-f", file, "transfer.hideRefs", "refs/heads/hidden"],
        )
        .await;
        check_kept(&bench, &tree, Special::HistoryIncomplete).await;
    }
}

#[tokio::test]
async fn a_head_that_git_refuses_to_take_is_not_the_one_that_was_seen_before() {
    let bench = Bench::new().await;
    let upstream = bench.dir.path().join("upstream");
    repository_at(&upstream, "one").await;
    fs::write(upstream.join("two"), "two").unwrap();
    commit_all(&upstream, "two").await;
    let tree = bench.prepare("c1").await;
    assert!(bench.worktrees.status(&tree).await.unwrap().is_clean());
    let url = format!("file://{}", upstream.display());
    git(&tree.path, &["fetch", "-q", "--depth", "1", &url, "main"]).await;
    git(&tree.path, &["reset", "-q", "--hard", "FETCH_HEAD"]).await;
    let status = bench.worktrees.status(&tree).await.unwrap();
    assert!(status.special.contains(&Special::HeadUnreadable), "{status:?}");
    let collected = bench.collect(&tree, "r1").await;
    assert!(!collected.head_readable);
    check_kept(&bench, &tree, Special::HeadUnreadable).await;
}

/// What was gathered first stays although the agent has rewritten it since, also when its reflog is gone.
#[tokio::test]
async fn a_second_collect_under_the_same_key_keeps_what_the_first_one_took() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    bench.agent_commits(&tree, "a", "first").await;
    let first = bench.collect(&tree, "r1").await.tip;
    fs::write(tree.path.join("a"), "amended").unwrap();
    git(&tree.path, &["commit", "-q", "-a", "--amend", "-m", "amended"]).await;
    fs::remove_dir_all(tree.path.join(".git/logs")).unwrap();
    let second = bench.collect(&tree, "r1").await.tip;
    assert_ne!(first, second);
    assert!(
        is_held(&bench, first.as_str()).await,
        "{first} is on no ref of the run"
    );
    assert!(is_held(&bench, second.as_str()).await);
}

#[tokio::test]
async fn a_commit_that_the_store_has_on_no_ref_is_put_on_one() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    bench.agent_commits(&tree, "a", "first").await;
    let lost = git(&tree.path, &["rev-parse", "HEAD"]).await;
    // The objects come to the store without any ref: as after a fetch that was cut off.
    let source = tree.path.join(".git");
    bench
        .in_store(&["fetch", "-q", source.to_str().unwrap(), "HEAD"])
        .await;
    git(&tree.path, &["reset", "-q", "--hard", "HEAD^"]).await;
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Nothing);
    assert!(is_held(&bench, &lost).await, "{lost} is on no ref of the run");
}

#[tokio::test]
async fn a_branch_that_became_a_directory_of_branches_is_gathered_again() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    git(&tree.path, &["branch", "a"]).await;
    bench.collect(&tree, "r1").await;
    git(&tree.path, &["branch", "-m", "a", "a/b"]).await;
    bench.agent_commits(&tree, "new", "new").await;
    let head = git(&tree.path, &["rev-parse", "HEAD"]).await;
    let collected = bench.collect(&tree, "r1").await;
    assert!(collected.head_readable);
    assert_eq!(collected.tip.as_str(), head);
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Nothing);
    bench
        .in_store(&["rev-parse", "refs/cs-panel/run/r1/refs/heads/a/b"])
        .await;
}

/// One bad ref keeps the tree, and nothing else.
#[tokio::test]
async fn a_branch_that_cannot_be_fetched_does_not_keep_head_and_the_others_away() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    git(&tree.path, &["switch", "-q", "-c", "bad"]).await;
    bench.agent_commits(&tree, "bad", "bad").await;
    let blob = git(&tree.path, &["rev-parse", "HEAD:bad"]).await;
    git(&tree.path, &["switch", "-q", "-c", "good", "HEAD^"]).await;
    bench.agent_commits(&tree, "good", "good").await;
    let good = git(&tree.path, &["rev-parse", "HEAD"]).await;
    fs::remove_file(tree.path.join(".git/objects").join(&blob[..2]).join(&blob[2..])).unwrap();
    let collected = bench.collect(&tree, "r1").await;
    assert!(collected.head_readable);
    assert_eq!(collected.tip.as_str(), good);
    check_kept(&bench, &tree, Special::HistoryIncomplete).await;
}

/// A pipe in a git directory must neither hold us up nor the lock of the codebase.
#[tokio::test]
async fn a_pipe_in_a_git_directory_holds_nobody_up() {
    for place in [
        "config",
        "HEAD",
        "commondir",
        "packed-refs",
        "refs/heads/pipe",
        "logs/HEAD",
        "MERGE_HEAD",
    ] {
        let bench = Bench::new().await;
        let tree = bench.prepare("c1").await;
        fs::write(tree.path.join("mine"), "mine").unwrap();
        let pipe = tree.path.join(".git").join(place);
        drop(fs::remove_file(&pipe));
        let home = bench.dir.path().join("home");
        run_in(&tree.path, &home, "mkfifo", &[pipe.as_os_str()]).await;
        let salvage = check_kept(&bench, &tree, Special::HeadUnreadable).await;
        let commit = salvage.commit.unwrap();
        let text = bench.in_store(&["show", &format!("{commit}:mine")]).await;
        assert_eq!(text, "mine", "{place}");
    }
}

/// A commit that was never published stays although the submodule was put away.
#[tokio::test]
async fn commits_of_a_submodule_whose_directory_is_gone_are_gathered() {
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
    let lost = commit_all(&sub, "unpublished").await;
    git(&tree.path, &["submodule", "--quiet", "deinit", "-f", "sub"]).await;
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Nothing);
    assert!(is_held(&bench, &lost).await, "{lost} is on no ref of the run");
}

/// Writes a commit with a file `.git`, which no index takes.
async fn poison(dir: &Path) {
    let blob = git(dir, &["rev-parse", "HEAD:code"]).await;
    let body = ["100644 .git\0".as_bytes(), &bytes_of(&blob)].concat();
    fs::write(dir.join(".git/body"), body).unwrap();
    let write = ["hash-object", "-w", "-t", "tree", "--literally", ".git/body"];
    let bad = git(dir, &write).await;
    let commit = git(dir, &["commit-tree", "-m", "bad", &bad]).await;
    git(dir, &["update-ref", "HEAD", &commit]).await;
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

#[tokio::test]
async fn a_repository_inside_whose_commit_no_index_takes_keeps_the_tree_and_all_files_are_saved() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    fs::write(tree.path.join("mine"), "mine").unwrap();
    let lib = tree.path.join("lib");
    repository_at(&lib, "code").await;
    poison(&lib).await;
    let salvage = check_kept(&bench, &tree, Special::NestedRepository(path("lib"))).await;
    let commit = salvage.commit.unwrap();
    for name in ["mine", "lib/code"] {
        bench.in_store(&["show", &format!("{commit}:{name}")]).await;
    }
}

#[tokio::test]
async fn too_many_files_in_a_repository_inside_do_not_empty_the_snapshot_of_the_tree() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    fs::write(tree.path.join("mine"), "mine").unwrap();
    let many = tree.path.join("many");
    repository_at(&many, "code").await;
    for number in 0..20_001 {
        fs::write(many.join(number.to_string()), "").unwrap();
    }
    let few = tree.path.join("few");
    repository_at(&few, "code").await;
    fs::write(few.join("new"), "new").unwrap();
    let salvage = bench.salvage(&tree, "r1").await;
    let kept = vec![Special::NestedRepository(path("many"))];
    assert_eq!(salvage.completeness, Completeness::Partial(kept));
    let commit = salvage.commit.unwrap();
    for name in ["mine", "few/new", "many/code"] {
        bench.in_store(&["show", &format!("{commit}:{name}")]).await;
    }
}

/// Git says nothing at all of what is ignored when it is asked about a path inside a submodule.
#[tokio::test]
async fn an_ignored_repository_stays_out_of_git_also_beside_one_inside_a_submodule() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let link = format!("160000,{},lib", "a".repeat(40));
    git(&tree.path, &["update-index", "--add", "--cacheinfo", &link]).await;
    git(&tree.path, &["commit", "-q", "-m", "a link"]).await;
    repository_at(&tree.path.join("lib/inner"), "code").await;
    repository_at(&tree.path.join("zz.ignored"), "secret").await;
    let salvage = check_kept(&bench, &tree, Special::NestedRepository(path("zz.ignored"))).await;
    let Completeness::Partial(reasons) = &salvage.completeness else {
        unreachable!()
    };
    let files = match &salvage.commit {
        Some(commit) => bench.in_store(&["ls-tree", "-r", commit.as_str()]).await,
        None => String::new(),
    };
    assert!(!files.contains("secret"), "{files}");
    let is_named = reasons.contains(&Special::NestedRepository(path("lib/inner")));
    assert!(
        is_named || files.contains("lib/inner/code"),
        "{reasons:?} {files}"
    );
}

#[tokio::test]
async fn an_operation_under_way_in_a_repository_inside_keeps_the_tree() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let lib = tree.path.join("lib");
    repository_at(&lib, "code").await;
    fs::write(lib.join("more"), "more").unwrap();
    commit_all(&lib, "more").await;
    fs::write(lib.join("code"), "in progress").unwrap();
    try_git(&lib, &["rebase", "-q", "--autostash", "-x", "false", "HEAD^"]).await;
    assert!(lib.join(".git/rebase-merge/autostash").exists());
    check_kept(&bench, &tree, Special::NestedRepository(path("lib"))).await;
}

/// Where git can make one: its reflogs are no files.
#[tokio::test]
async fn a_repository_inside_with_a_reftable_keeps_the_tree() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let lib = tree.path.join("lib");
    let made = try_git(&tree.path, &["init", "-q", "--ref-format=reftable", "lib"]).await;
    if made.exit != cs_supervise::command::Exit::Code(0) {
        return;
    }
    fs::write(lib.join("code"), "code").unwrap();
    commit_all(&lib, "code").await;
    check_kept(&bench, &tree, Special::NestedRepository(path("lib"))).await;
}

/// The pointer and the name of a content of 100 zeros.
const SHA256: &str = "cd00e292c5970d3c5e2f0ffa5171e555bc46bfc4faddfb4a418b6840b86e79a3";

#[tokio::test]
async fn the_content_of_a_committed_lfs_pointer_goes_to_the_store_and_comes_back_with_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{SHA256}\nsize 100\n");
    bench
        .agent_commits(&tree, ".gitattributes", "*.bin filter=lfs -text\n")
        .await;
    bench.agent_commits(&tree, "known.bin", &pointer).await;
    fs::write(tree.path.join("known.bin"), [0; 100]).unwrap();
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Nothing);
    let object = bench.store().join("lfs/objects/cd/00").join(SHA256);
    assert_eq!(fs::read(&object).unwrap(), [0; 100]);
    let run = tree.path.join("run.bin");
    fs::write(&run, [0; 100]).unwrap();
    fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
    let reference = bench.salvage(&tree, "r1").await.reference.unwrap();
    let to = bench.dir.path().canonicalize().unwrap().join("back");
    let code = &tree.spec.codebase;
    bench
        .worktrees
        .restore_to_directory(code, &reference, &to)
        .await
        .unwrap();
    let back = to.join("run.bin");
    assert_eq!(fs::read(&back).unwrap(), [0; 100]);
    assert_eq!(back.metadata().unwrap().permissions().mode() & 0o777, 0o755);
}

#[tokio::test]
async fn lfs_contents_of_a_repository_inside_go_to_the_store() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let lib = tree.path.join("lib");
    repository_at(&lib, "code").await;
    let objects = lib.join(".git/lfs/objects/cd/00");
    fs::create_dir_all(&objects).unwrap();
    fs::write(objects.join(SHA256), [0; 100]).unwrap();
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Complete);
    let kept = bench.store().join("lfs/objects/cd/00").join(SHA256);
    assert_eq!(fs::read(kept).unwrap(), [0; 100]);
}
