//! What a write past the rules meets: the database holds every invariant by itself.

use std::sync::Arc;

use cs_journal::Task;
use cs_model::CardId;
use cs_testkit::laws::World;
use sqlx::{AssertSqlSafe, PgConnection};

use crate::acts::{child, claim, new_card, take};
use crate::schema::Schema;

async fn check_refused(raw: &mut PgConnection, what: &str, sql: &str) {
    let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(raw).await;
    let error = done.expect_err(what);
    let code = error.as_database_error().and_then(|error| error.code());
    let code = code.unwrap_or_default().into_owned();
    assert!(code.starts_with("23"), "{what}: {error} ({code})");
}

async fn check_all_refused(raw: &mut PgConnection, writes: &[(&str, &str)]) {
    for (what, sql) in writes {
        check_refused(raw, what, sql).await;
    }
}

pub(crate) async fn allow(raw: &mut PgConnection, what: &str, sql: &str) {
    let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(raw).await;
    done.expect(what);
}

/// A record with a card whose owner runs and has sent a worker, and a card that nobody has begun.
pub(crate) async fn two_cards(schema: &Arc<Schema>) -> (World, CardId, CardId) {
    let world = schema.world().await;
    let first = new_card(&world).await;
    let parent = take(&world, 1).await.remove(0);
    assert_eq!(claim(&world, Task::Child(child(parent)), 1).await.len(), 1);
    let second = new_card(&world).await;
    (world, first, second)
}

#[tokio::test]
async fn a_raw_write_to_cards_and_turns_that_breaks_an_invariant_is_refused() {
    let schema = Arc::new(Schema::new().await);
    let _world = two_cards(&schema).await;
    let writes = [
        (
            "a stopped card that is ready",
            "update cards set state = 'stopped', ready_for = 'turns'",
        ),
        (
            "a card of an unknown codebase",
            "update cards set codebase_id = gen_random_uuid()",
        ),
        (
            "an owner that is not there",
            "update cards set owner_id = gen_random_uuid()",
        ),
        ("an unknown opening", "update cards set opening = 'worker'"),
        ("too high a priority", "update cards set priority = 101"),
        ("too low a priority", "update cards set priority = -101"),
        (
            "a turn that nobody has",
            "update turns set state = 'leased', run_id = null",
        ),
        (
            "two turns in one place",
            "insert into turns select gen_random_uuid(), card_id, seq, author_kind, author, body, state, run_id, said_at from turns",
        ),
        ("an operation twice", "insert into journal select * from journal"),
        (
            "a second version row",
            "insert into cs_panel_version values (false, 1, 1, 1)",
        ),
        (
            "a question to nobody",
            "insert into asks (id, card_id, run_id, question, choices, offer, addressee, state, asked_at, delivered)
             select gen_random_uuid(), card_id, id, 'which way?', '[]', false, 'machine', 'open', 1, false from runs",
        ),
    ];
    check_all_refused(&mut schema.raw().await, &writes).await;
}

/// Inserts a run like another one, with these values in the place of its own.
fn like(kind: &str, changes: &str) -> String {
    format!(
        "insert into runs select n.* from runs r,
         lateral jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), {changes})) n where r.kind = '{kind}'"
    )
}

#[tokio::test]
async fn a_raw_write_to_runs_that_breaks_an_invariant_is_refused() {
    let schema = Arc::new(Schema::new().await);
    let _world = two_cards(&schema).await;
    let raw = &mut schema.raw().await;
    let writes = [
        ("an epoch that shrinks", "update runs set epoch = 0"),
        (
            "two tokens of an epoch",
            "update runs set token = repeat('b', 64)",
        ),
        ("a live run that has ended", "update runs set ended_at = 1"),
        ("an unknown state", "update runs set state = 'lost'"),
        ("half a process", "update runs set pid = 7"),
        ("a retry of a running run", "update runs set again_at = 7"),
        (
            "a run without a card",
            "update runs set card_id = gen_random_uuid()",
        ),
        (
            "a run of an unknown codebase",
            "update runs set codebase_id = gen_random_uuid()",
        ),
        ("fewer than no tries", "update runs set tries = -1"),
        ("fewer than no starts", "update runs set starts = -1"),
        (
            "a settlement that is to come",
            "update runs set settled = epoch + 1",
        ),
        (
            "a parent that reads itself back",
            "update runs set given = 1 where kind = 'owner'",
        ),
        (
            "a live child that was read back",
            "update runs set read_back = true where kind = 'worker'",
        ),
        (
            "a run that becomes another one's child",
            "update runs set parent_id = id where kind = 'owner'",
        ),
        (
            "a run that changes its kind",
            "update runs set kind = 'issue' where kind = 'owner'",
        ),
    ];
    check_all_refused(raw, &writes).await;
    check_refused(raw, "two live owners of a card", &like("owner", "'starts', 1")).await;
    let ended = like("owner", "'state', 'finished', 'ended_at', 1");
    check_refused(raw, "a second owner of a card, which has ended", &ended).await;
}

