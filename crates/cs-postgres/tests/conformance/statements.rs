//! What the compiler does not check of the statements (docs/adr/0004).

use std::path::Path;

use sqlx::{AssertSqlSafe, Executor, SqlSafeStr};

use crate::schema::Schema;

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
    assert!(found.len() > 30, "all statements are found");
    found
}

#[tokio::test]
async fn every_statement_prepares_and_says_what_it_does() {
    let schema = Schema::new().await;
    let mut connection = schema.raw().await;
    for (name, sql) in statements() {
        let header = sql.lines().next().unwrap_or_default();
        assert!(
            header.starts_with("-- ") && header.len() > 20,
            "{name} has no header"
        );
        if name.starts_with("lock_") && sql.contains("\nlock table") {
            continue; // a command, which cannot be prepared
        }
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
        let used =
            text.contains(&format!("queries/{name}.sql")) || text.contains(&format!("sql!(\"{name}\")"));
        assert!(used, "nothing uses {name}");
    }
}
