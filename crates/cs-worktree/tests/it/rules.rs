//! Files of rules that an agent writes, or puts something else into the place of: they hide nothing and hold nobody up.

use std::fs;
use std::path::Path;

use cs_worktree::*;

use crate::bench::*;

fn path(path: &str) -> RepoPath {
    RepoPath::from_bytes(path)
}

fn put(tree: &Tree, name: &str, text: impl AsRef<[u8]>) {
    let file = tree.path.join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

async fn pipe(at: &Path) {
    drop(fs::remove_file(at));
    let home = at.parent().unwrap();
    let made = run_in(home, home, "mkfifo", &[at.as_os_str()]).await;
    assert_eq!(made.exit, cs_supervise::command::Exit::Code(0));
}

async fn files_of(bench: &Bench, salvage: &Salvage) -> Vec<String> {
    let commit = salvage.commit.clone().unwrap();
    let list = ["ls-tree", "-r", "--name-only", commit.as_str()];
    let listed = bench.in_store(&list).await;
    let committed = [".gitignore", "README", "src/a.txt", "src/b.txt"];
    let new = listed.lines().filter(|name| !committed.contains(name));
    new.map(str::to_owned).collect()
}

fn reasons(salvage: &Salvage) -> Vec<Special> {
    match &salvage.completeness {
        Completeness::Partial(reasons) => reasons.clone(),
        other => panic!("{other:?}"),
    }
}

async fn hidden_of(bench: &Bench, tree: &Tree, salvage: &Salvage) -> Hidden {
    let reference = salvage.reference.clone().unwrap();
    let detail = bench.worktrees.saved_detail(&tree.spec.codebase, &reference);
    detail.await.unwrap().hidden
}

#[tokio::test]
async fn new_files_that_only_rules_of_the_agent_ignore_are_saved() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    // Rules that are committed, that are in a file, and that ignore themselves.
    bench
        .agent_commits(&tree, ".gitignore", "*.ignored\n.env\nnotes\n")
        .await;
    put(&tree, "src/.gitignore", "*.draft\n");
    put(&tree, "deep/.gitignore", "*\n");
    for name in [
        "notes",
        "src/x.draft",
        "deep/result",
        "x.ignored",
        ".env",
        "plain",
    ] {
        put(&tree, name, name);
    }
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Complete);
    let expected = [
        "deep/.gitignore",
        "deep/result",
        "notes",
        "plain",
        "src/.gitignore",
        "src/x.draft",
    ];
    assert_eq!(files_of(&bench, &salvage).await, expected);
    let hidden = hidden_of(&bench, &tree, &salvage).await;
    let saved: Vec<String> = hidden.saved.iter().map(ToString::to_string).collect();
    assert_eq!(saved, ["deep/.gitignore", "deep/result", "notes", "src/x.draft"]);
    assert_eq!((hidden.left_count, hidden.is_unknown), (0, false));
    assert_eq!(bench.salvage(&tree, "r1").await.reference, salvage.reference);
    // A look at the tree is not about them: an agent whose tools keep caches has left nothing uncommitted.
    let status = bench.worktrees.status(&tree).await.unwrap();
    assert!(!status.entries.iter().any(|entry| entry.path == path("notes")));
}

#[tokio::test]
async fn an_agent_that_ignores_everything_hides_nothing() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    put(&tree, ".gitignore", "*\n");
    put(&tree, "src/new", "precious");
    put(&tree, "x.ignored", "ignored at the base");
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Complete);
    assert_eq!(files_of(&bench, &salvage).await, ["src/new"]);
    bench.worktrees.discard(salvage.proof().unwrap()).await.unwrap();
}

#[tokio::test]
async fn what_the_base_ignores_stays_out_also_in_a_directory_with_rules_of_its_own() {
    let bench = Bench::new().await;
    fs::write(
        bench.user.join(".gitignore"),
        "*.ignored\n.env\n/target\nnode_modules/\n",
    )
    .unwrap();
    fs::write(bench.user.join("src/.gitignore"), "/out\n!keep.ignored\n").unwrap();
    git(&bench.user, &["add", "-A"]).await;
    git(&bench.user, &["commit", "-q", "-m", "rules"]).await;
    let tree = bench.prepare("c1").await;
    put(&tree, "mine/.gitignore", "*\n");
    for name in [
        "target/x",
        "a/node_modules/x",
        "src/out/x",
        "src/keep.ignored",
        "mine/y",
    ] {
        put(&tree, name, name);
    }
    let salvage = bench.salvage(&tree, "r1").await;
    let files = files_of(&bench, &salvage).await;
    assert_eq!(
        files,
        ["mine/.gitignore", "mine/y", "src/.gitignore", "src/keep.ignored"]
    );
}