#[tokio::test]
async fn a_raw_child_that_does_not_fit_its_parent_is_refused() {
    let schema = Arc::new(Schema::new().await);
    let (_world, _, second) = two_cards(&schema).await;
    let raw = &mut schema.raw().await;
    let ended = "'state', 'finished', 'ended_at', 1";
    for (what, kind, changes) in [
        (
            "a worker without a parent",
            "worker",
            "'parent_id', null".to_owned(),
        ),
        (
            "a worker of nobody",
            "worker",
            "'parent_id', gen_random_uuid()".to_owned(),
        ),
        ("a worker of a worker", "worker", "'parent_id', r.id".to_owned()),
        (
            "an owner of an owner",
            "owner",
            format!("'parent_id', r.id, {ended}"),
        ),
        (
            "a launcher of an owner",
            "owner",
            format!("'parent_id', r.id, 'kind', 'launcher', {ended}"),
        ),
        (
            "an issue of an owner",
            "owner",
            format!("'parent_id', r.id, 'kind', 'issue', {ended}"),
        ),
        (
            "a worker on another card",
            "worker",
            format!("'card_id', '{second}'"),
        ),
    ] {
        check_refused(raw, what, &like(kind, &changes)).await;
    }
    allow(raw, "another worker", &like("worker", "'starts', 1")).await;
}

#[tokio::test]
async fn a_raw_write_to_texts_that_breaks_an_invariant_is_refused() {
    let schema = Arc::new(Schema::new().await);
    let _world = two_cards(&schema).await;
    let writes = [
        ("another brief", "update run_texts set body = 'other'"),
        ("no brief", "delete from run_texts"),
        ("a brief twice", "insert into run_texts select * from run_texts"),
        (
            "a text of nobody",
            "insert into run_texts values (gen_random_uuid(), 0, 'lost')",
        ),
        (
            "a text before the first",
            "insert into run_texts select id, -1, 'early' from runs",
        ),
    ];
    check_all_refused(&mut schema.raw().await, &writes).await;
}

#[tokio::test]
async fn a_raw_card_that_waits_for_itself_is_refused() {
    let schema = Arc::new(Schema::new().await);
    let (world, first, second) = two_cards(&schema).await;
    let third = new_card(&world).await;
    let raw = &mut schema.raw().await;
    let wait = |card: CardId, after: CardId| {
        format!("insert into card_dependencies (card_id, after_id) values ('{card}', '{after}')")
    };
    check_refused(raw, "a card that waits for itself", &wait(first, first)).await;
    allow(raw, "one may wait for another", &wait(second, first)).await;
    allow(raw, "and that one for a third", &wait(first, third)).await;
    check_refused(raw, "the same wait twice", &wait(second, first)).await;
    check_refused(raw, "a card that waits for itself at once", &wait(first, second)).await;
    check_refused(
        raw,
        "a card that waits for itself over others",
        &wait(third, second),
    )
    .await;
    let unknown = format!("insert into card_dependencies values ('{first}', gen_random_uuid())");
    check_refused(raw, "a wait for a card that is not there", &unknown).await;
}

#[tokio::test]
async fn a_raw_write_to_limits_that_breaks_an_invariant_is_refused() {
    let schema = Arc::new(Schema::new().await);
    let _world = two_cards(&schema).await;
    let raw = &mut schema.raw().await;
    allow(
        raw,
        "a limit",
        "insert into limits values ('machine', gen_random_uuid(), 0, 'Ada', 1)",
    )
    .await;
    let writes = [
        (
            "a limit of everything",
            "insert into limits values ('everything', gen_random_uuid(), 1, 'Ada', 1)",
        ),
        ("fewer than none", "update limits set most = -1"),
        ("more than a number holds", "update limits set most = 4294967296"),
        ("a limit twice", "insert into limits select * from limits"),
        (
            "an unknown kind of pause",
            "insert into pauses values ('everything', null, null, 'break', null, 'Ada', 1)",
        ),
        (
            "a pause of nothing",
            "insert into pauses values ('machine', null, null, 'pause', null, 'Ada', 1)",
        ),
        (
            "a pause of everything on one machine",
            "insert into pauses values ('everything', gen_random_uuid(), null, 'pause', null, 'Ada', 1)",
        ),
        (
            "a pause under the name of another",
            "insert into pauses values ('codebase ' || gen_random_uuid(), null, gen_random_uuid(), 'pause', null, 'Ada', 1)",
        ),
        (
            "a route that is parked for no reason",
            "insert into parked_routes values (gen_random_uuid(), 'mine', 'credit', null, 1, null)",
        ),
    ];
    check_all_refused(raw, &writes).await;
}

pub(crate) const NEW_LANDING: &str = "insert into landings (id, card_id, codebase_id, state, epoch, token, machine_id, accepted_by, accepted_at)
    select gen_random_uuid(), c.id, c.codebase_id, 'running', 1, repeat('a', 64), gen_random_uuid(), 'Ada', 1 from cards c";

#[tokio::test]
async fn a_raw_write_to_landings_that_breaks_an_invariant_is_refused() {
    let schema = Arc::new(Schema::new().await);
    let (_world, first, second) = two_cards(&schema).await;
    let raw = &mut schema.raw().await;
    let one = format!("{NEW_LANDING} where c.id = '{first}'");
    allow(raw, "one landing may run", &one).await;
    check_refused(raw, "two landings of a card", &one).await;
    let other = format!("{NEW_LANDING} where c.id = '{second}'");
    check_refused(raw, "two landings on a base of a codebase", &other).await;
    let writes = [
        ("a landing's epoch that shrinks", "update landings set epoch = 0"),
        (
            "a landing's second token",
            "update landings set token = repeat('b', 64)",
        ),
        (
            "a landed one without a commit",
            "update landings set state = 'landed', ended_at = 1",
        ),
    ];
    check_all_refused(raw, &writes).await;
}
