//! What is wrong with a server or its database is said in plain words, and nothing is changed.

use cs_postgres::{Migrated, OpenError, PostgresStore, Settings, migrate};
use sqlx::{AssertSqlSafe, Executor};

use crate::schema::{Schema, server};

async fn check_refused(settings: &Settings, fits: impl Fn(&OpenError) -> bool, says: &str) {
    let error = PostgresStore::open(settings).await.expect_err("it is refused");
    assert!(fits(&error), "{error:?}");
    assert!(error.to_string().contains(says), "{error}");
    let all = format!("{error:?} {error} {settings:?}");
    assert!(!all.contains("verysecret"), "a password is told: {all}");
}

fn parse(url: &str) -> Settings {
    url.parse().expect("the URL is good")
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let settings = parse("postgres://ada:verysecret@127.0.0.1:1/panel");
    let unreachable = |error: &OpenError| matches!(error, OpenError::Unreachable { .. });
    check_refused(&settings, unreachable, "panel at 127.0.0.1:1 cannot be reached").await;
}

#[tokio::test]
async fn a_wrong_password_is_told_and_not_repeated() {
    let url = server().replace("cs_panel@", "cs_panel_password:verysecret@");
    let refused = |error: &OpenError| matches!(error, OpenError::Refused { .. });
    check_refused(&parse(&url), refused, "refuses user `cs_panel_password`").await;
    let given = parse(&url.replace(":verysecret", "")).with_password("verysecret2");
    check_refused(&given, refused, "refuses user").await;
}

#[tokio::test]
async fn a_database_that_is_not_there_is_told() {
    let url = server().replace("/postgres?", "/no_such_database?");
    let missing = |error: &OpenError| matches!(error, OpenError::NoDatabase { .. });
    check_refused(&parse(&url), missing, "no_such_database").await;
}

/// A host that no name server knows, by the rules for names that are kept free of use.
#[tokio::test]
async fn a_host_that_is_not_there_is_named() {
    let settings = parse("postgres://ada:verysecret@no-such-host.invalid:5433/panel");
    let unreachable = |error: &OpenError| matches!(error, OpenError::Unreachable { .. });
    let says = "panel at no-such-host.invalid:5433 cannot be reached as user `ada`";
    check_refused(&settings, unreachable, says).await;
}

#[tokio::test]
async fn a_user_that_the_server_does_not_know_is_named() {
    let url = server().replace("cs_panel@", "nobody_knows_me:verysecret@");
    let refused = |error: &OpenError| matches!(error, OpenError::NotAdmitted { .. });
    check_refused(&parse(&url), refused, "does not let user `nobody_knows_me` in").await;
}

/// Someone who may connect, and do nothing with what others own.
#[tokio::test]
async fn a_user_without_rights_is_told_to_ask_for_them() {
    let schema = Schema::new().await;
    let mut raw = schema.raw().await;
    let role = format!("guest_of_{}", schema.name);
    raw.execute(AssertSqlSafe(format!("create role {role} login")))
        .await
        .expect("it is made");
    let guest = parse(&schema.url().replace("cs_panel@", &format!("{role}:verysecret@")));
    let no_schema = |error: &OpenError| matches!(error, OpenError::NoSchema { .. });
    check_refused(
        &guest,
        no_schema,
        &format!("no schema that user `{role}` may use"),
    )
    .await;
    assert!(no_schema(&migrate(&guest).await.expect_err("it may not")));
    let see = format!("grant usage on schema {} to {role}", schema.name);
    raw.execute(AssertSqlSafe(see)).await.expect("it is granted");
    let no_right = |error: &OpenError| matches!(error, OpenError::NoRight { .. });
    check_refused(
        &guest,
        no_right,
        &format!("user `{role}` has no right to the record"),
    )
    .await;
    assert!(no_right(&migrate(&guest).await.expect_err("it may not")));
    let unsee = format!("revoke usage on schema {} from {role}", schema.name);
    raw.execute(AssertSqlSafe(unsee)).await.expect("it is revoked");
    raw.execute(AssertSqlSafe(format!("drop role {role}")))
        .await
        .expect("it is dropped");
}

#[tokio::test]
async fn an_empty_database_asks_for_the_migration_which_may_be_repeated() {
    let schema = Schema::empty().await;
    let settings = schema.settings();
    let empty = |error: &OpenError| matches!(error, OpenError::NotMigrated { found: 0, .. });
    check_refused(&settings, empty, "`cs-panel migrate`").await;
    let first = migrate(&settings).await.expect("it migrates");
    assert_eq!(first.from, 0);
    let second = migrate(&settings).await.expect("it may be repeated");
    let newest = first.to;
    assert_eq!(
        second,
        Migrated {
            from: newest,
            to: newest
        }
    );
    PostgresStore::open(&settings).await.expect("it opens");
}

#[tokio::test]
async fn of_eight_that_migrate_at_once_one_does() {
    let schema = Schema::empty().await;
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let settings = schema.settings();
        all.spawn(async move { migrate(&settings).await.expect("it migrates") });
    }
    let done = all.join_all().await;
    assert_eq!(done.iter().filter(|one| one.from == 0).count(), 1, "{done:?}");
}

#[tokio::test]
async fn a_newer_record_is_used_as_long_as_it_allows() {
    let schema = Schema::new().await;
    let mut raw = schema.raw().await;
    raw.execute("update cs_panel_version set version = version + 1")
        .await
        .expect("it writes");
    let opened = PostgresStore::open(&schema.settings()).await;
    opened.expect("a schema that only has more is usable");
    raw.execute("update cs_panel_version set usable_from = version")
        .await
        .expect("it writes");
    let newer =
        |error: &OpenError| matches!(error, OpenError::TooNew { found, known, .. } if *found == known + 1);
    check_refused(&schema.settings(), newer, "use a newer cs-panel").await;
    let stays = migrate(&schema.settings()).await.expect("it stays");
    assert_eq!(stays.from, stays.to);
}

#[tokio::test]
async fn something_else_is_left_alone() {
    let schema = Schema::empty().await;
    let mut raw = schema.raw().await;
    raw.execute("create table birds (name text)")
        .await
        .expect("it writes");
    let other = |error: &OpenError| matches!(error, OpenError::NotOurs { .. });
    check_refused(&schema.settings(), other, "something else").await;
    let error = migrate(&schema.settings()).await.expect_err("it is left alone");
    assert!(other(&error), "{error:?}");
}

#[tokio::test]
async fn a_record_that_can_only_be_read_is_told() {
    let schema = Schema::new().await;
    let url = format!("{}%20-c%20default_transaction_read_only%3Don", schema.url());
    let read_only = |error: &OpenError| matches!(error, OpenError::ReadOnly { .. });
    check_refused(&parse(&url), read_only, "can only be read").await;
}

#[test]
fn a_url_that_is_none_is_told_without_its_secrets() {
    for bad in [
        "mysql://ada:verysecret@host/panel",
        "postgres://ada:verysecret@host:port/panel",
        "postgres://ada:verysecret@host/panel?sslmode=sometimes",
        "verysecret",
    ] {
        let error = bad.parse::<Settings>().expect_err("it is refused");
        assert!(matches!(error, OpenError::BadUrl { .. }), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("verysecret"), "{error:?}");
    }
}
