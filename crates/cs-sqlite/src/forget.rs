//! What the record forgets.

use cs_model::{MachineId, OperationId, Time};
use cs_record::{JOURNAL_LIFE, OldOperation, StoreError};
use sqlx::FromRow;

use crate::SqliteStore;
use crate::row_cards::parse;
use crate::script;
use crate::take::after;

#[derive(FromRow)]
struct OldRow {
    operation_id: String,
    machine_id: String,
    kind: String,
    at: i64,
}

impl TryFrom<OldRow> for OldOperation {
    type Error = StoreError;
    fn try_from(row: OldRow) -> Result<Self, StoreError> {
        let (table, id) = ("journal", row.operation_id.as_str());
        Ok(Self {
            operation: parse::<OperationId>(table, id, id)?,
            machine: parse::<MachineId>(table, id, &row.machine_id)?,
            at: Time::from_unix_micros(row.at),
            kind: row.kind,
        })
    }
}

/// Removes the oldest rows that may go, or only lists them, in one statement.
pub(crate) async fn operations(
    store: &SqliteStore,
    limit: u32,
    dry_run: bool,
) -> Result<Vec<OldOperation>, StoreError> {
    let life = i64::try_from(JOURNAL_LIFE.as_micros()).unwrap_or(i64::MAX);
    let before = store.now().unix_micros().saturating_sub(life);
    let rows = if dry_run {
        list(store, before, limit).await?
    } else {
        remove(store, before, limit).await?
    };
    let mut old = rows
        .into_iter()
        .map(OldOperation::try_from)
        .collect::<Result<Vec<_>, _>>()?;
    old.sort_by_key(|row| (row.at, row.operation));
    Ok(old)
}

async fn list(store: &SqliteStore, before: i64, limit: u32) -> Result<Vec<OldRow>, StoreError> {
    script::all(
        &mut *store.snapshot().await?,
        "list_old_operations",
        sqlx::query(after!("old_operations", "list_old_operations"))
            .bind(before)
            .bind(i64::from(limit)),
    )
    .await
}

async fn remove(store: &SqliteStore, before: i64, limit: u32) -> Result<Vec<OldRow>, StoreError> {
    let mut tx = store.begin().await?;
    let rows = script::all(
        &mut tx,
        "forget_operations",
        sqlx::query(after!("old_operations", "forget_operations"))
            .bind(before)
            .bind(i64::from(limit)),
    )
    .await?;
    tx.commit().await?;
    Ok(rows)
}
