//! More than is read of one call of git: a salvage says what is cut, and never fails.

use std::fs;

use cs_worktree::*;

use crate::bench::*;

/// The same state with another limit of what is read of one call.
async fn with_cap(bench: &Bench, output_max_bytes: usize) -> Worktrees {
    let dir = bench.dir.path().canonicalize().unwrap();
    let setup = GitSetup {
        output_max_bytes,
        ..GitSetup::new(search_path(), dir.join("home"), dir.join("state"))
    };
    Worktrees::new(dir.join("state"), Git::probe(setup).await.unwrap())
}

async fn salvage(worktrees: &Worktrees, tree: &Tree) -> Salvage {
    let saved = worktrees.salvage(tree, &run_key("r1"), "a test").await;
    saved.expect("a salvage does not fail")
}

fn manifest(salvage: &Salvage) -> serde_json::Value {
    serde_json::from_slice(&fs::read(&salvage.manifest).unwrap()).unwrap()
}

#[tokio::test]
async fn more_ignored_files_than_can_be_listed_are_said_to_be_so() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    for n in 0..200 {
        fs::write(tree.path.join(format!("{n:0>100}.ignored")), "").unwrap();
    }
    fs::write(tree.path.join("new"), "new").unwrap();
    let salvage = salvage(&with_cap(&bench, 4096).await, &tree).await;
    assert_eq!(salvage.completeness, Completeness::Complete);
    let manifest = manifest(&salvage);
    assert_eq!(manifest["ignored_cut"], true);
    assert_eq!(manifest["ignored"], serde_json::json!([]));
    let commit = salvage.commit.unwrap();
    assert_eq!(bench.in_store(&["show", &format!("{commit}:new")]).await, "new");
}

#[tokio::test]
async fn reflogs_that_know_more_than_is_read_are_said_to_be_cut() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let mut log = String::new();
    for n in 0..400 {
        log.push_str(&format!("{n:040x} {n:040x} A <a> 1 +0000\tx\n"));
    }
    let head = git(&tree.path, &["rev-parse", "HEAD"]).await;
    log.push_str(&format!("{head} {head} A <a> 1 +0000\tx\n"));
    fs::write(tree.path.join(".git/logs/HEAD"), log).unwrap();
    fs::write(tree.path.join("new"), "new").unwrap();
    let salvage = salvage(&with_cap(&bench, 4096).await, &tree).await;
    let cut = Completeness::Partial(vec![Special::ReflogsCut]);
    assert_eq!(salvage.completeness, cut);
    let commit = salvage.commit.unwrap();
    assert_eq!(bench.in_store(&["show", &format!("{commit}:new")]).await, "new");
}

/// Runs a command of git in a tree with this on its standard input.
async fn with_input(bench: &Bench, tree: &Tree, text: &str, command: &str) {
    let input = bench.dir.path().canonicalize().unwrap().join("input");
    fs::write(&input, text).unwrap();
    let line = format!("{command} < '{}'", input.display());
    let home = bench.dir.path().join("home");
    let done = run_in(&tree.path, &home, "sh", &["-c".as_ref(), line.as_ref()]).await;
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.exit, cs_supervise::command::Exit::Code(0), "{said}");
}

#[tokio::test]
async fn more_lost_commits_than_are_taken_are_said_to_be_cut() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let mut log = String::new();
    let zero = "0".repeat(40);
    let stream: String = (0..510)
        .map(|n| format!("commit refs/lost/{n}\ncommitter A <a> {n} +0000\ndata 1\nx\n\n"))
        .collect();
    with_input(&bench, &tree, &stream, "git fast-import --quiet").await;
    let refs = ["for-each-ref", "--format=%(objectname)", "refs/lost"];
    for lost in git(&tree.path, &refs).await.lines() {
        log.push_str(&format!("{zero} {lost} A <a> 1 +0000\tx\n"));
    }
    let packed = ["for-each-ref", "--format=delete %(refname)", "refs/lost"];
    let gone = git(&tree.path, &packed).await;
    with_input(&bench, &tree, &(gone + "\n"), "git update-ref --stdin").await;
    fs::write(tree.path.join(".git/logs/HEAD"), log).unwrap();
    let salvage = bench.salvage(&tree, "r1").await;
    let cut = Completeness::Partial(vec![Special::ReflogsCut]);
    assert_eq!(salvage.completeness, cut);
    let refs = [
        "for-each-ref",
        "--format=%(refname)",
        "refs/cs-panel/run/r1/reflog",
    ];
    assert_eq!(bench.in_store(&refs).await.lines().count(), 500);
}

#[tokio::test]
async fn a_tree_of_which_git_has_too_much_to_say_is_kept_and_what_was_committed_is_saved() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    for n in 0..100 {
        fs::write(tree.path.join(format!("{n:0>100}")), "").unwrap();
    }
    bench.agent_commits(&tree, "last", "x").await;
    let head = git(&tree.path, &["rev-parse", "HEAD"]).await;
    fs::write(tree.path.join("new"), "new").unwrap();
    let salvage = salvage(&with_cap(&bench, 4096).await, &tree).await;
    let Completeness::Partial(reasons) = &salvage.completeness else {
        panic!("{:?}", salvage.completeness);
    };
    assert!(matches!(reasons[..], [Special::TooMuchToRead(_)]), "{reasons:?}");
    assert!(salvage.proof().is_none());
    assert_eq!(
        bench.in_store(&["rev-parse", "refs/cs-panel/run/r1/HEAD"]).await,
        head
    );
}
