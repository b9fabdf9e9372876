//! How often a write goes to the server and back: what a distant server costs.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cs_postgres::{PostgresStore, Settings};
use cs_testkit::SetClock;
use cs_testkit::laws::World;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::task::JoinSet;

use crate::acts::{answer, new_card, take};
use crate::schema::{Schema, server};

/// Stands between a store and the server and counts what waits for an answer: simple queries and syncs.
async fn count_trips(listener: TcpListener, trips: Arc<AtomicUsize>) -> io::Result<()> {
    let mut clients = JoinSet::new();
    loop {
        let (client, _) = listener.accept().await?;
        clients.spawn(forward(client, Arc::clone(&trips)));
    }
}

async fn forward(client: TcpStream, trips: Arc<AtomicUsize>) -> io::Result<()> {
    let url = server();
    let directory = url
        .split_once("host=")
        .expect("the server has a socket")
        .1
        .to_owned();
    let stream = UnixStream::connect(format!("{directory}/.s.PGSQL.5432")).await?;
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), stream.into_split());
    let back = async { tokio::io::copy(&mut from_server, &mut to_client).await.map(drop) };
    let forth = async {
        let mut kind = None; // the first message has none
        loop {
            let length = from_client.read_u32().await?;
            let mut content = vec![0; usize::try_from(length.saturating_sub(4)).map_err(io::Error::other)?];
            from_client.read_exact(&mut content).await?;
            if matches!(kind, Some(b'Q' | b'S')) {
                trips.fetch_add(1, Ordering::SeqCst);
            }
            let head = kind.into_iter().chain(length.to_be_bytes());
            to_server
                .write_all(&head.chain(content).collect::<Vec<u8>>())
                .await?;
            kind = Some(from_client.read_u8().await?);
        }
    };
    tokio::select! {
        done = back => done,
        done = forth => done,
    }
}

/// How often the same is done. A write cannot do with fewer round trips than it needs, but the pool can ask one more question in the
/// background at any time, or open a second connection on a busy machine.
const ROUNDS: usize = 5;

/// The pool asks a connection that comes back whether it lives, in the background: that is one of them.
#[tokio::test]
async fn a_take_and_a_settlement_are_four_round_trips_each() {
    let schema = Arc::new(Schema::new().await);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let port = listener.local_addr().expect("it has an address").port();
    let (trips, mut running) = (Arc::new(AtomicUsize::new(0)), JoinSet::new());
    running.spawn(count_trips(listener, Arc::clone(&trips)));
    let url = format!(
        "postgres://cs_panel@127.0.0.1:{port}/postgres?sslmode=disable&options=-c%20search_path%3D{}",
        schema.name
    );
    let clock = Arc::new(SetClock::new());
    let settings: Settings = url.parse().expect("the URL is good");
    let store = PostgresStore::open(&settings.with_clock(Arc::clone(&clock) as _))
        .await
        .expect("it opens");
    let world = World::new(store, clock, schema).await;
    // One connection does everything, and knows every statement after the first time.
    new_card(&world).await;
    for attempt in take(&world, 1).await {
        answer(&world, &attempt).await;
    }
    let (mut fewest_of_takes, mut fewest_of_settlements) = (usize::MAX, usize::MAX);
    for _ in 0..ROUNDS {
        for _ in 0..20 {
            new_card(&world).await;
        }
        let before = trips.load(Ordering::SeqCst);
        let attempts = take(&world, 20).await;
        let taken = trips.load(Ordering::SeqCst);
        answer(&world, &attempts[0]).await;
        let settled = trips.load(Ordering::SeqCst);
        assert_eq!(attempts.len(), 20);
        fewest_of_takes = fewest_of_takes.min(taken - before);
        fewest_of_settlements = fewest_of_settlements.min(settled - taken);
    }
    let fewest = (fewest_of_takes, fewest_of_settlements);
    assert!(
        matches!(fewest, (4..=5, 4..=5)),
        "take and settlement: {fewest:?}"
    );
}
