//! The ceiling: hand-written statements, as few as SQLite allows, over the same rows. All clients share one connection, since
//! SQLite has one writer and its busy handler is unfair.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use cs_model::{Clock, IdSource, MachineId};
use cs_testkit::SeededIds;
use cs_testkit::bench::{Contender, WallClock};
use sqlx::{Connection, SqliteConnection};
use tokio::sync::Mutex;

/// What a hand-written take tells of an attempt.
pub(crate) struct Held {
    run: String,
    epoch: i64,
    token: String,
}

/// What the receipt of a take says of a run.
#[derive(sqlx::FromRow)]
struct Begun {
    id: String,
    epoch: i64,
    token: String,
    card_id: String,
    codebase_id: Option<String>,
    started_at: i64,
    fresh: bool,
}

/// Statements on a connection of their own.
pub(crate) struct Raw {
    pub(crate) connection: Mutex<SqliteConnection>,
    pub(crate) machine: MachineId,
    pub(crate) agent: String,
    pub(crate) ids: Arc<SeededIds>,
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Raw(..)")
    }
}

impl Raw {
    async fn try_take(&self, limit: u32) -> Result<Vec<Held>, sqlx::Error> {
        let now = WallClock.now().unix_micros();
        let machine = self.machine.to_string();
        let mut connection = self.connection.lock().await;
        let mut tx = connection.begin_with("begin immediate").await?;
        let picked: Vec<(String, String)> = sqlx::query_as(include_str!("take_cards.sql"))
            .bind(now)
            .bind(&machine)
            .bind(&self.agent)
            .bind(limit)
            .fetch_all(&mut *tx)
            .await?;
        if picked.is_empty() {
            tx.rollback().await?;
            return Ok(Vec::new());
        }
        let (cards, runs): (Vec<_>, Vec<_>) = picked.into_iter().unzip();
        let begun: Vec<Begun> = sqlx::query_as(include_str!("take_runs.sql"))
            .bind(now)
            .bind(&machine)
            .bind(array(&runs))
            .bind(&self.agent)
            .fetch_all(&mut *tx)
            .await?;
        let leased: Vec<(String,)> = sqlx::query_as(include_str!("take_turns.sql"))
            .bind(array(&cards))
            .fetch_all(&mut *tx)
            .await?;
        sqlx::query("insert into journal (operation_id, machine_id, kind, result, at) values (?1, ?2, 'take_turns', ?3, ?4)")
            .bind(self.ids.uuid_v7().to_string())
            .bind(&machine)
            .bind(receipt(&begun, &leased, (&self.agent, now)))
            .bind(now)
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        let held = |Begun { id, epoch, token, .. }| Held {
            run: id,
            epoch,
            token,
        };
        Ok(begun.into_iter().map(held).collect())
    }

    async fn try_settle(&self, held: &Held) -> Result<u64, sqlx::Error> {
        let now = WallClock.now().unix_micros();
        let mut connection = self.connection.lock().await;
        let mut tx = connection.begin_with("begin immediate").await?;
        let (card, machine, agent, began_at): (String, String, String, i64) =
            sqlx::query_as(include_str!("settle_run.sql"))
                .bind(&held.run)
                .bind(held.epoch)
                .bind(&held.token)
                .bind(now)
                .fetch_one(&mut *tx)
                .await?;
        sqlx::query(include_str!("settle_turns.sql"))
            .bind(&card)
            .bind(&held.run)
            .execute(&mut *tx)
            .await?;
        sqlx::query(include_str!("settle_given.sql"))
            .bind(&card)
            .bind(&held.run)
            .bind(held.epoch)
            .bind(&machine)
            .bind(&agent)
            .bind(began_at)
            .execute(&mut *tx)
            .await?;
        let (seq,): (i64,) = sqlx::query_as(include_str!("settle_card.sql"))
            .bind(&card)
            .bind(now)
            .bind(&held.run)
            .fetch_one(&mut *tx)
            .await?;
        let said = sqlx::query(
            "insert into turns (id, card_id, seq, author_kind, author, body, state, run_id, said_at)
             values (?1, ?2, ?3, 'agent', ?4, 'done', 'settled', ?4, ?5)",
        )
        .bind(self.ids.uuid_v7().to_string())
        .bind(&card)
        .bind(seq)
        .bind(&held.run)
        .bind(now)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(said.rows_affected())
    }
}

fn array(ids: &[String]) -> String {
    serde_json::to_string(ids).expect("texts are JSON")
}

/// What a journal row must say, so that the claim can be repeated.
fn receipt(begun: &[Begun], leased: &[(String,)], (agent, now): (&str, i64)) -> String {
    let runs: Vec<_> = begun
        .iter()
        .zip(leased)
        .map(|(run, (turn,))| {
            serde_json::json!({
                "run": run.id, "card": run.card_id, "kind": "owner", "epoch": run.epoch, "started_at": run.started_at,
                "resumed_at": now, "agent": agent, "codebase": run.codebase_id, "fresh": run.fresh, "turn": turn,
            })
        })
        .collect();
    serde_json::to_string(&runs).expect("texts are JSON")
}

#[async_trait]
impl Contender for Raw {
    type Held = Held;

    async fn take(&self, limit: u32) -> Vec<Held> {
        self.try_take(limit).await.expect("the statements work")
    }

    async fn settle(&self, held: Held) {
        let said = self
            .try_settle(&held)
            .await
            .expect("the attempt is the current one");
        assert_eq!(said, 1, "the answer is there");
    }
}
