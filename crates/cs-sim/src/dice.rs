//! Every choice of a simulation, from one seed.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Makes the same choices for the same seed and the same questions (SplitMix64).
#[derive(Debug)]
pub(crate) struct Dice(Mutex<u64>);

impl Dice {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(Mutex::new(seed))
    }

    /// Returns the next number.
    pub(crate) fn number(&self) -> u64 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below a limit that is not zero.
    pub(crate) fn below(&self, limit: usize) -> usize {
        let limit = u64::try_from(limit.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.number() % limit).unwrap_or(0)
    }

    /// Says yes so many times in ten thousand.
    pub(crate) fn chance(&self, in_ten_thousand: u32) -> bool {
        in_ten_thousand > 0 && self.number() % 10_000 < u64::from(in_ten_thousand)
    }

    /// Picks one of some; there is at least one.
    pub(crate) fn pick<'a, T>(&self, of: &'a [T]) -> Option<&'a T> {
        if of.is_empty() {
            return None;
        }
        of.get(self.below(of.len()))
    }

    /// Returns a span between two, to the millisecond.
    pub(crate) fn span(&self, from: Duration, to: Duration) -> Duration {
        let width = usize::try_from(to.saturating_sub(from).as_millis()).unwrap_or(usize::MAX);
        from + Duration::from_millis(u64::try_from(self.below(width + 1)).unwrap_or(0))
    }
}
