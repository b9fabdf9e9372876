//! Letting go of what attempts left.

use std::fs;

use cs_worktree::*;

use crate::bench::*;

fn code() -> CodebaseKey {
    CodebaseKey::new("code").unwrap()
}

/// A card of which two attempts left something, and the refs of the first one.
async fn two_attempts(bench: &Bench) -> (Tree, RunRefs) {
    let (tree, _) = bench.card_with("c1", "src/a.txt", "committed\n").await;
    for run in ["r1", "r2"] {
        fs::write(tree.path.join("loose"), run).unwrap();
        bench.collect(&tree, run).await;
        bench.salvage(&tree, run).await;
    }
    let runs = bench.worktrees.run_refs(&code()).await.unwrap();
    let names: Vec<_> = runs.iter().map(|left| left.run.as_str()).collect();
    assert_eq!(names, ["r1", "r2", "run-c1"]);
    let first = runs.into_iter().next().unwrap();
    assert!(
        first.refs.iter().any(|(name, _)| name.ends_with("r1/salvage/1")),
        "{first:?}"
    );
    (tree, first)
}

#[tokio::test]
async fn the_refs_of_one_attempt_go_and_nothing_else() {
    let bench = Bench::new().await;
    assert_eq!(bench.worktrees.run_refs(&code()).await.unwrap(), []);
    let (tree, first) = two_attempts(&bench).await;
    let all = bench.in_store(&["for-each-ref", "--format=%(refname)"]).await;
    bench.worktrees.forget_run(&code(), &first).await.unwrap();
    let rest = bench.in_store(&["for-each-ref", "--format=%(refname)"]).await;
    let expected: Vec<&str> = all.lines().filter(|name| !name.contains("/run/r1/")).collect();
    assert_eq!(rest.lines().collect::<Vec<_>>(), expected);
    assert_eq!(bench.worktrees.saved_work(&code()).await.unwrap().len(), 1);
    assert!(tree.path.join("loose").is_file());
    assert!(bench.worktrees.diff(&tree.spec).await.is_ok());
    // What is gone is gone: saying it again changes nothing.
    assert!(bench.worktrees.forget_run(&code(), &first).await.is_err());
}

#[tokio::test]
async fn a_ref_that_is_not_as_it_was_listed_keeps_all_of_them() {
    let bench = Bench::new().await;
    let (_, mut first) = two_attempts(&bench).await;
    let head = bench.in_store(&["rev-parse", "refs/cs-panel/card/c1/base"]).await;
    first.refs.last_mut().unwrap().1 = Oid::new(head.trim()).unwrap();
    assert!(bench.worktrees.forget_run(&code(), &first).await.is_err());
    assert_eq!(bench.worktrees.run_refs(&code()).await.unwrap().len(), 3);
    assert_eq!(bench.worktrees.saved_work(&code()).await.unwrap().len(), 2);
}
