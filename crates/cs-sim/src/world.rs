//! What all parts of a simulation share.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cs_fence::{Attempt, LandingAttempt};
use cs_model::{Clock, CodebaseId, Epoch, LandingId, RunId};
use cs_record::Record;
use cs_testkit::{MemoryStore, SeededIds};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::broken::Mutant;
use crate::clock::SimClock;
use crate::coverage::Way;
use crate::dice::Dice;
use crate::invariant::{Event, Invariant, Moment};
use crate::machine::Machine;
use crate::profile::Profile;
use crate::report::{Totals, Violation};
use crate::run::Options;

/// The world of one simulation.
pub(crate) struct World {
    pub(crate) dice: Dice,
    pub(crate) profile: Profile,
    pub(crate) options: Options,
    pub(crate) clock: Arc<SimClock>,
    pub(crate) ids: Arc<SeededIds>,
    pub(crate) store: MemoryStore,
    pub(crate) record: Arc<Record<MemoryStore>>,
    pub(crate) machines: Vec<Arc<Machine>>,
    pub(crate) codebases: Vec<CodebaseId>,
    inner: Mutex<Inner>,
    late: Mutex<JoinSet<()>>,
}

struct Inner {
    invariants: Vec<Box<dyn Invariant>>,
    violation: Option<Violation>,
    totals: Totals,
    digest: u64,
    last: VecDeque<String>,
    is_calm: bool,
    away_until: Instant,
    attempts: BTreeMap<(RunId, Epoch), Attempt>,
    landings: BTreeMap<(LandingId, Epoch), LandingAttempt>,
    stepped_at: Instant,
    steps_now: u32,
}

/// More changes than this at one moment mean that somebody never pauses.
const STEPS_AT_ONCE: u32 = 20_000;

/// What a world is made of.
pub(crate) struct Parts {
    pub(crate) dice: Dice,
    pub(crate) profile: Profile,
    pub(crate) options: Options,
    pub(crate) clock: Arc<SimClock>,
    pub(crate) ids: Arc<SeededIds>,
    pub(crate) store: MemoryStore,
    pub(crate) machines: Vec<Arc<Machine>>,
    pub(crate) codebases: Vec<CodebaseId>,
}

