//! The first look at a user's repository, and bad input.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use cs_worktree::*;

use crate::bench::*;

async fn inspect(bench: &Bench, path: &Path) -> Result<Inspection, WorktreeError> {
    Repository::inspect(bench.worktrees.git(), path).await
}

/// A new directory beside the user's repository, where a git command was run.
async fn beside(bench: &Bench, name: &str, command: &[&str]) -> std::path::PathBuf {
    let dir = bench.dir.path().join(name);
    fs::create_dir(&dir).unwrap();
    if !command.is_empty() {
        git(&dir, command).await;
    }
    dir
}

/// WT-4: what may reach the record has no local path.
#[tokio::test]
async fn what_is_no_usable_repository_is_refused_with_a_reason_and_without_its_path() {
    let bench = Bench::new().await;
    let plain = beside(&bench, "plain", &[]).await;
    let bare = beside(&bench, "bare", &["init", "-q", "--bare"]).await;
    let empty = beside(&bench, "empty", &["init", "-q"]).await;
    let missing = bench.dir.path().join("missing");
    let results = [
        (inspect(&bench, &plain).await, "not inside a git repository"),
        (inspect(&bench, &missing).await, "not inside a git repository"),
        (inspect(&bench, &bare).await, "bare"),
        (
            inspect(&bench, &empty).await,
            "no commit yet; make a first commit",
        ),
    ];
    for (result, text) in results {
        let error = result.unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
        assert!(error.public().contains(text), "{}", error.public());
        assert!(!error.public().contains('/'), "{}", error.public());
    }
}

#[tokio::test]
async fn a_detached_head_falls_back_to_the_default_branch() {
    let bench = Bench::new().await;
    git(&bench.user, &["checkout", "-q", "--detach"]).await;
    let seen = inspect(&bench, &bench.user).await.unwrap();
    assert_eq!(seen.current_branch, None);
    assert_eq!(seen.base_branch.as_str(), "main");
    git(&bench.user, &["branch", "-m", "main", "trunk"]).await;
    let error = inspect(&bench, &bench.user).await.unwrap_err();
    assert!(matches!(error, WorktreeError::NoBase { .. }), "{error}");
    fs::write(
        bench.dir.path().join("home/.gitconfig"),
        "[init]\n\tdefaultBranch = trunk\n",
    )
    .unwrap();
    assert_eq!(
        inspect(&bench, &bench.user).await.unwrap().base_branch.as_str(),
        "trunk"
    );
}

#[tokio::test]
async fn a_linked_working_tree_belongs_to_its_repository() {
    let bench = Bench::new().await;
    git(&bench.user, &["worktree", "add", "-q", "-b", "side", "../linked"]).await;
    let seen = inspect(&bench, &bench.dir.path().join("linked")).await.unwrap();
    assert_eq!(seen.repository.common_dir, bench.repository.common_dir);
    assert_eq!(
        seen.base_branch.as_str(),
        "main",
        "the base is the branch of the main working tree"
    );
}

#[tokio::test]
async fn a_remote_is_seen() {
    let bench = Bench::new().await;
    git(
        &bench.user,
        &["remote", "add", "origin", "https://example.invalid/x.git"],
    )
    .await;
    assert!(inspect(&bench, &bench.user).await.unwrap().has_remote);
}

#[tokio::test]
async fn a_branch_in_the_way_of_the_card_branch_is_named() {
    for name in ["cs", "cs/C1-A-Title", "cs/c1-a-title/x"] {
        let bench = Bench::new().await;
        git(&bench.user, &["branch", name]).await;
        let error = bench
            .worktrees
            .prepare_tree(&bench.repository, &bench.spec("c1"))
            .await
            .unwrap_err();
        assert!(
            matches!(&error, WorktreeError::BranchCollision { existing, .. } if existing == name),
            "{error}"
        );
        assert!(
            !bench.dir.path().join("state/cards/c1").exists(),
            "a refused tree left something behind"
        );
    }
}

