//! The record on Postgres against hand-written statements on the same server, in turn. `cargo xtask bench record` runs it.
//!
//! It takes the URL of an empty database and `full`, `takes` or `short`, and prints what it measures as lines of JSON.

mod looks;
mod raw;
mod stage;

use std::error::Error;
use std::io;

use cs_testkit::bench::{Line, Size, compare};
use sqlx::{Connection, PgConnection};

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args()
        .skip(1)
        .filter(|given| given != "--bench")
        .collect();
    let [url, size] = given.as_slice() else {
        return Err(
            "give the URL of a throw-away Postgres and a size: `cargo xtask bench record` does".into(),
        );
    };
    let size = Size::named(size).ok_or("the size is `full`, `takes` or `short`")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    Ok(runtime.block_on(measure(url, size))?)
}

async fn measure(url: &str, size: Size) -> io::Result<()> {
    let mut out = io::stdout();
    let mut server = PgConnection::connect(url).await.expect("the server answers");
    for setting in ["server_version", "fsync", "synchronous_commit", "shared_buffers"] {
        let value = sqlx::query_scalar("select current_setting($1)")
            .bind(setting)
            .fetch_one(&mut server)
            .await
            .expect("the server answers");
        let name = format!("Postgres {setting}");
        Line::Fact { name, value }.write(&mut out)?;
    }
    let small = stage::desk(url, "bench_small", size.small_cards()).await;
    let large = match size.large_cards() {
        Some(cards) => Some(stage::desk(url, "bench_large", cards).await),
        None => None,
    };
    compare(&mut out, "Postgres", &small, large.as_ref(), size).await?;
    let Some(large) = large else {
        return Ok(());
    };
    let looks = looks::measure(&large.raw.pool, &large.ours, size).await;
    looks.write(&mut out)
}
