//! Removal reaches nothing that is not ours and takes nothing that is not saved (G15).

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cs_supervise::command::Exit;
use cs_worktree::*;

use crate::bench::*;

async fn empty(bench: &Bench) -> Emptied {
    let later = now(bench.dir.path()) + Duration::from_secs(3600);
    bench
        .worktrees
        .empty_trash(Duration::from_secs(60), later)
        .await
        .unwrap()
}

fn trash(bench: &Bench) -> PathBuf {
    bench.dir.path().canonicalize().unwrap().join("state/trash")
}

/// G15: a deletion that was cut off goes on, and somebody has put a link in the place of a directory meanwhile.
#[tokio::test]
async fn g15_a_link_in_the_place_of_a_trashed_directory_is_never_followed() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    fs::create_dir_all(tree.path.join("deep/er.ignored")).unwrap();
    fs::write(tree.path.join("deep/er.ignored/x"), "x").unwrap();
    let salvage = bench.salvage(&tree, "r1").await;
    let trashed = bench.worktrees.discard(salvage.proof().unwrap()).await.unwrap();
    let home = bench.dir.path().join("home");
    fs::write(home.join("thesis"), "precious").unwrap();
    let before = picture(&home);
    // What a deletion that began has been renamed to, with a link inside, and two links in the place of whole directories.
    let going = trash(&bench).join(".going-c1-code-1");
    fs::rename(&trashed, &going).unwrap();
    fs::remove_dir_all(going.join("work/deep/er.ignored")).unwrap();
    symlink(&home, going.join("work/deep/er.ignored")).unwrap();
    symlink(&home, trash(&bench).join(".going-c2-code-1")).unwrap();
    symlink(&home, trash(&bench).join("c3-code-1")).unwrap();
    let emptied = empty(&bench).await;
    assert_eq!((emptied.deleted, emptied.kept.len()), (1, 2), "{emptied:?}");
    assert!(!going.exists());
    assert!(
        picture(&home) == before,
        "something outside the trash was touched"
    );
}

/// G15. The file system is mounted in a namespace of its own, which goes with the process that asked for it.
#[tokio::test]
async fn g15_a_mount_inside_a_tree_keeps_it_and_nothing_of_it_goes() {
    let bench = Bench::new().await;
    let dir = bench.dir.path().canonicalize().unwrap();
    let script = "mount -t tmpfs none \"$1/mounted\" && echo x > \"$1/mounted/file\" && : > \"$1/began\" && \
        CS_PANEL_TEST_DIR=\"$1\" exec \"$2\" --exact removal::what_happens_beside_a_mount --nocapture";
    fs::create_dir(dir.join("mounted")).unwrap();
    let test = std::env::current_exe().unwrap();
    let args = ["-m", "sh", "-c", script, "sh"].map(OsStr::new);
    let args: Vec<&OsStr> = args
        .into_iter()
        .chain([dir.as_os_str(), test.as_os_str()])
        .collect();
    let done = run_in(&dir, &dir.join("home"), "unshare", &args).await;
    // Only where one may mount.
    if !dir.join("began").exists() {
        return;
    }
    assert_eq!(
        done.exit,
        Exit::Code(0),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    assert!(dir.join("ended").exists());
}

/// A process for the test above; by itself it does nothing.
#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is what a test gives its child"
)]
async fn what_happens_beside_a_mount() {
    let Some(dir) = std::env::var_os("CS_PANEL_TEST_DIR") else {
        return;
    };
    let dir = PathBuf::from(dir);
    let worktrees = Bench::open(&dir).await;
    let seen = Repository::inspect(worktrees.git(), &dir.join("user"))
        .await
        .unwrap();
    let (code, card) = (CodebaseKey::new("code").unwrap(), CardKey::new("c1").unwrap());
    let spec = TreeSpec::new(code, card, "A title", seen.base_branch);
    let tree = worktrees
        .prepare_tree(&seen.repository, &spec)
        .await
        .unwrap()
        .tree;
    let bind = |from: &Path, to: &Path| {
        let args = [OsStr::new("--bind"), from.as_os_str(), to.as_os_str()].map(OsStr::to_owned);
        let home = dir.join("home");
        let place = dir.clone();
        async move {
            let args: Vec<&OsStr> = args.iter().map(|arg| arg.as_os_str()).collect();
            assert_eq!(run_in(&place, &home, "mount", &args).await.exit, Exit::Code(0));
        }
    };
    // Another file system, and a directory of the same one: only the mount tells that from one of the tree.
    fs::create_dir_all(dir.join("precious/deep")).unwrap();
    fs::write(dir.join("precious/deep/file"), "x").unwrap();
    let mut expected = Vec::new();
    for (name, from) in [("inner.ignored", "mounted"), ("same.ignored", "precious")] {
        fs::create_dir(tree.path.join(name)).unwrap();
        bind(&dir.join(from), &tree.path.join(name)).await;
        expected.push(Special::Mount(RepoPath::from_bytes(name)));
    }
    let salvage = worktrees.salvage(&tree, &run_key("r1"), "a test").await.unwrap();
    assert_eq!(salvage.completeness, Completeness::Partial(expected));
    // Mounted after the tree went to the trash.
    let going = dir.join("state/trash/.going-x");
    fs::create_dir_all(going.join("a/b")).unwrap();
    fs::write(going.join("a/file"), "x").unwrap();
    for from in ["mounted", "precious"] {
        bind(&dir.join(from), &going.join("a/b")).await;
        let later = now(&dir) + Duration::from_secs(3600);
        let emptied = worktrees.empty_trash(Duration::ZERO, later).await.unwrap();
        assert_eq!(emptied.kept, std::slice::from_ref(&going));
        assert!(going.join("a/file").exists() && dir.join("mounted/file").exists());
        assert!(
            dir.join("precious/deep/file").exists(),
            "a bound directory was emptied"
        );
        let below = [going.join("a/b").into_os_string()];
        let args: Vec<&OsStr> = below.iter().map(|arg| arg.as_os_str()).collect();
        let unmounted = run_in(&dir, &dir.join("home"), "umount", &args).await;
        assert_eq!(unmounted.exit, Exit::Code(0));
    }
    fs::write(dir.join("ended"), "").unwrap();
}

