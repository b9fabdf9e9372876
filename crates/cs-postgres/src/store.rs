//! The store: its connections, and the port of cs-record over them.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use cs_fence::TokenHash;
use cs_model::{
    AskId, AttachmentId, CardId, Clock, CodebaseId, LandingId, MachineId, OperationId, PauseKind, Person,
    RuleId, RunId, TurnSeq,
};
use cs_record::{
    AddRule, Ask, Attachment, CardDetail, CardFilter, CardSummary, Codebase, Content, Event, EventPlace,
    JournalEntry, JournalRow, LandingBrief, LeftOut, Listed, LiveLimit, Lock, Locked, OldOperation, Park,
    Pause, Peeked, Present, Registered, Route, RowStore, Run, RunBrief, Scope, Select, Sift, StandingRule,
    StoreError, Turn, Writes,
};
use serde::de::DeserializeOwned;
use sqlx::postgres::PgArguments;
use sqlx::query::QueryScalar;
use sqlx::{PgPool, Postgres, SqlStr, Transaction};

use crate::error::{commit_error, is_connection, store_error};
use crate::load::from_json;
use crate::machines::Query;
use crate::row_runs::JournalStored;
use crate::settings::{CONNECTIONS, Sessions};
use crate::{
    OpenError, Settings, attachments, events, limits, lock, machines, open, reads, retention, standing, write,
};

/// A statement and its name.
#[derive(Clone, Copy)]
pub(crate) struct Sql {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

/// The statement of a file.
macro_rules! sql {
    ($name:literal) => {
        crate::store::Sql {
            name: $name,
            text: include_str!(concat!("../queries/", $name, ".sql")),
        }
    };
}
pub(crate) use sql;

/// A statement that returns one JSON text.
type Asked = QueryScalar<'static, Postgres, String, PgArguments>;

/// The record on a Postgres server. Its clock is the server's. A clone uses the same connections.
#[derive(Clone)]
pub struct PostgresStore {
    pub(crate) pool: PgPool,
    pub(crate) sessions: Sessions,
    pub(crate) begin: SqlStr,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    /// What the takes of this process leave out.
    pub(crate) left_out: Arc<LeftOut>,
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PostgresStore(..)")
    }
}

/// A transaction whose locks are held. Dropping it rolls it back.
#[derive(Debug)]
pub struct PostgresTx {
    tx: Transaction<'static, Postgres>,
    operation: Option<OperationId>,
}

impl PostgresStore {
    /// Opens the record. It must have been migrated: [`migrate`](crate::migrate) is another act, for a person to decide on.
    ///
    /// # Errors
    /// [`OpenError`], which names the server and never a password.
    pub async fn open(settings: &Settings) -> Result<Self, OpenError> {
        open::open(settings).await
    }

    /// Closes all connections after what they are doing is done.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Returns the time of a test, in microseconds; nothing where the server's clock counts.
    pub(crate) fn test_now(&self) -> Option<i64> {
        self.clock.as_ref().map(|clock| clock.now().unix_micros())
    }

