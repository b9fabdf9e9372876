//! An agent that runs, as the daemon follows it.

use async_trait::async_trait;
use cs_daemon::{ExecutionEnd, LostSight, Patience, RunningExecution, StopLevel, StopSwitch, is_done};
use cs_fence::ProcessFact;
use cs_harness::Harness;
use cs_supervise::{Closed, StopError, StopRequest};
use tokio::time::{Instant, sleep_until};

use super::{State, forged, lost_sight};
use crate::broken::Mutant;
use crate::machine::Seat;

/// An agent that runs.
#[derive(Debug)]
pub(super) struct FakeRunning {
    seat: Seat,
    name: String,
    agent: ProcessFact,
}

/// What an execution is at a moment.
enum Now {
    Closed(Closed),
    /// Nothing changes by itself before this.
    Until(Instant),
}

impl FakeRunning {
    pub(super) fn new(seat: Seat, name: &str, agent: ProcessFact) -> Self {
        Self {
            seat,
            name: name.to_owned(),
            agent,
        }
    }

    fn now(&self) -> Result<Now, StopError> {
        let forges = self.seat.world.is_mutant(Mutant::ProofIsForged);
        let processes = self.seat.machine.processes();
        let now = Instant::now();
        match processes.get(&self.name).map(|execution| &execution.state) {
            Some(State::Live(life)) => Ok(life.end(now).map_or_else(
                || Now::Until(life.next(now)),
                |closed| Now::Closed(forged(closed, forges)),
            )),
            Some(State::Over(closed)) => Ok(Now::Closed(closed.clone())),
            Some(State::Made | State::Held) | None => Err(lost_sight().into()),
        }
    }

    fn ask_to_end(&self, request: StopRequest) {
        if let Some(execution) = self.seat.machine.processes().get_mut(&self.name) {
            execution.stop(request);
        }
    }

    fn seen(&self, harness: &dyn Harness) -> cs_harness::Seen {
        let processes = self.seat.machine.processes();
        let execution = processes.get(&self.name);
        execution.map_or_else(cs_harness::Seen::default, |execution| execution.seen(harness))
    }
}

#[async_trait]
impl RunningExecution for FakeRunning {
    fn agent(&self) -> &ProcessFact {
        &self.agent
    }

    async fn follow(
        &mut self,
        harness: &dyn Harness,
        patience: Patience,
        stop: &StopSwitch,
    ) -> Result<ExecutionEnd, LostSight> {
        self.seat.come_to("follow").await;
        let mut level = StopLevel::Redirect;
        let mut give_up_at = None;
        let closed = loop {
            let until = match self.now()? {
                Now::Closed(closed) => break closed,
                Now::Until(until) => until,
            };
            if give_up_at.is_none() && is_done(&self.seen(harness)) {
                give_up_at = Some(Instant::now() + patience.when_done);
            }
            let is_late = give_up_at.is_some_and(|at| at <= Instant::now());
            if is_late && level == StopLevel::Redirect {
                self.ask_to_end(patience.stop());
                level = StopLevel::Force;
                continue;
            }
            let until = give_up_at.filter(|_| !is_late).map_or(until, |at| until.min(at));
            tokio::select! {
                biased;
                () = stop.asked(level) => {
                    let request = if level == StopLevel::Force { StopRequest::FORCE } else { patience.stop() };
                    self.ask_to_end(request);
                    if level == StopLevel::Force {
                        sleep_until(Instant::now()).await;
                    }
                    level = StopLevel::Force;
                }
                () = sleep_until(until) => {}
            }
            if self.seat.fails("follow") {
                return Err(LostSight::Survey(lost_sight()));
            }
            self.seat.come_to("follow").await;
        };
        self.seat.come_back("follow").await;
        if self.seat.loses("follow") {
            return Err(LostSight::Survey(lost_sight()));
        }
        Ok(ExecutionEnd {
            seen: self.seen(harness),
            closed,
        })
    }

    async fn stop(&self, request: StopRequest) -> Result<Closed, StopError> {
        self.seat.come_to("stop").await;
        if self.seat.fails("stop") {
            return Err(lost_sight().into());
        }
        self.ask_to_end(request);
        let closed = loop {
            match self.now()? {
                Now::Closed(closed) => break closed,
                Now::Until(until) => sleep_until(until).await,
            }
            self.seat.come_to("stop").await;
        };
        self.seat.come_back("stop").await;
        if self.seat.loses("stop") {
            return Err(lost_sight().into());
        }
        Ok(closed)
    }
}
