//! The claim protocol over ledger and record.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use cs_fence::{Attempt, TokenSeed};
use cs_model::{CardId, Clock, Epoch, IdSource, LandingId, MachineId, OperationId, RunId};

use crate::confirm::confirmed;
use crate::error::{JournalError, LedgerError};
use crate::event::Event;
use crate::ledger::{Ledger, Opening};
use crate::owner::{Claimed, Recovered};
use crate::state::Stage;
use crate::window::Window;
use crate::{Action, ClaimRecord, ClaimRequest, ClaimedRun, Receipt, Task};

mod shared;

use self::shared::Flight;
pub(crate) use self::shared::{Inner, Shared};

/// What a journal needs from outside.
#[derive(Debug, Clone)]
pub struct Deps {
    /// The record that work is taken from.
    pub record: Arc<dyn ClaimRecord>,
    /// Makes operation ids and token seeds.
    pub ids: Arc<dyn IdSource>,
    /// Tells when an attempt was cut short.
    pub clock: Arc<dyn Clock>,
    /// The machine that takes.
    pub machine: MachineId,
}

impl Deps {
    /// Gathers what a journal needs.
    #[must_use]
    pub fn new(
        record: Arc<dyn ClaimRecord>,
        machine: MachineId,
        ids: impl IdSource + 'static,
        clock: impl Clock + 'static,
    ) -> Self {
        Self {
            record,
            ids: Arc::new(ids),
            clock: Arc::new(clock),
            machine,
        }
    }
}

/// What a machine wants to take now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// Which work.
    pub task: Task,
    /// How many pieces at most: the machine's free slots.
    pub limit: u32,
    /// The routes that this machine can drive, by name. Landings do not look at them.
    pub agents: Vec<String>,
}

impl Want {
    /// Wants one piece of work that this agent can do.
    #[must_use]
    pub fn one(task: Task, agent: impl Into<String>) -> Self {
        Self {
            task,
            limit: 1,
            agents: vec![agent.into()],
        }
    }
}

/// Takes work exactly once, and owns every attempt until it is over. Cheap to clone; all clones are the same journal.
///
/// Every step of an attempt is on the disk before the method that makes it returns, so that whatever dies, the next
/// process finds each attempt in exactly one place. The methods that write block for one disk sync (milliseconds); none
/// of them holds a lock across an await.
#[derive(Clone)]
pub struct Journal {
    shared: Arc<Shared>,
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").finish_non_exhaustive()
    }
}

impl Journal {
    /// Opens the ledger at a path, or makes a new one, and rebuilds what it says. The directory must exist.
    ///
    /// # Errors
    /// [`LedgerError`]: another process has it, it is not ours, a newer program wrote it, or the disk refuses.
    pub fn open(path: &Path, deps: Deps) -> Result<(Self, Opening), LedgerError> {
        let (ledger, opening) = Ledger::open(path)?;
        let shared = Arc::new(Shared::new(deps, ledger));
        shared.compact_if_due();
        Ok((Self { shared }, opening))
    }

    /// Takes work: writes the intent, claims, confirms, and writes what was taken (CJ-1 to CJ-4). The confirmed rows are
    /// the result, those of the direct answer are not looked at.
    ///
    /// Any doubt leaves the operation pending, for [`reconcile_pending`](Self::reconcile_pending) (CJ-7); so does
    /// dropping the future. Until then it is in flight, and invisible to the pending list (CJ-22).
    ///
    /// # Errors
    /// [`JournalError`]; then nothing may be started.
    pub async fn claim(&self, want: &Want) -> Result<Window, JournalError> {
        let deps = &self.shared.deps;
        let operation = OperationId::from_uuid(deps.ids.uuid_v7());
        let request = ClaimRequest {
            task: want.task.clone(),
            limit: want.limit,
            agents: want.agents.clone(),
            seed: TokenSeed::from_bytes(deps.ids.secret()),
        };
        let action = want.task.action();
        let flight = self.shared.begin(operation, &request)?;
        let answer = deps.record.claim(deps.machine, operation, &request).await;
        let answer = answer.map_err(|source| flight.unanswered(action, source))?;
        let (runs, landings) = match self.confirm(&flight, action).await? {
            Some(receipt) => flight.record(&receipt)?,
            None if answer.is_empty() => flight.cancel()?,
            None => return Err(JournalError::Contradicted { operation }),
        };
        Ok(Window::new(operation, action, runs, landings, answer.refused))
    }

