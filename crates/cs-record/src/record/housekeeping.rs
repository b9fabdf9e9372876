//! What the record forgets.

use async_trait::async_trait;

use super::Record;
use crate::store::RowStore;
use crate::{Housekeeping, OldOperation, RecordError};

#[async_trait]
impl<S: RowStore> Housekeeping for Record<S> {
    async fn forget_operations(&self, limit: u32, dry_run: bool) -> Result<Vec<OldOperation>, RecordError> {
        Ok(self.store.forget_operations(limit, dry_run).await?)
    }
}
