//! The contender that is the product: the record over a store.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use async_trait::async_trait;
use cs_fence::{Attempt, Fenced, TokenSeed};
use cs_journal::{ClaimRecord, ClaimRequest, Task};
use cs_model::{CardId, Clock, IdSource, MachineId, OperationId, Person, Time, TurnId};
use cs_record::{Codebases, PeopleActs, Record, RowStore, Send, SendTo};
use cs_settle::{Answer, SettlementRecord};

use super::Contender;
use crate::SeededIds;

/// The clock of the machine: a server refuses operations that are far from its own.
#[derive(Debug, Clone, Copy)]
pub struct WallClock;

impl Clock for WallClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the clock that benches are given"
    )]
    fn now(&self) -> Time {
        let since = std::time::SystemTime::now().duration_since(UNIX_EPOCH);
        let micros = since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX));
        Time::from_unix_micros(micros)
    }
}

/// The record over a store, for one machine.
#[derive(Debug)]
pub struct OverRecord<S> {
    record: Record<S>,
    ids: Arc<SeededIds>,
    machine: MachineId,
    agent: String,
}

impl<S: RowStore> OverRecord<S> {
    /// Makes a record on which one card has been taken and answered once: the pattern of all others.
    ///
    /// # Panics
    /// When the store does not do it.
    pub async fn begin(store: S) -> (Self, CardId) {
        let ids = Arc::new(SeededIds::new(1, Arc::new(WallClock)));
        let machine = MachineId::from_uuid(ids.uuid_v7());
        let record = Record::new(store, Arc::clone(&ids) as Arc<dyn IdSource>);
        let card = CardId::from_uuid(ids.uuid_v7());
        let ours = Self {
            record,
            machine,
            agent: "mine".to_owned(),
            ids,
        };
        ours.send_new(card).await;
        let attempt = ours.take(1).await.pop().expect("the card is ready");
        ours.settle(attempt).await;
        (ours, card)
    }

    async fn send_new(&self, card: CardId) {
        let codebase = cs_model::CodebaseId::from_uuid(self.ids.uuid_v7());
        let added = self.record.add_codebase(codebase, "engine", self.machine).await;
        added.expect("an empty record takes a codebase");
        let to = SendTo::NewCard {
            card,
            title: "make it go".to_owned(),
            codebase: Some(codebase),
            base: Some("main".to_owned()),
            agent: self.agent.parse().expect("a name"),
            opening: cs_model::Opening::Owner,
        };
        let person: Person = "Ada".parse().expect("a name");
        let send = Send::new(TurnId::from_uuid(self.ids.uuid_v7()), to, person, "please");
        self.record.send(&send).await.expect("a good turn is taken");
    }

    /// Returns the machine that takes.
    #[must_use]
    pub const fn machine(&self) -> MachineId {
        self.machine
    }

    /// Returns the agent that all cards are for.
    #[must_use]
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// Returns the source of ids, for the hand-written statements too.
    #[must_use]
    pub const fn ids(&self) -> &Arc<SeededIds> {
        &self.ids
    }

    /// Returns the record.
    pub const fn record(&self) -> &Record<S> {
        &self.record
    }
}

#[async_trait]
impl<S: RowStore + std::fmt::Debug> Contender for OverRecord<S> {
    type Held = Attempt;

    async fn take(&self, limit: u32) -> Vec<Attempt> {
        let seed = TokenSeed::from_bytes(self.ids.secret());
        let request = ClaimRequest {
            task: Task::Turns,
            limit,
            agents: vec![self.agent.clone()],
            seed,
        };
        let operation = OperationId::from_uuid(self.ids.uuid_v7());
        let receipt = self.record.claim(self.machine, operation, &request).await;
        let runs = receipt.expect("the record answers").runs;
        runs.iter().map(|run| run.attempt(&seed)).collect()
    }

    async fn settle(&self, held: Attempt) {
        let settled = self.record.answer(&held, &Answer::words("done")).await;
        assert!(
            matches!(settled, Ok(Fenced::Applied(_))),
            "the attempt is the current one: {settled:?}"
        );
    }
}
