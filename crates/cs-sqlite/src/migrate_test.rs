//! An older file becomes a newer one, and a copy of it stays.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use cs_model::PauseKind;
use cs_model::{Clock, Time};
use cs_record::{RowStore, Scope};

use crate::OpenError;
use crate::migrate::{MIGRATIONS, Migration, copy_path};
use crate::open::open_with;

#[derive(Debug)]
struct Standing;

impl Clock for Standing {
    fn now(&self) -> Time {
        Time::from_unix_micros(1_767_225_600_000_000)
    }
}

fn with_second(sql: &'static str) -> Vec<Migration> {
    let first = Migration {
        version: 1,
        sql: MIGRATIONS[0].sql,
    };
    vec![first, Migration { version: 2, sql }]
}

/// Makes a record of version 1 with a pause on it.
async fn old_record(path: &Path) {
    let store = open_with(path, Arc::new(Standing), MIGRATIONS)
        .await
        .expect("it opens");
    let ada = "Ada".parse().expect("a name");
    store
        .pause(Scope::Everything, PauseKind::Pause, Some("lunch"), &ada)
        .await
        .expect("it pauses");
    store.close().await;
}

async fn check_paused(path: &Path, migrations: &[Migration]) {
    let store = open_with(path, Arc::new(Standing), migrations)
        .await
        .expect("it opens");
    assert!(
        store.unpause(Scope::Everything).await.expect("it answers"),
        "what was there is there"
    );
    store.close().await;
}

#[tokio::test]
async fn an_older_file_is_copied_and_migrated() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("record.db");
    old_record(&path).await;
    let newer = with_second("alter table pauses add column until integer");
    check_paused(&path, &newer).await;
    let copy = copy_path(&path, 1);
    assert_eq!(
        std::fs::metadata(&copy)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777,
        0o600
    );
    check_paused(&copy, MIGRATIONS).await;
    let older = open_with(&path, Arc::new(Standing), MIGRATIONS)
        .await
        .expect_err("an older binary refuses it");
    assert!(
        matches!(
            older,
            OpenError::TooNew {
                found: 2,
                known: 1,
                ..
            }
        ),
        "{older:?}"
    );
}

#[tokio::test]
async fn a_migration_that_fails_leaves_the_file_as_it_was() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("record.db");
    old_record(&path).await;
    let broken = with_second("alter table pauses add column until integer; alter table nothing add column x");
    let failed = open_with(&path, Arc::new(Standing), &broken)
        .await
        .expect_err("it cannot be migrated");
    assert!(matches!(failed, OpenError::Migration { to: 2, .. }), "{failed:?}");
    check_paused(&path, MIGRATIONS).await;
}
