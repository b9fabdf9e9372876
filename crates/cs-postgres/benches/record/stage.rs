//! The rows: a schema with as many cards as are asked for, all made after the pattern of one.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use cs_model::CardId;
use cs_postgres::{PostgresStore, Settings, migrate};
use cs_testkit::bench::{Desk, OverRecord, Stage};
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, Executor, PgPool};

use crate::raw::Raw;

/// How far apart two cards are that become ready one after the other: it has no factor in common with a number of cards.
const STRIDE: usize = 7_919;

/// The id of the n-th card, run or turn, as SQL. They sort like the numbers, as ids do that were made one after the other.
fn id(kind: char, number: &str) -> String {
    format!("('019{kind}0000-0000-7000-8000-' || lpad(to_hex({number}), 12, '0'))::uuid")
}

pub(crate) struct Rows {
    pool: PgPool,
    cards: usize,
    next: AtomicUsize,
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rows({})", self.cards)
    }
}

/// Makes a schema with a record of so many cards, on each of which one turn was answered.
pub(crate) async fn desk(server: &str, name: &str, cards: usize) -> Desk<PostgresStore, Raw> {
    let plain = PgPool::connect(server).await.expect("the server answers");
    let make = format!("create schema {name}");
    plain
        .execute(AssertSqlSafe(make))
        .await
        .expect("a schema can be made");
    let url = format!("{server}&options=-c%20search_path%3D{name}");
    let settings: Settings = url.parse().expect("the URL is good");
    migrate(&settings).await.expect("an empty schema can be migrated");
    let store = PostgresStore::open(&settings).await.expect("it opens");
    let (ours, pattern) = OverRecord::begin(store).await;
    let pool = PgPoolOptions::new()
        .max_connections(4)
        .test_before_acquire(false)
        .connect(&url)
        .await
        .expect("the server answers");
    fill(&pool, pattern, cards).await;
    let raw = Raw {
        pool: pool.clone(),
        machine: ours.machine(),
        agent: ours.agent().to_owned(),
        ids: Arc::clone(ours.ids()),
    };
    Desk {
        stage: Arc::new(Rows {
            pool,
            cards,
            next: AtomicUsize::new(0),
        }),
        ours: Arc::new(ours),
        raw: Arc::new(raw),
    }
}

/// Copies the pattern: all columns as they are, but for the ids.
async fn fill(pool: &PgPool, pattern: CardId, cards: usize) {
    let (card, run) = (id('a', "n"), id('b', "n"));
    let author = format!("case when t.author_kind = 'agent' then {run}::text else t.author end");
    let held = format!("case when t.run_id is null then null else {run} end");
    let turn = id('c', "n * 2 + t.seq");
    let copies = [
        ("cards", "id", vec![("id", &card), ("owner_id", &run)]),
        ("runs", "card_id", vec![("id", &run), ("card_id", &card)]),
        (
            "turns",
            "card_id",
            vec![
                ("id", &turn),
                ("card_id", &card),
                ("author", &author),
                ("run_id", &held),
            ],
        ),
    ];
    let mut tx = pool.begin().await.expect("the server answers");
    // Cards and runs refer to each other, and a million checks of what is copied say nothing.
    tx.execute("set local session_replication_role = replica")
        .await
        .expect("the server is ours");
    for (table, key, other) in copies {
        let columns: Vec<String> = sqlx::query_scalar(
            "select column_name::text from information_schema.columns
             where table_schema = current_schema() and table_name = $1 order by ordinal_position",
        )
        .bind(table)
        .fetch_all(&mut *tx)
        .await
        .expect("the server answers");
        let value = |column: &String| {
            let found = other.iter().find(|(name, _)| name == column);
            found.map_or_else(|| format!("t.{column}"), |(_, value)| (*value).clone())
        };
        let (names, values): (Vec<_>, Vec<_>) = columns
            .iter()
            .map(|column| (column.as_str(), value(column)))
            .unzip();
        let copy = format!(
            "insert into {table} ({}) select {} from {table} t, generate_series(1, {cards}) n where t.{key} = '{pattern}'",
            names.join(", "),
            values.join(", ")
        );
        tx.execute(AssertSqlSafe(copy)).await.expect("it can be copied");
    }
    tx.commit().await.expect("the server answers");
    // What autovacuum does in its time.
    for table in ["cards", "runs", "turns", "journal"] {
        pool.execute(AssertSqlSafe(format!("vacuum (analyze) {table}")))
            .await
            .expect("it can be vacuumed");
    }
    pool.execute("checkpoint").await.expect("the server is ours");
}

#[async_trait]
impl Stage for Rows {
    async fn make_ready(&self, cards: usize) {
        let from = self.next.fetch_add(cards, Ordering::Relaxed);
        let number = |place| i64::try_from((from + place) * STRIDE % self.cards + 1).expect("it is small");
        let numbers: Vec<i64> = (0..cards).map(number).collect();
        let ready = format!(
            "with ready as (
                 update cards c set last_seq = c.last_seq + 1, ready_for = 'turns', ready_from = record_now(),
                     version = c.version + 1
                 from unnest($1::bigint[]) n where c.id = {} returning c.id, c.last_seq, c.ready_from
             )
             insert into turns (id, card_id, seq, author_kind, author, body, state, said_at)
             select gen_random_uuid(), id, last_seq, 'person', 'Ada', 'please', 'pending', ready_from from ready",
            id('a', "n")
        );
        let done = sqlx::query(AssertSqlSafe(ready))
            .bind(numbers)
            .execute(&self.pool);
        let done = done.await.expect("turns can be put on cards");
        assert_eq!(
            usize::try_from(done.rows_affected()),
            Ok(cards),
            "the cards are there"
        );
    }

    async fn settle_all(&self) {
        let settle = "
            with over as (
                update runs set state = 'finished', ended_at = record_now() where state = 'running' returning id, card_id
            )
            update turns t set state = 'settled' from over
            where t.card_id = over.card_id and t.run_id = over.id and t.state in ('pending', 'leased')";
        self.pool.execute(settle).await.expect("attempts can be settled");
    }
}
