//! What one attempt of an agent may use, as the configuration file says it.

use std::time::Duration;

use cs_daemon::Bounds;
use cs_harness::HarnessKind;
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
    start: Option<Most<Span>>,
    idle: Option<Most<Span>>,
    turns: Option<Count>,
    tokens: Option<Count>,
    usd: Option<Money>,
    card_usd: Option<Money>,
}

impl Budgets {
    /// Fills what is not said from other ones.
    pub(super) fn over(self, usual: Self) -> Self {
        Self {
            wall: self.wall.or(usual.wall),
            output: self.output.or(usual.output),
            lease: self.lease.or(usual.lease),
            at_lease_end: self.at_lease_end.or(usual.at_lease_end),
            start: self.start.or(usual.start),
            idle: self.idle.or(usual.idle),
            turns: self.turns.or(usual.turns),
            tokens: self.tokens.or(usual.tokens),
            usd: self.usd.or(usual.usd),
            card_usd: self.card_usd.or(usual.card_usd),
        }
    }

    /// Fills the rest with what holds where nobody says anything. How long an agent may work nobody but its person knows.
    pub(super) fn limits(self) -> Limits {
        let lease = Lease::default();
        // Nobody would see it use up what it may.
        let is_bounded =
            self.turns.is_some() || self.tokens.is_some() || self.usd.is_some() || self.card_usd.is_some();
        let at_end = if is_bounded { LeaseEnd::Pause } else { lease.at_end };
        Limits {
            awake: self.wall.and_then(|Most(wall)| wall.map(|Span(span)| span)),
            spool_bytes: self
                .output
                .map_or(Some(OUTPUT_BYTES), |Most(output)| output.map(|Size(bytes)| bytes)),
            lease: Lease {
                length: self.lease.map_or(lease.length, |Span(span)| span),
                at_end: self.at_lease_end.map_or(at_end, LeaseEnd::from),
            },
        }
    }
}

impl Budgets {
    /// What only who reads what an agent says can see to, filled with what is usual for agents of its kind.
    pub(super) fn bounds(self, kind: HarnessKind) -> Bounds {
        let usual = Bounds::usual(kind);
        let span =
            |most: Option<Most<Span>>, usual| most.map_or(usual, |Most(most)| most.map(|Span(span)| span));
        Bounds {
            start: span(self.start, usual.start),
            idle: span(self.idle, usual.idle),
            turns: self.turns.map(|Count(count)| count),
            tokens: self.tokens.map(|Count(count)| count),
            micro_usd: self.usd.map(|Money(micro_usd)| micro_usd),
            card_micro_usd: self.card_usd.map(|Money(micro_usd)| micro_usd),
        }
    }
}

/// A number of things, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u64")]
struct Count(u64);

impl TryFrom<u64> for Count {
    type Error = String;
    fn try_from(count: u64) -> Result<Self, String> {
        if count > 0 {
            return Ok(Self(count));
        }
        Err("`0` lets nothing happen, expected 1 or more".to_owned())
    }
}

/// An amount of US dollars, in millionths; at least a cent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "f64")]
struct Money(u64);

impl TryFrom<f64> for Money {
    type Error = String;
    fn try_from(usd: f64) -> Result<Self, String> {
        if (0.01..=1e6).contains(&usd) {
            return Ok(Self((usd * 1e6).round() as u64));
        }
        Err(format!(
            "`{usd}` is no amount of US dollars, expected one such as 2.50, from 0.01 on"
        ))
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
    fn an_agent_of_its_own_kind_may_not_be_silent_for_ever_and_a_command_may() {
        let usual = Budgets::default().bounds(HarnessKind::Claude);
        assert_eq!(usual.start, Some(Duration::from_secs(90)));
        assert_eq!(usual.idle, Some(Duration::from_secs(600)));
        assert_eq!(Budgets::default().bounds(HarnessKind::Plain), Bounds::default());
        let said =
            parse("start = \"none\"\nidle = \"1h\"\nturns = 3\ntokens = 4\nusd = 2.5\ncard_usd = 20\n");
        assert_eq!(
            said.bounds(HarnessKind::Claude),
            Bounds {
                start: None,
                idle: Some(Duration::from_secs(3600)),
                turns: Some(3),
                tokens: Some(4),
                micro_usd: Some(2_500_000),
                card_micro_usd: Some(20_000_000),
            }
        );
        assert_eq!(said.limits().lease.at_end, LeaseEnd::Pause);
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
            ("turns = 0", "expected 1 or more"),
            ("tokens = -1", "invalid value"),
            ("usd = 0.001", "no amount of US dollars"),
            ("usd = nan", "no amount of US dollars"),
            ("idle = \"0s\"", "from `1s` on"),
            ("rounds = 3", "unknown field"),
        ] {
            let refused = toml_edit::de::from_str::<Budgets>(text)
                .expect_err(text)
                .to_string();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }
}