    /// Confirms or fences every operation whose result is unknown, oldest first, and returns how many it cleared up. What
    /// they took is then in [`recover`](Self::recover). To be called at the start and before any new claim (CJ-8). What
    /// another task is clearing up is left to it.
    ///
    /// # Errors
    /// [`JournalError`] at the first operation that could not be cleared up; then nothing may be claimed.
    pub async fn reconcile_pending(&self) -> Result<usize, JournalError> {
        let mut count = 0;
        for (operation, action) in self.shared.pending() {
            let Some(flight) = self.shared.take_off(operation) else {
                continue;
            };
            // What it took is dropped here, and so given back for `recover`.
            let _taken = match self.confirm(&flight, action).await? {
                Some(receipt) => flight.record(&receipt)?,
                None => flight.cancel()?,
            };
            count += 1;
        }
        Ok(count)
    }

    /// Returns the operations whose result is unknown and that nobody in this process is waiting for.
    #[must_use]
    pub fn pending(&self) -> Vec<(OperationId, Action)> {
        self.shared.pending()
    }

    /// Returns everything in the ledger that nobody in this process holds: what a former process left, and what was
    /// dropped in this one. Who gets a value owns it; dropping it gives it back to the next call.
    #[must_use]
    pub fn recover(&self) -> Recovered {
        Recovered::take(&self.shared)
    }

    /// Says how many claims and starts are under way: operations in flight, and attempts and landings that somebody in
    /// this process holds without anything that answers for them yet. While it is not zero, a stop must not conclude
    /// that nothing is starting (CJ-24). A start ends with its registration.
    #[must_use]
    pub fn windows_open(&self) -> usize {
        self.shared.lock().windows_open()
    }

    /// Says whether this very attempt is in the ledger: it is not over on this machine.
    #[must_use]
    pub fn holds(&self, attempt: &Attempt) -> bool {
        let inner = self.shared.lock();
        let known = inner.ledger.state().runs().get(&(attempt.run, attempt.epoch));
        known.is_some_and(|entry| entry.attempt == *attempt)
    }

    /// Says whether any attempt of this run is in the ledger.
    #[must_use]
    pub fn holds_run(&self, run: RunId) -> bool {
        self.shared
            .lock()
            .ledger
            .state()
            .runs()
            .keys()
            .any(|(other, _)| *other == run)
    }

    /// Says whether an attempt of this run is taken and no execution answers for it yet: nothing of it runs.
    #[must_use]
    pub fn is_starting(&self, run: RunId) -> bool {
        let inner = self.shared.lock();
        let mut entries = inner.ledger.state().runs().values();
        entries.any(|entry| entry.row.run == run && entry.stage.is_starting())
    }

    /// Returns the attempts whose agents were started and whose end is not known, with their processes as
    /// [`Registered::started`](crate::Registered::started) was told them.
    #[must_use]
    pub fn agents(&self) -> Vec<(ClaimedRun, String)> {
        let inner = self.shared.lock();
        let entries = inner.ledger.state().runs().values();
        let at_work = entries.filter_map(|entry| match &entry.stage {
            Stage::Started(execution) | Stage::Acknowledged(execution) => {
                Some((entry.row.clone(), execution.agent.clone()))
            }
            Stage::Claimed
            | Stage::Prepared { .. }
            | Stage::Registered { .. }
            | Stage::Settling { .. }
            | Stage::Failed { .. }
            | Stage::Interrupted { .. } => None,
        });
        at_work.collect()
    }

    /// Returns another attempt of the same run of which something may run here. While there is one, this attempt cannot be
    /// [prepared](Claimed::prepare): end the other first, and keep this one or drop it for a later
    /// [`recover`](Self::recover).
    #[must_use]
    pub fn running_beside(&self, attempt: &Attempt) -> Option<Attempt> {
        let inner = self.shared.lock();
        let state = inner.ledger.state();
        let other = state.running_beside((attempt.run, attempt.epoch));
        other.map(|entry| entry.attempt)
    }

    /// Returns the attempts of a card that are in the ledger: something of them may run, or the record does not know yet
    /// how they ended.
    #[must_use]
    pub fn attempts_of(&self, card: CardId) -> Vec<Attempt> {
        let inner = self.shared.lock();
        let entries = inner.ledger.state().runs().values();
        let of_card = entries.filter(|entry| entry.row.card == card);
        of_card.map(|entry| entry.attempt).collect()
    }

    /// Returns how many runs have an attempt in the ledger: each of them keeps its slot until it is over, also while
    /// nobody in this process holds it.
    #[must_use]
    pub fn runs_held(&self) -> usize {
        let inner = self.shared.lock();
        let runs: BTreeSet<RunId> = inner.ledger.state().runs().keys().map(|(run, _)| *run).collect();
        runs.len()
    }

