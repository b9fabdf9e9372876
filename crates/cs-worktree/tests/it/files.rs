//! What a snapshot carries.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use cs_worktree::*;

use crate::bench::*;

const ODD_NAMES: [&[u8]; 9] = [
    b"with space",
    b"new\nline",
    "\u{fc}ml\u{e4}ut \u{1f980}".as_bytes(),
    b"-leading-dash",
    b"not-utf8-\xff\xfe",
    b":(exclude)magic",
    b"quote\"and\\backslash",
    b"glob*[x]?",
    b"tab\there",
];

/// The files of a commit in the store: path to content.
async fn files_of(bench: &Bench, commit: &str) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let store = bench.store();
    let run = |args: Vec<String>| {
        let store = store.clone();
        let (user, home) = (bench.user.clone(), bench.dir.path().join("home"));
        async move {
            let all: Vec<&OsStr> = [OsStr::new("--git-dir"), store.as_os_str()]
                .into_iter()
                .chain(args.iter().map(OsStr::new))
                .collect();
            run_in(&user, &home, "git", &all).await.stdout
        }
    };
    let list = run(["ls-tree", "-r", "-z", commit].map(str::to_owned).into()).await;
    let mut files = BTreeMap::new();
    for line in list.split(|b| *b == 0).filter(|l| !l.is_empty()) {
        let tab = line.iter().position(|b| *b == b'\t').unwrap();
        let oid = String::from_utf8(line[..tab].to_vec())
            .unwrap()
            .split(' ')
            .nth(2)
            .unwrap()
            .to_owned();
        files.insert(
            line[tab + 1..].to_vec(),
            run(vec!["cat-file".into(), "blob".into(), oid]).await,
        );
    }
    files
}

