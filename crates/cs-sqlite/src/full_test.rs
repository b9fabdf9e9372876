//! A disk without room: what is written is refused as a whole, and when there is room again the same store goes on.

use std::sync::Arc;

use cs_model::{Clock, CodebaseId, MachineId, Time};
use cs_record::{RowStore, StoreError};
use uuid::Uuid;

use crate::{SqliteStore, open};

#[derive(Debug)]
struct Standing;

impl Clock for Standing {
    fn now(&self) -> Time {
        Time::from_unix_micros(1_767_225_600_000_000)
    }
}

/// Lets the file grow no more, as far as the connection can tell that writes now. Another one has room.
async fn limit_pages(store: &SqliteStore) {
    let mut tx = store.begin().await.expect("it begins");
    sqlx::raw_sql("pragma max_page_count = 1")
        .execute(&mut *tx)
        .await
        .expect("it is limited");
    tx.commit().await.expect("it commits");
}

async fn add(store: &SqliteStore, number: u128) -> Result<(), StoreError> {
    let (id, machine) = (
        Uuid::from_u128(number + 1),
        MachineId::from_uuid(Uuid::from_u128(1)),
    );
    let name = format!("{number:0>100}");
    store
        .add_codebase(CodebaseId::from_uuid(id), &name, machine)
        .await
        .map(drop)
}

#[tokio::test]
async fn a_full_disk_is_told_and_the_store_goes_on_when_there_is_room() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("record.db");
    let store = open::open(&path, Arc::new(Standing)).await.expect("it opens");
    limit_pages(&store).await;
    let mut written = 0;
    let why = loop {
        match add(&store, written).await {
            Ok(()) => written += 1,
            Err(why) => break why,
        }
        assert!(written < 10_000, "it never gets full");
    };
    let StoreError::Away(why) = why else {
        panic!("it may go on later: {why:?}");
    };
    assert!(why.to_string().contains("has no room"), "{why}");
    let kept = store.codebases().await.expect("it can be read").len();
    assert_eq!(
        u128::try_from(kept).expect("few"),
        written,
        "what was written, and no more"
    );
    add(&store, written).await.expect("there is room again");
}