#[tokio::test]
async fn a_base_that_does_not_exist_is_named() {
    let bench = Bench::new().await;
    let spec = TreeSpec {
        base_branch: BranchName::new("nope").unwrap(),
        ..bench.spec("c1")
    };
    let error = bench
        .worktrees
        .prepare_tree(&bench.repository, &spec)
        .await
        .unwrap_err();
    assert_eq!(error.public(), "the branch nope does not exist in the repository");
}

#[tokio::test]
async fn a_foreign_directory_in_the_place_of_a_tree_is_not_touched() {
    let bench = Bench::new().await;
    let place = bench.dir.path().join("state/cards/c1/code");
    fs::create_dir_all(place.join("work")).unwrap();
    fs::write(place.join("work/thesis"), "precious").unwrap();
    let error = bench
        .worktrees
        .prepare_tree(&bench.repository, &bench.spec("c1"))
        .await
        .unwrap_err();
    assert!(matches!(error, WorktreeError::NotOurTree { .. }), "{error}");
    assert_eq!(fs::read_to_string(place.join("work/thesis")).unwrap(), "precious");
}

async fn probe_with(dir: &Path, path: OsString) -> Result<Git, WorktreeError> {
    let setup = GitSetup {
        path,
        home: dir.to_owned(),
        xdg_config_home: None,
        state_dir: dir.join("state"),
        identity: Identity::default(),
        transport: Transport::default(),
        output_max_bytes: OUTPUT_MAX_BYTES,
    };
    Git::probe(setup).await
}

#[tokio::test]
async fn a_missing_or_old_git_is_a_clear_error() {
    let dir = temp_dir();
    let missing = probe_with(dir.path(), dir.path().as_os_str().to_owned())
        .await
        .unwrap_err();
    assert_eq!(
        missing.to_string(),
        "git was not found; install git 2.38 or newer"
    );
    let old = dir.path().join("git");
    fs::write(&old, "#!/bin/sh\necho git version 2.30.2\n").unwrap();
    fs::set_permissions(&old, fs::Permissions::from_mode(0o755)).unwrap();
    let error = probe_with(dir.path(), dir.path().as_os_str().to_owned())
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "git 2.30.2 is too old; install git 2.38 or newer"
    );
}

#[tokio::test]
async fn a_shallow_clone_works_as_a_codebase() {
    let bench = Bench::new().await;
    fs::write(bench.user.join("README"), "second\n").unwrap();
    git(&bench.user, &["commit", "-q", "-a", "-m", "second"]).await;
    let url = format!("file://{}", bench.user.display());
    git(&bench.user, &["clone", "-q", "--depth=1", &url, "../shallow"]).await;
    let user = bench.dir.path().canonicalize().unwrap().join("shallow");
    let repository = inspect(&bench, &user).await.unwrap().repository;
    let bench = Bench {
        user,
        repository,
        ..bench
    };
    let (tree, tip) = bench.card_with("c1", "src/a.txt", "agent\n").await;
    let ready = bench.ready(&tree, &tip, "l1").await;
    assert_eq!(
        bench.worktrees.execute_move(&ready).await.unwrap(),
        MoveOutcome::Moved
    );
}

#[tokio::test]
async fn linked_working_trees_of_a_bare_repository_work_as_a_codebase() {
    let bench = Bench::new().await;
    git(&bench.user, &["clone", "-q", "--bare", ".", "../bare.git"]).await;
    let bare = bench.user.with_file_name("bare.git");
    git(
        &bare,
        &["worktree", "add", "-q", "-b", "work", "../linked", "main"],
    )
    .await;
    let user = bench.user.with_file_name("linked");
    let seen = inspect(&bench, &user).await.unwrap();
    assert_eq!(seen.base_branch.as_str(), "work");
    let bench = Bench {
        user,
        repository: seen.repository,
        base: seen.base_branch,
        ..bench
    };
    let (tree, tip) = bench.card_with("c1", "src/a.txt", "agent\n").await;
    let ready = bench.ready(&tree, &tip, "l1").await;
    assert_eq!(
        bench.worktrees.execute_move(&ready).await.unwrap(),
        MoveOutcome::Moved
    );
    assert_eq!(
        fs::read_to_string(bench.user.join("src/a.txt")).unwrap(),
        "agent\n"
    );
}

