//! What a write past the rules meets that would take back what is over: the database names what it keeps.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, PgConnection};

use crate::constraints::{NEW_LANDING, allow, two_cards};
use crate::schema::Schema;

/// Checks that each write is refused in these words.
async fn check_named(raw: &mut PgConnection, writes: &[(&str, &str)]) {
    for (kept, sql) in writes {
        let done = sqlx::raw_sql(AssertSqlSafe((*sql).to_owned()))
            .execute(&mut *raw)
            .await;
        let error = done.expect_err(sql).to_string();
        assert!(error.contains(kept), "{sql}: {error}");
    }
}

const NEXT: &str = "epoch = epoch + 1, token = repeat('b', 64)";
const AGAIN: &str = "at work again only under a new epoch";
const GONE: &str = "its attempt is over and its process proven gone";
const SETTLED: &str = "what a run has settled, and that it was read back, stays";

#[tokio::test]
async fn a_raw_write_that_revives_what_is_over_is_refused() {
    let schema = Arc::new(Schema::new().await);
    let _world = two_cards(&schema).await;
    let raw = &mut schema.raw().await;
    let next = format!("update runs set {NEXT} where kind = 'owner'");
    check_named(raw, &[(GONE, &next)]).await;
    allow(
        raw,
        "a worker that is over and was read back, and an owner that asks",
        "update runs set state = 'finished', ended_at = 1, given = 1, read_back = true, settled = 1,
             pid = 7, start_ticks = 7, boot_id = 'boot' where kind = 'worker';
         update runs set state = 'asked' where kind = 'owner'",
    )
    .await;
    let revived = format!("update runs set state = 'running', ended_at = null, {NEXT} where kind = 'worker'");
    let writes = [
        (AGAIN, "update runs set state = 'running' where kind = 'owner'"),
        (
            AGAIN,
            "update runs set state = 'asked', ended_at = null where kind = 'worker'",
        ),
        (GONE, revived.as_str()),
        (SETTLED, "update runs set read_back = false where kind = 'worker'"),
        (SETTLED, "update runs set settled = 0 where kind = 'worker'"),
    ];
    check_named(raw, &writes).await;
    allow(
        raw,
        "the owner's next epoch",
        &format!("update runs set state = 'running', {NEXT} where kind = 'owner'"),
    )
    .await;
}

#[tokio::test]
async fn a_raw_write_that_takes_an_answer_back_is_refused() {
    let schema = Arc::new(Schema::new().await);
    let (_world, first, _) = two_cards(&schema).await;
    let raw = &mut schema.raw().await;
    let turn = "a settled turn stays settled";
    let other =
        "update turns set run_id = (select id from runs where kind = 'worker') where run_id is not null";
    check_named(raw, &[(turn, other)]).await;
    let ask = "insert into asks (id, card_id, run_id, question, choices, offer, addressee, state, answer, answered_by_kind,
             answered_at, asked_at, delivered)
         select gen_random_uuid(), card_id, id, 'which way?', '[]', false, 'person', 'answered', 'left', 'system', 1, 1, true
         from runs where kind = 'owner'";
    allow(
        raw,
        "a turn that is settled",
        "update turns set state = 'settled' where state = 'leased'",
    )
    .await;
    allow(raw, "an answer that was delivered", ask).await;
    allow(raw, "a landing", &format!("{NEW_LANDING} where c.id = '{first}'")).await;
    allow(
        raw,
        "that is over",
        "update landings set state = 'refused', ended_at = 1",
    )
    .await;
    let answer = "an answer that was given stays";
    let landing = "a landing runs again only under a new epoch, and never once it is over";
    let writes = [
        (
            turn,
            "update turns set state = 'pending', run_id = null where state = 'settled'",
        ),
        (turn, "update turns set run_id = null where state = 'settled'"),
        (answer, "update asks set answer = 'right'"),
        (answer, "update asks set delivered = false"),
        (
            answer,
            "update asks set state = 'withdrawn', answer = null, answered_by_kind = null, answered_at = null",
        ),
        (landing, "update landings set state = 'running', ended_at = null"),
        (landing, "update landings set state = 'conflict'"),
    ];
    check_named(raw, &writes).await;
}
