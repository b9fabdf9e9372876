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

/// Returns the statements by name, each after the text that its header says it comes after.
fn statements() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("queries");
    let read = |path: &Path| std::fs::read_to_string(path).expect("it is text");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&directory).expect("there are statements") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            continue;
        }
        let name = path
            .file_stem()
            .expect("it has a name")
            .to_string_lossy()
            .into_owned();
        let own = read(&path);
        let part = own
            .strip_prefix("-- After ")
            .and_then(|rest| rest.split(':').next());
        let before = part.map_or_else(String::new, |part| read(&directory.join(part)));
        found.push((name, before + &own));
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
const GROWING: [&str; 10] = [
    "attachments",
    "cards",
    "events",
    "card_dependencies",
    "runs",
    "run_texts",
    "turns",
    "asks",
    "landings",
    "journal",
];

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
        for step in plan(&mut connection, sql).await {
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

async fn plan(connection: &mut SqliteConnection, sql: String) -> Vec<String> {
    let explain = AssertSqlSafe(format!("explain query plan {sql}"));
    let steps: Vec<(i64, i64, i64, String)> = sqlx::query_as(explain)
        .fetch_all(connection)
        .await
        .expect("it is explained");
    steps.into_iter().map(|(.., step)| step).collect()
}

/// Which statements need which index. A take reads ready cards in its order and stops, so that no number of them slows it down.
const NEEDED: [(&str, &str); 13] = [
    ("select_ready", "SEARCH c USING INDEX cards_ready (ready_for=?)"),
    ("select_ready", "runs_process (machine_id=?)"),
    ("select_ready", "runs_live_on_codebase (codebase_id=?)"),
    ("select_recovery", "cards_recovery"),
    ("select_landings", "landings_accepted (machine_id=?)"),
    ("select_landings", "runs_open (card_id=?)"),
    ("peek_work", "cards_ready (ready_for=?)"),
    ("peek_work", "runs_process (machine_id=?)"),
    ("load_runs", "runs_open (card_id=?)"),
    ("list_children", "runs_of_parent (parent_id=?)"),
    ("find_earlier", "card_dependencies_after (after_id=?)"),
    ("forget_operations", "journal_at (at<?)"),
    ("list_old_operations", "journal_at (at<?)"),
];

#[tokio::test]
async fn what_grows_is_found_by_its_index() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let mut connection = record(directory.path()).await;
    let statements = statements();
    for (name, index) in NEEDED {
        let found = statements.iter().find(|(known, _)| known == name);
        let (_, sql) = found.expect("it is a statement");
        let steps = plan(&mut connection, sql.clone()).await;
        assert!(
            steps.iter().any(|step| step.contains(index)),
            "{name} without {index}: {steps:#?}"
        );
        let sorts = steps.iter().any(|step| step.contains("TEMP B-TREE"));
        let takes = ["select_ready", "select_recovery"].contains(&name);
        assert!(!(takes && sorts), "{name} sorts: {steps:#?}");
    }
}
