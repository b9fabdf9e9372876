//! Stops: what a person ended on the record is closed here, and commands that wait for it are answered.

use std::collections::BTreeSet;

use cs_model::{CardId, Ending, LandingId, RunId, RunState};
use tokio::sync::oneshot;

use super::{Daemon, Flight, Waiter};
use crate::attempt::{Incomplete, Trouble, Work};
use crate::control::{Request, Stopped};
use crate::executions::StopLevel;

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
                Some(flight) if by_a_person => flight.stop.raise(StopLevel::Ladder),
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

    /// Takes a request of a command. A second stop of a card forces, and what could not be closed is tried again.
    pub(super) fn take_request(&mut self, request: Request) {
        match request {
            Request::Wake => {}
            Request::Stop { card, reply } => self.take_stop(card, reply),
        }
    }

    fn take_stop(&mut self, card: CardId, reply: oneshot::Sender<Stopped>) {
        let again = self.waiters.iter().any(|waiter| waiter.card == card);
        let level = if again {
            StopLevel::Force
        } else {
            StopLevel::Ladder
        };
        // Somebody waits: what rests is taken up at once.
        self.strain.wake();
        let attempts = self.cx.journal.attempts_of(card);
        let incomplete = self.incomplete.extract_if(.., |_, one| one.card == card);
        for (run, one) in incomplete.collect::<Vec<_>>() {
            self.launch(run, card, one.work);
        }
        let flights = self.flights.values().filter(|flight| flight.card == card);
        let executions = flights.map(|flight| flight.stop.raise(level)).count();
        // What moves a base goes on to its end; before that it is ended, also where it rests now.
        let landings = self.cx.journal.landings_of(card);
        for landing in &landings {
            if let Some(flight) = self.landings.get(landing) {
                flight.stop.raise(level);
            }
        }
        self.stopped_landings.extend(&landings);
        self.publications.stop(&self.cx, card);
        self.waiters.push(Waiter {
            card,
            attempts,
            landings,
            executions: u32::try_from(executions).unwrap_or(u32::MAX),
            troubles: Vec::new(),
            reply,
        });
    }

    /// Says whether a command waits for the end of this attempt, which somebody has begun to run.
    pub(super) fn is_awaited(&self, work: &Work) -> bool {
        let attempt = match work {
            Work::Registered(registered) => registered.attempt(),
            Work::Started(started) => started.attempt(),
            // Nothing of these runs: whether they go on is for their row to say.
            Work::Claimed(_) | Work::Prepared(_) | Work::Leftover(_) => return false,
        };
        self.waiters
            .iter()
            .any(|waiter| waiter.attempts.contains(&attempt))
    }

    /// Answers the commands whose attempts are over. What the card began since then is no affair of theirs.
    pub(super) fn answer_waiters(&mut self) {
        let journal = &self.cx.journal;
        self.stopped_landings
            .retain(|landing| journal.holds_landing(*landing));
        for waiter in std::mem::take(&mut self.waiters) {
            let rest = self.incomplete.values();
            let rest = rest.filter(|one| one.card == waiter.card);
            let left: Vec<String> = rest.flat_map(Incomplete::names).collect();
            if !left.is_empty() {
                waiter.answer(Stopped::Incomplete { left });
            } else if self.is_under_way(&waiter) {
                self.waiters.push(waiter);
            } else {
                let executions = waiter.executions;
                waiter.answer(Stopped::Closed { executions });
            }
        }
    }

    fn is_under_way(&self, waiter: &Waiter) -> bool {
        let is_held = |attempt| self.cx.journal.holds(attempt);
        // The ledger does not know a leftover; it is in flight since the pass after the request.
        let is_leftover =
            |(run, flight): (&RunId, &Flight)| flight.card == waiter.card && !self.cx.journal.holds_run(*run);
        let is_landing = |landing: &LandingId| self.cx.journal.holds_landing(*landing);
        let lands = waiter.landings.iter().any(is_landing);
        lands || waiter.attempts.iter().any(is_held) || self.flights.iter().any(is_leftover)
    }

    /// Notes for all commands that wait that a pass failed: without a whole one nobody knows what is left.
    pub(super) fn note_failed_pass(&mut self, why: &str) {
        let cards: BTreeSet<CardId> = self.waiters.iter().map(|waiter| waiter.card).collect();
        for card in cards {
            self.note_trouble(card, format!("what is left of it is not known: {why}"));
        }
    }

    /// Notes for the commands that wait for a card why its end was not reached. It is tried again at once, some times, before
    /// they are told that something is left.
    pub(super) fn note_trouble(&mut self, card: CardId, trouble: String) {
        let waiting = self.waiters.iter_mut().filter(|waiter| waiter.card == card);
        let mut awaited = false;
        for waiter in waiting {
            waiter.troubles.push(trouble.clone());
            awaited = true;
        }
        if awaited {
            self.strain.wake();
        }
        let in_vain = self
            .waiters
            .extract_if(.., |waiter| waiter.troubles.len() >= STOP_TRIES);
        for mut waiter in in_vain.collect::<Vec<_>>() {
            let left = std::mem::take(&mut waiter.troubles).split_off(STOP_TRIES - 1);
            waiter.answer(Stopped::Incomplete { left });
        }
    }
}

impl Waiter {
    fn answer(self, stopped: Stopped) {
        if self.reply.send(stopped).is_err() {
            tracing::debug!(card = %self.card, "the command that asked to stop is gone");
        }
    }
}
