//! Laws of the inner port: what a store refuses although a rule decided it, because then the rule, or the store, is wrong.

use std::sync::Arc;

use cs_fence::{Attempt, Interruption, Token, TokenHash};
use cs_journal::{Action, ClaimRequest, Receipt, Task};
use cs_model::{
    CardId, Clock, Epoch, IdSource, MachineId, Opening, OperationId, RunId, RunState, TurnId, TurnSeq,
};
use cs_record::rules::{self, Taker};
use cs_record::{
    Aggregate, Choice, Facts, JournalEntry, Lock, Locked, Plan, RowStore, Select, Send, SendTo, StoreError,
    Writes,
};

use super::world::AGENT;
use crate::{SeededIds, SetClock};

/// A store with one card whose owner runs.
pub(super) struct Bench<'a, S> {
    pub(super) store: &'a S,
    pub(super) ids: SeededIds,
    pub(super) machine: MachineId,
    pub(super) card: CardId,
    pub(super) turn: TurnId,
    pub(super) attempt: Attempt,
}

impl<'a, S: RowStore> Bench<'a, S> {
    pub(super) async fn new(store: &'a S, clock: &Arc<SetClock>) -> Self {
        let ids = SeededIds::new(3, Arc::clone(clock) as Arc<dyn Clock>);
        let (card, turn) = (CardId::from_uuid(ids.uuid_v7()), TurnId::from_uuid(ids.uuid_v7()));
        let machine = MachineId::from_uuid(ids.uuid_v7());
        let send = Send {
            turn,
            to: SendTo::NewCard {
                card,
                title: "make it go".to_owned(),
                codebase: None,
                base: None,
                agent: AGENT.parse().expect("a name"),
                opening: Opening::Owner,
            },
            person: "Ada".parse().expect("a name"),
            body: "please".to_owned(),
            plan: Plan::default(),
            choice: Choice::default(),
            attachments: Vec::new(),
        };
        let after = Vec::new();
        let Locked { tx, facts } = lock(
            store,
            None,
            &Select::Send {
                card,
                turn,
                after,
                files: false,
            },
        )
        .await;
        let (writes, _) = rules::send_new(&send, &facts.earlier, facts.now).expect("a good turn is taken");
        store.commit(tx, &writes).await.expect("it is written");
        let seed = cs_fence::TokenSeed::from_bytes(ids.secret());
        let request = ClaimRequest::one(Task::Turns, AGENT, seed);
        let attempt = take(store, &ids, (machine, card), &request).await;
        Self {
            store,
            ids,
            machine,
            card,
            turn,
            attempt,
        }
    }

    /// Takes what the card is ready for now.
    pub(super) async fn take(&self, task: Task) -> Attempt {
        let seed = cs_fence::TokenSeed::from_bytes(self.ids.secret());
        let request = ClaimRequest::one(task, AGENT, seed);
        take(self.store, &self.ids, (self.machine, self.card), &request).await
    }

    async fn facts(&self) -> Facts {
        let Locked { tx, facts } = lock(self.store, None, &Select::Card(self.card)).await;
        self.store.rollback(tx).await.expect("it rolls back");
        facts
    }

    /// Decides an interruption, spoils its writes, and checks that they are refused and nothing is written.
    async fn check_refused(&self, what: &str, spoil: impl FnOnce(&Aggregate, &mut Writes)) {
        let before = self.facts().await;
        let Locked { tx, facts } = lock(self.store, None, &Select::Card(self.card)).await;
        let one = Interruption {
            attempt: self.attempt,
            at: facts.now,
        };
        let (mut writes, _) = rules::interrupt(&facts.cards[0], self.machine, &[&one], facts.now);
        assert_eq!((writes.cards.len(), writes.runs.len()), (1, 1));
        spoil(&facts.cards[0], &mut writes);
        let refused = self.store.commit(tx, &writes).await;
        assert!(
            matches!(refused, Err(StoreError::Corrupt(_))),
            "{what}: {refused:?}"
        );
        assert_eq!(before, self.facts().await, "{what}");
    }
}

async fn take<S: RowStore>(
    store: &S,
    ids: &SeededIds,
    (machine, card): (MachineId, CardId),
    request: &ClaimRequest,
) -> Attempt {
    let Locked { tx, facts } = lock(store, None, &Select::Card(card)).await;
    let taker = Taker {
        machine,
        request,
        limits: &facts.limits,
    };
    let taken = rules::take(&facts.cards[0], &taker, facts.now, ids);
    let (writes, claimed) = taken.expect("the card is ready");
    store.commit(tx, &writes).await.expect("it is written");
    claimed.attempt(&request.seed)
}

pub(super) async fn lock<S: RowStore>(
    store: &S,
    operation: Option<(MachineId, OperationId)>,
    select: &Select,
) -> Locked<S::Tx> {
    match store.lock(operation, select).await.expect("the store answers") {
        Lock::Held(locked) => locked,
        Lock::Journaled(row) => panic!("the operation is new: {row:?}"),
    }
}

