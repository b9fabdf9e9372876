//! What the record forgets.

use cs_model::{MachineId, OperationId, Time};
use cs_record::{JOURNAL_LIFE, OldOperation, StoreError};
use serde::Deserialize;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::{commit_error, store_error};
use crate::load::from_json;
use crate::store::{Sql, sql};

#[derive(Deserialize)]
struct OldRow {
    operation_id: Uuid,
    machine_id: Uuid,
    kind: String,
    at: i64,
}

impl From<OldRow> for OldOperation {
    fn from(row: OldRow) -> Self {
        Self {
            operation: OperationId::from_uuid(row.operation_id),
            machine: MachineId::from_uuid(row.machine_id),
            kind: row.kind,
            at: Time::from_unix_micros(row.at),
        }
    }
}

pub(crate) async fn forget_operations(
    store: &PostgresStore,
    limit: u32,
    dry_run: bool,
) -> Result<Vec<OldOperation>, StoreError> {
    let life = i64::try_from(JOURNAL_LIFE.as_micros()).unwrap_or(i64::MAX);
    let Sql { name, text } = sql!("forget_operations");
    let mut tx = store.begin().await?;
    let json: String = sqlx::query_scalar(text)
        .persistent(false)
        .bind(life)
        .bind(dry_run)
        .bind(i64::from(limit))
        .bind(store.test_now())
        .fetch_one(&mut *tx)
        .await
        .map_err(|error| store_error(name, error))?;
    tx.commit().await.map_err(commit_error)?;
    let rows: Vec<OldRow> = from_json("journal", &json)?;
    Ok(rows.into_iter().map(OldOperation::from).collect())
}
