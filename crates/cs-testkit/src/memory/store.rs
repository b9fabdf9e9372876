//! The port over the rows.

use std::sync::Arc;

use async_trait::async_trait;
use cs_fence::TokenHash;
use cs_model::{
    AskId, AttachmentId, CardId, CodebaseId, LandingId, MachineId, OperationId, PauseKind, Person, RuleId,
    RunId, TurnSeq,
};
use cs_record::{
    AddRule, Ask, Attachment, CardDetail, CardFilter, CardSummary, Codebase, Content, Event, EventPlace,
    JournalEntry, JournalRow, LandingBrief, Listed, LiveLimit, Lock, Locked, Machine, OldOperation,
    PRESENCE_LIFE, Park, Pause, Peeked, Present, Registered, Route, RowStore, Run, RunBrief, Scope, Select,
    StandingRule, StoreError, Turn, Writes,
};

use super::{MemoryStore, MemoryTx};

#[async_trait]
impl RowStore for MemoryStore {
    type Tx = MemoryTx;

    async fn lock(
        &self,
        operation: Option<(MachineId, OperationId)>,
        select: &Select,
    ) -> Result<Lock<MemoryTx>, StoreError> {
        let tables = Arc::clone(&self.tables).lock_owned().await;
        if let Some(row) = operation.and_then(|(_, id)| tables.journal.get(&id)) {
            return Ok(Lock::Journaled(row.clone()));
        }
        let facts = tables.facts(select, self.clock.now());
        let mut locked: Vec<CardId> = facts.cards.iter().map(|card| card.card.id).collect();
        if let Select::Send { card, .. } = select {
            locked.push(*card);
        }
        let tx = MemoryTx {
            tables,
            operation: operation.map(|(_, operation)| operation),
            machine: operation.map(|(machine, _)| machine),
            locked,
        };
        Ok(Lock::Held(Locked { tx, facts }))
    }

    async fn commit(&self, mut tx: MemoryTx, writes: &Writes) -> Result<(), StoreError> {
        let mut cards = writes
            .new_cards
            .iter()
            .chain(writes.cards.iter().map(|change| &change.now));
        if let Some(card) = cards.find(|card| !tx.locked.contains(&card.id)) {
            return Err(StoreError::Corrupt(format!(
                "card {} was written without its lock",
                card.id
            )));
        }
        let mut after = tx.tables.clone();
        after.write(writes)?;
        match (tx.operation, tx.machine, &writes.journal) {
            (Some(operation), Some(machine), Some(entry)) => {
                let entry = JournalEntry::from_stored(entry.kind(), &entry.to_json()?)?;
                let row = JournalRow {
                    operation,
                    machine,
                    entry,
                };
                after.journal.insert(operation, row);
                after.journaled_at.insert(operation, self.clock.now());
            }
            (None, _, None) => {}
            _ => {
                return Err(StoreError::Corrupt(
                    "an operation and its journal entry come together".to_owned(),
                ));
            }
        }
        *tx.tables = after;
        self.history.write(&writes.events);
        Ok(())
    }

    async fn rollback(&self, _tx: MemoryTx) -> Result<(), StoreError> {
        Ok(())
    }

    async fn reconcile(&self, machine: MachineId, operation: OperationId) -> Result<JournalRow, StoreError> {
        let mut tables = self.tables.lock().await;
        let now = self.clock.now();
        tables.journaled_at.entry(operation).or_insert(now);
        let row = tables.journal.entry(operation).or_insert(JournalRow {
            operation,
            machine,
            entry: JournalEntry::Cancelled,
        });
        Ok(row.clone())
    }

    async fn peek(&self, machine: MachineId, agents: &[String]) -> Result<Peeked, StoreError> {
        Ok(self.tables.lock().await.peek(machine, agents, self.clock.now()))
    }

    async fn run(&self, run: RunId) -> Result<Option<Run>, StoreError> {
        Ok(self.tables.lock().await.runs.get(&run).cloned())
    }

    async fn run_brief(&self, run: RunId) -> Result<Option<(Run, RunBrief)>, StoreError> {
        Ok(self.tables.lock().await.run_brief(run))
    }

    async fn landing_brief(&self, landing: LandingId) -> Result<Option<LandingBrief>, StoreError> {
        let tables = self.tables.lock().await;
        Ok(tables.landings.get(&landing).and_then(|landing| {
            let card = tables.cards.get(&landing.card)?.clone();
            let landing = landing.clone();
            Some(LandingBrief { card, landing })
        }))
    }

    async fn machine_runs(&self, machine: MachineId) -> Result<Listed<Run>, StoreError> {
        Ok(Listed::of(self.tables.lock().await.machine_runs(machine)))
    }

