//! The clones in which a landing is verified.

use std::fs;

use cs_supervise::command::Exit;
use cs_worktree::*;

use crate::bench::*;

fn name(text: &str) -> RunKey {
    RunKey::new(text).unwrap()
}

/// A card with one commit, and the move that lands it.
async fn planned(bench: &Bench) -> (Tree, Move) {
    let tree = bench.prepare("c1").await;
    fs::write(tree.path.join("src/a.txt"), "landed\n").unwrap();
    git(&tree.path, &["commit", "-q", "-a", "-m", "work"]).await;
    let tip = bench.collect(&tree, "r1").await.tip;
    let ready = bench.ready(&tree, &tip, "l1").await;
    (tree, ready)
}

#[tokio::test]
async fn a_throwaway_clone_holds_the_commit_that_is_to_land_and_what_is_brought_along() {
    let bench = Bench::new().await;
    fs::write(bench.user.join(".gitignore"), ".env\n").unwrap();
    git(&bench.user, &["add", ".gitignore"]).await;
    git(&bench.user, &["commit", "-q", "-m", "ignore"]).await;
    fs::write(bench.user.join(".env"), "secret\n").unwrap();
    let (tree, landing) = planned(&bench).await;
    let before = (picture(&bench.user), picture(&tree.path));
    let clone = bench
        .worktrees
        .make_throwaway(&landing, &name("l1-1"), &[".env".to_owned()])
        .await
        .unwrap();
    assert_eq!(
        git(&clone.path, &["rev-parse", "HEAD"]).await,
        landing.new.as_str()
    );
    assert_eq!(git(&clone.path, &["status", "--porcelain"]).await, "");
    assert_eq!(
        fs::read_to_string(clone.path.join("src/a.txt")).unwrap(),
        "landed\n"
    );
    assert_eq!(fs::read_to_string(clone.path.join(".env")).unwrap(), "secret\n");
    let pushed = try_git(&clone.path, &["push", "origin", "HEAD:refs/heads/main"]).await;
    assert_ne!(pushed.exit, Exit::Code(0), "nothing can be pushed from it");
    assert!(
        before == (picture(&bench.user), picture(&tree.path)),
        "neither the user's tree nor the card's was touched"
    );
}

#[tokio::test]
async fn what_a_verify_does_to_its_clone_reaches_nobody_and_goes_with_it() {
    let bench = Bench::new().await;
    let (_, landing) = planned(&bench).await;
    let clone = bench.worktrees.make_throwaway(&landing, &name("l1-1"), &[]).await;
    let clone = clone.unwrap();
    let base = git(&bench.user, &["rev-parse", "main"]).await;
    fs::write(clone.path.join("src/a.txt"), "broken\n").unwrap();
    git(&clone.path, &["commit", "-q", "-a", "-m", "on top"]).await;
    git(&clone.path, &["update-ref", "refs/remotes/origin/main", "HEAD"]).await;
    let outside = bench.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "kept\n").unwrap();
    std::os::unix::fs::symlink(&outside, clone.path.join("link")).unwrap();
    assert_eq!(git(&bench.user, &["rev-parse", "main"]).await, base);
    assert_eq!(bench.worktrees.throwaways().unwrap(), [name("l1-1")]);
    for _ in 0..2 {
        assert!(bench.worktrees.remove_throwaway(&name("l1-1")).await.unwrap());
    }
    assert!(!clone.path.exists());
    assert_eq!(bench.worktrees.throwaways().unwrap(), []);
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "kept\n");
    assert_eq!(
        bench.worktrees.trashed().unwrap(),
        [],
        "it is not kept in the trash"
    );
    assert_eq!(
        bench.worktrees.execute_move(&landing).await.unwrap(),
        MoveOutcome::Moved,
        "what lands is what was planned"
    );
    assert_eq!(git(&bench.user, &["show", "main:src/a.txt"]).await, "landed");
}

#[tokio::test]
async fn a_throwaway_clone_is_made_anew_and_stays_while_something_works_in_it() {
    let bench = Bench::new().await;
    let (_, landing) = planned(&bench).await;
    let make = async || {
        let made = bench.worktrees.make_throwaway(&landing, &name("l1-1"), &[]).await;
        made.unwrap().path
    };
    fs::write(make().await.join("left"), "from the try before\n").unwrap();
    let path = make().await;
    assert!(!path.join("left").exists());
    let stranger = Staying::start(&path, "cat", &[]);
    assert!(!bench.worktrees.remove_throwaway(&name("l1-1")).await.unwrap());
    assert!(path.exists());
    stranger.end().await;
    assert!(bench.worktrees.remove_throwaway(&name("l1-1")).await.unwrap());
    assert!(!path.exists());
}
