//! What a machine's ledger says, read from a copy of its file by the same code that the daemon uses.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use cs_journal::{
    Acknowledged, ClaimError, ClaimRecord, ClaimRequest, Claimed, ClaimedRun, Deps, FailedPreparation,
    InterruptReceipt, Journal, Prepared, Receipt, Reconciled, Registered, Settling, Started,
};
use cs_model::{Epoch, LandingId, MachineId, OperationId, RunId};

use crate::machine::Machine;

/// What a ledger says.
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// Operations whose result is not known.
    pub(crate) pending: BTreeSet<OperationId>,
    /// Attempts that something in it owns.
    pub(crate) runs: BTreeSet<(RunId, Epoch)>,
    /// Those of them that nothing is registered for.
    pub(crate) starting: BTreeSet<(RunId, Epoch)>,
    /// Those of them that have an outcome.
    pub(crate) outcomes: BTreeSet<(RunId, Epoch)>,
    /// Landings.
    pub(crate) landings: BTreeSet<(LandingId, Epoch)>,
    /// Whether this machine's runs are still to be taken over from the record.
    pub(crate) import_needed: bool,
}

impl Said {
    /// Says whether everything in it is over.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.runs.is_empty() && self.landings.is_empty() && !self.import_needed
    }
}

/// Reads the ledger of a machine, whoever has it open; an empty one when there is none.
pub(crate) fn read(machine: &Machine) -> Result<Said, String> {
    let copy = machine.state.root().join("ledger-copy");
    match std::fs::copy(machine.state.ledger(), &copy) {
        Ok(_) => read_copy(&copy, machine),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Said {
            import_needed: true,
            ..Said::default()
        }),
        Err(error) => Err(error.to_string()),
    }
}

fn read_copy(copy: &Path, machine: &Machine) -> Result<Said, String> {
    let deps = Deps {
        record: Arc::new(Nobody),
        ids: machine.ids.clone(),
        clock: machine.clock.clone(),
        machine: machine.id,
    };
    let (journal, _) =
        Journal::open(copy, deps).map_err(|error| format!("the ledger cannot be read: {error}"))?;
    let found = journal.recover();
    let mut said = Said {
        pending: journal
            .pending()
            .into_iter()
            .map(|(operation, _)| operation)
            .collect(),
        import_needed: journal.import_needed(),
        ..Said::default()
    };
    let owners = found
        .claimed
        .iter()
        .map(Claimed::row)
        .chain(found.prepared.iter().map(Prepared::row))
        .chain(found.registered.iter().map(Registered::row))
        .chain(found.started.iter().map(Started::row))
        .chain(found.settling.iter().map(Settling::row))
        .chain(found.acknowledged.iter().map(Acknowledged::row))
        .chain(found.failed.iter().map(FailedPreparation::row))
        .chain(found.receipts.iter().map(InterruptReceipt::row));
    let key = |row: &ClaimedRun| (row.run, row.epoch);
    for owner in owners.map(key) {
        if !said.runs.insert(owner) {
            return Err(format!(
                "the ledger has run {} {} twice",
                owner.0.short(),
                owner.1
            ));
        }
    }
    let starting = found.claimed.iter().map(Claimed::row);
    let starting = starting.chain(found.prepared.iter().map(Prepared::row));
    said.starting = starting.map(key).collect();
    let outcomes = found.settling.iter().map(Settling::row);
    let outcomes = outcomes.chain(found.failed.iter().map(FailedPreparation::row));
    said.outcomes = outcomes.map(key).collect();
    let claimed = found
        .landings_claimed
        .iter()
        .map(|one| (one.row().landing, one.row().epoch));
    let working = found
        .landings_working
        .iter()
        .map(|one| (one.row().landing, one.row().epoch));
    let done = found
        .landings_done
        .iter()
        .map(|one| (one.row().landing, one.row().epoch));
    said.landings = claimed.chain(working).chain(done).collect();
    Ok(said)
}

/// A record that nobody asks.
#[derive(Debug)]
struct Nobody;

#[async_trait]
impl ClaimRecord for Nobody {
    async fn claim(
        &self,
        _: MachineId,
        operation: OperationId,
        _: &ClaimRequest,
    ) -> Result<Receipt, ClaimError> {
        Err(ClaimError::Cancelled(operation))
    }

    async fn reconcile(&self, _: MachineId, operation: OperationId) -> Result<Reconciled, ClaimError> {
        Err(ClaimError::Cancelled(operation))
    }
}