#[tokio::test]
async fn a_repository_of_another_user_needs_the_consent_that_git_asks_for() {
    let bench = Bench::new().await;
    // Only root can give files away.
    if bench.dir.path().metadata().unwrap().uid() != 0 {
        return;
    }
    for path in [&bench.user, &bench.user.join(".git")] {
        chown(path, Some(65534), None).unwrap();
    }
    let error = inspect(&bench, &bench.user).await.unwrap_err();
    assert!(matches!(error, WorktreeError::ForeignOwner { .. }), "{error}");
    fs::write(
        bench.dir.path().join("home/.gitconfig"),
        "[safe]\n\tdirectory = *\n",
    )
    .unwrap();
    let (tree, tip) = bench.card_with("c1", "src/a.txt", "agent\n").await;
    let ready = bench.ready(&tree, &tip, "l1").await;
    assert_eq!(
        bench.worktrees.execute_move(&ready).await.unwrap(),
        MoveOutcome::Moved
    );
}

#[tokio::test]
async fn the_distance_to_the_base_is_told() {
    let bench = Bench::new().await;
    let (tree, tip) = bench.card_with("c1", "src/a.txt", "agent\n").await;
    assert_eq!(bench.worktrees.card_head(&tree.spec).await.unwrap(), Some(tip));
    fs::write(bench.user.join("README"), "on\n").unwrap();
    git(&bench.user, &["commit", "-q", "-a", "-m", "on"]).await;
    bench
        .worktrees
        .ensure_store(&tree.spec.codebase, &bench.repository)
        .await
        .unwrap();
    assert_eq!(bench.worktrees.behind_base(&tree.spec).await.unwrap(), 1);
    let unknown = bench.spec("c9");
    assert_eq!(bench.worktrees.card_head(&unknown).await.unwrap(), None);
    let error = bench.worktrees.behind_base(&unknown).await.unwrap_err();
    assert!(matches!(error, WorktreeError::NoCard), "{error}");
}

#[tokio::test]
async fn a_repository_with_sha256_objects_works_as_a_codebase() {
    let bench = Bench::made("", &["init", "-q", "-b", "main", "--object-format=sha256"]).await;
    let (tree, tip) = bench.card_with("c1", "src/a.txt", "agent\n").await;
    assert_eq!(tip.as_str().len(), 64);
    fs::remove_file(tree.path.join("src/b.txt")).unwrap();
    assert_eq!(
        bench.salvage(&tree, "r1").await.completeness,
        Completeness::Complete
    );
    let ready = bench.ready(&tree, &tip, "l1").await;
    assert_eq!(
        bench.worktrees.execute_move(&ready).await.unwrap(),
        MoveOutcome::Moved
    );
}

#[tokio::test]
async fn a_state_directory_inside_a_repository_does_not_write_to_that_repository() {
    let bench = Bench::new().await;
    git(bench.dir.path(), &["init", "-q"]).await;
    fs::write(
        bench.dir.path().join(".git/config"),
        "[core]\n\tautocrlf = true\n",
    )
    .unwrap();
    let bench = Bench {
        worktrees: Bench::open(bench.dir.path()).await,
        ..bench
    };
    let tree = bench.prepare("c1").await;
    assert_eq!(fs::read(tree.path.join("src/a.txt")).unwrap(), b"a\n");
    fs::write(tree.path.join("x"), "precious").unwrap();
    fs::remove_dir_all(tree.path.join(".git")).unwrap();
    assert!(bench.salvage(&tree, "r1").await.commit.is_some());
    let refs = git(bench.dir.path(), &["for-each-ref"]).await;
    assert_eq!(
        refs, "",
        "the repository around the state directory was written to"
    );
}