    async fn cards_ending(&self, digits: &str) -> Result<Vec<CardId>, StoreError> {
        let tables = self.tables.lock().await;
        let fits = |id: &&CardId| fits(id.as_uuid(), digits);
        Ok(tables.cards.keys().filter(fits).copied().take(10).collect())
    }

    async fn asks_ending(&self, digits: &str) -> Result<Vec<AskId>, StoreError> {
        let tables = self.tables.lock().await;
        let fits = |id: &&AskId| fits(id.as_uuid(), digits);
        Ok(tables.asks.keys().filter(fits).copied().take(10).collect())
    }

    async fn cards(&self, filter: CardFilter) -> Result<Listed<CardSummary>, StoreError> {
        Ok(Listed::of(self.tables.lock().await.summaries(filter)))
    }

    async fn card(&self, card: CardId) -> Result<Option<CardDetail>, StoreError> {
        Ok(self.tables.lock().await.detail(card))
    }

    async fn turns(&self, card: CardId, after: TurnSeq, limit: u32) -> Result<Option<Vec<Turn>>, StoreError> {
        let tables = self.tables.lock().await;
        if !tables.cards.contains_key(&card) {
            return Ok(None);
        }
        let mut turns = tables.turns_of(card);
        turns.retain(|turn| turn.seq > after);
        turns.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(Some(turns))
    }

    async fn open_asks(&self) -> Result<Listed<(Ask, String)>, StoreError> {
        Ok(Listed::of(self.tables.lock().await.open_asks()))
    }

    async fn events(
        &self,
        after: Option<EventPlace>,
        of: Option<CardId>,
        limit: u32,
    ) -> Result<Option<Vec<(EventPlace, Event)>>, StoreError> {
        Ok(self.history.read(after, of, limit))
    }

    async fn last_event(&self) -> Result<Option<EventPlace>, StoreError> {
        Ok(self.history.last())
    }

    async fn present(&self, present: &Present) -> Result<Registered<()>, StoreError> {
        let mut tables = self.tables.lock().await;
        let now = self.clock.now();
        if let Some((holder, until)) = tables.machines.get(&present.machine)
            && !present.may_follow(&holder.daemon)
            && *until > now
        {
            return Ok(Registered::Taken(holder.seen_at));
        }
        let machine = Machine {
            id: present.machine,
            name: present.name.clone(),
            person: present.person.clone(),
            boot_id: present.boot_id.clone(),
            daemon: present.daemon,
            seen_at: now,
        };
        tables
            .machines
            .insert(machine.id, (machine, now.plus(PRESENCE_LIFE)));
        if present.serves_everyone {
            tables.everyones.insert(present.machine);
        } else {
            tables.everyones.remove(&present.machine);
        }
        tables.checkouts.retain(|(owner, _)| *owner != present.machine);
        for codebase in &present.codebases {
            if tables.codebases.contains_key(codebase) {
                tables.checkouts.insert((present.machine, *codebase));
            }
        }
        Ok(Registered::Written(()))
    }

    async fn leave(&self, machine: MachineId, daemon: TokenHash) -> Result<(), StoreError> {
        let mut tables = self.tables.lock().await;
        let now = self.clock.now();
        if let Some((holder, until)) = tables.machines.get_mut(&machine)
            && holder.daemon == daemon
        {
            *until = now.min(*until);
        }
        Ok(())
    }

    async fn pause(
        &self,
        scope: Scope,
        kind: PauseKind,
        reason: Option<&str>,
        by: &Person,
    ) -> Result<Pause, StoreError> {
        let pause = Pause {
            scope,
            kind,
            reason: reason.map(ToOwned::to_owned),
            by: by.clone(),
            at: self.clock.now(),
        };
        self.tables.lock().await.pauses.insert(scope, pause.clone());
        Ok(pause)
    }

    async fn unpause(&self, scope: Scope) -> Result<bool, StoreError> {
        Ok(self.tables.lock().await.pauses.remove(&scope).is_some())
    }

    async fn pauses(&self, machine: MachineId) -> Result<Vec<Pause>, StoreError> {
        let tables = self.tables.lock().await;
        let covers = |pause: &&Pause| match pause.scope {
            Scope::Everything => true,
            Scope::Machine(covered) => covered == machine,
            Scope::Codebase(codebase) => tables.checkouts.contains(&(machine, codebase)),
        };
        Ok(tables.pauses.values().filter(covers).cloned().collect())
    }

