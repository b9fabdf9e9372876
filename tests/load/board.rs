//! The ports of a record that is worked.

use std::path::Path;
use std::sync::Arc;

use cs_journal::ClaimRecord;
use cs_postgres::{PostgresStore, migrate};
use cs_record::{CardReads, DaemonReads, PeopleActs, Record, RowStore};
use cs_settle::SettlementRecord;
use cs_sqlite::SqliteStore;

use crate::os::{SystemClock, SystemIds};

/// The one agent of all cards.
pub(crate) const AGENT: &str = "mine";

/// What people and daemons do with a record.
pub(crate) struct Board {
    pub(crate) people: Arc<dyn PeopleActs>,
    pub(crate) reads: Arc<dyn CardReads>,
    pub(crate) claims: Arc<dyn ClaimRecord>,
    pub(crate) settlements: Arc<dyn SettlementRecord>,
    pub(crate) daemon: Arc<dyn DaemonReads>,
}

impl Board {
    /// Makes the record when it is not there, and opens it.
    pub(crate) async fn open(url: &str) -> Self {
        if let Some(path) = url.strip_prefix("sqlite:") {
            let store = SqliteStore::open(Path::new(path), Arc::new(SystemClock)).await;
            return Self::on(store.expect("the file can be opened"));
        }
        let settings = url.parse().expect("the URL is good");
        migrate(&settings).await.expect("it migrates");
        Self::on(PostgresStore::open(&settings).await.expect("it opens"))
    }

    fn on<S: RowStore>(store: S) -> Self {
        let record = Arc::new(Record::new(store, Arc::new(SystemIds)));
        Self {
            people: record.clone(),
            reads: record.clone(),
            claims: record.clone(),
            settlements: record.clone(),
            daemon: record,
        }
    }
}
