//! The store: its connections, and the port of cs-record over them.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use cs_fence::TokenHash;
use cs_model::{
    AskId, AttachmentId, CardId, Clock, CodebaseId, LandingId, MachineId, OperationId, PauseKind, Person,
    RuleId, RunId, Time, TurnSeq,
};
use cs_record::{
    AddRule, Ask, Attachment, CardDetail, CardFilter, CardSummary, Codebase, Content, Event, EventPlace,
    JournalEntry, JournalRow, LandingBrief, LeftOut, Listed, LiveLimit, Lock, Locked, OldOperation, Park,
    Pause, Peeked, Present, Registered, Route, RowStore, Run, RunBrief, Scope, Select, StandingRule,
    StoreError, Turn, Writes,
};

use crate::connections::{Link, Tx};
use crate::{
    OpenError, attachments, briefs, events, forget, limits, lock, machines, open, reads, standing, write,
};

/// The record in one SQLite file. Its clock is the one that it was opened with: there is one machine. Clones share the connections.
#[derive(Clone)]
pub struct SqliteStore {
    pub(crate) link: Arc<Link>,
    pub(crate) clock: Arc<dyn Clock>,
    /// What the takes of this process leave out.
    pub(crate) left_out: Arc<LeftOut>,
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SqliteStore(..)")
    }
}

/// A transaction that holds the write lock of the file. Dropping it rolls it back.
#[derive(Debug)]
pub struct SqliteTx {
    tx: Tx,
    operation: Option<OperationId>,
}

impl SqliteStore {
    /// Opens the record, makes it when there is no file, and brings an older one to this version after copying it beside itself.
    /// A new file is readable by its owner only.
    ///
    /// # Errors
    /// [`OpenError`], which names the file.
    pub async fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        open::open(path, clock).await
    }

    /// Returns a number that differs from the former one when anything was written in between, by this process or another.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be read.
    pub async fn data_version(&self) -> Result<i64, StoreError> {
        self.link.data_version().await
    }

    /// Closes all connections, also for clones, after what they are doing is done.
    pub async fn close(&self) {
        self.link.close().await;
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Begins a transaction with the write lock of the file.
    pub(crate) async fn begin(&self) -> Result<Tx, StoreError> {
        self.link.begin().await
    }

    /// Begins a transaction that sees one snapshot and writes nothing.
    pub(crate) async fn snapshot(&self) -> Result<Tx, StoreError> {
        self.link.snapshot().await
    }
}

#[async_trait]
impl RowStore for SqliteStore {
    type Tx = SqliteTx;

    async fn lock(
        &self,
        operation: Option<(MachineId, OperationId)>,
        select: &Select,
    ) -> Result<Lock<SqliteTx>, StoreError> {
        let mut tx = self.begin().await?;
        let now = self.now();
        if let Some(begun) = operation
            && let Some(row) = lock::begin_operation(&mut tx, begun, lock::BEGUN, now).await?
        {
            tx.rollback().await?;
            return Ok(Lock::Journaled(row));
        }
        let facts = lock::read(&mut tx, select, &self.left_out, now).await?;
        let operation = operation.map(|(_, operation)| operation);
        let tx = SqliteTx { tx, operation };
        Ok(Lock::Held(Locked { tx, facts }))
    }

    async fn commit(&self, mut tx: SqliteTx, writes: &Writes) -> Result<(), StoreError> {
        write::write(&mut tx.tx, tx.operation, writes).await?;
        tx.tx.commit().await
    }

    async fn rollback(&self, tx: SqliteTx) -> Result<(), StoreError> {
        tx.tx.rollback().await
    }

    async fn reconcile(&self, machine: MachineId, operation: OperationId) -> Result<JournalRow, StoreError> {
        let mut tx = self.begin().await?;
        let entry = JournalEntry::Cancelled;
        let stored = lock::begin_operation(&mut tx, (machine, operation), entry.kind(), self.now()).await?;
        tx.commit().await?;
        Ok(stored.unwrap_or(JournalRow {
            operation,
            machine,
            entry,
        }))
    }

    async fn peek(&self, machine: MachineId, agents: &[String]) -> Result<Peeked, StoreError> {
        reads::peek(self, machine, agents).await
    }

    async fn run(&self, run: RunId) -> Result<Option<Run>, StoreError> {
        reads::run(self, run).await
    }

    async fn run_brief(&self, run: RunId) -> Result<Option<(Run, RunBrief)>, StoreError> {
        briefs::run_brief(self, run).await
    }

    async fn landing_brief(&self, landing: LandingId) -> Result<Option<LandingBrief>, StoreError> {
        briefs::landing_brief(self, landing).await
    }

    async fn machine_runs(&self, machine: MachineId) -> Result<Listed<Run>, StoreError> {
        reads::machine_runs(self, machine).await
    }

    async fn cards_ending(&self, digits: &str) -> Result<Vec<CardId>, StoreError> {
        reads::ids_ending(self, include_str!("../queries/find_cards.sql"), digits).await
    }

    async fn asks_ending(&self, digits: &str) -> Result<Vec<AskId>, StoreError> {
        reads::ids_ending(self, include_str!("../queries/find_asks.sql"), digits).await
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
        forget::operations(self, limit, dry_run).await
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
        machines::codebases(self).await
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