impl World {
    pub(crate) fn new(parts: Parts) -> Self {
        let record = Record::new(parts.store.handle(), parts.ids.clone());
        Self {
            dice: parts.dice,
            profile: parts.profile,
            options: parts.options,
            clock: parts.clock,
            ids: parts.ids,
            store: parts.store,
            record: Arc::new(record),
            machines: parts.machines,
            codebases: parts.codebases,
            inner: Mutex::new(Inner {
                invariants: crate::invariant::all(),
                violation: None,
                totals: Totals::default(),
                digest: 0xcbf2_9ce4_8422_2325,
                last: VecDeque::new(),
                is_calm: false,
                away_until: Instant::now(),
                attempts: BTreeMap::new(),
                landings: BTreeMap::new(),
                stepped_at: Instant::now(),
                steps_now: 0,
            }),
            late: Mutex::new(JoinSet::new()),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that something happened, which is part of the digest.
    pub(crate) fn note(&self, text: fmt::Arguments<'_>) {
        let line = format!("{:>10.3} {text}", self.clock.elapsed().as_secs_f64());
        let mut inner = self.inner();
        for byte in line.bytes() {
            inner.digest = (inner.digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        // What comes after a violation says nothing about how it came to be.
        if inner.violation.is_none() {
            inner.last.push_back(line);
            if inner.last.len() > self.options.last {
                inner.last.pop_front();
            }
        }
    }

    /// Counts something that went wrong, and notes it.
    pub(crate) fn fault(&self, kind: &'static str, text: fmt::Arguments<'_>) {
        *self.inner().totals.faults.entry(kind).or_default() += 1;
        self.note(format_args!("{kind}: {text}"));
    }

    /// Counts a call that goes wrong, and notes it.
    pub(crate) fn draw(&self, call: &'static str, way: Way, machine: usize) {
        let is_known = self.inner().totals.coverage.draw(call, way);
        self.note(format_args!("machine {machine} {call}: {way:?}"));
        if !is_known {
            self.fail("every call is one that is counted", format!("{call}: {way:?}"));
        }
    }

    /// Counts something that was done.
    pub(crate) fn count(&self, what: &'static str) {
        *self.inner().totals.done.entry(what).or_default() += 1;
    }

    /// Shows an event to all invariants.
    pub(crate) fn see(&self, event: &Event) {
        let Some(rows) = self.store.rows() else {
            return self.fail(
                "every change is looked at",
                format!("nobody could look after {event:?}"),
            );
        };
        let mut inner = self.inner();
        let inner = &mut *inner;
        inner.totals.steps += 1;
        let now = Instant::now();
        inner.steps_now = if inner.stepped_at == now {
            inner.steps_now + 1
        } else {
            0
        };
        inner.stepped_at = now;
        if inner.steps_now > STEPS_AT_ONCE {
            inner.violation.get_or_insert_with(|| Violation {
                invariant: "time goes on",
                seen: format!("{STEPS_AT_ONCE} changes came at one moment"),
            });
        }
        if inner.violation.is_some() {
            return;
        }
        let moment = Moment {
            event,
            rows: &rows,
            machines: &self.machines,
            now: self.clock.now(),
        };
        for invariant in &mut inner.invariants {
            if let Err(seen) = invariant.see(&moment) {
                let violation = Violation {
                    invariant: invariant.name(),
                    seen,
                };
                inner.violation = Some(violation);
                return;
            }
        }
    }

    /// Notes an attempt's own secret, which only the simulator may know.
    pub(crate) fn know(&self, attempt: Attempt) {
        self.inner()
            .attempts
            .insert((attempt.run, attempt.epoch), attempt);
    }

    pub(crate) fn attempt(&self, run: RunId, epoch: Epoch) -> Option<Attempt> {
        self.inner().attempts.get(&(run, epoch)).copied()
    }

    /// Notes the secret of a life of a landing, which only the simulator may know.
    pub(crate) fn know_landing(&self, attempt: LandingAttempt) {
        let key = (attempt.landing, attempt.epoch);
        self.inner().landings.insert(key, attempt);
    }

    pub(crate) fn landing(&self, landing: LandingId, epoch: Epoch) -> Option<LandingAttempt> {
        self.inner().landings.get(&(landing, epoch)).copied()
    }

    /// Breaks an invariant of the simulation itself.
    pub(crate) fn fail(&self, invariant: &'static str, seen: String) {
        let violation = Violation { invariant, seen };
        self.inner().violation.get_or_insert(violation);
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.inner().violation.is_some()
    }

    /// Says whether this is broken on purpose.
    pub(crate) fn is_mutant(&self, mutant: Mutant) -> bool {
        self.options.mutant == Some(mutant)
    }

    /// Says whether the faults have stopped.
    pub(crate) fn is_calm(&self) -> bool {
        self.inner().is_calm
    }

    /// Stops all faults.
    pub(crate) fn calm(&self) {
        self.inner().is_calm = true;
    }

    /// Takes the record away for a while.
    pub(crate) fn take_away(&self, span: Duration) {
        self.inner().away_until = Instant::now() + span;
    }

    pub(crate) fn is_away(&self) -> bool {
        let inner = self.inner();
        !inner.is_calm && Instant::now() < inner.away_until
    }

    /// Says whether a fault of this rate happens now.
    pub(crate) fn happens(&self, in_ten_thousand: u32) -> bool {
        !self.is_calm() && self.dice.chance(in_ten_thousand)
    }

    /// Lets a call take its time.
    pub(crate) async fn delay(&self) {
        let slow = self.profile.slow;
        if !slow.is_zero() && self.dice.chance(5_000) {
            sleep(self.dice.span(Duration::ZERO, slow)).await;
        }
    }

    /// Carries something out later, whoever has died by then.
    pub(crate) fn later(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        while late.try_join_next().is_some() {}
        late.spawn(task);
    }

    /// Says whether something is still to arrive.
    pub(crate) fn awaits_late(&self) -> bool {
        let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        while late.try_join_next().is_some() {}
        !late.is_empty()
    }

    /// Gives what there is to report.
    pub(crate) fn report(&self, seed: u64) -> crate::Report {
        let inner = self.inner();
        crate::Report {
            seed,
            digest: inner.digest,
            totals: inner.totals.clone(),
            violation: inner.violation.clone(),
            last: inner.last.iter().cloned().collect(),
        }
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("World(..)")
    }
}
