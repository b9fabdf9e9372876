//! A store is packed: nothing in it goes, nobody waits, and it refuses to lose anything before and after.

use std::fs;

use cs_worktree::*;

use crate::bench::*;

fn code() -> CodebaseKey {
    CodebaseKey::new("code").unwrap()
}

async fn files(bench: &Bench) -> StoreFiles {
    let mut all = bench.worktrees.store_files().unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// All objects of the store, also those that no ref names.
async fn objects(bench: &Bench) -> Vec<String> {
    let list = ["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"];
    bench.in_store(&list).await.lines().map(str::to_owned).collect()
}

async fn refuses(bench: &Bench) -> bool {
    let config = fs::read_to_string(bench.store().join("config")).unwrap();
    config.contains("preciousObjects = true")
}

#[tokio::test]
async fn a_store_with_many_files_is_packed_and_loses_nothing() {
    let bench = Bench::new().await;
    assert_eq!(Bench::open(bench.dir.path()).await.store_files().unwrap(), []);
    let tree = bench.prepare("c1").await;
    assert!(!files(&bench).await.are_many());
    let written = (0..2_100).map(|n| {
        let file = tree.path.join(format!("file{n}"));
        fs::write(&file, format!("{n}\n")).unwrap();
        file.to_str().unwrap().to_owned()
    });
    let written: Vec<String> = written.collect();
    // As many salvages of a few files each leave them: one by one.
    let write = ["hash-object", "-w", "--"];
    let write: Vec<&str> = write
        .into_iter()
        .chain(written.iter().map(String::as_str))
        .collect();
    bench.in_store(&write).await;
    let salvage = bench.salvage(&tree, "r1").await;
    // What no ref names any more stays in the store too.
    bench
        .in_store(&["update-ref", "-d", &salvage.reference.unwrap()])
        .await;
    assert!(files(&bench).await.are_many());
    let before = objects(&bench).await;
    let packed = bench.worktrees.pack_store(&code()).await.unwrap();
    assert_eq!(packed, Packed::Done);
    let after = files(&bench).await;
    assert!(!after.are_many() && after.loose == 0, "{after:?}");
    assert_eq!(objects(&bench).await, before);
    assert!(refuses(&bench).await);
    bench.in_store(&["fsck", "--strict"]).await;
    let salvage = bench.salvage(&tree, "r2").await;
    assert_eq!(salvage.completeness, Completeness::Complete);
    bench.prepare("c2").await;
}

#[tokio::test]
async fn trees_are_made_saved_and_landed_while_a_store_is_packed() {
    let bench = Bench::new().await;
    bench.prepare("c0").await;
    let packer = async {
        for _ in 0..12 {
            bench.worktrees.pack_store(&code()).await.unwrap();
        }
    };
    let worker = async {
        for n in 1..=5 {
            let (tree, tip) = bench
                .card_with(&format!("c{n}"), &format!("src/new{n}"), "agent\n")
                .await;
            fs::write(tree.path.join("more"), "uncommitted\n").unwrap();
            let salvage = bench.salvage(&tree, &format!("r{n}")).await;
            assert_eq!(salvage.completeness, Completeness::Complete);
            let ready = bench.ready(&tree, &tip, &format!("l{n}")).await;
            let outcome = bench.worktrees.execute_move(&ready).await.unwrap();
            assert_eq!(outcome, MoveOutcome::Moved);
        }
    };
    tokio::join!(packer, worker);
    assert!(refuses(&bench).await);
    bench.in_store(&["fsck", "--strict"]).await;
}

#[tokio::test]
async fn two_do_not_pack_a_store_at_once() {
    let bench = Bench::new().await;
    bench.prepare("c1").await;
    let lock = fs::File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(bench.store().with_file_name("upkeep.lock"));
    let lock = lock.unwrap();
    lock.lock().unwrap();
    let packed = bench.worktrees.pack_store(&code()).await.unwrap();
    assert_eq!(packed, Packed::ByAnother);
    assert!(refuses(&bench).await);
}

#[tokio::test]
async fn many_files_come_into_a_store_as_one_pack() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let packs = || {
        let files = fs::read_dir(bench.store().join("objects/pack"))
            .unwrap()
            .flatten();
        files
            .filter(|file| file.path().extension().is_some_and(|kind| kind == "pack"))
            .count()
    };
    let before = packs();
    let files: Vec<String> = (0..150).map(|n| format!("file-{n}")).collect();
    for file in &files {
        fs::write(tree.path.join(file), format!("the content of {file}\n")).unwrap();
    }
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Complete);
    assert_eq!(packs(), before + 1);
    let commit = salvage.commit.unwrap();
    for file in &files[..3] {
        let saved = bench
            .in_store(&["cat-file", "blob", &format!("{commit}:{file}")])
            .await;
        assert_eq!(saved, format!("the content of {file}"));
    }
    let saved = bench
        .in_store(&["ls-tree", "-r", "--name-only", commit.as_str()])
        .await;
    assert!(files.iter().all(|file| saved.lines().any(|line| line == file)));
    bench.in_store(&["fsck", "--strict", "--no-dangling"]).await;
}
