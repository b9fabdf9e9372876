//! A tree whose git configuration wants to run programs: nothing of it runs in the whole life of the card (G3).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use cs_worktree::*;

use crate::bench::*;

const HOOKS: [&str; 15] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-update",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-receive",
    "prepare-commit-msg",
    "reference-transaction",
    "update",
];

/// Writes a program that leaves a canary, and gives its path.
fn canary(dir: &Path, name: &str) -> String {
    let program = dir.join(name);
    let text = format!("#!/bin/sh\ntouch '{}/fired-{name}'\ncat\n", dir.display());
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program.to_str().unwrap().to_owned()
}

fn fired(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap());
    names.filter(|n| n.starts_with("fired-")).collect()
}

fn plant(git_dir: &Path, canaries: &Path) {
    fs::create_dir_all(canaries).unwrap();
    let hooks = git_dir.join("hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in HOOKS {
        let program = canary(canaries, &format!("hook-{hook}"));
        fs::copy(program, hooks.join(hook)).unwrap();
    }
    let program = |name: &str| canary(canaries, name);
    let included = canaries.join("included");
    fs::write(&included, format!("[core]\n\taskPass = {}\n", program("askpass"))).unwrap();
    let include = format!("[include]\n\tpath = {}\n", included.display());
    let text = format!(
        "[core]\n\tfsmonitor = {}\n\tpager = {}\n\teditor = {}\n\tsshCommand = {}\n\tgitProxy = {}\n\talternateRefsCommand = {}\n\
         [filter \"evil\"]\n\tclean = {}\n\tsmudge = {}\n\tprocess = {}\n\trequired = true\n\
         [diff]\n\texternal = {}\n[diff \"evil\"]\n\ttextconv = {}\n\tcommand = {}\n\
         [merge \"evil\"]\n\tdriver = {}\n[gpg]\n\tprogram = {}\n[commit]\n\tgpgSign = true\n\
         [credential]\n\thelper = !{}\n[uploadpack]\n\tpackObjectsHook = {}\n[alias]\n\tstatus = !{}\n\
         {}[submodule \"x\"]\n\tupdate = !{}\n[remote \"origin\"]\n\tuploadpack = {}\n\treceivepack = {}\n\
         [trailer \"x\"]\n\tcommand = {}\n[interactive]\n\tdiffFilter = {}\n[sequence]\n\teditor = {}\n[log]\n\tshowSignature = true\n",
        program("fsmonitor"),
        program("pager"),
        program("editor"),
        program("ssh"),
        program("proxy"),
        program("alternates"),
        program("clean"),
        program("smudge"),
        program("process"),
        program("external"),
        program("textconv"),
        program("command"),
        program("driver"),
        program("gpg"),
        program("credential"),
        program("pack"),
        program("alias"),
        include,
        program("submodule"),
        program("uploadpack"),
        program("receivepack"),
        program("trailer"),
        program("difffilter"),
        program("sequence"),
    );
    let config = git_dir.join("config");
    let mut all = fs::read_to_string(&config).unwrap();
    all.push_str(&text);
    fs::write(config, all).unwrap();
}

/// A hostile tree with a hostile repository inside it, that says that its files are elsewhere and borrows the user's objects.
async fn hostile_tree(bench: &Bench, canaries: &Path) -> Tree {
    let tree = bench.prepare("c1").await;
    let attributes = "*.txt filter=evil diff=evil merge=evil\n";
    bench.agent_commits(&tree, ".gitattributes", attributes).await;
    bench.agent_commits(&tree, "src/a.txt", "agent\n").await;
    let inside = tree.path.join("inside");
    fs::create_dir(&inside).unwrap();
    git(&inside, &["init", "-q"]).await;
    fs::write(inside.join("b.bin"), "committed\n").unwrap();
    git(&inside, &["add", "-A"]).await;
    git(&inside, &["commit", "-q", "-m", "inside"]).await;
    // The agent committed one of them as a link.
    git(&tree.path, &["clone", "-q", "inside", "linked"]).await;
    git(&tree.path, &["add", "linked"]).await;
    git(&tree.path, &["commit", "-q", "-m", "a link"]).await;
    fs::write(inside.join("b.bin"), "uncommitted\n").unwrap();
    fs::write(tree.path.join("linked/b.bin"), "uncommitted\n").unwrap();
    plant(&tree.path.join("linked/.git"), canaries);
    plant(&inside.join(".git"), canaries);
    plant(&tree.path.join(".git"), canaries);
    let objects = format!("{}\n", bench.user.join(".git/objects").display());
    fs::write(tree.path.join(".git/objects/info/alternates"), objects).unwrap();
    tree
}