    /// Says whether any life of this landing is in the ledger.
    #[must_use]
    pub fn holds_landing(&self, landing: LandingId) -> bool {
        self.shared
            .lock()
            .ledger
            .state()
            .landings()
            .keys()
            .any(|(other, _)| *other == landing)
    }

    /// Returns the landings of a card that are in the ledger: they are under way, or the record does not know yet how they ended.
    #[must_use]
    pub fn landings_of(&self, card: CardId) -> Vec<LandingId> {
        let inner = self.shared.lock();
        let entries = inner.ledger.state().landings().iter();
        let of_card = entries.filter(|(_, entry)| entry.row.card == card);
        of_card.map(|((landing, _), _)| *landing).collect()
    }

    /// Returns the latest native session of a run.
    #[must_use]
    pub fn session(&self, run: RunId) -> Option<String> {
        self.shared.lock().ledger.state().session(run).map(str::to_owned)
    }

    /// Says whether a native session is this run's. Of several runs that were given one session it is the oldest's, and not even that
    /// one's while the agent of another one may run: so two agents never go on with one session, whoever asks when.
    #[must_use]
    pub fn is_session_of(&self, run: RunId, session: &str) -> bool {
        self.shared.lock().ledger.state().is_session_of(run, session)
    }

    /// Notes the native session of a run as soon as it is known, so that it outlives a crash before the outcome.
    ///
    /// # Errors
    /// [`LedgerError`] when it is not durable.
    pub fn know_session(&self, run: RunId, session: &str) -> Result<(), LedgerError> {
        if self.session(run).as_deref() == Some(session) {
            return Ok(());
        }
        self.shared.commit(&Event::SessionKnown {
            run,
            session: session.to_owned(),
        })
    }

    /// Forgets the native session of a run that will not go on.
    ///
    /// # Errors
    /// [`LedgerError`] when it is not durable.
    pub fn forget_session(&self, run: RunId) -> Result<(), LedgerError> {
        if self.session(run).is_none() {
            return Ok(());
        }
        self.shared.commit(&Event::SessionForgotten { run })
    }

    /// Notes that an attempt is about to be given a secret; before it is. The words say which it is, never the value. They stay until the
    /// attempt is over. Noting the same again changes nothing.
    ///
    /// # Errors
    /// [`LedgerError`]: nothing of the attempt runs by this ledger, or the note is not durable. Then the secret must not be given.
    pub fn give_secret(&self, run: RunId, epoch: Epoch, secret: &str) -> Result<(), LedgerError> {
        if self.secrets_given(run, epoch).iter().any(|given| given == secret) {
            return Ok(());
        }
        let secret = secret.to_owned();
        self.shared.commit(&Event::SecretGiven { run, epoch, secret })
    }

    /// Returns which secrets an attempt was given, in the words in which they were noted.
    #[must_use]
    pub fn secrets_given(&self, run: RunId, epoch: Epoch) -> Vec<String> {
        let inner = self.shared.lock();
        let given = inner.ledger.state().secrets((run, epoch));
        given.map(str::to_owned).collect()
    }

    /// Says whether this machine's unended runs are still to be imported from the record: the ledger is new, or a part of
    /// it was lost. True until [`import_complete`](Self::import_complete) (RC-4).
    #[must_use]
    pub fn import_needed(&self) -> bool {
        !self.shared.lock().ledger.state().is_imported()
    }

    /// Takes an attempt into the ledger that the record gives to this machine and that the ledger does not know. The
    /// daemon then brings it to where it is: through `prepared`, `registered` and `started` when its execution lives, or
    /// through `interrupted`. Nothing when the ledger knows it.
    ///
    /// # Errors
    /// [`LedgerError`] when it is not durable.
    pub fn import(&self, row: &ClaimedRun, attempt: &Attempt) -> Result<Option<Claimed>, LedgerError> {
        self.shared.import(row, attempt)
    }

    /// Notes that the import is complete; only after all unended runs were read and taken in.
    ///
    /// # Errors
    /// [`LedgerError`] when it is not durable.
    pub fn import_complete(&self) -> Result<(), LedgerError> {
        self.shared.commit(&Event::Imported)
    }

    /// Asks the record what became of an operation: a usable receipt, or nothing when it is cancelled for ever.
    async fn confirm(&self, flight: &Flight, asked: Action) -> Result<Option<Receipt>, JournalError> {
        let deps = &self.shared.deps;
        let operation = flight.operation;
        let answer = deps.record.reconcile(deps.machine, operation).await;
        let said = answer.map_err(|source| flight.unanswered(asked, source))?;
        confirmed(operation, asked, said)
    }
}
