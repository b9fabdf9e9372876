//! Many seeds, each twice, on all cores.

use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::report::{Report, Totals};
use crate::run::{Options, simulate};

/// After so many seeds it is said how far it is.
const SAY_EVERY: u64 = 100;

/// What is seen while many seeds are simulated.
#[derive(Debug)]
pub enum Seen<'a> {
    /// A seed showed that something does not hold, or went two ways.
    Failed {
        /// What came of it.
        report: &'a Report,
        /// And the second time.
        again: &'a Report,
    },
    /// The only seed, which went the same way twice.
    One(&'a Report),
    /// So many seeds are done.
    Done(u64),
}

/// Simulates so many seeds from one on, each twice. Says what happened in all of them, and how many failed.
///
/// # Errors
/// As [`simulate`]; the other seeds of that core are left out.
pub fn simulate_all(
    from: u64,
    seeds: u64,
    options: Options,
    say: &(dyn Fn(Seen<'_>) + Sync),
) -> std::io::Result<(Totals, u64)> {
    let next = AtomicU64::new(0);
    let all = Mutex::new((Totals::default(), 0, 0));
    let work = || -> std::io::Result<()> {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            if place >= seeds {
                return Ok(());
            }
            let seed = from.saturating_add(place);
            let (report, again) = (simulate(seed, options)?, simulate(seed, options)?);
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            let (totals, failed, done) = &mut *all;
            totals.add(&report.totals);
            if seeds == 1 && report == again && report.violation.is_none() {
                say(Seen::One(&report));
            }
            if report.violation.is_some() || report != again {
                *failed += 1;
                let (report, again) = (&report, &again);
                say(Seen::Failed { report, again });
            }
            *done += 1;
            if u64::is_multiple_of(*done, SAY_EVERY) {
                say(Seen::Done(*done));
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let mut ended = workers.into_iter().map(|worker| worker.join());
        ended.try_for_each(|ended| ended.unwrap_or_else(|_| Err(std::io::Error::other("a core panicked"))))
    })?;
    let (totals, failed, _) = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((totals, failed))
}
