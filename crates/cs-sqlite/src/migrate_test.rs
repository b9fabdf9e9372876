//! An older file becomes a newer one, and a copy of it stays.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use cs_model::PauseKind;
use cs_model::{Clock, Time};
use cs_record::{RowStore, Scope};
use cs_settle::Usage;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor};

use uuid::Uuid;

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

/// The steps of this binary, and one more.
fn with_another(sql: &'static str) -> Vec<Migration> {
    let ours = MIGRATIONS.iter().map(|step| Migration { ..*step });
    let version = newest() + 1;
    ours.chain([Migration { version, sql }]).collect()
}

fn newest() -> u32 {
    MIGRATIONS.last().expect("there is one").version
}

/// Makes a record of this binary's version with a pause on it.
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
    let newer = with_another("alter table pauses add column until integer");
    check_paused(&path, &newer).await;
    let copy = copy_path(&path, newest());
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
            OpenError::TooNew { found, known, .. } if (found, known) == (newest() + 1, newest())
        ),
        "{older:?}"
    );
}

#[tokio::test]
async fn a_migration_that_fails_leaves_the_file_as_it_was() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("record.db");
    old_record(&path).await;
    let broken =
        with_another("alter table pauses add column until integer; alter table nothing add column x");
    let failed = open_with(&path, Arc::new(Standing), &broken)
        .await
        .expect_err("it cannot be migrated");
    assert!(
        matches!(failed, OpenError::Migration { to, .. } if to == newest() + 1),
        "{failed:?}"
    );
    check_paused(&path, MIGRATIONS).await;
    assert!(
        !copy_path(&path, newest()).exists(),
        "a try that failed leaves no copy"
    );
}

/// However many programs come first, one copies and migrates, and the others find it done.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn programs_that_migrate_at_once_all_succeed_and_leave_one_whole_copy() {
    for _ in 0..8 {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let path = directory.path().join("record.db");
        old_record(&path).await;
        let newer = with_another("alter table pauses add column until integer");
        let open = || open_with(&path, Arc::new(Standing), &newer);
        let (one, two, three, four) = tokio::join!(open(), open(), open(), open());
        for opened in [one, two, three, four] {
            opened.expect("it opens").close().await;
        }
        check_paused(&copy_path(&path, newest()), MIGRATIONS).await;
        let copies = std::fs::read_dir(directory.path()).expect("it is there");
        let copies = copies
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut copies: Vec<_> = copies
            .filter(|name| !name.ends_with("-wal") && !name.ends_with("-shm"))
            .collect();
        copies.sort();
        let copy = format!("record.db.version-{}", newest());
        assert_eq!(copies, ["record.db", "record.db.migration", &copy]);
    }
}

/// Who goes back to the copy and goes on from there has a new copy at the next migration, and the first one too.
#[tokio::test]
async fn a_second_migration_copies_what_came_after_a_return_to_the_copy() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("record.db");
    old_record(&path).await;
    let newer = with_another("alter table pauses add column until integer");
    check_paused(&path, &newer).await;
    let copied = copy_path(&path, newest());
    let other = tempfile::tempdir().expect("a directory can be made");
    let path = other.path().join("record.db");
    let first = copy_path(&path, newest());
    std::fs::copy(&copied, &path).expect("gone back");
    std::fs::copy(&copied, &first).expect("and kept");
    check_paused(&path, MIGRATIONS).await;
    open_with(&path, Arc::new(Standing), &newer)
        .await
        .expect("it opens")
        .close()
        .await;
    check_paused(&first, MIGRATIONS).await;
    let second = open_with(&first.with_added_extension("2"), Arc::new(Standing), MIGRATIONS).await;
    let second = second.expect("it is there");
    let is_paused = second.unpause(Scope::Everything).await.expect("it answers");
    assert!(!is_paused, "what was done after the return is in the second copy");
    second.close().await;
}

/// What was used before it was kept is not known, and not nothing.
#[tokio::test]
async fn what_cards_and_runs_of_an_older_record_used_reads_as_unknown() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("record.db");
    let before = MIGRATIONS.iter().take_while(|step| step.version < 5);
    let before: Vec<_> = before.copied().collect();
    let old = open_with(&path, Arc::new(Standing), &before).await;
    old.expect("it opens").close().await;
    let id = |number: u128| Uuid::from_u128(number).to_string();
    let (card, run, machine, token) = (id(1), id(2), id(3), "0".repeat(64));
    let mut raw = SqliteConnectOptions::new()
        .filename(&path)
        .connect()
        .await
        .expect("it opens");
    let rows = format!(
        "insert into cards (id, title, state, person, agent, opening, priority, recovery, done, last_seq, ready_for, ready_from, usage_turns,
             usage_input_tokens, usage_output_tokens, usage_cost_microusd, created_at, updated_at, version, landings_returned)
         values ('{card}', 'one', 'open', 'Ada', 'mine', 'owner', 0, 0, 0, 0, 'nothing', 1, 0, 700, 0, 0, 1, 1, 1, 0);
         insert into runs (id, card_id, kind, state, epoch, token, machine_id, agent, started_at, ended_at, failures_in_row, tries, starts,
             settled, read_back, fresh)
         values ('{run}', '{card}', 'owner', 'finished', 1, '{token}', '{machine}', 'mine', 1, 2, 0, 0, 0, 1, 0, 0);
         update cards set owner_id = '{run}'"
    );
    raw.execute(AssertSqlSafe(rows)).await.expect("it writes");
    raw.close().await.expect("it closes");
    let store = open_with(&path, Arc::new(Standing), MIGRATIONS).await;
    let store = store.expect("it opens");
    let card = card.parse().expect("an id");
    let detail = RowStore::card(&store, card).await.expect("it answers");
    let detail = detail.expect("it is there");
    let known = Usage {
        input_tokens: Some(700),
        ..Usage::default()
    };
    assert_eq!(detail.card.usage, known);
    assert_eq!(detail.card.model, None);
    assert_eq!(detail.runs.first().map(|run| &run.used), Some(&None));
    store.close().await;
}

/// Landings of a record of the first version get the base of their card.
#[tokio::test]
async fn landings_of_the_first_version_get_their_base() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("record.db");
    open_with(&path, Arc::new(Standing), &MIGRATIONS[..1])
        .await
        .expect("it opens")
        .close()
        .await;
    let mut raw = SqliteConnectOptions::new()
        .filename(&path)
        .connect()
        .await
        .expect("it opens");
    raw.execute(
        "insert into codebases values ('engine', 'engine', 1);
         insert into cards values ('one', 'one', 'open', null, 'Ada', 'engine', 'next', 'mine', null, null, 'owner', 0, null, 0, 0,
            1, 'nothing', 1, 0, 0, 0, 0, 1, 1, 1);
         insert into landings (id, card_id, codebase_id, state, epoch, machine_id, accepted_by, accepted_at)
         values ('landing', 'one', 'engine', 'accepted', 1, 'here', 'Ada', 1);",
    )
    .await
    .expect("it writes");
    raw.close().await.expect("it closes");
    check_opens(&path).await;
    let mut raw = SqliteConnectOptions::new()
        .filename(&path)
        .connect()
        .await
        .expect("it opens");
    let base: String = sqlx::query_scalar("select base from landings")
        .fetch_one(&mut raw)
        .await
        .expect("it has one");
    assert_eq!(base, "next");
}

async fn check_opens(path: &Path) {
    open_with(path, Arc::new(Standing), MIGRATIONS)
        .await
        .expect("it is migrated")
        .close()
        .await;
}
