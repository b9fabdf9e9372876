//! What the compiler does not check of the statements (docs/adr/0004).

use std::path::Path;

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row, SqlSafeStr, Statement};

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

/// The tables that grow for ever.
const GROWING: &str =
    "'cards', 'runs', 'turns', 'asks', 'landings', 'journal', 'run_texts', 'card_dependencies', 'events'";

/// Many cards, each with one row of every kind that is over; of every ten one is ready. They wait for the first, which is done.
/// The tables are named to `analyze`: of all it would lock those of the other tests too, each until the last is done, and
/// a schema that is dropped meanwhile and it would wait for each other.
const MANY: &str = "
    set session_replication_role = replica;
    insert into cards (
        id, title, state, person, agent, opening, priority, recovery, done, last_seq, ready_for, ready_from, usage_turns,
        usage_input_tokens, usage_output_tokens, usage_cost_microusd, created_at, updated_at, version)
    select lpad(to_hex(n), 32, '0')::uuid, 'one of many', 'open', 'Ada', 'mine', 'owner', 0, false, n % 10 <> 0, 1,
        case when n % 10 = 0 then 'turns' else 'nothing' end, 1, 0, 0, 0, 0, 1, 1, 1
    from generate_series(1, 5000) n;
    insert into card_dependencies select id, lpad('1', 32, '0')::uuid from cards where id <> lpad('1', 32, '0')::uuid;
    insert into runs (
        id, card_id, kind, state, epoch, token, machine_id, agent, started_at, ended_at, failures_in_row, tries, starts,
        settled, read_back, fresh)
    select id, id, 'owner', 'finished', 1, repeat('a', 64), gen_random_uuid(), 'mine', 1, 1, 0, 0, 0, 1, false, false
    from cards;
    insert into turns select id, id, 1, 'person', 'Ada', 'please', 'settled', id, 1 from cards;
    insert into run_texts select id, 0, 'a part' from runs;
    insert into asks (
        id, card_id, run_id, question, choices, offer, addressee, state, answer, answered_by_kind, asked_at, answered_at,
        delivered)
    select id, id, id, 'which way?', '[]', false, 'person', 'answered', 'left', 'system', 1, 1, true from cards;
    insert into codebases values (lpad('1', 32, '0')::uuid, 'engine', 1);
    insert into landings (
        id, card_id, codebase_id, state, epoch, machine_id, accepted_by, accepted_at, commit_id, ended_at)
    select c.id, c.id, b.id, 'landed', 1, gen_random_uuid(), 'Ada', 1, '0123abcd', 1 from cards c, codebases b;
    insert into events (era, xid, card_id, at, kind, details) select 0, '3', id, 1, 'gone', 'null' from cards;
    insert into journal select id, machine_id, 'take_turns', '{\"runs\":[],\"landings\":[]}', started_at from runs;
    update cards set owner_id = id;
    set session_replication_role = origin;
    analyze cards, card_dependencies, runs, turns, run_texts, asks, codebases, landings, journal, events";

/// A call of each function that locks, for a machine that has nothing yet.
const LOCKS: [&str; 7] = [
    "select lock_ready(9, gen_random_uuid(), gen_random_uuid(), 'turns', '{mine}', 10)",
    "select lock_ready(9, gen_random_uuid(), gen_random_uuid(), 'recovery', '{mine}', 10)",
    "select lock_landings(9, gen_random_uuid(), gen_random_uuid(), 10)",
    "select lock_start(9, null, gen_random_uuid(), lpad('7', 32, '0')::uuid)",
    "select lock_send(9, null, null, lpad('7', 32, '0')::uuid, gen_random_uuid(), array[lpad('8', 32, '0')::uuid])",
    "select lock_cards_of(9, null, null, 'runs', array[lpad('7', 32, '0')::uuid])",
    "select lock_cards(9, null, null, array[lpad('7', 32, '0')::uuid], '{}')",
];