#[tokio::test]
async fn a_snapshot_holds_odd_names_binary_staged_deleted_and_linked_files() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let work = &tree.path;
    for name in ODD_NAMES {
        fs::write(work.join(OsStr::from_bytes(name)), name).unwrap();
    }
    let binary: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    fs::write(work.join("binary"), &binary).unwrap();
    fs::write(work.join("src/a.txt"), "staged\n").unwrap();
    git(work, &["add", "src/a.txt"]).await;
    fs::remove_file(work.join("src/b.txt")).unwrap();
    symlink("/nowhere", work.join("link")).unwrap();
    fs::write(work.join("run.sh"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(work.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(work.join("README")).unwrap();
    fs::create_dir(work.join("README")).unwrap();
    fs::write(work.join("README/inside"), "a directory now\n").unwrap();
    fs::write(work.join(".env"), "SECRET=1\n").unwrap();
    let before = picture(work);
    let index = fs::read(work.join(".git/index")).unwrap();

    let salvage = bench.salvage(&tree, "r1").await;

    assert_eq!(salvage.completeness, Completeness::Complete);
    assert_eq!(picture(work), before);
    assert_eq!(fs::read(work.join(".git/index")).unwrap(), index);
    let commit = salvage.commit.clone().unwrap();
    let files = files_of(&bench, commit.as_str()).await;
    for name in ODD_NAMES {
        assert_eq!(
            files.get(name).map(Vec::as_slice),
            Some(name),
            "{}",
            RepoPath::from_bytes(name)
        );
    }
    assert_eq!(files[b"binary".as_slice()], binary);
    assert_eq!(files[b"src/a.txt".as_slice()], b"staged\n");
    assert_eq!(files[b"link".as_slice()], b"/nowhere");
    assert_eq!(files[b"README/inside".as_slice()], b"a directory now\n");
    assert!(!files.contains_key(b"src/b.txt".as_slice()) && !files.contains_key(b"README".as_slice()));
    assert!(
        !files.contains_key(b".env".as_slice()),
        "an ignored file went into git"
    );
    let manifest: serde_json::Value = serde_json::from_slice(&fs::read(&salvage.manifest).unwrap()).unwrap();
    assert_eq!(manifest["ignored"][0], ".env");
    let mode = bench.in_store(&["ls-tree", commit.as_str(), "run.sh"]).await;
    assert!(mode.starts_with("100755"), "{mode}");
    assert_eq!(
        bench.salvage(&tree, "r1").await.reference,
        salvage.reference,
        "an equal snapshot is made once"
    );
    fs::write(work.join("more"), "more").unwrap();
    let second = bench.salvage(&tree, "r1").await;
    assert_ne!(second.reference, salvage.reference);
}

#[tokio::test]
async fn a_commit_with_odd_names_lands_beside_a_dirty_file() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    for name in ODD_NAMES {
        fs::write(tree.path.join(OsStr::from_bytes(name)), name).unwrap();
    }
    fs::remove_file(tree.path.join("src/a.txt")).unwrap();
    bench.agent_commits(&tree, "last", "x").await;
    let tip = bench.collect(&tree, "r1").await.tip;
    fs::write(bench.user.join("src/b.txt"), "dirty\n").unwrap();
    let ready = bench.ready(&tree, &tip, "l1").await;
    let journaled = serde_json::to_string(&ready).unwrap();
    let ready: Move = serde_json::from_str(&journaled).unwrap();
    assert_eq!(
        bench.worktrees.execute_move(&ready).await.unwrap(),
        MoveOutcome::Moved
    );
    for name in ODD_NAMES {
        assert_eq!(fs::read(bench.user.join(OsStr::from_bytes(name))).unwrap(), name);
    }
    assert!(!bench.user.join("src/a.txt").exists());
    assert_eq!(git(&bench.user, &["status", "--porcelain"]).await, "M src/b.txt");
}

#[tokio::test]
async fn an_odd_name_in_the_way_is_named_exactly() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    for name in ODD_NAMES {
        fs::write(tree.path.join(OsStr::from_bytes(name)), name).unwrap();
        fs::write(bench.user.join(OsStr::from_bytes(name)), "mine").unwrap();
    }
    bench.agent_commits(&tree, "last", "x").await;
    let tip = bench.collect(&tree, "r1").await.tip;
    let mut expected: Vec<RepoPath> = ODD_NAMES.into_iter().map(RepoPath::from_bytes).collect();
    expected.sort();
    let refused = LandingPlan::Refused(Refusal::UntrackedOverlap { files: expected });
    assert_eq!(bench.plan(&tree, &tip, "l1").await, refused);
}

#[tokio::test]
async fn a_sparse_checkout_does_not_read_as_deletions() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    git(&tree.path, &["sparse-checkout", "set", "--no-cone", "/README"]).await;
    assert!(!tree.path.join("src/a.txt").exists());
    let status = bench.worktrees.status(&tree).await.unwrap();
    assert!(status.is_clean(), "{status:?}");
}

#[tokio::test]
async fn line_endings_of_the_user_do_not_make_a_tree_dirty() {
    let bench = Bench::with_config("[core]\n\tautocrlf = true\n").await;
    let tree = bench.prepare("c1").await;
    assert_eq!(fs::read(tree.path.join("src/a.txt")).unwrap(), b"a\r\n");
    assert!(bench.worktrees.status(&tree).await.unwrap().is_clean());
}

#[tokio::test]
async fn the_ignore_file_of_the_user_counts_in_the_tree() {
    let bench = Bench::new().await;
    let ignore = bench.dir.path().join("home/.config/git");
    fs::create_dir_all(&ignore).unwrap();
    fs::write(ignore.join("ignore"), "*.swp\n").unwrap();
    let bench = Bench {
        worktrees: Bench::open(bench.dir.path()).await,
        ..bench
    };
    let tree = bench.prepare("c1").await;
    fs::write(tree.path.join("x.swp"), "").unwrap();
    assert!(bench.worktrees.status(&tree).await.unwrap().is_clean());
}
