//! The ceiling: one hand-written statement for a take and one for a settlement, over the same rows.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use cs_model::{IdSource, MachineId};
use cs_testkit::SeededIds;
use cs_testkit::bench::Contender;
use sqlx::PgPool;
use uuid::Uuid;

/// What a hand-written take tells of an attempt.
pub(crate) struct Held {
    run: Uuid,
    epoch: i64,
    token: String,
}

/// Statements on a pool of their own, each of which is its own transaction.
pub(crate) struct Raw {
    pub(crate) pool: PgPool,
    pub(crate) machine: MachineId,
    pub(crate) agent: String,
    pub(crate) ids: Arc<SeededIds>,
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Raw(..)")
    }
}

#[async_trait]
impl Contender for Raw {
    type Held = Held;

    async fn take(&self, limit: u32) -> Vec<Held> {
        let taken: Vec<(Uuid, i64, String)> = sqlx::query_as(include_str!("take.sql"))
            .bind(self.ids.uuid_v7())
            .bind(self.machine.as_uuid())
            .bind([&self.agent].as_slice())
            .bind(i64::from(limit))
            .bind(format!("{:?}", self.ids.secret()))
            .fetch_all(&self.pool)
            .await
            .expect("the statement works");
        let held = |(run, epoch, token)| Held { run, epoch, token };
        taken.into_iter().map(held).collect()
    }

    async fn settle(&self, held: Held) {
        let (changed, _): (i64, Option<String>) = sqlx::query_as(include_str!("settle.sql"))
            .bind(held.run)
            .bind(held.epoch)
            .bind(held.token)
            .bind(self.ids.uuid_v7())
            .bind("done")
            .bind(0_i64)
            .fetch_one(&self.pool)
            .await
            .expect("the statement works");
        assert_eq!(changed, 1, "the attempt is the current one");
    }
}