/// What this session has read of the growing tables: rows from end to end, and by index.
async fn counted(raw: &mut PgConnection) -> Vec<(String, i64, i64)> {
    let ask = format!(
        "select relname::text, seq_tup_read, idx_tup_fetch from pg_stat_xact_user_tables
         where schemaname = current_schema() and relname in ({GROWING}) order by relname"
    );
    let found = sqlx::query_as(AssertSqlSafe(ask)).fetch_all(raw).await;
    found.expect("the server counts")
}

/// Runs something once in a transaction, and returns what it read.
async fn reads(raw: &mut PgConnection, sql: &str) -> Vec<(String, i64, i64)> {
    let mut tx = raw.begin().await.expect("it begins");
    let before = counted(&mut tx).await;
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
        .execute(&mut *tx)
        .await
        .expect("it runs");
    let after = counted(&mut tx).await;
    let pairs = before.into_iter().zip(after);
    pairs
        .map(|(before, after)| (after.0, after.1 - before.1, after.2 - before.2))
        .collect()
}

#[tokio::test]
async fn a_lock_reads_no_more_than_it_locks() {
    let schema = Schema::new().await;
    let mut raw = schema.raw().await;
    sqlx::raw_sql(MANY).execute(&mut raw).await.expect("it writes");
    sqlx::raw_sql("set plan_cache_mode = force_generic_plan")
        .execute(&mut raw)
        .await
        .expect("it is set");
    for lock in LOCKS {
        let found = reads(&mut raw, lock).await;
        assert_eq!(found.len(), 9, "{lock}");
        for (table, whole, by_index) in found {
            assert_eq!(whole, 0, "{lock} reads {table} from end to end");
            assert!(by_index < 100, "{lock} reads {by_index} rows of {table}");
        }
    }
    let control = reads(&mut raw, "select count(*) from cards where title = 'x'").await;
    let read: i64 = control.iter().map(|(_, whole, _)| whole).sum();
    assert_eq!(read, 5000, "the counter counts");
}

/// Those that run often beside the parts of a write, and read or write what they name.
const OFTEN: [&str; 9] = [
    "last_event",
    "read_events",
    "read_events_of_card",
    "read_card",
    "read_run",
    "read_run_brief",
    "read_turns",
    "read_landing_brief",
    "list_machine_runs",
];

#[tokio::test]
async fn what_runs_often_scans_no_table_that_grows() {
    let schema = Schema::new().await;
    let mut raw = schema.raw().await;
    sqlx::raw_sql(MANY).execute(&mut raw).await.expect("it writes");
    let often = statements()
        .into_iter()
        .filter(|(name, _)| OFTEN.contains(&name.as_str()) || name.starts_with("write_"));
    for (name, sql) in often {
        let parameters = match raw.prepare(AssertSqlSafe(sql.clone()).into_sql_str()).await {
            Ok(prepared) => prepared
                .parameters()
                .map_or(0, |found| found.left().map_or(0, <[_]>::len)),
            Err(error) => panic!("{name}: {error}"),
        };
        let nulls = match parameters {
            0 => String::new(),
            some => format!("({})", vec!["null"; some].join(", ")),
        };
        let plan = format!(
            "set plan_cache_mode = force_generic_plan; prepare often as {sql}; explain execute often {nulls}"
        );
        let rows = sqlx::raw_sql(AssertSqlSafe(plan)).fetch_all(&mut raw).await;
        let lines: Vec<String> = rows
            .expect("it is planned")
            .iter()
            .map(|row| row.get::<String, _>(0))
            .collect();
        assert!(!lines.is_empty());
        for table in GROWING.split(", ").map(|table| table.trim_matches('\'')) {
            let scan = format!("Seq Scan on {table} ");
            assert!(
                !lines.iter().any(|line| line.contains(&scan)),
                "{name}: {lines:#?}"
            );
        }
        raw.execute("deallocate often").await.expect("it is forgotten");
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
