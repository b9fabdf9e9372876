//! What an attempt may use, as it is noted beside its execution: the configuration may say something else by the time that it ends.

use std::time::Duration;

use cs_model::Cap;
use cs_supervise::{LeaseEnd, Limit, Limits};
use serde::{Deserialize, Serialize};

use crate::bounds::Bounds;

/// What one attempt may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    #[serde(default)]
    wall_ms: Option<u64>,
    #[serde(default)]
    output_bytes: Option<u64>,
    #[serde(default)]
    lease_ms: Option<u64>,
    #[serde(default)]
    at_lease_end: LeaseEnd,
    #[serde(default)]
    bounds: Bounds,
}

/// What an agent does once no daemon follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alone {
    /// It goes on to its end.
    GoesOn,
    /// It is paused after about this time of work, until a daemon is back.
    Pauses(Duration),
    /// It is stopped after about this time of work.
    Stops(Duration),
    /// A person has paused it, and it stays so.
    StaysPaused,
}

impl From<&Limits> for Allowance {
    fn from(limits: &Limits) -> Self {
        Self {
            wall_ms: limits.awake.map(millis),
            output_bytes: limits.spool_bytes,
            lease_ms: Some(millis(limits.lease.length)),
            at_lease_end: limits.lease.at_end,
            bounds: Bounds::default(),
        }
    }
}

impl Allowance {
    /// The same within bounds that only who reads what the agent says can see to.
    #[must_use]
    pub const fn within(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// What only who reads what the agent says can see to.
    pub(super) const fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Says what an agent with it does once no daemon follows it.
    #[must_use]
    pub fn alone(&self) -> Alone {
        let length = Duration::from_millis(self.lease_ms.unwrap_or_default());
        match self.at_lease_end {
            LeaseEnd::Continue => Alone::GoesOn,
            LeaseEnd::Pause => Alone::Pauses(length),
            LeaseEnd::Stop => Alone::Stops(length),
        }
    }

    /// How much disk its output may take, if that is limited.
    pub(crate) const fn most_output_bytes(&self) -> Option<u64> {
        self.output_bytes
    }

    /// Whether the disk of its output is limited.
    pub(crate) const fn limits_output(&self) -> bool {
        self.output_bytes.is_some()
    }

    /// Says, for people, that so much disk is nearly all that its output may take; nothing while it is less than four fifths.
    pub(crate) fn nearly_used_up(&self, used_bytes: u64) -> Option<String> {
        let most = self.output_bytes?;
        (used_bytes >= most / 5 * 4).then(|| {
            format!(
                "the output of its agent takes {} MiB of disk; at {} MiB it is ended (`output` in the configuration)",
                used_bytes >> 20,
                most >> 20
            )
        })
    }

    /// Says which budget a limit of its execution is, and why it ended the attempt, for people. The end of a lease is no budget.
    pub(crate) fn used_up(&self, limit: Limit) -> Option<(Cap, String)> {
        match limit {
            Limit::Awake => {
                let wall = self.wall_ms.map(|wall| words(Duration::from_millis(wall)));
                let reason = format!(
                    "its agent worked for {}, which is all that one attempt may (`wall` in the configuration)",
                    wall.unwrap_or_else(|| "too long".to_owned())
                );
                Some((Cap::Wall, reason))
            }
            Limit::SpoolBytes => {
                let most = self.output_bytes.map(|most| format!("{} MiB", most >> 20));
                let reason = format!(
                    "the output of its agent took more than {} of disk, which is all that one attempt may (`output` in the \
                     configuration)",
                    most.unwrap_or_else(|| "the limit".to_owned())
                );
                Some((Cap::Output, reason))
            }
            Limit::Lease => None,
        }
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// Writes a span with the units that it has.
pub(super) fn words(span: Duration) -> String {
    let seconds = span.as_secs();
    let parts = [
        (seconds / 3600, "h"),
        (seconds / 60 % 60, "min"),
        (seconds % 60, "s"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<_> = parts.map(|(count, unit)| format!("{count} {unit}")).collect();
    if parts.is_empty() {
        return format!("{} ms", span.as_millis());
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use cs_supervise::Lease;

    use super::*;

    #[test]
    fn a_reason_names_the_budget_and_where_it_is_set() {
        let limits = Limits {
            spool_bytes: Some(3 << 20),
            awake: Some(Duration::from_secs(5430)),
            lease: Lease::default(),
        };
        let allowance = Allowance::from(&limits);
        let (cap, reason) = allowance.used_up(Limit::Awake).expect("a budget");
        assert_eq!(cap, Cap::Wall);
        assert!(
            reason.contains("1 h 30 min 30 s") && reason.contains("`wall`"),
            "{reason}"
        );
        let (cap, reason) = allowance.used_up(Limit::SpoolBytes).expect("a budget");
        assert_eq!(cap, Cap::Output);
        assert!(
            reason.contains("3 MiB") && reason.contains("`output`"),
            "{reason}"
        );
        assert_eq!(allowance.used_up(Limit::Lease), None);
        assert_eq!(allowance.nearly_used_up(2 << 20), None);
        let nearly = allowance.nearly_used_up(5 << 19).expect("more than four fifths");
        assert!(
            nearly.contains("takes 2 MiB") && nearly.contains("at 3 MiB"),
            "{nearly}"
        );
        assert_eq!(allowance.alone(), Alone::GoesOn);
    }

    #[test]
    fn what_was_noted_before_there_were_limits_has_none() {
        let noted: Allowance = serde_json::from_str("{}").expect("every field may be missing");
        assert_eq!((noted, noted.alone()), (Allowance::default(), Alone::GoesOn));
        assert_eq!(noted.nearly_used_up(u64::MAX), None);
    }
}
