//! Invariant 13: a base moves once for each landing, and the record is told of a landing what its base really came to.

use std::collections::BTreeSet;

use cs_record::LandingResult;

use super::{Deed, Event, Invariant, Moment, Write};

/// Invariant 13.
#[derive(Debug, Default)]
pub(super) struct MovedOnce;

impl Invariant for MovedOnce {
    fn name(&self) -> &'static str {
        "13. a base moves once for each landing, and the record is told where to"
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
        let Event::Wrote(Write {
            machine,
            deed:
                Some(Deed::Landed {
                    attempt,
                    result,
                    applied: true,
                }),
            ..
        }) = moment.event
        else {
            return Ok(());
        };
        let Some(machine) = moment.machines.get(*machine) else {
            return Ok(());
        };
        let bases = machine.bases();
        let moved = bases
            .moved_to(&attempt.landing.to_string())
            .map(|commit| commit.as_str());
        let told = match result {
            LandingResult::Landed { commit, .. } => Some(commit.as_str()),
            LandingResult::Conflict { .. }
            | LandingResult::VerifyFailed { .. }
            | LandingResult::Published { .. }
            | LandingResult::Refused { .. } => None,
        };
        if moved == told {
            return Ok(());
        }
        Err(format!(
            "landing {attempt} moved its base to {moved:?}, and the record is told {told:?}"
        ))
    }
}
