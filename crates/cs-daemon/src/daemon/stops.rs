//! Stops: what a person ended on the record is closed here, and commands that wait for it are answered.

use cs_model::{CardId, Ending, RunId, RunState};

use super::{Daemon, Waiter};
use crate::attempt::{StopLevel, Trouble, Work};
use crate::control::{Request, Stopped};
use crate::report::chain;

/// So often an execution is taken up again for a command that waits for its end.
const STOP_TRIES: usize = 3;

impl Daemon {
    /// Closes what still runs of runs that are over by the record. Only what a person stopped is signalled (PS-19); what
    /// ended otherwise closes by itself.
    pub(super) async fn close_stopped(&mut self) -> Result<(), Trouble> {
        let stopped = self
            .cx
            .deps
            .record
            .reads
            .stopped_runs(self.cx.deps.machine.id)
            .await?;
        for run in stopped {
            let by_a_person = run.state == RunState::Ended(Ending::Stopped);
            match self.flights.get(&run.run) {
                Some(flight) if by_a_person => raise(&flight.stop, StopLevel::Ladder),
                Some(_) => {}
                None if self.incomplete.contains_key(&run.run)
                    || self.left_alone.contains(&(run.run, run.epoch)) => {}
                None if self.cx.journal.holds_run(run.run) => {}
                None => {
                    // The ledger does not know it: its execution is found by its name, once.
                    self.left_alone.insert((run.run, run.epoch));
                    self.launch(run.run, run.card, Work::Leftover(run));
                }
            }
        }
        Ok(())
    }

    /// Takes a request of a command. A second stop of a card forces (`design.md` 2.3).
    pub(super) fn take_request(&mut self, request: Request) {
        match request {
            Request::Wake => {}
            Request::Stop { card, reply } => {
                let again = self.waiters.iter().any(|waiter| waiter.card == card);
                let level = if again {
                    StopLevel::Force
                } else {
                    StopLevel::Ladder
                };
                let flights = self.flights.values().filter(|flight| flight.card == card);
                let executions = flights.map(|flight| raise(&flight.stop, level)).count();
                let executions = u32::try_from(executions).unwrap_or(u32::MAX);
                self.waiters.push(Waiter {
                    card,
                    executions,
                    troubles: Vec::new(),
                    reply,
                });
            }
        }
    }

    /// Notes for those who wait for the end of a card why it was not reached.
    pub(super) fn note_trouble(&mut self, card: CardId, run: RunId, error: &Trouble) {
        for waiter in self.waiters.iter_mut().filter(|waiter| waiter.card == card) {
            waiter
                .troubles
                .push(format!("run {}: {}", run.short(), chain(error)));
        }
    }

    /// Answers the commands whose card has nothing in flight any more. An execution that could not be closed is still in the
    /// ledger: it is taken up again, some times, before the command is told that it is left.
    pub(super) fn answer_waiters(&mut self) {
        let waiters = std::mem::take(&mut self.waiters);
        for waiter in waiters {
            let mut open = self.cx.journal.runs_of(waiter.card);
            open.retain(|run| !self.incomplete.contains_key(run));
            let in_flight = self.flights.values().any(|flight| flight.card == waiter.card);
            if in_flight || (!open.is_empty() && waiter.troubles.len() < STOP_TRIES) {
                self.waiters.push(waiter);
                continue;
            }
            let rest = self
                .incomplete
                .values()
                .filter(|one| one.started.row().card == waiter.card);
            let mut left: Vec<String> = rest.flat_map(|one| one.left.iter().cloned()).collect();
            if !open.is_empty() {
                left.extend(waiter.troubles.last().cloned());
            }
            let stopped = if left.is_empty() {
                Stopped::Closed {
                    executions: waiter.executions,
                }
            } else {
                Stopped::Incomplete { left }
            };
            if waiter.reply.send(stopped).is_err() {
                tracing::debug!(card = %waiter.card, "the command that asked to stop is gone");
            }
        }
    }
}

fn raise(stop: &tokio::sync::watch::Sender<StopLevel>, level: StopLevel) {
    stop.send_if_modified(|now| {
        let raised = level > *now;
        *now = level.max(*now);
        raised
    });
}
