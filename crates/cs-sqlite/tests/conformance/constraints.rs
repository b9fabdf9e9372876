//! What a write past the rules meets: the database holds every invariant by itself, and says which one was broken.

use sqlx::{AssertSqlSafe, SqliteConnection};

use crate::home::Home;

/// Two cards; the first has an owner at work that has sent a worker, the second a launcher at work. The second waits for the first.
const RECORD: &str = "
insert into codebases values ('engine', 'engine', 1);
insert into cards (id, title, state, person, codebase_id, agent, opening, priority, recovery, done, last_seq, ready_for,
    ready_from, usage_turns, usage_input_tokens, usage_output_tokens, usage_cost_microusd, created_at, updated_at, version)
values
    ('one', 'one', 'open', 'Ada', 'engine', 'mine', 'owner', 0, 0, 0, 1, 'nothing', 1, 0, 0, 0, 0, 1, 1, 1),
    ('two', 'two', 'open', 'Ada', null, 'mine', 'launcher', 0, 0, 0, 0, 'nothing', 1, 0, 0, 0, 0, 1, 1, 1);
insert into card_dependencies values ('two', 'one');
insert into turns values ('turn', 'one', 1, 'person', 'Ada', 'please', 'pending', null, 1);
insert into pauses values ('everything', 'drain', null, null, null, 'Ada', 1);
insert into limits values ('machine', 'here', 3, 'Ada', 1);
insert into parked_routes values ('here', 'mine', 'credit', 'no credit', 1, null);
insert into journal values ('operation', 'here', 'cancelled', 'null', 1);
insert into machines values ('here', 'here', 'Ada', 'boot', printf('%064d', 1), 1, 2, 0);
";

/// Inserts a run that is at work.
fn run(id: &str, card: &str, kind: &str, parent: &str) -> String {
    format!(
        "insert into runs (id, card_id, kind, parent_id, state, epoch, token, machine_id, agent, started_at, failures_in_row,
            tries, starts, settled, read_back, fresh)
         values ('{id}', '{card}', '{kind}', {parent}, 'running', 2, printf('%064d', 1), 'here', 'mine', 1, 0, 0, 1, 1, 0, 0);"
    )
}

async fn record(home: &Home) -> SqliteConnection {
    home.open().await.expect("it opens").close().await;
    let mut raw = home.raw(true).await;
    let runs = [
        run("owner", "one", "owner", "null"),
        run("worker", "one", "worker", "'owner'"),
        run("launcher", "two", "launcher", "null"),
    ];
    let texts = "insert into run_texts values ('worker', 0, 'do this part');
        insert into asks (id, card_id, run_id, question, choices, offer, addressee, state, asked_at, delivered)
        values ('ask', 'one', 'worker', 'which way?', '[]', 0, 'parent', 'open', 1, 0);
        insert into landings (id, card_id, codebase_id, state, epoch, machine_id, accepted_by, accepted_at)
        values ('landing', 'one', 'engine', 'accepted', 1, 'here', 'Ada', 1);";
    let sql = format!("{RECORD}{}{texts}", runs.concat());
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(&mut raw)
        .await
        .expect("a record that keeps the rules is accepted");
    raw
}

/// Checks that each write is refused, and by the constraint that is meant.
async fn check_refused(writes: &[(&str, &str)]) {
    let home = Home::new();
    let mut raw = record(&home).await;
    for (sql, constraint) in writes {
        check_raw(&mut raw, sql, constraint).await;
    }
}

async fn check_raw(raw: &mut SqliteConnection, sql: &str, constraint: &str) {
    let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(raw).await;
    let error = match done {
        Ok(done) => panic!("accepted: {sql} ({done:?})"),
        Err(error) => error.to_string(),
    };
    assert!(error.contains(constraint), "{sql}: {error}");
}

async fn allow(raw: &mut SqliteConnection, sql: &str) {
    let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(raw).await;
    done.expect("a write that keeps the rules is accepted");
}

const FOREIGN: &str = "FOREIGN KEY constraint failed";

