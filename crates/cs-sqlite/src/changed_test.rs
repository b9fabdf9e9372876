//! The file is changed under an open store: by another program, by hand, or by somebody who puts another one in its place.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cs_model::{Clock, CodebaseId, MachineId, PauseKind, Time};
use cs_record::{RowStore, Scope, StoreError};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, SqliteConnection};
use uuid::Uuid;

use crate::migrate::{MIGRATIONS, Migration};
use crate::open::open_with;
use crate::{SqliteStore, script};

#[derive(Debug)]
struct Standing;

impl Clock for Standing {
    fn now(&self) -> Time {
        Time::from_unix_micros(1_767_225_600_000_000)
    }
}

async fn open(path: &Path, migrations: &[Migration]) -> SqliteStore {
    open_with(path, Arc::new(Standing), migrations)
        .await
        .expect("it opens")
}

async fn connection(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    options.connect().await.expect("it opens")
}

/// Changes the file as another program does.
async fn change(path: &Path, sql: impl sqlx::SqlSafeStr) {
    let mut other = connection(path).await;
    sqlx::raw_sql(sql).execute(&mut other).await.expect("it changes");
    other.close().await.expect("it closes");
}

const MACHINE: MachineId = MachineId::from_uuid(Uuid::from_u128(1));

async fn add(store: &SqliteStore, name: &str) {
    let number = names(store).await.len() + 1;
    let number = u128::try_from(number).expect("few");
    let id = CodebaseId::from_uuid(Uuid::from_u128(number));
    store.add_codebase(id, name, MACHINE).await.expect("it adds");
}

/// What the statements of a store say: of its readers and of its writer, each several times, so that every connection has them.
async fn names(store: &SqliteStore) -> Vec<String> {
    let mut found = Vec::new();
    for _ in 0..8 {
        let again = store.codebases().await.expect("it answers");
        found = again.into_iter().map(|codebase| codebase.name).collect();
    }
    found
}

fn away(error: &StoreError) -> String {
    let StoreError::Away(why) = error else {
        panic!("it may go on later: {error:?}");
    };
    why.to_string()
}

/// The thread of a connection ends when a statement has more columns than when it was prepared, and its answer ends like one
/// without rows.
#[tokio::test]
async fn a_connection_that_ends_within_an_answer_is_away_and_no_empty_answer() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("record.db");
    change(
        &path,
        "create table birds (name text); insert into birds values ('wren')",
    )
    .await;
    let mut dying = connection(&path).await;
    let ask = || sqlx::query("select * from birds where name = ?1").bind("wren");
    let found: Vec<(String,)> = script::all(&mut dying, "birds", ask()).await.expect("it answers");
    assert_eq!(found.len(), 1);
    change(&path, "alter table birds add column colour text").await;
    let error = script::all::<(String,)>(&mut dying, "birds", ask())
        .await
        .expect_err("no answer");
    assert!(away(&error).contains("birds failed"), "{error:?}");
}

#[tokio::test]
async fn a_column_that_somebody_adds_or_drops_changes_no_answer() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("record.db");
    let store = open(&path, MIGRATIONS).await;
    add(&store, "engine").await;
    let before = names(&store).await;
    for sql in [
        "alter table codebases add column colour text not null default 'red'",
        "alter table codebases drop column colour",
    ] {
        change(&path, sql).await;
        assert_eq!(names(&store).await, before, "after {sql}");
        add(&store, &format!("after {}", sql.len())).await;
        let pairs = names(&store).await;
        change(
            &path,
            "delete from machine_codebases; delete from codebases where name like 'after%'",
        )
        .await;
        assert_eq!(pairs.len(), before.len() + 1, "after {sql}");
    }
    store.data_version().await.expect("it answers");
}