    /// Begins a transaction. A connection of the pool that has died meanwhile is replaced: nothing had been asked on it.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Postgres>, StoreError> {
        let mut left = CONNECTIONS;
        loop {
            match self.pool.begin_with(self.begin.clone()).await {
                Err(error) if is_connection(&error) && left > 0 => left -= 1,
                done => return done.map_err(|error| store_error("begin", error)),
            }
        }
    }

    /// Ends a transaction without a trace.
    pub(crate) async fn end(&self, tx: Transaction<'static, Postgres>) -> Result<(), StoreError> {
        tx.rollback()
            .await
            .map_err(|error| store_error("rollback", error))
    }

    /// Reads the JSON of at most one row. It may be asked again on another connection when one has died.
    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        Sql { name, text }: Sql,
        bind: impl Fn(Asked) -> Asked,
    ) -> Result<Option<T>, StoreError> {
        let mut left = CONNECTIONS;
        let json = loop {
            let asked = bind(sqlx::query_scalar(text)).persistent(self.sessions.keep_statements());
            let answered = match self.sessions {
                Sessions::Own => asked.fetch_optional(&self.pool).await,
                Sessions::Shared => {
                    let mut tx = self.begin().await?;
                    let answered = asked.fetch_optional(&mut *tx).await;
                    self.end(tx).await?;
                    answered
                }
            };
            match answered {
                Err(error) if is_connection(&error) && left > 0 => left -= 1,
                done => break done.map_err(|error| store_error(name, error))?,
            }
        };
        json.map(|json| from_json(name, &json)).transpose()
    }

    /// Carries out one statement that may be repeated, in a transaction of its own, and returns how many rows it changed. It is
    /// asked again on another connection when one has died.
    pub(crate) async fn write_alone(
        &self,
        Sql { name, text }: Sql,
        bind: impl Fn(Query) -> Query,
    ) -> Result<u64, StoreError> {
        let mut left = CONNECTIONS;
        loop {
            let asked = bind(sqlx::query(text)).persistent(false);
            let answered = match self.sessions {
                Sessions::Own => asked.execute(&self.pool).await,
                Sessions::Shared => {
                    let mut tx = self.begin().await?;
                    match asked.execute(&mut *tx).await {
                        Ok(done) => tx.commit().await.map(|()| done),
                        Err(error) => Err(error),
                    }
                }
            };
            match answered {
                Err(error) if is_connection(&error) && left > 0 => left -= 1,
                done => {
                    let done = done.map_err(|error| store_error(name, error))?;
                    return Ok(done.rows_affected());
                }
            }
        }
    }

    /// Reads the JSON of exactly one row.
    pub(crate) async fn read_one<T: DeserializeOwned>(
        &self,
        sql: Sql,
        bind: impl Fn(Asked) -> Asked,
    ) -> Result<T, StoreError> {
        let row = self.read(sql, bind).await?;
        row.ok_or_else(|| StoreError::Corrupt(format!("{} answered with no row", sql.name)))
    }
}

#[async_trait]
impl RowStore for PostgresStore {
    type Tx = PostgresTx;

    async fn lock(
        &self,
        operation: Option<(MachineId, OperationId)>,
        select: &Select,
    ) -> Result<Lock<PostgresTx>, StoreError> {
        let mut sift = Sift::new(&self.left_out, select);
        loop {
            let mut tx = self.begin().await?;
            let asked = sift.select();
            match lock::read(&mut tx, operation, &asked, self.test_now(), self.sessions).await? {
                lock::Read::Journaled(row) => {
                    self.end(tx).await?;
                    return Ok(Lock::Journaled(row));
                }
                lock::Read::Locked(mut facts, unreadable) => {
                    let rows = std::mem::take(&mut facts.cards);
                    let Some(cards) = sift.sift(Listed { rows, unreadable })? else {
                        self.end(tx).await?;
                        continue;
                    };
                    facts.cards = cards;
                    let operation = operation.map(|(_, operation)| operation);
                    let tx = PostgresTx { tx, operation };
                    return Ok(Lock::Held(Locked { tx, facts }));
                }
            }
        }
    }

    async fn commit(&self, mut tx: PostgresTx, writes: &Writes) -> Result<(), StoreError> {
        match write::write(&mut tx.tx, tx.operation, writes, self.sessions).await {
            Ok(()) => tx.tx.commit().await.map_err(commit_error),
            Err(error) => {
                // The locks end with the answer and not some time later; what went wrong is what the caller must hear of.
                if let Err(rollback) = self.end(tx.tx).await {
                    tracing::debug!(error = %rollback, "a refused write could not be rolled back by a statement");
                }
                Err(error)
            }
        }
    }

    async fn rollback(&self, tx: PostgresTx) -> Result<(), StoreError> {
        self.end(tx.tx).await
    }

    async fn reconcile(&self, machine: MachineId, operation: OperationId) -> Result<JournalRow, StoreError> {
        let mut tx = self.begin().await?;
        let Sql { name, text } = sql!("cancel_operation");
        let stored: Option<String> = sqlx::query_scalar(text)
            .persistent(self.sessions.keep_statements())
            .bind(operation.as_uuid())
            .bind(machine.as_uuid())
            .bind(self.test_now())
            .fetch_one(&mut *tx)
            .await
            .map_err(|error| store_error(name, error))?;
        tx.commit().await.map_err(commit_error)?;
        match stored {
            Some(json) => from_json::<JournalStored>("journal", &json)?.try_into(),
            None => Ok(JournalRow {
                operation,
                machine,
                entry: JournalEntry::Cancelled,
            }),
        }
    }

    async fn peek(&self, machine: MachineId, agents: &[String]) -> Result<Peeked, StoreError> {
        reads::peek(self, machine, agents).await
    }

    async fn run(&self, run: RunId) -> Result<Option<Run>, StoreError> {
        reads::run(self, run).await
    }