/// Publishes the card and each way in which it can land, and gives the last.
async fn publish_and_plan(bench: &Bench, tree: &Tree, tip: &Oid) -> Move {
    bench.remote("origin").await;
    let base = tree.spec.base_branch.clone();
    let mut ready = None;
    for (n, method) in [LandMethod::Squash, LandMethod::Rebase, LandMethod::Merge]
        .into_iter()
        .enumerate()
    {
        let spec = LandingSpec {
            method,
            ..bench.landing_spec(tree, tip, &format!("l{n}"))
        };
        match bench
            .worktrees
            .plan_landing(&bench.repository, &spec)
            .await
            .unwrap()
        {
            LandingPlan::Ready(planned) => ready = Some(planned),
            other => panic!("{other:?}"),
        }
    }
    let there = bench
        .worktrees
        .work_in_base(&bench.repository, &tree.spec, &base)
        .await;
    assert_eq!(there.unwrap(), WorkInBase::NotYet);
    let ready = ready.unwrap();
    let branch = tree.spec.branch.clone();
    let card = PublishTo::Card {
        branch,
        base: base.clone(),
    };
    for (commit, to) in [(tip, card), (&ready.new, PublishTo::Base { base })] {
        let publish = Publish {
            codebase: tree.spec.codebase.clone(),
            commit: commit.clone(),
            to,
            limit: std::time::Duration::from_secs(60),
        };
        let published = bench
            .worktrees
            .publish(&bench.repository, &publish)
            .await
            .unwrap();
        assert_eq!(published.verdict, Verdict::Published);
    }
    ready
}

/// G3.
#[tokio::test]
async fn g3_nothing_of_a_hostile_tree_runs_in_the_whole_life_of_a_card() {
    let bench = Bench::new().await;
    let canaries = bench.dir.path().canonicalize().unwrap().join("canaries");
    let tree = hostile_tree(&bench, &canaries).await;
    let elsewhere = format!("[core]\n\tworktree = {}\n", canaries.display());
    let config = tree.path.join(".git/config");
    fs::write(&config, fs::read_to_string(&config).unwrap() + &elsewhere).unwrap();
    fs::write(tree.path.join("src/b.txt"), "uncommitted\n").unwrap();
    fs::write(tree.path.join("new"), "untracked\n").unwrap();
    fs::write(bench.user.join("src/c.txt"), "c\n").unwrap();
    git(&bench.user, &["add", "-A"]).await;
    git(&bench.user, &["commit", "-q", "-m", "the base goes on"]).await;

    let status = bench.worktrees.status(&tree).await.unwrap();
    assert_eq!(status.entries.len(), 2);
    bench.worktrees.diff(&tree.spec).await.unwrap();
    let tip = bench.collect(&tree, "r1").await.tip;
    let salvage = bench.salvage(&tree, "r1").await;
    // The attribute names a filter that is not run: that is said, and the tree kept.
    let filtered = vec![Special::Filtered(RepoPath::from_bytes(*b"src/b.txt"))];
    assert_eq!(salvage.completeness, Completeness::Partial(filtered));
    bench
        .worktrees
        .prepare_tree(&bench.repository, &tree.spec)
        .await
        .unwrap();
    let worker = tree.spec.for_worker(1).unwrap();
    let made = bench.worktrees.prepare_tree(&bench.repository, &worker).await;
    let made = made.unwrap().tree;
    bench.collect(&made, "w1").await;
    bench.worktrees.bring_workers(&tree, &[worker]).await.unwrap();
    let along = bench
        .worktrees
        .bring_along(&bench.repository, &tree, &["*.ignored".to_owned()])
        .await;
    along.unwrap();
    let ready = publish_and_plan(&bench, &tree, &tip).await;
    assert_eq!(
        bench.worktrees.execute_move(&ready).await.unwrap(),
        MoveOutcome::Moved
    );
    fs::remove_file(tree.path.join("new")).unwrap();
    fs::write(tree.path.join("src/b.txt"), "b\n").unwrap();
    let salvage = bench.salvage(&tree, "r2").await;
    let reference = salvage.reference.clone().unwrap();
    let to = bench.dir.path().canonicalize().unwrap().join("restored");
    let code = &tree.spec.codebase;
    let restored = bench.worktrees.restore_to_directory(code, &reference, &to).await;
    restored.unwrap();
    assert_eq!(
        fs::read_to_string(to.join("inside/b.bin")).unwrap(),
        "uncommitted\n"
    );
    let trashed = bench.worktrees.discard(salvage.proof().unwrap()).await.unwrap();
    let mark = fs::metadata(trashed.join("discarded.json")).unwrap();
    let emptied = bench
        .worktrees
        .empty_trash(std::time::Duration::ZERO, mark.modified().unwrap())
        .await
        .unwrap();
    assert_eq!(emptied.deleted, 1);
    assert_eq!(fired(&canaries), Vec::<String>::new());
}

