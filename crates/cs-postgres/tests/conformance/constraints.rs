//! What a write past the rules meets: the database holds every invariant by itself.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, PgConnection};

use crate::acts::{new_card, take};
use crate::schema::Schema;

async fn check_refused(raw: &mut PgConnection, what: &str, sql: &str) {
    let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(raw).await;
    let error = done.expect_err(what);
    let code = error.as_database_error().and_then(|error| error.code());
    let code = code.unwrap_or_default().into_owned();
    assert!(code.starts_with("23"), "{what}: {error} ({code})");
}

const COPY_RUN: &str = "insert into runs (id, card_id, kind, state, epoch, token, machine_id, agent, started_at, failures_in_row)
    select gen_random_uuid(), card_id, kind, state, epoch, token, machine_id, agent, started_at, 0 from runs limit 1";
const NEW_LANDING: &str = "insert into landings (id, card_id, codebase_id, state, epoch, token, machine_id, accepted_by, accepted_at)
    select gen_random_uuid(), c.id, c.codebase_id, 'running', 1, repeat('a', 64), gen_random_uuid(), 'Ada', 1 from cards c";

#[tokio::test]
async fn a_raw_write_that_breaks_an_invariant_is_refused() {
    let schema = Arc::new(Schema::new().await);
    let (world, mut raw) = (schema.world().await, schema.raw().await);
    let raw = &mut raw;
    let first = new_card(&world).await;
    take(&world, 1).await;
    let second = new_card(&world).await;
    check_refused(raw, "two live owners of a card", COPY_RUN).await;
    check_refused(raw, "an epoch that shrinks", "update runs set epoch = 0").await;
    check_refused(
        raw,
        "two tokens of an epoch",
        "update runs set token = repeat('b', 64)",
    )
    .await;
    check_refused(raw, "a live run that has ended", "update runs set ended_at = 1").await;
    check_refused(raw, "an unknown state", "update runs set state = 'lost'").await;
    check_refused(raw, "half a process", "update runs set pid = 7").await;
    check_refused(raw, "a retry of a running run", "update runs set again_at = 7").await;
    check_refused(
        raw,
        "a run without a card",
        "update runs set card_id = gen_random_uuid()",
    )
    .await;
    check_refused(
        raw,
        "a stopped card that is ready",
        "update cards set state = 'stopped', ready_for = 'turns'",
    )
    .await;
    check_refused(
        raw,
        "a card of an unknown codebase",
        "update cards set codebase_id = gen_random_uuid()",
    )
    .await;
    check_refused(raw, "fewer than no tries", "update cards set tries = -1").await;
    check_refused(
        raw,
        "a turn that nobody has",
        "update turns set state = 'leased', run_id = null",
    )
    .await;
    let twice = "insert into turns select gen_random_uuid(), card_id, seq, author_kind, author, body, state, run_id, said_at from turns";
    check_refused(raw, "two turns in one place", twice).await;
    check_refused(
        raw,
        "an operation twice",
        "insert into journal select * from journal",
    )
    .await;
    let one = format!("{NEW_LANDING} where c.id = '{first}'");
    sqlx::raw_sql(AssertSqlSafe(one.clone()))
        .execute(&mut *raw)
        .await
        .expect("one landing may run");
    check_refused(raw, "two landings of a card", &one).await;
    let other = format!("{NEW_LANDING} where c.id = '{second}'");
    check_refused(raw, "two landings of a codebase", &other).await;
    check_refused(
        raw,
        "a landing's epoch that shrinks",
        "update landings set epoch = 0",
    )
    .await;
    check_refused(
        raw,
        "a landing's second token",
        "update landings set token = repeat('b', 64)",
    )
    .await;
    check_refused(
        raw,
        "a landed one without a commit",
        "update landings set state = 'landed', ended_at = 1",
    )
    .await;
    check_refused(
        raw,
        "a second version row",
        "insert into cs_panel_version values (false, 1, 1, 1)",
    )
    .await;
}
