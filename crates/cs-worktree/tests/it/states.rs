//! A tree in every state in which git can be left (G2): its files are saved and nothing of its state is touched.

use std::fs;
use std::path::Path;

use cs_worktree::*;

use crate::bench::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Merge,
    Rebase,
    CherryPick,
    Bisect,
    Unborn,
    Detached,
    NoSuchBranch,
    IndexLock,
    CorruptIndex,
    NoGitDir,
    GitDirElsewhere,
    Shallow,
    Bare,
    NoObjects,
}

const STATES: [State; 14] = [
    State::Merge,
    State::Rebase,
    State::CherryPick,
    State::Bisect,
    State::Unborn,
    State::Detached,
    State::NoSuchBranch,
    State::IndexLock,
    State::CorruptIndex,
    State::NoGitDir,
    State::GitDirElsewhere,
    State::Shallow,
    State::Bare,
    State::NoObjects,
];

/// Two branches that change one file differently; the tree stands on the second.
async fn two_sides(bench: &Bench, tree: &Tree) {
    git(&tree.path, &["switch", "-q", "-c", "side"]).await;
    bench.agent_commits(tree, "src/a.txt", "one\n").await;
    git(&tree.path, &["switch", "-q", "-"]).await;
    bench.agent_commits(tree, "src/a.txt", "two\n").await;
}

async fn bring_into(bench: &Bench, tree: &Tree, state: State) {
    let work = &tree.path;
    let git_dir = work.join(".git");
    let stopped = |args: &'static [&'static str]| async move {
        let done = try_git(work, args).await;
        assert_eq!(done.exit, cs_supervise::command::Exit::Code(1), "{args:?}");
    };
    match state {
        State::Merge => {
            two_sides(bench, tree).await;
            stopped(&["merge", "-q", "side"]).await;
        }
        State::Rebase => {
            two_sides(bench, tree).await;
            stopped(&["rebase", "-q", "side"]).await;
        }
        State::CherryPick => {
            two_sides(bench, tree).await;
            stopped(&["cherry-pick", "side"]).await;
        }
        State::Bisect => {
            for n in ["1", "2", "3", "4"] {
                bench.agent_commits(tree, "n", n).await;
            }
            git(work, &["bisect", "start", "HEAD", "HEAD~4"]).await;
        }
        State::Unborn => drop(git(work, &["switch", "-q", "--orphan", "new"]).await),
        State::Detached => {
            git(work, &["checkout", "-q", "--detach"]).await;
            bench.agent_commits(tree, "n", "on no branch").await;
        }
        State::NoSuchBranch => fs::write(git_dir.join("HEAD"), "ref: refs/heads/none\n").unwrap(),
        State::IndexLock => fs::write(git_dir.join("index.lock"), "").unwrap(),
        State::CorruptIndex => fs::write(git_dir.join("index"), "nonsense").unwrap(),
        State::NoGitDir => fs::remove_dir_all(&git_dir).unwrap(),
        State::GitDirElsewhere => {
            fs::remove_dir_all(&git_dir).unwrap();
            fs::write(&git_dir, "gitdir: /nonexistent\n").unwrap();
        }
        State::Shallow => {
            bench.agent_commits(tree, "n", "1").await;
            let head = git(work, &["rev-parse", "HEAD"]).await;
            fs::write(git_dir.join("shallow"), format!("{head}\n")).unwrap();
        }
        State::Bare => drop(git(work, &["config", "core.bare", "true"]).await),
        State::NoObjects => fs::remove_dir_all(git_dir.join("objects")).unwrap(),
    }
}

/// What belongs to the agent's own state.
fn state_of(work: &Path) -> Vec<Option<Vec<u8>>> {
    let files = [
        "HEAD",
        "index",
        "index.lock",
        "MERGE_HEAD",
        "CHERRY_PICK_HEAD",
        "ORIG_HEAD",
        "BISECT_LOG",
        "rebase-merge/done",
        "config",
        "shallow",
    ];
    let read = |file| fs::read(work.join(".git").join(file)).ok();
    files.map(read).into()
}

/// G2. Invariant 11.
#[tokio::test]
async fn g2_in_every_state_the_files_are_saved_and_the_state_is_left_alone() {
    for state in STATES {
        let bench = Bench::new().await;
        let tree = bench.prepare("c1").await;
        bring_into(&bench, &tree, state).await;
        fs::create_dir_all(tree.path.join("deep")).unwrap();
        fs::write(tree.path.join("deep/work in progress"), "precious").unwrap();
        if tree.path.join("README").exists() {
            fs::write(tree.path.join("README"), "edited").unwrap();
        }
        let before = (state_of(&tree.path), picture(&tree.path));

        let salvage = bench.salvage(&tree, "r1").await;

        let after = (state_of(&tree.path), picture(&tree.path));
        assert!(before == after, "{state:?}: the tree was touched");
        let commit = salvage.commit.clone().unwrap();
        let saved = bench
            .in_store(&["show", &format!("{commit}:deep/work in progress")])
            .await;
        assert_eq!(saved, "precious", "{state:?}");
        if tree.path.join("README").exists() {
            let saved = bench.in_store(&["show", &format!("{commit}:README")]).await;
            assert_eq!(saved, "edited", "{state:?}");
        }
        if state == State::Merge {
            let side = git(&tree.path, &["rev-parse", "side"]).await;
            let second = bench.in_store(&["rev-parse", &format!("{commit}^2")]).await;
            assert_eq!(second, side);
        }
        let may_go = matches!(state, State::Detached | State::Bare);
        assert_eq!(salvage.proof().is_some(), may_go, "{state:?}: {salvage:?}");
    }
}
