//! What the compiler does not check of the statements (docs/adr/0002).

use std::path::Path;
use std::sync::Arc;

use cs_model::Clock;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Executor, SqlSafeStr, SqliteConnection};

use crate::migrate::MIGRATIONS;
use crate::open::open_with;

#[derive(Debug)]
struct Standing;

impl Clock for Standing {
    fn now(&self) -> cs_model::Time {
        cs_model::Time::from_unix_micros(1_767_225_600_000_000)
    }
}

/// Returns the statements by name.
fn statements() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("queries");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect("there are statements") {
        let path = entry.expect("it can be listed").path();
        let name = path
            .file_stem()
            .expect("it has a name")
            .to_string_lossy()
            .into_owned();
        found.push((name, std::fs::read_to_string(path).expect("it is text")));
    }
    found.sort();
    assert!(found.len() > 40, "all statements are found");
    found
}

/// Returns a connection to an empty record.
async fn record(directory: &Path) -> SqliteConnection {
    let path = directory.join("record.db");
    let store = open_with(&path, Arc::new(Standing), MIGRATIONS)
        .await
        .expect("it opens");
    store.close().await;
    SqliteConnectOptions::new()
        .filename(&path)
        .connect()
        .await
        .expect("it opens again")
}

#[tokio::test]
async fn every_statement_prepares_and_says_what_it_does() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let mut connection = record(directory.path()).await;
    for (name, sql) in statements() {
        let header = sql.lines().next().unwrap_or_default();
        assert!(
            header.starts_with("-- ") && header.len() > 20,
            "{name} has no header"
        );
        let prepared = connection.prepare(AssertSqlSafe(sql).into_sql_str()).await;
        assert!(prepared.is_ok(), "{name}: {:?}", prepared.err());
    }
}

#[test]
fn every_statement_is_used() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut text = String::new();
    for entry in std::fs::read_dir(sources).expect("there is a source") {
        text.push_str(&std::fs::read_to_string(entry.expect("it can be listed").path()).expect("it is text"));
    }
    for (name, _) in statements() {
        let used = text.contains(&format!("queries/{name}.sql")) || text.contains(&format!("\"{name}\""));
        assert!(used, "nothing uses {name}");
    }
}

/// Tables that grow with the life of the record.
const GROWING: [&str; 6] = ["cards", "runs", "turns", "asks", "landings", "journal"];

/// What claims, settlements and idle passes run must not slow down with the age of the record.
#[tokio::test]
async fn no_statement_of_a_pass_scans_a_table_that_grows() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let mut connection = record(directory.path()).await;
    let of_people = ["find_", "list_cards", "list_codebases", "list_open_asks"];
    for (name, sql) in statements() {
        if of_people.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        let explain = AssertSqlSafe(format!("explain query plan {sql}"));
        let plan: Vec<(i64, i64, i64, String)> = sqlx::query_as(explain)
            .fetch_all(&mut connection)
            .await
            .expect("it is explained");
        for (.., step) in plan {
            let scans =
                step.starts_with("SCAN ") && !step.contains("INDEX") && !step.contains("VIRTUAL TABLE");
            let table = step.split(' ').nth(1).unwrap_or_default();
            // SQLite plans a look for the children of each inserted parent, and takes it only while a constraint is broken:
            // https://www.sqlite.org/foreignkeys.html, section 3. Our own statements give their tables one-letter names.
            let bare = GROWING.contains(&table) && !name.starts_with("insert_");
            let grows = bare || (table.len() == 1 && table != "m" && table != "p");
            assert!(!(scans && grows), "{name}: {step}");
        }
    }
}