/// The control of the test above: it would see something.
#[tokio::test]
async fn g3_control_the_canaries_fire_for_a_plain_status() {
    let bench = Bench::new().await;
    let canaries = bench.dir.path().canonicalize().unwrap().join("canaries");
    let tree = hostile_tree(&bench, &canaries).await;
    fs::write(tree.path.join("src/b.txt"), "uncommitted\n").unwrap();
    try_git(&tree.path, &["status"]).await;
    assert!(fired(&canaries).len() >= 2, "{:?}", fired(&canaries));
}

#[tokio::test]
async fn hooks_of_the_user_do_not_run_at_a_collect_or_a_landing() {
    let bench = Bench::new().await;
    let canaries = bench.dir.path().canonicalize().unwrap().join("canaries");
    fs::create_dir(&canaries).unwrap();
    let hooks = bench.user.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in HOOKS {
        fs::copy(canary(&canaries, hook), hooks.join(hook)).unwrap();
    }
    let (tree, tip) = bench.card_with("c1", "src/a.txt", "agent\n").await;
    let ready = bench.ready(&tree, &tip, "l1").await;
    assert_eq!(
        bench.worktrees.execute_move(&ready).await.unwrap(),
        MoveOutcome::Moved
    );
    assert_eq!(fired(&canaries), Vec::<String>::new());
}

/// A tree without one of its objects, that says in its own words or in those of an included file where it is to be had.
async fn check_promisor(include: &str) {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    bench.agent_commits(&tree, "src/a.txt", "agent\n").await;
    let canaries = bench.dir.path().canonicalize().unwrap().join("canaries");
    fs::create_dir(&canaries).unwrap();
    let program = canary(&canaries, "uploadpack");
    let blob = git(&tree.path, &["rev-parse", "HEAD:src/a.txt"]).await;
    let object = tree.path.join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    fs::remove_file(object).unwrap();
    let config = tree.path.join(".git/config");
    let mut text = fs::read_to_string(&config).unwrap();
    let promisor = format!(
        "[extensions]\n\tpartialClone = evil\n[remote \"evil\"]\n\turl = ext::{program}\n\tuploadpack = {program}\n\tpromisor = true\n"
    );
    if include.is_empty() {
        text.push_str(&promisor);
    } else {
        fs::write(tree.path.join(".git/more"), promisor).unwrap();
        text.push_str(&format!("[{include}]\n\tpath = more\n"));
    }
    fs::write(&config, text).unwrap();
    let salvage = bench.salvage(&tree, "r1").await;
    assert!(
        matches!(salvage.completeness, Completeness::Partial(_)),
        "{include}: {salvage:?}"
    );
    assert!(!bench.collect(&tree, "r1").await.head_readable, "{include}");
    assert_eq!(fired(&canaries), Vec::<String>::new(), "{include}");
}

#[tokio::test]
async fn a_promisor_remote_in_the_tree_is_not_asked_for_anything() {
    for include in [
        "",
        "include",
        "includeIf \"gitdir:**\"",
        "includeIf \"onbranch:cs/**\"",
    ] {
        check_promisor(include).await;
    }
}
