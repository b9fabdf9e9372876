//! Who opens a file with whom, and what a file or a directory must allow.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use cs_model::{CodebaseId, MachineId};
use cs_record::RowStore;
use cs_sqlite::{OpenError, SqliteStore};
use cs_testkit::SetClock;
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::home::Home;

const OPENERS: u128 = 8;

/// Nobody who makes a file at the same time as others hears that it is locked, and all have the same file.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_make_the_same_new_file_at_once() {
    for _ in 0..12 {
        let home = Home::new();
        let path = home.path("record.db");
        let mut opening = JoinSet::new();
        for number in 0..OPENERS {
            let (path, clock) = (path.clone(), home.clock());
            opening.spawn(async move {
                let store = SqliteStore::open(&path, clock).await.expect("it opens");
                let (id, name) = (Uuid::from_u128(number + 1), format!("codebase {number}"));
                let machine = MachineId::from_uuid(Uuid::from_u128(7));
                let added = store
                    .add_codebase(CodebaseId::from_uuid(id), &name, machine)
                    .await;
                added.expect("it writes");
                store
            });
        }
        let stores = opening.join_all().await;
        for store in &stores {
            let found = store.codebases().await.expect("it answers");
            assert_eq!(found.len(), 8, "one file for all");
        }
        let left: Vec<_> = fs::read_dir(home.path("")).expect("there").flatten().collect();
        assert_eq!(left.len(), 3, "the file, its log and its index: {left:?}");
    }
}

/// A process keeps its locks on a file that it opens a second time.
#[tokio::test]
async fn a_file_that_is_opened_twice_keeps_its_locks() {
    let home = Home::new();
    let first = home.open().await.expect("it opens");
    let codebases = first.codebases().await.expect("it answers");
    assert!(codebases.is_empty());
    let inode = std::os::unix::fs::MetadataExt::ino(&fs::metadata(home.path("record.db")).expect("there"));
    let held = || {
        let locks = fs::read_to_string("/proc/locks").expect("Linux tells");
        let (mine, file) = (format!(" {} ", std::process::id()), format!(":{inode} "));
        locks
            .lines()
            .filter(|line| line.contains(&mine) && line.contains(&file))
            .count()
    };
    assert!(held() > 0, "an open database is locked against its removal");
    let second = home.open().await.expect("it opens twice");
    second.close().await;
    assert!(held() > 0, "the first one still has its lock");
}

/// Runs something as a user who may do only what modes allow; the user of a test may be root.
fn without_privileges<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if rustix::process::geteuid().is_root() {
                let mut own = capabilities(None).expect("a thread knows them");
                own.effective
                    .remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
                set_capabilities(None, own).expect("a thread may give some up");
            }
            act()
        });
        thread.join().expect("it does not panic")
    })
}

/// Opens as such a user.
fn open_plainly(path: &Path, clock: Arc<SetClock>) -> Result<(), OpenError> {
    without_privileges(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime can be built").block_on(async {
            let store = SqliteStore::open(path, clock).await?;
            store.close().await;
            Ok(())
        })
    })
}

fn allow(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("the mode can be set");
}

fn check_read_only(home: &Home, path: &Path) {
    let refused = open_plainly(path, home.clock()).expect_err("it cannot be written");
    assert!(matches!(refused, OpenError::ReadOnly { .. }), "{refused:?}");
    let said = refused.to_string();
    assert!(
        said.contains(&path.display().to_string()) && said.contains("the right to write"),
        "{said}"
    );
}

#[test]
fn a_file_or_directory_that_can_only_be_read_is_named_with_the_cure() {
    let home = Home::new();
    let (inside, file) = (home.path("inside"), home.path("inside/record.db"));
    fs::create_dir(&inside).expect("made");
    open_plainly(&file, home.clock()).expect("it may be written");
    let before = fs::read(&file).expect("there");
    allow(&file, 0o400);
    check_read_only(&home, &file);
    allow(&file, 0o600);
    allow(&inside, 0o500);
    check_read_only(&home, &file);
    check_read_only(&home, &home.path("inside/another.db"));
    allow(&inside, 0o700);
    allow(&file, 0o000);
    check_read_only(&home, &file);
    allow(&file, 0o600);
    assert_eq!(fs::read(&file).expect("there"), before);
    open_plainly(&file, home.clock()).expect("it may be written again");
}
