//! A turn that comes while its card is being settled is never stranded: the reason why a lock loads after it has waited. The same
//! check catches a statement that locks and reads at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cs_model::CardId;
use cs_record::SendTo;
use cs_testkit::laws::World;
use sqlx::{AssertSqlSafe, PgConnection};
use tokio::task::JoinSet;

use crate::acts::{answer, new_card, send, take};
use crate::schema::Schema;

/// The race goes on until it was looked at this often, and as many claims were settled meanwhile.
const SAMPLES: usize = 400;
const TAKES: usize = 200;

/// Cards with a turn that nobody has and nobody will take: always one snapshot of what is committed.
const STRANDED: &str = "
    select count(*) from cards c
    where c.ready_for = 'nothing' and c.state = 'open'
      and exists (select 1 from turns t where t.card_id = c.id and t.state = 'pending')
      and not exists (select 1 from runs r where r.card_id = c.id and r.state = 'running')";

async fn stranded(raw: &mut PgConnection) -> i64 {
    sqlx::query_scalar(STRANDED)
        .fetch_one(raw)
        .await
        .expect("the server answers")
}

/// Waits until somebody waits for a lock of this schema's cards.
async fn until_somebody_waits(raw: &mut PgConnection, schema: &Schema) {
    let waits = format!(
        "select exists (select 1 from pg_stat_activity
         where application_name = '{}' and wait_event_type = 'Lock')",
        schema.name
    );
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let waits: bool = sqlx::query_scalar(AssertSqlSafe(waits.clone()))
            .fetch_one(&mut *raw)
            .await
            .expect("the server answers");
        if waits {
            return;
        }
        assert!(Instant::now() < until, "nobody waits");
    }
}

/// Four add turns, three take and answer, on eight cards.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_turn_is_stranded_by_adders_and_takers_at_once() {
    let schema = Arc::new(Schema::new().await);
    let (world, mut raw) = (Arc::new(schema.world().await), schema.raw().await);
    let mut cards = Vec::new();
    for _ in 0..8 {
        cards.push(new_card(&world).await);
    }
    let (over, taken) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut busy: JoinSet<()> = JoinSet::new();
    for adder in 0..4 {
        let (world, cards, over) = (Arc::clone(&world), cards.clone(), Arc::clone(&over));
        busy.spawn(async move {
            let mut place = adder;
            while !over.load(Ordering::Relaxed) {
                send(&world, SendTo::Card(cards[place % cards.len()])).await;
                place += 3;
            }
        });
    }
    for _ in 0..3 {
        let (world, over, taken) = (Arc::clone(&world), Arc::clone(&over), Arc::clone(&taken));
        busy.spawn(async move {
            while !over.load(Ordering::Relaxed) {
                for attempt in take(&world, 8).await {
                    answer(&world, &attempt).await;
                    taken.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
    }
    let mut samples = 0;
    while samples < SAMPLES || taken.load(Ordering::Relaxed) < TAKES {
        assert_eq!(stranded(&mut raw).await, 0, "sample {samples}");
        samples += 1;
    }
    over.store(true, Ordering::Relaxed);
    busy.join_all().await;
    for attempt in take(&world, 8).await {
        answer(&world, &attempt).await;
    }
    let (left,): (i64,) = sqlx::query_as("select count(*) from turns where state <> 'settled'")
        .fetch_one(&mut raw)
        .await
        .expect("the server answers");
    assert_eq!(
        (left, stranded(&mut raw).await),
        (0, 0),
        "every turn was answered"
    );
}

/// Another turn is being added when a settlement begins, which so has to wait.
async fn settle_while_a_turn_comes<F: Future<Output = ()> + Send + 'static>(
    settle: impl FnOnce(Arc<World>, Arc<Schema>, CardId, cs_fence::Attempt) -> F,
) -> i64 {
    let schema = Arc::new(Schema::new().await);
    let (world, mut raw, mut adder) = (
        Arc::new(schema.world().await),
        schema.raw().await,
        schema.raw().await,
    );
    let card = new_card(&world).await;
    let attempt = take(&world, 1).await.remove(0);
    let add = format!(
        "begin; select id from cards where id = '{card}' for no key update;
         insert into turns (id, card_id, seq, author_kind, author, body, state, said_at)
         values ('00000000-0000-0000-0000-000000000007', '{card}', 2, 'person', 'Ada', 'more', 'pending', 1);
         update cards set last_seq = 2, version = version + 1 where id = '{card}'"
    );
    sqlx::raw_sql(AssertSqlSafe(add))
        .execute(&mut adder)
        .await
        .expect("a turn is added");
    let mut settling = JoinSet::new();
    settling.spawn(settle(world, Arc::clone(&schema), card, attempt));
    until_somebody_waits(&mut raw, &schema).await;
    sqlx::raw_sql("commit")
        .execute(&mut adder)
        .await
        .expect("the turn is committed");
    settling.join_all().await;
    stranded(&mut raw).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_sees_a_turn_that_came_while_it_waited() {
    let left = settle_while_a_turn_comes(|world, _, _, attempt| async move {
        answer(&world, &attempt).await;
    });
    assert_eq!(left.await, 0);
}

/// The control: one statement locks, reads and writes. It waits for the card and then reads the turns as they were before.
#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_in_a_single_statement_would_be_caught() {
    let left = settle_while_a_turn_comes(|_, schema, card, _| async move {
        let single = format!(
            "with locked as (
                 select c.id, c.owner_id, exists (
                     select 1 from turns t where t.card_id = c.id and t.state = 'pending') as has_more
                 from cards c where c.id = '{card}' for no key update of c
             ),
             ended as (
                 update runs r set state = 'finished', ended_at = 1 from locked l where r.id = l.owner_id returning 1
             ),
             settled as (
                 update turns t set state = 'settled' from locked l
                 where t.card_id = l.id and t.state = 'leased' returning 1
             )
             update cards c set version = c.version + 1, ready_for = case when l.has_more then 'turns' else 'nothing' end
             from locked l where c.id = l.id"
        );
        sqlx::raw_sql(AssertSqlSafe(single))
            .execute(&mut schema.raw().await)
            .await
            .expect("it writes");
    });
    assert_eq!(left.await, 1, "the check sees a stranded turn");
}