/// A change whose row is not as it was read is refused, and with it everything else in the transaction.
pub async fn a_write_decided_on_other_rows_is_refused<S: RowStore>(store: &S, clock: &Arc<SetClock>) {
    let bench = Bench::new(store, clock).await;
    let other = Token::from_bytes([9; 16]).hash();
    bench
        .check_refused("version", |_, writes| writes.cards[0].was.version += 1)
        .await;
    bench
        .check_refused("epoch", |_, writes| writes.runs[0].was.epoch = Epoch::new(7))
        .await;
    bench
        .check_refused("token", |_, writes| writes.runs[0].was.token = other)
        .await;
    bench
        .check_refused("state", |_, writes| writes.runs[0].was.state = RunState::Asked)
        .await;
    let nobody = RunId::from_uuid(bench.ids.uuid_v7());
    bench
        .check_refused("a run that is not there", |_, writes| {
            writes.runs[0].now.id = nobody
        })
        .await;
}

/// The constraints hold what the rules promise: one live owner, one place a turn, an epoch that only grows.
/// Invariant 1. Invariant 2.
pub async fn a_broken_invariant_is_refused<S: RowStore>(store: &S, clock: &Arc<SetClock>) {
    let bench = Bench::new(store, clock).await;
    let (run, turn) = (
        RunId::from_uuid(bench.ids.uuid_v7()),
        TurnId::from_uuid(bench.ids.uuid_v7()),
    );
    bench
        .check_refused("an epoch that shrinks", |_, writes| {
            writes.runs[0].now.epoch = Epoch::new(0)
        })
        .await;
    let forged = TokenHash::from_bytes([9; 32]);
    bench
        .check_refused("two tokens of one epoch", |_, writes| {
            writes.runs[0].now.token = forged
        })
        .await;
    bench
        .check_refused("an end without a time", |_, writes| {
            writes.runs[0].now.ended_at = None
        })
        .await;
    bench
        .check_refused("two live owners", |card, writes| {
            let owner = card.owner().expect("it was taken").clone();
            writes.runs.clear();
            writes.new_runs.push(cs_record::Run { id: run, ..owner });
        })
        .await;
    bench
        .check_refused("two turns in one place", |card, writes| {
            writes.new_turns.push(cs_record::Turn {
                id: turn,
                card: card.card.id,
                seq: TurnSeq::new(1),
                author: cs_model::Author::System,
                body: "twice".to_owned(),
                state: cs_model::TurnState::Settled,
                run: None,
                said_at: card.card.updated_at,
            });
        })
        .await;
}

/// An operation and its journal entry are written together or not at all.
pub async fn an_operation_needs_its_journal_entry<S: RowStore>(store: &S, clock: &Arc<SetClock>) {
    let bench = Bench::new(store, clock).await;
    let entry = JournalEntry::Claimed {
        action: Action::TakeTurns,
        receipt: Receipt::default(),
    };
    bench
        .check_refused("an entry without an operation", |_, writes| {
            writes.journal = Some(entry)
        })
        .await;
    let operation = OperationId::from_uuid(bench.ids.uuid_v7());
    let begun = Some((bench.machine, operation));
    let Locked { tx, facts } = lock(store, begun, &Select::Card(bench.card)).await;
    let (writes, _) = rules::stop_card(&facts.cards[0], &facts.cards[0].card.person, facts.now);
    let refused = store.commit(tx, &writes).await;
    assert!(matches!(refused, Err(StoreError::Corrupt(_))), "{refused:?}");
    let Locked { tx, .. } = lock(store, begun, &Select::Card(bench.card)).await;
    store.rollback(tx).await.expect("it rolls back");
    let Locked { tx, .. } = lock(store, begun, &Select::Card(bench.card)).await;
    drop(tx);
    let said = store
        .reconcile(bench.machine, operation)
        .await
        .expect("the store answers");
    assert_eq!(
        said.entry,
        JournalEntry::Cancelled,
        "neither a rollback nor a dropped transaction leaves a row"
    );
}

/// What is refused leaves no event, and what is written has its events.
pub async fn an_event_is_written_with_its_rows_or_not_at_all<S: RowStore>(store: &S, clock: &Arc<SetClock>) {
    let bench = Bench::new(store, clock).await;
    let event = |facts: &Facts| cs_record::Event {
        card: bench.card,
        run: None,
        epoch: None,
        machine: None,
        at: facts.now,
        what: cs_record::What::CardLanded,
    };
    for is_good in [false, true] {
        let Locked { tx, facts } = lock(store, None, &Select::Card(bench.card)).await;
        let (mut writes, _) = rules::stop_card(&facts.cards[0], &facts.cards[0].card.person, facts.now);
        writes.events = vec![event(&facts), event(&facts)];
        if !is_good {
            writes.cards[0].was.version += 1;
        }
        let committed = store.commit(tx, &writes).await;
        assert_eq!(committed.is_ok(), is_good, "{committed:?}");
    }
    // Others on the same server may hold them back for a while.
    let read = tokio::time::timeout(std::time::Duration::from_secs(60), async {
        loop {
            let read = store.events(None, Some(bench.card), 9).await.expect("it answers");
            let events = read.expect("the beginning is always there");
            if !events.is_empty() {
                return events;
            }
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(read.await.expect("it is read in the end").len(), 2);
}