    async fn limit(&self, scope: Scope, most: Option<u32>, by: &Person) -> Result<(), StoreError> {
        let mut tables = self.tables.lock().await;
        match most {
            None => tables.limits.remove(&scope),
            Some(most) => tables.limits.insert(
                scope,
                LiveLimit {
                    scope,
                    most,
                    by: by.clone(),
                    at: self.clock.now(),
                },
            ),
        };
        Ok(())
    }

    async fn limits(&self) -> Result<Vec<LiveLimit>, StoreError> {
        Ok(self.tables.lock().await.limits.values().cloned().collect())
    }

    async fn parks(&self, machine: MachineId) -> Result<Vec<Park>, StoreError> {
        let tables = self.tables.lock().await;
        let mine = tables.parks.values().filter(|park| park.route.machine == machine);
        Ok(mine.cloned().collect())
    }

    async fn unpark(&self, route: &Route) -> Result<bool, StoreError> {
        Ok(self.tables.lock().await.parks.remove(route).is_some())
    }

    async fn forget_operations(&self, limit: u32, dry_run: bool) -> Result<Vec<OldOperation>, StoreError> {
        let mut tables = self.tables.lock().await;
        let old = tables.old_operations(self.clock.now(), limit);
        for row in old.iter().filter(|_| !dry_run) {
            tables.journal.remove(&row.operation);
            tables.journaled_at.remove(&row.operation);
        }
        Ok(old)
    }

    async fn add_codebase(
        &self,
        id: CodebaseId,
        name: &str,
        machine: MachineId,
    ) -> Result<Registered<Codebase>, StoreError> {
        let mut tables = self.tables.lock().await;
        let other = tables
            .codebases
            .values()
            .find(|codebase| codebase.name == name && codebase.id != id);
        if let (Some(other), false) = (other, tables.codebases.contains_key(&id)) {
            return Ok(Registered::Taken(other.created_at));
        }
        let codebase = tables.codebases.entry(id).or_insert_with(|| Codebase {
            id,
            name: name.to_owned(),
            created_at: self.clock.now(),
        });
        let codebase = codebase.clone();
        tables.checkouts.insert((machine, id));
        Ok(Registered::Written(codebase))
    }

    async fn codebases(&self) -> Result<Vec<Codebase>, StoreError> {
        let tables = self.tables.lock().await;
        let mut codebases: Vec<_> = tables.codebases.values().cloned().collect();
        codebases.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(codebases)
    }

    async fn attachments(&self, card: CardId) -> Result<Option<Vec<Attachment>>, StoreError> {
        let tables = self.tables.lock().await;
        let is_there = tables.cards.contains_key(&card);
        Ok(is_there.then(|| tables.attachments_of(card)))
    }

    async fn attached(&self, attachment: AttachmentId) -> Result<Option<(Attachment, Content)>, StoreError> {
        Ok(self.tables.lock().await.attachments.get(&attachment).cloned())
    }

    async fn add_rule(&self, add: &AddRule) -> Result<StandingRule, StoreError> {
        let now = self.clock.now();
        let mut tables = self.tables.lock().await;
        let is_known = |codebase| tables.codebases.contains_key(codebase);
        if !add.codebase.as_ref().is_none_or(is_known) {
            return Err(StoreError::Corrupt("a rule has no codebase".to_owned()));
        }
        let rule = tables.standing.entry(add.rule).or_insert_with(|| StandingRule {
            id: add.rule,
            codebase: add.codebase,
            body: add.body.clone(),
            version: 1,
            by: add.person.clone(),
            created_at: now,
            updated_at: now,
        });
        Ok(rule.clone())
    }

    async fn standing_rules(&self) -> Result<Vec<StandingRule>, StoreError> {
        Ok(self.tables.lock().await.standing_where(|_| true))
    }

    async fn edit_rule(
        &self,
        rule: RuleId,
        body: &str,
        person: &Person,
    ) -> Result<Option<StandingRule>, StoreError> {
        let mut tables = self.tables.lock().await;
        let Some(rule) = tables.standing.get_mut(&rule) else {
            return Ok(None);
        };
        if rule.body != body {
            body.clone_into(&mut rule.body);
            rule.version += 1;
            rule.by = person.clone();
            rule.updated_at = self.clock.now();
        }
        Ok(Some(rule.clone()))
    }

    async fn remove_rule(&self, rule: RuleId) -> Result<bool, StoreError> {
        Ok(self.tables.lock().await.standing.remove(&rule).is_some())
    }
}

/// Whether an id ends with these digits, or its last eight begin with them.
fn fits(id: uuid::Uuid, digits: &str) -> bool {
    let id = id.simple().to_string();
    id.ends_with(digits) || id[24..].starts_with(digits)
}
