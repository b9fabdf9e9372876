//! From the commit of a turn to the claim that a waiting daemon got for it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use cs_daemon::{RecordPorts, StateDir, control};
use cs_fence::{Attempt, Fenced};
use cs_journal::{ClaimError, ClaimRecord, ClaimRequest, Receipt, Reconciled};
use cs_model::{CardId, IdSource, MachineId, OperationId, TurnId};
use cs_postgres::{Heard, Listener, Settings};
use cs_record::{PeopleActs, Record, RowStore, Send, SendTo};
use cs_settle::{Answer, Answered, Capped, GaveUp, GiveUp, SettleError, SettlementRecord, Used};
use cs_testkit::bench::{Line, Size};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::idle::{LIVE, ports};
use crate::machine::{AGENT, Machine, ids};

/// How long a person thinks between two turns: the daemon has closed the last attempt and waits again.
const THINKS: Duration = Duration::from_millis(150);

/// Who tells a daemon that a turn was written.
pub(crate) enum Waker {
    /// The server, by its notifications.
    Listener(Box<Settings>),
    /// The command that wrote it, on the daemon's control socket.
    Command,
}

/// Wakes a daemon whenever the server tells of a change, as `cs-panel run` does, as long as this is there.
pub(crate) struct Ear {
    _running: JoinSet<()>,
}

impl Ear {
    /// Listens, and returns when notifications arrive.
    pub(crate) async fn open(settings: Settings, state: &StateDir) -> Self {
        let (sender, mut heard) = mpsc::channel(8);
        let mut running = JoinSet::new();
        running.spawn(Listener::new(settings).run(sender));
        let first = heard.recv().await;
        assert!(
            matches!(first, Some(Heard::Live)),
            "notifications arrive: {first:?}"
        );
        let state = state.clone();
        running.spawn(async move {
            while heard.recv().await.is_some() {
                control::poke(&state).await;
            }
        });
        Self { _running: running }
    }
}

/// Passes calls on, and tells when a claim took something and when an attempt was answered.
#[derive(Debug)]
struct Told<S> {
    record: Arc<Record<S>>,
    claimed: mpsc::UnboundedSender<Instant>,
    answered: mpsc::UnboundedSender<()>,
}

#[async_trait]
impl<S: RowStore + std::fmt::Debug> ClaimRecord for Told<S> {
    async fn claim(
        &self,
        machine: MachineId,
        operation: OperationId,
        request: &ClaimRequest,
    ) -> Result<Receipt, ClaimError> {
        let receipt = self.record.claim(machine, operation, request).await?;
        if !receipt.is_empty() {
            self.claimed.send(Instant::now()).expect("the bench waits");
        }
        Ok(receipt)
    }

    async fn reconcile(&self, machine: MachineId, operation: OperationId) -> Result<Reconciled, ClaimError> {
        self.record.reconcile(machine, operation).await
    }
}

#[async_trait]
impl<S: RowStore + std::fmt::Debug> SettlementRecord for Told<S> {
    async fn answer(&self, attempt: &Attempt, answer: &Answer) -> Result<Fenced<Answered>, SettleError> {
        let done = self.record.answer(attempt, answer).await?;
        self.answered.send(()).expect("the bench waits");
        Ok(done)
    }

    async fn give_up(&self, attempt: &Attempt, failure: &GiveUp) -> Result<Fenced<GaveUp>, SettleError> {
        self.record.give_up(attempt, failure).await
    }

    async fn capped(&self, attempt: &Attempt, capped: &Capped) -> Result<Fenced<GaveUp>, SettleError> {
        self.record.capped(attempt, capped).await
    }

    async fn used(&self, attempt: &Attempt, used: &Used) -> Result<Fenced<()>, SettleError> {
        self.record.used(attempt, used).await
    }
}

/// Sends turns to new cards, one after the other, each when the agent of the one before has answered.
pub(crate) async fn measure<S: RowStore + std::fmt::Debug>(
    store: &str,
    record: &Arc<Record<S>>,
    person: &Arc<Record<S>>,
    waker: Waker,
    directory: &Path,
    size: Size,
) -> Line {
    let (claimed, mut claims) = mpsc::unbounded_channel();
    let (answered, mut answers) = mpsc::unbounded_channel();
    let told = Arc::new(Told {
        record: Arc::clone(record),
        claimed,
        answered,
    });
    let ports = RecordPorts {
        claims: told.clone(),
        settlements: told,
        ..ports(record)
    };
    let machine = Machine::start(directory, store, ports, LIVE).await;
    let ear = match &waker {
        Waker::Listener(settings) => Some(Ear::open(Settings::clone(settings), &machine.state).await),
        Waker::Command => None,
    };
    let (ids, mut times) = (ids(), Vec::new());
    for turn in 0..=size.pick(200, 20) {
        let send = new_card(&*ids);
        person.send(&send).await.expect("a good turn is taken");
        let committed = Instant::now();
        if ear.is_none() {
            control::poke(&machine.state).await;
        }
        let claimed = claims.recv().await.expect("the daemon is there");
        answers.recv().await.expect("the daemon is there");
        tokio::time::sleep(THINKS).await;
        // The first one makes the plans and the connections.
        if turn > 0 {
            times.push(claimed.saturating_duration_since(committed).as_secs_f64() * 1_000.0);
        }
    }
    drop(ear);
    machine.leave().await;
    Line::WakeUp {
        store: store.to_owned(),
        times,
    }
}

fn new_card(ids: &dyn IdSource) -> Send {
    let card = CardId::from_uuid(ids.uuid_v7());
    let to = SendTo::new_card(card, "make it go", AGENT.parse().expect("a name"));
    let turn = TurnId::from_uuid(ids.uuid_v7());
    Send::new(turn, to, "Ada".parse().expect("a name"), "please")
}
