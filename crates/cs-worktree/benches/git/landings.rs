//! A landing against the three commands by which a person would merge without a working tree.

use std::fs;
use std::path::Path;

use cs_worktree::*;
use serde_json::{Value, json};

use super::{Bench, Done, FILES, ask_git, content, git, in_turn, timed};

/// Landings of each side, one after the other.
const ROUNDS: usize = 20;
/// Files that a card changes, each in another directory.
const CHANGED: usize = 50;

/// Lands cards one after the other on a base that nobody has checked out, each on what the one before it left: a merge, never a
/// fast-forward. By hand the same commits are merged in a repository of its own: in the same one each side would find the objects
/// written that the other has just made.
pub(crate) async fn measure(bench: &Bench) -> Done<Value> {
    let hand = bench.dir.join("hand");
    git(&bench.dir, &["clone", "-q", "--bare", "user", "hand"]).await?;
    git(&bench.user, &["switch", "-q", "-c", "elsewhere"]).await?;
    let tree = bench.tree("lands").await?;
    let (mut ours, mut raw) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        // Each round begins where the first did, so that both sides have something to merge.
        git(&tree.path, &["reset", "-q", "--hard", tree.base_commit.as_str()]).await?;
        for n in 0..CHANGED {
            let n = (n * 100 + round) % FILES;
            let file = tree.path.join(format!("dir-{}/file-{n}.txt", n / 100));
            fs::write(file, content(n, &format!("landed in round {round}")))?;
        }
        git(&tree.path, &["commit", "-q", "-a", "-m", "work"]).await?;
        let run = RunKey::new(format!("l{round}"))?;
        let tip = bench.worktrees.collect(&bench.repository, &tree, &run).await?.tip;
        let spec = LandingSpec {
            landing: LandingKey::new(format!("l{round}"))?,
            base: bench.base.clone(),
            tree: tree.spec.clone(),
            method: LandMethod::Merge,
            protected: Vec::new(),
            head: tip.clone(),
            message: "Land the card".into(),
            author: Identity::default(),
        };
        git(
            &hand,
            &["fetch", "-q", "../user", "refs/cs-panel/card/lands/head"],
        )
        .await?;
        let by_hand = Box::pin(timed(merge_by_hand(&hand, &tip)));
        let by_us = Box::pin(timed(land(bench, &spec)));
        let ((by_hand, ()), (by_us, ())) = in_turn(round, by_hand, by_us).await?;
        raw.push(by_hand);
        ours.push(by_us);
    }
    let files = ["rev-parse", "main^{tree}"];
    if ask_git(&hand, &files).await? != ask_git(&bench.user, &files).await? {
        return Err("the two sides have merged to other files".into());
    }
    Ok(json!({"line": "landings", "files": CHANGED, "ours": ours, "raw": raw}))
}

async fn land(bench: &Bench, spec: &LandingSpec) -> Done {
    match bench.worktrees.plan_landing(&bench.repository, spec).await? {
        LandingPlan::Ready(planned) => match bench.worktrees.execute_move(&planned).await? {
            MoveOutcome::Moved => Ok(()),
            other => Err(format!("not moved: {other:?}").into()),
        },
        other => Err(format!("not ready: {other:?}").into()),
    }
}

async fn merge_by_hand(hand: &Path, tip: &Oid) -> Done {
    let old = "refs/heads/main";
    let tree = ask_git(hand, &["merge-tree", "--write-tree", old, tip.as_str()]).await?;
    let commit = [
        "commit-tree",
        &tree,
        "-p",
        old,
        "-p",
        tip.as_str(),
        "-m",
        "Land the card",
    ];
    let new = ask_git(hand, &commit).await?;
    git(hand, &["update-ref", old, &new]).await
}
