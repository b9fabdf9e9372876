//! The end of a daemon: whether anything is left to do, and who goes on without it.

use cs_fence::ProcessFact;
use cs_model::{CardId, Epoch, LandingId, RunId};
use cs_record::RecordError;

use super::{Daemon, DaemonError, Ended};
use crate::admission::Admission;
use crate::executions::Alone;
use crate::landing::verify_runs;

/// A landing that was under way when a daemon left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LandingLeft {
    /// The landing.
    pub landing: LandingId,
    /// Its card.
    pub card: CardId,
    /// What it does without a daemon.
    pub stage: LandingStage,
}

/// What a landing does while no daemon carries it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LandingStage {
    /// Its verify runs on, and nothing comes of it until a daemon is back.
    VerifyRuns,
    /// It stands still.
    Waits,
}

/// An agent that goes on without a daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoingOn {
    /// Its run.
    pub run: RunId,
    /// Its card.
    pub card: CardId,
    /// What it does while no daemon follows it.
    pub alone: Alone,
}

/// Says which agents run on that nobody can find any more, and how they are ended.
pub(super) fn unfollowed(agents: &[String]) -> String {
    if agents.is_empty() {
        return String::new();
    }
    format!(
        "; these agents run on and nobody follows them any more, end each with `kill PID`, after which its supervisor ends what it has \
         started: {}",
        agents.join(", ")
    )
}

impl Daemon {
    /// Names the agents that run.
    pub(super) fn agents_at_work(&self) -> Vec<String> {
        // Also those that could not be followed any more before the loss of the directory was seen.
        let known = self.cx.journal.agents().into_iter();
        known
            .filter_map(|(row, agent)| {
                let agent: ProcessFact = serde_json::from_str(&agent).ok()?;
                let (run, card) = (row.run.short(), row.card.short());
                Some(format!("run {run} of card {card} with pid {}", agent.pid))
            })
            .collect()
    }

    /// Says whether nothing is left to do.
    pub(super) async fn at_rest(&mut self) -> Result<Option<Ended>, DaemonError> {
        if !self.flights.is_empty()
            || !self.landings.is_empty()
            || !self.publications.is_idle()
            || !self.sweep.is_idle()
        {
            return Ok(None);
        }
        if let Some(what) = self.strain.too_much() {
            return Err(DaemonError::Unfinished(what.to_owned()));
        }
        if self.strain.is_on() {
            return Ok(None);
        }
        if let Some((run, _)) = self.incomplete.first_key_value() {
            return Err(DaemonError::Unfinished(format!("run {}", run.short())));
        }
        let look = |error: RecordError| DaemonError::Pass(Box::new(error));
        let admission = match self.admission.take() {
            Some(found) => found,
            None => self.cx.admission(None).await.map_err(look)?,
        };
        if let Admission::Closed(reasons) = admission {
            return Ok(Some(Ended::AdmissionClosed { reasons }));
        }
        let peeked = self.cx.peek().await.map_err(look)?;
        let busy = peeked.turns || peeked.rearms || peeked.resumes || peeked.recovery || peeked.landings;
        Ok((!busy).then_some(Ended::Idle {
            next_due: peeked.next_due,
        }))
    }

    pub(super) async fn detached(&self) -> Ended {
        let mut going_on = Vec::new();
        for (run, flight) in &self.flights {
            // Of what is only being prepared nothing runs on.
            if self.cx.journal.is_starting(*run) {
                continue;
            }
            going_on.push(GoingOn {
                run: *run,
                card: flight.card,
                alone: self.alone(*run, flight.epoch).await,
            });
        }
        let mut landings = Vec::new();
        for (landing, flight) in &self.landings {
            let stage = match verify_runs(&self.cx, flight.attempt).await {
                true => LandingStage::VerifyRuns,
                false => LandingStage::Waits,
            };
            landings.push(LandingLeft {
                landing: *landing,
                card: flight.card,
                stage,
            });
        }
        Ended::Detached { going_on, landings }
    }

    /// Says what an agent does once we are gone.
    async fn alone(&self, run: RunId, epoch: Epoch) -> Alone {
        if self.cx.is_paused(run, epoch) {
            return Alone::StaysPaused;
        }
        let executions = &self.cx.deps.executions;
        let name = executions
            .names(run, epoch)
            .await
            .ok()
            .and_then(|mut names| names.pop());
        let noted = match name {
            Some(name) => executions.attempt(&name).await,
            None => None,
        };
        noted.map(|file| file.allowance).unwrap_or_default().alone()
    }
}
