//! What a file must be, what it becomes, and what another process sees.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use cs_fence::TokenSeed;
use cs_journal::{ClaimRequest, Task};
use cs_model::{CardId, IdSource, MachineId, OperationId, PauseKind, TurnId};
use cs_record::{RowStore, Scope, Send, SendTo};
use cs_sqlite::OpenError;
use cs_testkit::laws::World;
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use crate::home::Home;

async fn check_refused(home: &Home, path: &Path, fits: impl Fn(&OpenError) -> bool) {
    let error = home.open_at(path).await.expect_err("it is refused");
    assert!(fits(&error), "{error:?}");
    assert!(
        error.to_string().contains(&path.display().to_string()),
        "it names the file: {error}"
    );
}

pub(crate) async fn raw(path: &Path, sql: &str) {
    let mut connection = SqliteConnection::connect(&format!("sqlite://{}?mode=rwc", path.display()))
        .await
        .expect("it opens");
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
        .execute(&mut connection)
        .await
        .expect("the statement is good");
    connection.close().await.expect("it closes");
}

/// The file and its companions can be read by their owner only.
#[tokio::test]
async fn a_new_file_is_private() {
    let home = Home::new();
    let store = home.open().await.expect("it opens");
    store
        .add_codebase(cs_model::CodebaseId::from_uuid(uuid()), "engine", machine())
        .await
        .expect("it writes");
    for name in ["record.db", "record.db-wal", "record.db-shm"] {
        let mode = std::fs::metadata(home.path(name))
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

fn uuid() -> uuid::Uuid {
    uuid::Uuid::from_u128(7)
}

fn machine() -> MachineId {
    MachineId::from_uuid(uuid())
}

/// Something else is named and left as it is.
#[tokio::test]
async fn a_file_that_is_not_ours_is_refused() {
    let home = Home::new();
    let text = home.path("notes.txt");
    std::fs::write(
        &text,
        "these are notes, and no database, however long they may be",
    )
    .expect("it is written");
    check_refused(&home, &text, |error| matches!(error, OpenError::NotOurs { .. })).await;
    assert!(
        std::fs::read_to_string(&text)
            .expect("it is there")
            .starts_with("these are notes")
    );
    let other = home.path("other.db");
    raw(&other, "create table birds (name text)").await;
    check_refused(&home, &other, |error| matches!(error, OpenError::NotOurs { .. })).await;
    let marked = home.path("marked.db");
    raw(&marked, "pragma application_id = 5").await;
    check_refused(&home, &marked, |error| matches!(error, OpenError::NotOurs { .. })).await;
}

/// A file that a newer binary has written is refused with both versions.
#[tokio::test]
async fn a_newer_file_is_refused() {
    let home = Home::new();
    home.open().await.expect("it opens").close().await;
    raw(&home.path("record.db"), "pragma user_version = 99").await;
    check_refused(
        &home,
        &home.path("record.db"),
        |error| matches!(error, OpenError::TooNew { found: 99, known, .. } if *known < 99),
    )
    .await;
}

/// A path that cannot be a file is an error that names it.
#[tokio::test]
async fn a_path_that_cannot_be_opened_is_named() {
    let home = Home::new();
    let directory = home.path("directory");
    std::fs::create_dir(&directory).expect("it is made");
    check_refused(&home, &directory, |error| {
        matches!(error, OpenError::Unreachable { .. })
    })
    .await;
    let nowhere = home.path("no/such/place.db");
    check_refused(&home, &nowhere, |error| {
        matches!(error, OpenError::Unreachable { .. })
    })
    .await;
}

/// What was written is there after the file was closed and opened again.
#[tokio::test]
async fn a_record_survives_its_process() {
    let home = Home::new();
    let first = World::new(home.open().await.expect("it opens"), home.clock(), ()).await;
    let codebases = first.codebases.codebases().await.expect("it answers");
    drop(first);
    let again = home.open().await.expect("it opens again");
    assert_eq!(again.codebases().await.expect("it answers"), codebases);
}

/// The file has the hash of an attempt's token, never the token or what it follows from. Invariant 14.
#[tokio::test]
async fn no_token_is_in_the_file() {
    let home = Home::new();
    let world = World::new(home.open().await.expect("it opens"), home.clock(), ()).await;
    let to = SendTo::new_card(
        CardId::from_uuid(world.ids.uuid_v7()),
        "a title",
        "mine".parse().expect("a name"),
    );
    let turn = TurnId::from_uuid(world.ids.uuid_v7());
    let send = Send::new(turn, to, world.person.clone(), "please");
    world.people.send(&send).await.expect("it is a good turn");
    let secret = world.ids.secret();
    let seed = TokenSeed::from_bytes(secret);
    let request = ClaimRequest::one(Task::Turns, "mine", seed);
    let operation = OperationId::from_uuid(world.ids.uuid_v7());
    let taken = world.claims.claim(world.machine, operation, &request).await;
    let token = taken.expect("it answers").runs[0].attempt(&seed).token;

    let mut bytes = Vec::new();
    for entry in fs::read_dir(home.path("")).expect("there").flatten() {
        bytes.extend(fs::read(entry.path()).expect("it can be read"));
    }
    let holds = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    assert!(holds(b"a title"), "what is on the record can be found");
    let (token, seed) = (token.reveal(), String::from(seed));
    for part in [token.as_bytes(), seed.as_bytes(), &secret] {
        assert!(!holds(part), "{part:?}");
    }
}

/// The number changes when another connection wrote, and only then.
#[tokio::test]
async fn the_data_version_tells_of_writes() {
    let home = Home::new();
    let (one, other) = (
        home.open().await.expect("it opens"),
        home.open().await.expect("it opens twice"),
    );
    let before = one.data_version().await.expect("it answers");
    assert_eq!(one.data_version().await.expect("it answers"), before);
    let ada = "Ada".parse().expect("a name");
    other
        .pause(Scope::Everything, PauseKind::Pause, None, &ada)
        .await
        .expect("it pauses");
    let after = one.data_version().await.expect("it answers");
    assert_ne!(after, before);
    one.unpause(Scope::Everything).await.expect("it answers");
    assert_ne!(one.data_version().await.expect("it answers"), after);
}

/// Two processes that write at once wait for each other; nobody sees that the database is locked.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_processes_write_at_once() {
    let home = Home::new();
    let stores = [
        home.open().await.expect("it opens"),
        home.open().await.expect("it opens twice"),
    ]
    .map(Arc::new);
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..16_usize {
        let store = Arc::clone(&stores[number % 2]);
        writers.spawn(async move {
            for step in 0..10_u128 {
                let id = uuid::Uuid::from_u128(u128::try_from(number).expect("small") * 100 + step + 1);
                let name = format!("codebase {number} {step}");
                store
                    .add_codebase(cs_model::CodebaseId::from_uuid(id), &name, machine())
                    .await
                    .expect("it writes");
            }
        });
    }
    writers.join_all().await;
    assert_eq!(stores[0].codebases().await.expect("it answers").len(), 160);
}
