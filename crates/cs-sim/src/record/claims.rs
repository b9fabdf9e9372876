//! Claims on their way.

use std::sync::Arc;

use async_trait::async_trait;
use cs_journal::{ClaimError, ClaimRecord, ClaimRequest, Receipt, Reconciled};
use cs_model::{MachineId, OperationId};
use tokio::task::unconstrained;

use super::{Remote, lost};
use crate::broken::{self, Mutant};
use crate::invariant::Event;
use crate::world::World;

fn away() -> ClaimError {
    ClaimError::Away(lost())
}

#[async_trait]
impl ClaimRecord for Remote {
    async fn claim(
        &self,
        machine: MachineId,
        operation: OperationId,
        request: &ClaimRequest,
    ) -> Result<Receipt, ClaimError> {
        let send = || {
            let (world, request) = (Arc::clone(&self.0.world), request.clone());
            Box::pin(async move { claim(&world, machine, operation, &request).await }) as super::Boxed<_>
        };
        self.send("claim", away, send).await
    }

    async fn reconcile(&self, machine: MachineId, operation: OperationId) -> Result<Reconciled, ClaimError> {
        let send = || {
            let world = Arc::clone(&self.0.world);
            Box::pin(async move { reconcile(&world, machine, operation).await }) as super::Boxed<_>
        };
        self.send("reconcile", away, send).await
    }
}

async fn claim(
    world: &World,
    machine: MachineId,
    operation: OperationId,
    request: &ClaimRequest,
) -> Result<Receipt, ClaimError> {
    let mut asked = operation;
    let is_new = !is_known(world, operation);
    if world.is_mutant(Mutant::ClaimsTwice) && !is_new {
        use cs_model::IdSource;
        asked = OperationId::from_uuid(world.ids.uuid_v7());
    }
    let answer = unconstrained(world.record.claim(machine, asked, request)).await;
    match &answer {
        Ok(receipt) => {
            for row in &receipt.runs {
                world.know(row.attempt(&request.seed));
            }
            for row in &receipt.landings {
                world.know_landing(row.attempt(&request.seed));
            }
            if !receipt.is_empty() {
                world.count("claims");
                world.note(format_args!("{operation} took {}", named(receipt)));
                broken::claim_taken(world, receipt);
            }
            world.see(&Event::Claimed {
                machine,
                operation,
                receipt: receipt.clone(),
                is_new,
            });
        }
        Err(error) => world.note(format_args!("{operation} was refused: {error}")),
    }
    answer
}

async fn reconcile(
    world: &World,
    machine: MachineId,
    operation: OperationId,
) -> Result<Reconciled, ClaimError> {
    if world.is_mutant(Mutant::NoTombstone) && !is_known(world, operation) {
        world.see(&Event::Cancelled { operation });
        return Ok(Reconciled::Cancelled);
    }
    let answer = world.record.reconcile(machine, operation).await;
    if let Ok(Reconciled::Cancelled) = &answer {
        world.see(&Event::Cancelled { operation });
    }
    answer
}

fn is_known(world: &World, operation: OperationId) -> bool {
    let rows = world.store.rows();
    rows.is_some_and(|rows| rows.journal.iter().any(|row| row.operation == operation))
}

fn named(receipt: &Receipt) -> String {
    let runs = receipt
        .runs
        .iter()
        .map(|row| format!("{} {}", row.run.short(), row.epoch));
    let landings = receipt
        .landings
        .iter()
        .map(|row| format!("landing {}", row.landing.short()));
    runs.chain(landings).collect::<Vec<_>>().join(", ")
}
