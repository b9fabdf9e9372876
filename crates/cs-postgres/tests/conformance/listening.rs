//! Whoever writes is heard, and what cannot be heard is told.

use std::sync::Arc;
use std::time::Duration;

use cs_postgres::{Heard, Listener, Settings, Silence};
use cs_record::SendTo;
use sqlx::{AssertSqlSafe, Executor};
use tokio::sync::mpsc::{self, Receiver};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::acts::{new_card, send, take};
use crate::pooler::Pooler;
use crate::schema::Schema;

/// A listener that runs as long as this is there.
pub(crate) struct Ear {
    heard: Receiver<Heard>,
    _running: JoinSet<()>,
}

impl Ear {
    pub(crate) fn on(settings: Settings) -> Self {
        let (sender, heard) = mpsc::channel(16);
        let mut running = JoinSet::new();
        running.spawn(Listener::new(settings).run(sender));
        Self {
            heard,
            _running: running,
        }
    }

    pub(crate) async fn next(&mut self) -> Heard {
        let next = timeout(Duration::from_secs(20), self.heard.recv()).await;
        next.expect("something is heard in time")
            .expect("the listener runs")
    }

    /// Takes what has been heard, after everything that was written before.
    async fn count(&mut self, schema: &Schema) -> usize {
        // Notifications come in the order of the commits, so that this one is the last.
        let mut raw = schema.raw().await;
        raw.execute("select pg_notify(record_channel(), '')")
            .await
            .expect("it notifies");
        let mut count = 0;
        loop {
            match timeout(Duration::from_millis(500), self.heard.recv()).await {
                Ok(Some(Heard::Changed)) => count += 1,
                Ok(other) => panic!("{other:?}"),
                Err(_) => return count,
            }
        }
    }
}

#[tokio::test]
async fn a_turn_is_heard_and_a_claim_wakes_nobody() {
    let schema = Arc::new(Schema::new().await);
    let world = schema.world().await;
    let mut ear = Ear::on(schema.settings());
    assert!(matches!(ear.next().await, Heard::Live));
    let card = new_card(&world).await;
    assert!(matches!(ear.next().await, Heard::Changed));
    send(&world, SendTo::Card(card)).await;
    assert!(matches!(ear.next().await, Heard::Changed));
    assert_eq!(take(&world, 1).await.len(), 1);
    assert_eq!(
        ear.count(&schema).await,
        1,
        "only the last word of the test itself"
    );
}

#[tokio::test]
async fn another_record_on_the_same_server_is_not_heard() {
    let (mine, other) = (Schema::new().await, Arc::new(Schema::new().await));
    let mut ear = Ear::on(mine.settings());
    assert!(matches!(ear.next().await, Heard::Live));
    new_card(&other.world().await).await;
    assert_eq!(ear.count(&mine).await, 1, "only the last word of the test itself");
}

#[tokio::test]
async fn a_lost_connection_is_told_and_made_again() {
    let schema = Schema::new().await;
    let mut ear = Ear::on(schema.settings());
    assert!(matches!(ear.next().await, Heard::Live));
    let mut raw = schema.raw().await;
    let kill = format!(
        "select pg_terminate_backend(pid) from pg_stat_activity
         where application_name = '{}' and pid <> pg_backend_pid()",
        schema.name
    );
    raw.execute(AssertSqlSafe(kill)).await.expect("it is ended");
    let lost = ear.next().await;
    assert!(matches!(lost, Heard::Silent(Silence::Lost(_))), "{lost:?}");
    assert!(matches!(ear.next().await, Heard::Live));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_with_its_reason() {
    let nowhere = "postgres://ada:verysecret@127.0.0.1:1/panel?sslmode=disable";
    let mut ear = Ear::on(nowhere.parse().expect("the URL is good"));
    let Heard::Silent(silence) = ear.next().await else {
        panic!("nobody is there");
    };
    assert!(
        silence.to_string().contains("127.0.0.1:1 cannot be reached"),
        "{silence}"
    );
    assert!(!format!("{silence:?}").contains("verysecret"));
}

#[tokio::test]
async fn behind_a_transaction_pooler_the_record_works_and_the_listener_says_that_it_polls() {
    let schema = Arc::new(Schema::new().await);
    let pooler = Pooler::start(&schema).await;
    let mut ear = Ear::on(pooler.settings());
    let silent = ear.next().await;
    let Heard::Silent(silence @ Silence::NotDelivered) = silent else {
        panic!("{silent:?}");
    };
    assert!(silence.to_string().contains("transaction pooler"), "{silence}");
    let world = Arc::new(pooler.world().await);
    let mut busy = JoinSet::new();
    for _ in 0..6 {
        let world = Arc::clone(&world);
        busy.spawn(async move {
            for _ in 0..5 {
                new_card(&world).await;
            }
        });
    }
    busy.join_all().await;
    let mut taken = 0;
    for attempt in take(&world, 50).await {
        crate::acts::answer(&world, &attempt).await;
        taken += 1;
    }
    assert_eq!(taken, 30);
    world.check_readiness().await;
}
