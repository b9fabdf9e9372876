//! The rows: a file with as many cards as are asked for, all made after the pattern of one.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use cs_model::{CardId, Clock};
use cs_sqlite::SqliteStore;
use cs_testkit::bench::{Desk, OverRecord, Stage, WallClock};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, SqliteConnection};
use tokio::sync::Mutex;

use crate::raw::Raw;

/// How far apart two cards are that become ready one after the other: it has no factor in common with a number of cards.
const STRIDE: usize = 7_919;

/// The id of the n-th card, run or turn, as SQL. They sort like the numbers, as ids do that were made one after the other.
fn id(kind: char, number: &str) -> String {
    format!("printf('019{kind}0000-0000-7000-8000-%012x', {number})")
}

/// A fresh id, as SQL.
const NEW_ID: &str = "'019d0000-' || lower(hex(randomblob(2))) || '-7000-8000-' || lower(hex(randomblob(6)))";

pub(crate) struct Rows {
    connection: Mutex<SqliteConnection>,
    cards: usize,
    next: AtomicUsize,
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rows({})", self.cards)
    }
}

/// Connects past the store, as the store does.
async fn connect(file: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .disable_statement_logging();
    options.connect().await.expect("the file is there")
}

/// Makes a file with a record of so many cards, on each of which one turn was answered.
pub(crate) async fn desk(file: &Path, cards: usize) -> Desk<SqliteStore, Raw> {
    let store = SqliteStore::open(file, Arc::new(WallClock))
        .await
        .expect("it opens");
    let (ours, pattern) = OverRecord::begin(store).await;
    let mut connection = connect(file).await;
    fill(&mut connection, pattern, cards).await;
    let raw = Raw {
        connection: Mutex::new(connect(file).await),
        machine: ours.machine(),
        agent: ours.agent().to_owned(),
        ids: Arc::clone(ours.ids()),
    };
    Desk {
        stage: Arc::new(Rows {
            connection: Mutex::new(connection),
            cards,
            next: AtomicUsize::new(0),
        }),
        ours: Arc::new(ours),
        raw: Arc::new(raw),
    }
}

/// Copies the pattern: all columns as they are, but for the ids.
async fn fill(connection: &mut SqliteConnection, pattern: CardId, cards: usize) {
    let (card, run) = (id('a', "n"), id('b', "n"));
    let author = format!("case when t.author_kind = 'agent' then {run} else t.author end");
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
    // Cards and runs refer to each other, and a million checks of what is copied say nothing.
    connection
        .execute("pragma foreign_keys = off")
        .await
        .expect("it can be set");
    let mut tx = connection.begin().await.expect("nobody else writes");
    for (table, key, other) in copies {
        let columns: Vec<String> = sqlx::query_scalar("select name from pragma_table_info(?1) order by cid")
            .bind(table)
            .fetch_all(&mut *tx)
            .await
            .expect("the table is there");
        let value = |column: &String| {
            let found = other.iter().find(|(name, _)| name == column);
            found.map_or_else(|| format!("t.{column}"), |(_, value)| (*value).clone())
        };
        let (names, values): (Vec<_>, Vec<_>) = columns
            .iter()
            .map(|column| (column.as_str(), value(column)))
            .unzip();
        let copy = format!(
            "with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < {cards})
             insert into {table} ({}) select {}
             from numbers join (select * from {table} where {key} = '{pattern}') t",
            names.join(", "),
            values.join(", ")
        );
        tx.execute(AssertSqlSafe(copy)).await.expect("it can be copied");
    }
    tx.commit().await.expect("nobody else writes");
    connection
        .execute("pragma wal_checkpoint(truncate); pragma foreign_keys = on")
        .await
        .expect("nobody reads");
}

#[async_trait]
impl Stage for Rows {
    async fn make_ready(&self, cards: usize) {
        let from = self.next.fetch_add(cards, Ordering::Relaxed);
        let number = |place| (from + place) * STRIDE % self.cards + 1;
        let numbers: Vec<usize> = (0..cards).map(number).collect();
        let ids = format!(
            "select {} from json_each('{}')",
            id('a', "value"),
            serde_json::to_string(&numbers).expect("numbers are JSON")
        );
        let now = WallClock.now().unix_micros();
        let ready = format!(
            "begin immediate;
             update cards set last_seq = last_seq + 1, ready_for = 'turns', ready_from = {now}, version = version + 1
             where id in ({ids});
             insert into turns (id, card_id, seq, author_kind, author, body, state, said_at)
             select {NEW_ID}, id, last_seq, 'person', 'Ada', 'please', 'pending', {now}
             from cards where id in ({ids});
             commit"
        );
        let mut connection = self.connection.lock().await;
        sqlx::raw_sql(AssertSqlSafe(ready))
            .execute(&mut *connection)
            .await
            .expect("turns can be put on cards");
    }

    async fn settle_all(&self) {
        let settle = "
            begin immediate;
            update turns set state = 'settled' where state = 'leased' and state in ('pending', 'leased');
            update runs set state = 'finished', ended_at = resumed_at where state = 'running' and (pid is not null or state = 'running');
            commit";
        let mut connection = self.connection.lock().await;
        sqlx::raw_sql(settle)
            .execute(&mut *connection)
            .await
            .expect("attempts can be settled");
    }
}
