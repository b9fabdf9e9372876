//! The record on SQLite against hand-written statements on the same file, in turn. `cargo xtask bench record` runs it.
//!
//! It takes an empty directory and `full`, `takes` or `short`, and prints what it measures as lines of JSON.

mod raw;
mod stage;

use std::error::Error;
use std::io;
use std::path::Path;

use cs_testkit::bench::{Line, Size, compare};
use sqlx::{Connection, SqliteConnection};

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args()
        .skip(1)
        .filter(|given| given != "--bench")
        .collect();
    let [directory, size] = given.as_slice() else {
        return Err("give an empty directory and a size: `cargo xtask bench record` does".into());
    };
    let size = Size::named(size).ok_or("the size is `full`, `takes` or `short`")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    Ok(runtime.block_on(measure(Path::new(directory), size))?)
}

async fn measure(directory: &Path, size: Size) -> io::Result<()> {
    let mut out = io::stdout();
    let mut any = SqliteConnection::connect("sqlite::memory:")
        .await
        .expect("it opens");
    let value = sqlx::query_scalar("select sqlite_version()")
        .fetch_one(&mut any)
        .await
        .expect("it has a version");
    let name = "SQLite version".to_owned();
    Line::Fact { name, value }.write(&mut out)?;
    let small = stage::desk(&directory.join("small.db"), size.small_cards()).await;
    let large = match size.large_cards() {
        Some(cards) => Some(stage::desk(&directory.join("large.db"), cards).await),
        None => None,
    };
    compare(&mut out, "SQLite", &small, large.as_ref(), size).await
}
