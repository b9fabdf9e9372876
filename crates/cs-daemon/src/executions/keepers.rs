//! Follows what runs in tasks of its own, so that leases are renewed while the attempt itself waits for the record, or cannot be
//! carried on for now.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use cs_supervise::{Closed, ProcessIdentity, Running, Stopper, SurveyError};
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinSet};

use super::LostSight;

/// One task for each execution that was found running. They end with their executions, or when this is dropped.
#[derive(Debug, Default)]
pub(super) struct Keepers(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    tasks: JoinSet<()>,
    by_name: BTreeMap<String, AbortHandle>,
}

/// An execution that a keeper follows. The keeper goes on when this is dropped.
#[derive(Debug)]
pub(super) struct Kept {
    agent: ProcessIdentity,
    stopper: Stopper,
    end: oneshot::Receiver<Result<Closed, SurveyError>>,
}

impl Keepers {
    /// Follows an execution from now on, in the place of whoever followed one of this name. Must be called within a tokio runtime.
    pub(super) fn keep(&self, name: &str, mut running: Running) -> Kept {
        let (agent, stopper) = (running.agent().clone(), running.stopper());
        let (told, end) = oneshot::channel();
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while inner.tasks.try_join_next().is_some() {}
        inner.by_name.retain(|_, keeper| !keeper.is_finished());
        let keeper = inner.tasks.spawn(async move {
            // Nobody may wait for it now; then the next survey finds it closed.
            let _: Result<(), _> = told.send(running.closed().await);
        });
        if let Some(former) = inner.by_name.insert(name.to_owned(), keeper) {
            former.abort();
        }
        Kept { agent, stopper, end }
    }
}

impl Kept {
    pub(super) fn agent(&self) -> &ProcessIdentity {
        &self.agent
    }

    pub(super) fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Waits until the whole tree is closed. Cancel safe; to be called no more once it has returned.
    pub(super) async fn closed(&mut self) -> Result<Closed, LostSight> {
        match (&mut self.end).await {
            Ok(closed) => Ok(closed?),
            Err(_) => Err(LostSight::Replaced),
        }
    }
}
