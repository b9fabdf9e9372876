//! Whether an agent of this machine stands still, by whose wish and since when.

use std::collections::BTreeMap;
use std::time::Duration;

use cs_daemon::{PauseNote, StateDir};
use cs_model::{Epoch, RunId, RunState, Time};
use cs_record::Run;
use cs_supervise::{ExecutionDir, Life, PausedBy, Verdict, glance, survey};
use serde::Serialize;

use crate::app::Desk;
use crate::text;

/// How long a shim may take to say whether its agent stands still.
pub(crate) const SHIM_PATIENCE: Duration = Duration::from_secs(2);

/// An agent that stands still.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Standstill {
    /// Why.
    pub(crate) cause: Cause,
    /// Who paused it; nothing at the end of a lease.
    pub(crate) by: Option<String>,
    /// Since when, where that is known.
    pub(crate) since: Option<Time>,
    /// What the person said.
    pub(crate) reason: Option<String>,
}

/// The agents of this machine that stand still, by their runs.
#[derive(Debug, Default)]
pub(crate) struct Standstills(BTreeMap<RunId, Standstill>);

impl Standstills {
    /// Looks at the agents of these runs, of those that work here.
    pub(crate) async fn among(desk: &Desk, runs: impl IntoIterator<Item = &Run>) -> Self {
        let mut found = BTreeMap::new();
        for run in runs {
            if run.state == RunState::Running
                && run.machine == desk.machine
                && let Some(still) = Standstill::of(&desk.state, run.id, run.epoch).await
            {
                found.insert(run.id, still);
            }
        }
        Self(found)
    }

    /// Says why the agent of a run stands still, if it was seen to.
    pub(crate) fn get(&self, run: RunId) -> Option<&Standstill> {
        self.0.get(&run)
    }
}

/// Why an agent stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cause {
    /// A person paused it.
    Request,
    /// No daemon followed it for the time of its lease.
    Lease,
}

impl Standstill {
    /// Looks at an attempt of this machine; nothing when it works, or does not say.
    pub(crate) async fn of(state: &StateDir, run: RunId, epoch: Epoch) -> Option<Self> {
        let note = PauseNote::read(state, run, epoch).ok().flatten();
        if let Some(note) = note {
            return Some(Self {
                cause: Cause::Request,
                by: Some(note.by),
                since: Some(note.since),
                reason: note.reason,
            });
        }
        let name = state.executions_of(run, epoch).ok()?.pop()?;
        let dir = ExecutionDir::at(state.execution(&name));
        // What has no live shim is not asked: a survey would judge it.
        if !matches!(glance(&dir).ok()?.life, Life::Alive(_)) {
            return None;
        }
        let Ok(Verdict::Adopted(running)) = survey(&dir, SHIM_PATIENCE).await else {
            return None;
        };
        let cause = match running.paused()? {
            PausedBy::Request => Cause::Request,
            PausedBy::Lease => Cause::Lease,
        };
        Some(Self {
            cause,
            by: None,
            since: None,
            reason: None,
        })
    }

    /// Says it for people.
    pub(crate) fn words(&self, now: Time) -> String {
        let since = self.since.map(|since| format!(" {}", text::ago(now, since)));
        let reason = self
            .reason
            .as_deref()
            .map(|reason| format!(": {}", text::one_line(reason, 200)));
        match self.cause {
            Cause::Lease => "paused, since no daemon follows it".to_owned(),
            Cause::Request => format!(
                "paused by {}{}{}",
                self.by.as_deref().unwrap_or("somebody"),
                since.unwrap_or_default(),
                reason.unwrap_or_default()
            ),
        }
    }
}
