//! What happened is read without a gap although transactions end in another order than they begin, and after a restore elsewhere.

use std::sync::Arc;
use std::time::Duration;

use cs_model::CardId;
use cs_record::{Cursor, Event, MAX_EVENTS};
use cs_testkit::laws::World;
use sqlx::{AssertSqlSafe, Connection, Executor};

use crate::acts::new_card;
use crate::schema::Schema;

async fn read(world: &World, after: Cursor) -> Vec<(Cursor, Event)> {
    let read = world.events.events(after, None, MAX_EVENTS).await;
    read.expect("the cursor is good")
}

/// Reads on until there is so much: the transactions of other tests on the server hold it back for a while.
async fn told(world: &World, after: Cursor, least: usize) -> Vec<(Cursor, Event)> {
    let told = tokio::time::timeout(Duration::from_secs(60), async {
        loop {
            let found = read(world, after).await;
            if found.len() >= least {
                return found;
            }
        }
    });
    told.await.expect("it can be read in the end")
}

fn cards(events: &[(Cursor, Event)]) -> Vec<CardId> {
    let mut cards: Vec<CardId> = events.iter().map(|(_, event)| event.card).collect();
    cards.dedup();
    cards
}

/// A number was given to an event, and its transaction is open: what others wrote after it waits for it, and nobody skips it.
#[tokio::test]
async fn what_a_transaction_wrote_first_is_read_first_however_late_it_ends() {
    let schema = Arc::new(Schema::new().await);
    let (world, mut raw) = (schema.world().await, schema.raw().await);
    let first = new_card(&world).await;
    let before = told(&world, Cursor::START, 2).await;
    let cursor = before[1].0;
    let mut slow = raw.begin().await.expect("it begins");
    let late = format!(
        "insert into events (era, xid, card_id, at, kind, details)
         values (event_era(), pg_current_xact_id(), '{first}', 7, 'card_landed', 'null')"
    );
    slow.execute(AssertSqlSafe(late)).await.expect("it writes");
    let second = new_card(&world).await;
    assert_eq!(read(&world, cursor).await, [], "the first is not written yet");
    let end = world.events.events_end().await.expect("it answers");
    assert_eq!(end, cursor);
    slow.commit().await.expect("it is written");
    let rest = told(&world, cursor, 3).await;
    assert_eq!(cards(&rest), [first, second]);
    assert_eq!(rest.len(), 3);
}

/// A server that took the record over from another one gives its transactions lower numbers. What it writes comes after what there was.
#[tokio::test]
async fn a_record_that_moved_to_a_younger_server_is_read_on() {
    let schema = Arc::new(Schema::new().await);
    let (world, mut raw) = (schema.world().await, schema.raw().await);
    let (first, second) = (new_card(&world).await, new_card(&world).await);
    told(&world, Cursor::START, 4).await;
    // As a dump leaves it: the numbers are those of the server from which it came.
    let moved = "set session_replication_role = replica;
                 update events set xid = (xid::text::bigint + 1000000000)::text::xid8";
    sqlx::raw_sql(moved).execute(&mut raw).await.expect("it writes");
    let copied = told(&world, Cursor::START, 4).await;
    assert_eq!(cards(&copied), [first, second]);
    let cursor = copied[3].0;
    let third = new_card(&world).await;
    let rest = told(&world, cursor, 2).await;
    assert_eq!(cards(&rest), [third]);
    let fourth = new_card(&world).await;
    let rest = told(&world, cursor, 4).await;
    assert_eq!(cards(&rest), [third, fourth], "the era goes on");
    assert_eq!(
        cards(&told(&world, Cursor::START, 8).await),
        [first, second, third, fourth]
    );
    assert_eq!(told(&world, rest[1].0, 2).await, rest[2..]);
}
