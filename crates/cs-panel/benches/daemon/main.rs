//! How fast a daemon that waits gets a turn, and what it asks of a server while nothing happens. `cargo xtask bench record` runs it.
//!
//! The daemon is the real one, woken as `cs-panel run` does it: by the listener on Postgres, by the command's word on its control
//! socket on SQLite. It takes the URL of an empty database, an empty directory and `full` or `short`, and prints what it measures as
//! lines of JSON.

mod idle;
mod machine;
mod proxy;
mod wake_up;

use std::error::Error;
use std::io;
use std::path::Path;
use std::sync::Arc;

use cs_model::IdSource;
use cs_postgres::{PostgresStore, Settings, migrate};
use cs_record::Record;
use cs_sqlite::SqliteStore;
use cs_testkit::bench::{Size, WallClock};

use machine::ids;
use wake_up::Waker;

fn main() -> Result<(), Box<dyn Error>> {
    cs_supervise::shim::run_if_requested();
    let given: Vec<String> = std::env::args()
        .skip(1)
        .filter(|given| given != "--bench")
        .collect();
    let [url, directory, size] = given.as_slice() else {
        return Err("give the URL of a throw-away Postgres, an empty directory and a size: `cargo xtask bench record` does".into());
    };
    let size = Size::named(size).ok_or("the size is `full` or `short`")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    Ok(runtime.block_on(measure(url, Path::new(directory), size))?)
}

async fn measure(url: &str, directory: &Path, size: Size) -> io::Result<()> {
    let mut out = io::stdout();
    let settings: Settings = url.parse().expect("the URL is good");
    migrate(&settings)
        .await
        .expect("an empty database can be migrated");
    for line in idle::measure(url, directory, size).await {
        line.write(&mut out)?;
    }
    let server = || async {
        let store = PostgresStore::open(&settings).await.expect("it opens");
        Arc::new(Record::new(store, ids() as Arc<dyn IdSource>))
    };
    let (daemon, person) = (server().await, server().await);
    let waker = Waker::Listener(Box::new(settings.clone()));
    let line = wake_up::measure("Postgres", &daemon, &person, waker, directory, size).await;
    line.write(&mut out)?;
    let file = directory.join("wake-up.db");
    let embedded = || async {
        let store = SqliteStore::open(&file, Arc::new(WallClock))
            .await
            .expect("it opens");
        Arc::new(Record::new(store, ids() as Arc<dyn IdSource>))
    };
    let (daemon, person) = (embedded().await, embedded().await);
    let line = wake_up::measure("SQLite", &daemon, &person, Waker::Command, directory, size).await;
    line.write(&mut out)
}
