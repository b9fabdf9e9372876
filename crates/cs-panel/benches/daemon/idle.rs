//! What a daemon asks of a server while nothing happens, its presence included.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cs_daemon::RecordPorts;
use cs_model::IdSource;
use cs_postgres::{PostgresStore, Settings};
use cs_record::{Record, RowStore};
use cs_testkit::bench::{Line, Size};

use crate::machine::{Machine, ids};
use crate::proxy::Proxy;
use crate::wake_up::Ear;

/// How often a daemon looks at its record: with a channel that tells of changes, and without.
pub(crate) const LIVE: Duration = Duration::from_secs(30);
const POLLING: Duration = Duration::from_secs(2);

/// Watches two daemons at once, one with a channel that tells of changes and one without.
pub(crate) async fn measure(server: &str, directory: &Path, size: Size) -> [Line; 2] {
    let (live, polling) = (Proxy::start(server).await, Proxy::start(server).await);
    let settings: Settings = live.url.parse().expect("the URL is good");
    let listening = Machine::start(directory, "live", ports(&record(&live.url).await), LIVE).await;
    let ear = Ear::open(settings, &listening.state).await;
    let looking = Machine::start(directory, "polling", ports(&record(&polling.url).await), POLLING).await;
    // Both have connected and made their first pass by then; two passes of the one that listens lie in the minute after it.
    tokio::time::sleep(Duration::from_secs(4)).await;
    let begun = Instant::now();
    let before = [count(&live), count(&polling)];
    tokio::time::sleep(Duration::from_secs(size.pick(60, 30) as u64)).await;
    let (after, seconds) = ([count(&live), count(&polling)], begun.elapsed().as_secs_f64());
    drop(ear);
    listening.leave().await;
    looking.leave().await;
    let line = |channel: &str, place: usize| Line::Idle {
        channel: channel.to_owned(),
        seconds,
        queries: after[place].0 - before[place].0,
        round_trips: after[place].1 - before[place].1,
    };
    [line("live", 0), line("polling", 1)]
}

fn count(proxy: &Proxy) -> (usize, usize) {
    let counted = &proxy.counted;
    (
        counted.queries.load(Ordering::Relaxed),
        counted.round_trips.load(Ordering::Relaxed),
    )
}

async fn record(url: &str) -> Arc<Record<PostgresStore>> {
    let settings: Settings = url.parse().expect("the URL is good");
    let store = PostgresStore::open(&settings).await.expect("it opens");
    Arc::new(Record::new(store, ids() as Arc<dyn IdSource>))
}

/// Takes all ports from the one record behind them.
pub(crate) fn ports<S: RowStore + std::fmt::Debug>(record: &Arc<Record<S>>) -> RecordPorts {
    RecordPorts {
        claims: record.clone(),
        attempts: record.clone(),
        settlements: record.clone(),
        landings: record.clone(),
        reads: record.clone(),
        cards: record.clone(),
        agents: record.clone(),
        machines: record.clone(),
        housekeeping: record.clone(),
    }
}