    async fn run_brief(&self, run: RunId) -> Result<Option<(Run, RunBrief)>, StoreError> {
        reads::run_brief(self, run).await
    }

    async fn landing_brief(&self, landing: LandingId) -> Result<Option<LandingBrief>, StoreError> {
        reads::landing_brief(self, landing).await
    }

    async fn machine_runs(&self, machine: MachineId) -> Result<Listed<Run>, StoreError> {
        reads::machine_runs(self, machine).await
    }

    async fn cards_ending(&self, digits: &str) -> Result<Vec<CardId>, StoreError> {
        reads::cards_ending(self, digits).await
    }

    async fn asks_ending(&self, digits: &str) -> Result<Vec<AskId>, StoreError> {
        reads::asks_ending(self, digits).await
    }

    async fn cards(&self, filter: CardFilter) -> Result<Listed<CardSummary>, StoreError> {
        reads::cards(self, filter).await
    }

    async fn card(&self, card: CardId) -> Result<Option<CardDetail>, StoreError> {
        reads::card(self, card).await
    }

    async fn turns(&self, card: CardId, after: TurnSeq, limit: u32) -> Result<Option<Vec<Turn>>, StoreError> {
        reads::turns(self, card, after, limit).await
    }

    async fn open_asks(&self) -> Result<Listed<(Ask, String)>, StoreError> {
        reads::open_asks(self).await
    }

    async fn events(
        &self,
        after: Option<EventPlace>,
        of: Option<CardId>,
        limit: u32,
    ) -> Result<Option<Vec<(EventPlace, Event)>>, StoreError> {
        events::read(self, after, of, limit).await
    }

    async fn last_event(&self) -> Result<Option<EventPlace>, StoreError> {
        events::last(self).await
    }

    async fn present(&self, present: &Present) -> Result<Registered<()>, StoreError> {
        machines::present(self, present).await
    }

    async fn leave(&self, machine: MachineId, daemon: TokenHash) -> Result<(), StoreError> {
        machines::leave(self, machine, daemon).await
    }

    async fn pause(
        &self,
        scope: Scope,
        kind: PauseKind,
        reason: Option<&str>,
        by: &Person,
    ) -> Result<Pause, StoreError> {
        limits::pause(self, scope, kind, reason, by).await
    }

    async fn unpause(&self, scope: Scope) -> Result<bool, StoreError> {
        limits::unpause(self, scope).await
    }

    async fn pauses(&self, machine: MachineId) -> Result<Vec<Pause>, StoreError> {
        limits::pauses(self, machine).await
    }

    async fn limit(&self, scope: Scope, most: Option<u32>, by: &Person) -> Result<(), StoreError> {
        limits::limit(self, scope, most, by).await
    }

    async fn limits(&self) -> Result<Vec<LiveLimit>, StoreError> {
        limits::limits(self).await
    }

    async fn parks(&self, machine: MachineId) -> Result<Vec<Park>, StoreError> {
        limits::parks(self, machine).await
    }

    async fn unpark(&self, route: &Route) -> Result<bool, StoreError> {
        limits::unpark(self, route).await
    }

    async fn forget_operations(&self, limit: u32, dry_run: bool) -> Result<Vec<OldOperation>, StoreError> {
        retention::forget_operations(self, limit, dry_run).await
    }

    async fn add_codebase(
        &self,
        id: CodebaseId,
        name: &str,
        machine: MachineId,
    ) -> Result<Registered<Codebase>, StoreError> {
        machines::add_codebase(self, id, name, machine).await
    }

    async fn codebases(&self) -> Result<Vec<Codebase>, StoreError> {
        reads::codebases(self).await
    }

    async fn attachments(&self, card: CardId) -> Result<Option<Vec<Attachment>>, StoreError> {
        attachments::list(self, card).await
    }

    async fn attached(&self, attachment: AttachmentId) -> Result<Option<(Attachment, Content)>, StoreError> {
        attachments::content(self, attachment).await
    }

    async fn add_rule(&self, add: &AddRule) -> Result<StandingRule, StoreError> {
        standing::add(self, add).await
    }

    async fn standing_rules(&self) -> Result<Vec<StandingRule>, StoreError> {
        standing::list(self).await
    }

    async fn edit_rule(
        &self,
        rule: RuleId,
        body: &str,
        person: &Person,
    ) -> Result<Option<StandingRule>, StoreError> {
        standing::edit(self, rule, body, person).await
    }

    async fn remove_rule(&self, rule: RuleId) -> Result<bool, StoreError> {
        standing::remove(self, rule).await
    }
}