#[tokio::test]
async fn a_card_keeps_its_bounds() {
    check_refused(&[
        ("update cards set state = 'lost'", "state in"),
        (
            "update cards set state = 'closed', ready_for = 'turns'",
            "state = 'open' or ready_for = 'nothing'",
        ),
        ("update cards set opening = 'worker'", "opening in"),
        ("update cards set priority = 101", "priority between"),
        ("update cards set priority = -101", "priority between"),
        ("update cards set recovery = 2", "recovery in"),
        ("update cards set done = 2", "done in"),
        ("update cards set codebase_id = 'nowhere'", FOREIGN),
        ("update cards set owner_id = 'nobody'", FOREIGN),
        (
            "insert into codebases values ('other', 'engine', 1)",
            "codebases.name",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_card_never_waits_for_itself() {
    let cycle = "a card cannot wait for itself";
    check_refused(&[
        ("insert into card_dependencies values ('one', 'one')", cycle),
        ("insert into card_dependencies values ('one', 'two')", cycle),
        (
            "insert into card_dependencies values ('two', 'one')",
            "UNIQUE constraint failed",
        ),
        (
            "update card_dependencies set after_id = 'two'",
            "a dependency is never changed",
        ),
        ("insert into card_dependencies values ('two', 'nothing')", FOREIGN),
        ("insert into card_dependencies values ('nothing', 'two')", FOREIGN),
    ])
    .await;
}

#[tokio::test]
async fn a_run_keeps_its_bounds() {
    check_refused(&[
        ("update runs set state = 'lost'", "state in"),
        ("update runs set epoch = 1", "epoch of a run only grows"),
        (
            "update runs set token = printf('%064d', 2)",
            "epoch of a run only grows",
        ),
        ("update runs set ended_at = 1", "ended_at is null"),
        ("update runs set pid = 7", "pid is null"),
        ("update runs set again_at = 7", "again_at is null"),
        ("update runs set codebase_id = 'nowhere'", FOREIGN),
        ("update runs set tries = -1", "tries >= 0"),
        ("update runs set starts = -1", "starts >= 0"),
        ("update runs set fresh = 2", "fresh in"),
        ("update runs set settled = 3", "settled between"),
        ("update runs set settled = -1", "what a run has settled"),
        ("update runs set given = 0 where id = 'worker'", "given >= 1"),
        ("update runs set given = 1 where id = 'owner'", "given is null"),
        (
            "update runs set read_back = 1 where id = 'worker'",
            "read_back = 0 or ended_at",
        ),
        (
            "update runs set read_back = 2, state = 'finished', ended_at = 1 where id = 'worker'",
            "read_back in",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_child_fits_its_parent() {
    let unfit = "a worker is sent by the owner of its card";
    let kept = "a run never changes its card, kind or parent";
    let writes = [
        (run("new", "one", "worker", "null"), "kind <> 'worker'"),
        (run("new", "one", "worker", "'worker'"), unfit),
        (run("new", "two", "worker", "'owner'"), unfit),
        (run("new", "two", "worker", "'launcher'"), unfit),
        (run("new", "two", "worker", "'nobody'"), unfit),
        (run("new", "two", "owner", "'owner'"), unfit),
        (run("new", "one", "owner", "'launcher'"), unfit),
        (run("new", "one", "launcher", "'owner'"), unfit),
        (run("new", "one", "issue", "'owner'"), unfit),
        (run("new", "one", "owner", "null"), "runs.card_id"),
        (run("new", "two", "launcher", "null"), "runs.card_id"),
        (run("new", "three", "owner", "null"), FOREIGN),
        (
            "update runs set kind = 'issue' where id = 'owner'".to_owned(),
            kept,
        ),
        (
            "update runs set card_id = 'two' where id = 'worker'".to_owned(),
            kept,
        ),
        (
            "update runs set parent_id = 'launcher' where id = 'worker'".to_owned(),
            kept,
        ),
    ];
    let writes: Vec<_> = writes.iter().map(|(sql, why)| (sql.as_str(), *why)).collect();
    check_refused(&writes).await;
    let home = Home::new();
    let mut raw = record(&home).await;
    for sql in [
        run("owner of two", "two", "owner", "'launcher'"),
        run("second worker", "one", "worker", "'owner'"),
    ] {
        let done = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut raw).await;
        done.expect("a child that fits is accepted");
    }
}

#[tokio::test]
async fn words_are_written_once_and_belong_to_something() {
    check_refused(&[
        (
            "update run_texts set body = 'do another part'",
            "a text of a run is written once",
        ),
        (
            "insert into run_texts values ('worker', 0, 'do another part')",
            "UNIQUE constraint failed",
        ),
        ("insert into run_texts values ('worker', -1, 'x')", "epoch >= 0"),
        ("insert into run_texts values ('nobody', 0, 'x')", FOREIGN),
        (
            "insert into turns values ('other', 'one', 1, 'system', null, 'x', 'settled', null, 1)",
            "turns.card_id, turns.seq",
        ),
        ("update turns set state = 'leased'", "state <> 'leased'"),
        ("update turns set run_id = 'owner'", "state <> 'pending'"),
        ("update turns set author = null", "author is null"),
        ("update asks set addressee = 'machine'", "addressee in"),
        ("update asks set state = 'answered'", "state = 'answered'"),
        ("update asks set choices = '{}'", "json_type"),
        ("update asks set run_id = 'nobody'", FOREIGN),
    ])
    .await;
}

#[tokio::test]
async fn a_landing_keeps_its_bounds() {
    let other = "insert into landings (id, card_id, codebase_id, state, epoch, token, machine_id, accepted_by, accepted_at)
        values ('other', 'two', 'engine', 'running', 1, printf('%064d', 1), 'here', 'Ada', 1);
        update landings set state = 'running', epoch = 2, token = printf('%064d', 2) where id = 'landing'";
    check_refused(&[
        ("update landings set epoch = 0", "epoch of a landing only grows"),
        (
            "update landings set token = printf('%064d', 2)",
            "epoch of a landing only grows",
        ),
        (
            "update landings set state = 'running', epoch = epoch + 1",
            "state <> 'running'",
        ),
        ("update landings set state = 'conflict'", "ended_at is null"),
        ("update landings set state = 'landed', ended_at = 1", "commit_id is not null"),
        (
            "insert into landings select 'other', card_id, codebase_id, ask_id, message, state, epoch, token, machine_id,
             accepted_by, accepted_at, commit_id, result, ended_at, base, method, evidence from landings",
            "landings.card_id",
        ),
        (other, "landings_one_of_base"),
    ])
    .await;
}

#[tokio::test]
async fn what_is_over_stays_over() {
    let again = "at work again only under a new epoch";
    let gone = "its attempt is over and its process proven gone";
    let settled = "what a run has settled, and that it was read back, stays";
    let turn = "a settled turn stays settled";
    let answer = "an answer that was given stays";
    let landing = "a landing runs again only under a new epoch";
    let next = "epoch = epoch + 1, token = printf('%064d', 9)";
    let home = Home::new();
    let mut raw = record(&home).await;
    check_raw(
        &mut raw,
        &format!("update runs set {next} where id = 'owner'"),
        gone,
    )
    .await;
    allow(
        &mut raw,
        "update runs set pid = 7, start_ticks = 7, boot_id = 'boot' where id = 'worker';
         update runs set state = 'asked' where id = 'owner';
         update runs set state = 'finished', ended_at = 1, given = 1, read_back = 1 where id = 'worker';
         update turns set state = 'leased', run_id = 'owner';
         update asks set state = 'answered', answer = 'left', answered_by_kind = 'person', answered_by = 'Ada', answered_at = 2;
         update landings set state = 'refused', ended_at = 2",
    )
    .await;
    let revived = format!("update runs set state = 'running', ended_at = null, {next} where id = 'worker'");
    let writes = [
        ("update runs set state = 'running' where id = 'owner'", again),
        (
            "update runs set state = 'running', ended_at = null where id = 'worker'",
            again,
        ),
        (revived.as_str(), gone),
        ("update runs set read_back = 0 where id = 'worker'", settled),
        ("update runs set settled = 0", settled),
        ("update turns set run_id = 'worker'", turn),
        ("update asks set answer = 'right'", answer),
        (
            "update asks set state = 'withdrawn', answer = null, answered_by_kind = null, answered_at = null",
            answer,
        ),
        ("update landings set state = 'running', ended_at = null", landing),
        ("update landings set state = 'conflict'", landing),
    ];
    for (sql, why) in writes {
        check_raw(&mut raw, sql, why).await;
    }
    allow(
        &mut raw,
        "update turns set state = 'settled'; update asks set delivered = 1",
    )
    .await;
    for (sql, why) in [
        ("update turns set state = 'pending', run_id = null", turn),
        ("update turns set run_id = 'worker'", turn),
        ("update asks set delivered = 0", answer),
    ] {
        check_raw(&mut raw, sql, why).await;
    }
    let lives = format!("update runs set state = 'running', {next} where id = 'owner'");
    allow(&mut raw, &lives).await;
}

#[tokio::test]
async fn what_limits_takes_is_one_row_a_scope() {
    check_refused(&[
        ("update pauses set kind = 'stop'", "kind in"),
        ("update pauses set machine_id = 'here'", "scope = case"),
        ("update pauses set codebase_id = 'engine'", "scope = case"),
        (
            "insert into pauses values ('machine:here', 'pause', 'here', 'engine', null, 'Ada', 1)",
            "codebase_id is null",
        ),
        (
            "insert into pauses values ('everything', 'pause', null, null, null, 'Ada', 1)",
            "pauses.scope",
        ),
        ("update limits set kind = 'everything'", "kind in"),
        ("update limits set most = -1", "most >= 0"),
        (
            "insert into limits values ('machine', 'here', 1, 'Ada', 1)",
            "UNIQUE constraint failed",
        ),
        (
            "insert into parked_routes values ('here', 'mine', 'agent', 'why', 1, 2)",
            "UNIQUE constraint failed",
        ),
        ("update machines set serves_everyone = 2", "serves_everyone in"),
        (
            "insert into journal values ('operation', 'here', 'cancelled', 'null', 1)",
            "journal.operation_id",
        ),
        ("update journal set result = 'nothing'", "json_valid"),
    ])
    .await;
}