/// The whole life of a card of a repository at a path, with our state beside it.
async fn check_life(bench: &Bench) {
    let (tree, tip) = bench.card_with("c1", "src/a.txt", "agent\n").await;
    fs::write(tree.path.join("left"), "x").unwrap();
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Complete);
    let ready = bench.ready(&tree, &tip, "l1").await;
    let moved = bench.worktrees.execute_move(&ready).await.unwrap();
    assert_eq!(moved, MoveOutcome::Moved);
    bench.worktrees.discard(salvage.proof().unwrap()).await.unwrap();
}

#[tokio::test]
async fn a_repository_at_an_odd_path_works_as_a_codebase() {
    for name in [
        "with space",
        "new\nline",
        "\u{fc}ml\u{e4}ut",
        "-leading-dash",
        "quo\"te'",
    ] {
        let bench = Bench::new().await;
        let dir = bench.dir.path().canonicalize().unwrap();
        let odd = dir.join(name);
        fs::create_dir(&odd).unwrap();
        fs::rename(&bench.user, odd.join(name)).unwrap();
        fs::rename(dir.join("home"), odd.join("home")).unwrap();
        fs::remove_dir_all(dir.join("state")).unwrap();
        let worktrees = Bench::open(&odd).await;
        let user = odd.join(name);
        let seen = Repository::inspect(worktrees.git(), &user).await.unwrap();
        assert_eq!(seen.repository.toplevel, user);
        let bench = Bench {
            user,
            worktrees,
            repository: seen.repository,
            ..bench
        };
        check_life(&bench).await;
    }
}

/// Invariant 12.
#[tokio::test]
async fn a_user_in_the_middle_of_a_rebase_with_changes_loses_nothing() {
    let bench = Bench::new().await;
    git(&bench.user, &["switch", "-q", "-c", "topic"]).await;
    fs::write(bench.user.join("src/a.txt"), "topic\n").unwrap();
    git(&bench.user, &["commit", "-q", "-a", "-m", "topic"]).await;
    git(&bench.user, &["switch", "-q", "main"]).await;
    fs::write(bench.user.join("src/a.txt"), "main\n").unwrap();
    git(&bench.user, &["commit", "-q", "-a", "-m", "main"]).await;
    let stopped = try_git(&bench.user, &["rebase", "-q", "main", "topic"]).await;
    assert_eq!(stopped.exit, cs_supervise::command::Exit::Code(1));
    fs::write(bench.user.join("README"), "dirty\n").unwrap();
    let before = (picture(&bench.user), git(&bench.user, &["status"]).await);
    let seen = inspect(&bench, &bench.user).await.unwrap();
    assert_eq!((seen.current_branch, seen.base_branch.as_str()), (None, "main"));
    assert!(seen.uncommitted > 0);
    let (tree, _) = bench.card_with("c1", "new", "agent\n").await;
    bench.salvage(&tree, "r1").await;
    assert_eq!(
        (picture(&bench.user), git(&bench.user, &["status"]).await),
        before
    );
}

#[tokio::test]
async fn an_agent_can_commit_although_the_user_has_no_identity() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    fs::write(tree.path.join("new"), "x").unwrap();
    let home = bench.dir.path().join("home");
    for args in [
        ["add", "-A", "."].as_slice(),
        &["commit", "-q", "-m", "by the agent"],
    ] {
        let args: Vec<_> = args.iter().map(std::ffi::OsStr::new).collect();
        let done = run_in(&tree.path, &home, "git", &args).await;
        assert_eq!(done.exit, cs_supervise::command::Exit::Code(0), "{done:?}");
    }
    assert_eq!(bench.collect(&tree, "r1").await.new_commits, 1);
    let author = git(&tree.path, &["log", "-1", "--format=%an <%ae>"]).await;
    assert_eq!(author, "cs-panel <cs-panel@localhost>");
}
