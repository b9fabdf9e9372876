//! Ids that follow from a seed.

use std::sync::Arc;
use std::sync::Mutex;

use cs_model::{Clock, IdSource};
use uuid::Uuid;

/// Makes the same ids and secrets for the same seed and the same times (SplitMix64). Never for production.
#[derive(Debug)]
pub struct SeededIds {
    state: Mutex<u64>,
    clock: Arc<dyn Clock>,
}

impl SeededIds {
    /// Makes a source; the clock gives the time in the ids.
    #[must_use]
    pub fn new(seed: u64, clock: Arc<dyn Clock>) -> Self {
        Self {
            state: Mutex::new(seed),
            clock,
        }
    }

    /// Returns the next number.
    pub fn number(&self) -> u64 {
        let mut state = self
            .state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl IdSource for SeededIds {
    fn uuid_v7(&self) -> Uuid {
        let millis = u64::try_from(self.clock.now().unix_micros() / 1_000).unwrap_or(0);
        let mut random = [0; 10];
        random[..8].copy_from_slice(&self.number().to_be_bytes());
        random[8..].copy_from_slice(&self.number().to_be_bytes()[..2]);
        uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
    }

    fn secret(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for chunk in bytes.chunks_exact_mut(8) {
            chunk.copy_from_slice(&self.number().to_be_bytes());
        }
        bytes
    }
}