/// What a newer binary made of the file is refused by each call, with the cure, until the file is as it was.
#[tokio::test]
async fn a_file_that_a_newer_program_migrates_is_refused_from_then_on() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("record.db");
    let store = open(&path, MIGRATIONS).await;
    add(&store, "engine").await;
    let mut newer = MIGRATIONS.to_vec();
    let version = newer.last().expect("there is one").version + 1;
    newer.push(Migration {
        version,
        sql: "alter table codebases add column colour text",
    });
    open(&path, &newer).await.close().await;
    let ada = "Ada".parse().expect("a name");
    let refused = [
        store.codebases().await.map(drop),
        store
            .pause(Scope::Everything, PauseKind::Pause, None, &ada)
            .await
            .map(drop),
        store.data_version().await.map(drop),
    ];
    for refused in refused {
        let why = away(&refused.expect_err("it is too new"));
        assert!(why.contains("use a newer cs-panel"), "{why}");
    }
    let back = format!(
        "alter table codebases drop column colour; pragma user_version = {}",
        version - 1
    );
    change(&path, sqlx::AssertSqlSafe(back)).await;
    assert_eq!(names(&store).await, ["engine"]);
}

/// Moves the whole record, as somebody does who puts another one in its place.
fn move_away(from: &Path, to: &Path) {
    for ending in ["", "-wal", "-shm"] {
        let with_it = |path: &Path| {
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        // Its companions are not there when everybody has left.
        if with_it(from).exists() {
            std::fs::rename(with_it(from), with_it(to)).expect("it is moved");
        }
    }
}

/// Puts a copy of the whole file in its place, as somebody does who restores a backup.
fn restore(path: &Path, backup: &Path) {
    move_away(path, &path.with_extension("former"));
    move_away(backup, path);
}

async fn back_up(path: &Path, backup: &Path) {
    let mut other = connection(path).await;
    let sql = format!("vacuum into '{}'", backup.display());
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(&mut other)
        .await
        .expect("it is copied");
}

#[tokio::test]
async fn a_file_that_is_replaced_is_opened_anew_and_one_that_is_removed_is_away() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("record.db");
    let store = open(&path, MIGRATIONS).await;
    add(&store, "engine").await;
    let backup = directory.path().join("backup.db");
    back_up(&path, &backup).await;
    add(&store, "after the backup").await;
    restore(&path, &backup);
    assert_eq!(names(&store).await, ["engine"]);
    add(&store, "after the restore").await;
    // Whoever comes later finds what was written since.
    let other = open(&path, MIGRATIONS).await;
    assert_eq!(names(&other).await, names(&store).await);
    other.close().await;

    let aside = directory.path().join("aside.db");
    back_up(&path, &aside).await;
    move_away(&path, &directory.path().join("gone.db"));
    let why = away(&store.codebases().await.expect_err("it is not there"));
    assert!(why.contains("cannot be seen any more: put it back"), "{why}");
    assert!(!path.exists(), "nobody makes another one");
    restore(&path, &aside);
    assert_eq!(names(&store).await.len(), 2);
}

const CARD: &str = "insert into cards (id, title, state, person, agent, opening, priority, recovery, done, last_seq, ready_for,
    ready_from, usage_turns, usage_input_tokens, usage_output_tokens, usage_cost_microusd, created_at, updated_at, version)
    values ('01', 'Work', 'open', 'Ada', 'mine', 'owner', 0, 0, 0, 0, 'nothing', 0, 0, 0, 0, 0, 0, 0, 1)";

/// Of a record that somebody made anew, every run would be taken for gone.
#[tokio::test]
async fn another_record_in_the_place_of_the_file_is_refused() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("record.db");
    let store = open(&path, MIGRATIONS).await;
    change(&path, CARD).await;
    names(&store).await;
    let aside = directory.path().join("aside.db");
    move_away(&path, &aside);
    open(&path, MIGRATIONS).await.close().await;
    let why = away(&store.codebases().await.expect_err("it is another one"));
    assert!(why.contains("another record"), "{why}");
    restore(&path, &aside);
    names(&store).await;
}

/// A write to a file that nobody finds any more is not told as done.
#[tokio::test]
async fn a_commit_to_a_file_that_was_replaced_meanwhile_is_not_known_to_be_on_the_record() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("record.db");
    let store = open(&path, MIGRATIONS).await;
    let backup = directory.path().join("backup.db");
    back_up(&path, &backup).await;
    let tx = store.begin().await.expect("it begins");
    restore(&path, &backup);
    let error = tx.commit().await.expect_err("it went elsewhere");
    assert!(matches!(error, StoreError::Unknown(_)), "{error:?}");
}
