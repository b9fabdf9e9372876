//! A schema of its own on the server, dropped with the desk.
#![expect(
    clippy::disallowed_methods,
    reason = "a test is given its server, and starts programs"
)]

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A record on the server under test.
pub(crate) struct Record {
    schema: Schema,
}

/// Where a record is.
enum Schema {
    /// In a schema of the server that all tests share.
    Of(String),
    /// On a server of one test.
    At(String),
}

/// Returns the URL of the server under test.
pub(crate) fn server() -> String {
    std::env::var("CS_PANEL_TEST_POSTGRES")
        .expect("these tests need a server: run them with `cargo xtask test --postgres`")
}

/// Carries out SQL on the server, with the client that comes with it, and returns what it prints.
fn sql(url: &str, text: &str) -> String {
    let mut psql = Command::new("psql");
    psql.args([
        "--no-psqlrc",
        "--quiet",
        "--tuples-only",
        "--no-align",
        "--set=ON_ERROR_STOP=1",
    ]);
    let done = psql
        .arg("--command")
        .arg(text)
        .arg(url)
        .stdin(Stdio::null())
        .output();
    let done = done.expect("psql is there");
    assert!(
        done.status.success(),
        "{text}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}

impl Record {
    /// Makes an empty record.
    pub(crate) fn new() -> Self {
        let record = Self::empty();
        let mut migrate = Command::new(assert_cmd::cargo::cargo_bin("cs-panel"));
        record.name_to(&mut migrate);
        let done = migrate.arg("migrate").output().expect("it runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        record
    }

    /// Makes a schema without a record.
    pub(crate) fn empty() -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let schema = format!("panel_{}_{number}", std::process::id());
        sql(&server(), &format!("create schema {schema}"));
        let schema = Schema::Of(schema);
        Self { schema }
    }

    /// Tells a command where the record is.
    pub(crate) fn name_to(&self, command: &mut Command) {
        command.env("CS_PANEL_DATABASE_URL", self.url());
    }

    /// A record on a server of the test's own.
    pub(crate) fn at(url: &str) -> Self {
        let schema = Schema::At(url.to_owned());
        Self { schema }
    }

    pub(crate) fn url(&self) -> String {
        match &self.schema {
            Schema::Of(schema) => format!("{}&options=-c%20search_path%3D{schema}", server()),
            Schema::At(url) => url.clone(),
        }
    }

    /// Carries out SQL in the schema.
    pub(crate) fn sql(&self, text: &str) -> String {
        match &self.schema {
            Schema::Of(schema) => sql(&server(), &format!("set search_path = {schema}; {text}")),
            Schema::At(url) => sql(url, text),
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if let Schema::Of(schema) = &self.schema
            && !std::thread::panicking()
        {
            sql(&server(), &format!("drop schema {schema} cascade"));
        }
    }
}
