//! What one attempt of an agent may use, as the configuration file says it.

use std::time::Duration;

use cs_supervise::{Lease, LeaseEnd, Limits};
use serde::Deserialize;

/// A followed agent takes far less, however much it says. It is meant for one that nobody follows and that will not stop.
const OUTPUT_BYTES: u64 = 8 << 30;

/// The keys of a table `limits`; what is not said is the machine's, then ours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Budgets {
    wall: Option<Most<Span>>,
    output: Option<Most<Size>>,
    lease: Option<Span>,
    at_lease_end: Option<AtLeaseEnd>,
}

impl Budgets {
    /// Fills what is not said from other ones.
    pub(super) fn over(self, usual: Self) -> Self {
        Self {
            wall: self.wall.or(usual.wall),
            output: self.output.or(usual.output),
            lease: self.lease.or(usual.lease),
            at_lease_end: self.at_lease_end.or(usual.at_lease_end),
        }
    }

    /// Fills the rest with what holds where nobody says anything. How long an agent may work nobody but its person knows.
    pub(super) fn limits(self) -> Limits {
        let lease = Lease::default();
        Limits {
            awake: self.wall.and_then(|Most(wall)| wall.map(|Span(span)| span)),
            spool_bytes: self
                .output
                .map_or(Some(OUTPUT_BYTES), |Most(output)| output.map(|Size(bytes)| bytes)),
            lease: Lease {
                length: self.lease.map_or(lease.length, |Span(span)| span),
                at_end: self.at_lease_end.map_or(lease.at_end, LeaseEnd::from),
            },
        }
    }
}

/// A bound, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Most<T: Copy + TryFrom<String, Error = String>>(Option<T>);

impl<T: Copy + TryFrom<String, Error = String>> TryFrom<String> for Most<T> {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "none" => Ok(Self(None)),
            _ => T::try_from(text).map(|bound| Self(Some(bound))),
        }
    }
}

/// A time of at least a second. So short a lease is for tests: what a busy machine needs to renew it comes near to it. Whoever sets one
/// is told so by `docs/cli.md`, not refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Span(Duration);

impl TryFrom<String> for Span {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let span = humantime::parse_duration(&text).ok();
        span.filter(|span| *span >= Duration::from_secs(1))
            .map(Self)
            .ok_or_else(|| {
                format!("`{text}` is no time, expected one from `1s` on, such as `90min` or `1h 30min`")
            })
    }
}

/// An amount of disk, at least 1 MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Size(u64);

impl TryFrom<String> for Size {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let units = [("MiB", 20), ("GiB", 30), ("TiB", 40)];
        let size = units.iter().find_map(|(unit, shift)| {
            let count: u64 = text.strip_suffix(unit)?.trim().parse().ok()?;
            count.checked_mul(1 << shift)
        });
        size.filter(|bytes| *bytes > 0)
            .map(Self)
            .ok_or_else(|| format!("`{text}` is no size, expected one such as `512MiB` or `1GiB`"))
    }
}

/// What happens to an agent that no daemon has followed for the time of its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AtLeaseEnd {
    Continue,
    Pause,
    Stop,
}

impl From<AtLeaseEnd> for LeaseEnd {
    fn from(end: AtLeaseEnd) -> Self {
        match end {
            AtLeaseEnd::Continue => Self::Continue,
            AtLeaseEnd::Pause => Self::Pause,
            AtLeaseEnd::Stop => Self::Stop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Budgets {
        toml_edit::de::from_str(text).expect("it is right")
    }

    #[test]
    fn what_nobody_says_ends_no_agent_that_works() {
        let limits = Budgets::default().limits();
        assert_eq!(limits.awake, None);
        assert_eq!(limits.spool_bytes, Some(8 << 30));
        assert_eq!(limits.lease.length, Duration::from_secs(600));
        assert_eq!(limits.lease.at_end, LeaseEnd::Continue);
    }

    #[test]
    fn an_agents_own_words_go_before_those_of_the_machine() {
        let machine = parse("wall = \"2h\"\noutput = \"5MiB\"\nlease = \"1min\"\n");
        let agent = parse("wall = \"none\"\nat_lease_end = \"pause\"\n");
        let limits = agent.over(machine).limits();
        assert_eq!((limits.awake, limits.spool_bytes), (None, Some(5 << 20)));
        assert_eq!(limits.lease.length, Duration::from_secs(60));
        assert_eq!(limits.lease.at_end, LeaseEnd::Pause);
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_was_expected() {
        for (text, expected) in [
            ("wall = \"0s\"", "from `1s` on"),
            ("wall = \"soon\"", "is no time"),
            ("output = \"12\"", "is no size"),
            ("output = \"0MiB\"", "is no size"),
            ("output = \"99999999999TiB\"", "is no size"),
            ("lease = \"none\"", "is no time"),
            ("at_lease_end = \"wait\"", "expected one of"),
            ("turns = 3", "unknown field"),
        ] {
            let refused = toml_edit::de::from_str::<Budgets>(text)
                .expect_err(text)
                .to_string();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }
}