#[tokio::test]
async fn caches_that_ignore_themselves_are_named_and_left() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    put(&tree, ".pytest_cache/.gitignore", "*\n");
    put(
        &tree,
        ".pytest_cache/CACHEDIR.TAG",
        "Signature: 8a477f597d28d172789f06886806bc55",
    );
    put(&tree, ".pytest_cache/v/x", "x");
    put(&tree, "plain", "x");
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Complete);
    assert_eq!(files_of(&bench, &salvage).await, ["plain"]);
    let hidden = hidden_of(&bench, &tree, &salvage).await;
    assert_eq!(hidden.left_count, 3);
    assert!(hidden.left.contains(&path(".pytest_cache/v/x")), "{hidden:?}");
}

#[tokio::test]
async fn a_hidden_file_that_goes_through_lfs_is_saved_as_a_pointer() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    bench
        .agent_commits(&tree, ".gitattributes", "*.bin filter=lfs\n")
        .await;
    put(&tree, ".gitignore", "*.bin\n");
    put(&tree, "x.bin", [0; 100]);
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Complete);
    let commit = salvage.commit.unwrap();
    let text = bench.in_store(&["show", &format!("{commit}:x.bin")]).await;
    assert!(text.starts_with("version https://git-lfs"), "{text}");
}

/// A pipe, or a file without end, in the place of rules.
async fn check_unread(name: &str, make_pipe: bool) {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    fs::create_dir_all(tree.path.join("inside/deep")).unwrap();
    git(&tree.path.join("inside"), &["init", "-q"]).await;
    put(&tree, "inside/deep/file", "inside");
    let at = tree.path.join(name);
    if make_pipe {
        pipe(&at).await;
    } else {
        fs::write(&at, "x\n".repeat(600_000)).unwrap();
    }
    for file in ["new", "src/new", "x.ignored"] {
        put(&tree, file, file);
    }
    put(&tree, "README", "changed");
    let begun = std::time::Instant::now();
    let salvage = bench.salvage(&tree, "r1").await;
    let reasons = reasons(&salvage);
    assert!(
        reasons.contains(&Special::RulesNotRead(path(name))),
        "{name}: {reasons:?}"
    );
    assert_eq!(
        reasons.contains(&Special::NotAFile(path(name))),
        make_pipe,
        "{reasons:?}"
    );
    let files = files_of(&bench, &salvage).await;
    for file in ["new", "src/new", "inside/deep/file"] {
        assert!(files.contains(&file.to_owned()), "{name}: {files:?}");
    }
    assert!(!files.contains(&"x.ignored".to_owned()), "{name}: {files:?}");
    assert_eq!(
        files.contains(&name.to_owned()),
        !make_pipe && name != ".gitignore",
        "{name}: {files:?}"
    );
    let commit = salvage.commit.unwrap();
    let changed = bench.in_store(&["show", &format!("{commit}:README")]).await;
    assert_eq!(changed, "changed");
    bench.worktrees.status(&tree).await.unwrap();
    bench.worktrees.diff(&tree.spec).await.unwrap();
    bench.collect(&tree, "r1").await;
    // Git would wait for the pipe until its time is over.
    assert!(begun.elapsed() < std::time::Duration::from_secs(110), "{name}");
}

#[tokio::test]
async fn a_pipe_in_the_place_of_rules_holds_nobody_up_and_loses_nothing() {
    for name in [
        ".gitignore",
        "src/.gitignore",
        ".gitattributes",
        "src/.gitattributes",
        "inside/deep/.gitignore",
    ] {
        check_unread(name, true).await;
    }
}

#[tokio::test]
async fn rules_that_are_too_large_are_not_read_and_saved_as_a_file() {
    for name in ["src/.gitignore", ".gitattributes"] {
        check_unread(name, false).await;
    }
}

#[tokio::test]
async fn a_pipe_in_the_place_of_the_list_of_submodules_holds_nobody_up() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let head = git(&tree.path, &["rev-parse", "HEAD"]).await;
    let entry = format!("160000,{head},lib");
    git(&tree.path, &["update-index", "--add", "--cacheinfo", &entry]).await;
    git(&tree.path, &["commit", "-q", "-m", "a link"]).await;
    fs::create_dir(tree.path.join("lib")).unwrap();
    pipe(&tree.path.join(".gitmodules")).await;
    put(&tree, "new", "new");
    let salvage = bench.salvage(&tree, "r1").await;
    assert!(reasons(&salvage).contains(&Special::NotAFile(path(".gitmodules"))));
    assert_eq!(files_of(&bench, &salvage).await, ["lib", "new"]);
}
