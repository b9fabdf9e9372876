//! Invariant 13: a base moves once for each landing.

use std::collections::BTreeSet;

use super::{Invariant, Moment};

/// Invariant 13.
#[derive(Debug, Default)]
pub(super) struct MovedOnce;

impl Invariant for MovedOnce {
    fn name(&self) -> &'static str {
        "13. a base moves once for each landing"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        let mut landed = BTreeSet::new();
        for machine in moment.machines {
            for landing in machine.bases().landed() {
                if !landed.insert(landing.as_str().to_owned()) {
                    return Err(format!("landing {landing} moved its base twice"));
                }
            }
        }
        Ok(())
    }
}