/// The objects of a tree and of the store are the same files: git touches one that it is to write and finds there.
#[tokio::test]
async fn a_salvage_of_another_card_does_not_void_the_proof_of_one() {
    let bench = Bench::new().await;
    let (one, two) = (bench.prepare("c1").await, bench.prepare("c2").await);
    let salvage = bench.salvage(&one, "r1").await;
    fs::copy(two.path.join("README"), two.path.join("a copy")).unwrap();
    bench.salvage(&two, "r2").await;
    bench.worktrees.discard(salvage.proof().unwrap()).await.unwrap();
}

/// G15: submodules with commits that nobody has published, and a linked working tree of another repository.
#[tokio::test]
async fn g15_a_linked_working_tree_of_the_user_inside_a_tree_goes_without_harm() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let linked = tree.path.join("linked");
    let add = ["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()];
    git(&bench.user, &add).await;
    fs::write(linked.join("note"), "uncommitted").unwrap();
    let before = picture(&bench.user.join(".git"));
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Complete);
    bench.worktrees.discard(salvage.proof().unwrap()).await.unwrap();
    assert_eq!(empty(&bench).await.deleted, 1);
    assert!(
        picture(&bench.user.join(".git")) == before,
        "the user's repository was touched"
    );
    let saved = bench
        .in_store(&["show", &format!("{}:linked/note", salvage.commit.unwrap())])
        .await;
    assert_eq!(saved, "uncommitted");
}

/// Where there is no room git and we say so, and nothing is lost (bad input: disk full).
#[tokio::test]
async fn a_full_disk_is_said_with_its_cure_and_the_tree_stays() {
    let bench = Bench::new().await;
    let dir = bench.dir.path().canonicalize().unwrap();
    let script = "mkdir \"$1/state\" 2>/dev/null; mount -t tmpfs -o size=6m none \"$1/state\" && : > \"$1/began\" && \
        CS_PANEL_TEST_DIR=\"$1\" exec \"$2\" --exact removal::what_happens_on_a_full_disk --nocapture";
    let test = std::env::current_exe().unwrap();
    let args = ["-m", "sh", "-c", script, "sh"].map(OsStr::new);
    let args: Vec<&OsStr> = args
        .into_iter()
        .chain([dir.as_os_str(), test.as_os_str()])
        .collect();
    let done = run_in(&dir, &dir.join("home"), "unshare", &args).await;
    // Only where one may mount.
    if !dir.join("began").exists() {
        return;
    }
    assert_eq!(
        done.exit,
        Exit::Code(0),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    assert!(dir.join("ended").exists());
}

/// A process for the test above; by itself it does nothing.
#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is what a test gives its child"
)]
async fn what_happens_on_a_full_disk() {
    let Some(dir) = std::env::var_os("CS_PANEL_TEST_DIR") else {
        return;
    };
    let dir = PathBuf::from(dir);
    let worktrees = Bench::open(&dir).await;
    let seen = Repository::inspect(worktrees.git(), &dir.join("user"))
        .await
        .unwrap();
    let code = CodebaseKey::new("code").unwrap();
    let spec = |card: &str| {
        let card = CardKey::new(card).unwrap();
        TreeSpec::new(code.clone(), card, "A title", seen.base_branch.clone())
    };
    let tree = worktrees
        .prepare_tree(&seen.repository, &spec("c1"))
        .await
        .unwrap()
        .tree;
    fs::write(tree.path.join("work"), "precious").unwrap();
    // Fills what is left, to the last block.
    let filler = dir.join("state/filler");
    let mut block = vec![7_u8; 1 << 20];
    let mut file = fs::File::create(&filler).unwrap();
    while !block.is_empty() {
        if std::io::Write::write_all(&mut file, &block).is_err() {
            block.truncate(block.len() / 2);
        }
    }
    let refused = worktrees
        .salvage(&tree, &run_key("r1"), "a test")
        .await
        .unwrap_err();
    assert!(matches!(refused, WorktreeError::DiskFull { .. }), "{refused:?}");
    assert!(refused.to_string().contains("free some space"), "{refused}");
    assert_eq!(refused.class(), ErrorClass::Transient);
    let refused = worktrees
        .prepare_tree(&seen.repository, &spec("c2"))
        .await
        .unwrap_err();
    assert!(matches!(refused, WorktreeError::DiskFull { .. }), "{refused:?}");
    assert_eq!(fs::read_to_string(tree.path.join("work")).unwrap(), "precious");
    drop(file);
    fs::remove_file(&filler).unwrap();
    let salvage = worktrees.salvage(&tree, &run_key("r1"), "a test").await.unwrap();
    assert_eq!(salvage.completeness, Completeness::Complete);
    worktrees
        .prepare_tree(&seen.repository, &spec("c2"))
        .await
        .unwrap();
    fs::write(dir.join("ended"), "").unwrap();
}
