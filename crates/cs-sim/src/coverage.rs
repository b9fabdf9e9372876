//! What a simulation must have drawn: every call of a daemon with every way in which it can go wrong.

use std::collections::BTreeMap;

/// The ways in which a call goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    /// The daemon dies before it calls.
    CrashBefore,
    /// The daemon dies when all was done, before it hears the answer.
    CrashAfter,
    /// The request never arrives.
    RequestLost,
    /// The request is carried out and its answer is lost.
    AnswerLost,
    /// The request arrives twice.
    Twice,
    /// The request arrives after its caller has given up.
    Late,
    /// Something of the machine fails before anything was done.
    FailsBefore,
    /// Something of the machine is done and says that it failed.
    FailsAfter,
}

/// What happens to calls of the record.
const REMOTE: [Way; 6] = [
    Way::CrashBefore,
    Way::CrashAfter,
    Way::RequestLost,
    Way::AnswerLost,
    Way::Twice,
    Way::Late,
];
/// What happens to calls on the machine.
const LOCAL: [Way; 4] = [
    Way::CrashBefore,
    Way::CrashAfter,
    Way::FailsBefore,
    Way::FailsAfter,
];
/// What happens to calls that cannot fail.
const UNFAILING: [Way; 2] = [Way::CrashBefore, Way::CrashAfter];

/// Every call that a daemon makes, with the ways in which it goes wrong here.
const CALLS: [(&str, &[Way]); 42] = [
    ("claim", &REMOTE),
    ("reconcile", &REMOTE),
    ("standing", &REMOTE),
    ("record process", &REMOTE),
    ("clear process", &REMOTE),
    ("mark incomplete", &REMOTE),
    ("interrupt", &REMOTE),
    ("answer", &REMOTE),
    ("give up", &REMOTE),
    ("capped", &REMOTE),
    ("used", &REMOTE),
    ("settle landing", &REMOTE),
    ("peek", &REMOTE),
    ("run brief", &REMOTE),
    ("landing brief", &REMOTE),
    ("stopped runs", &REMOTE),
    ("running runs", &REMOTE),
    ("cards", &REMOTE),
    ("card", &REMOTE),
    ("present", &REMOTE),
    ("hand back a run", &REMOTE),
    ("hand back a landing", &REMOTE),
    ("pauses", &REMOTE),
    ("forget operations", &REMOTE),
    ("names", &LOCAL),
    ("create", &LOCAL),
    ("attempt", &UNFAILING),
    ("hold", &LOCAL),
    ("go", &LOCAL),
    ("abandon", &LOCAL),
    ("survey", &LOCAL),
    ("heard", &LOCAL),
    ("follow", &LOCAL),
    ("stop", &LOCAL),
    ("make ready", &LOCAL),
    ("save", &LOCAL),
    ("is there", &LOCAL),
    ("retire", &LOCAL),
    ("plan", &LOCAL),
    ("move", &LOCAL),
    ("recover", &LOCAL),
    ("make clone", &LOCAL),
];

/// How much more often than others a call goes wrong: calls that are seldom made, so that each way is drawn.
pub(crate) fn weight(call: &str) -> u32 {
    match call {
        "abandon" | "hand back a landing" | "hand back a run" | "stop" => 32,
        "capped" | "heard" | "landing brief" | "make clone" | "mark incomplete" | "move" | "plan"
        | "recover" | "retire" | "settle landing" | "used" => 8,
        "give up" | "interrupt" | "running runs" => 3,
        _ => 1,
    }
}

/// What goes wrong by itself.
const WEATHER: [&str; 8] = [
    "record away",
    "machine cut off",
    "crash",
    "reboot",
    "disk full or not",
    "ledger lost",
    "machine away or back",
    "nine days away",
];

/// From so many seeds on, everything must have been drawn.
pub const FLOOR_FROM: u64 = 500;

/// How often what was drawn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    calls: BTreeMap<(&'static str, Way), u64>,
}

impl Coverage {
    /// Notes that a call went wrong in this way. Says whether it is one that is expected.
    pub(crate) fn draw(&mut self, call: &'static str, way: Way) -> bool {
        *self.calls.entry((call, way)).or_default() += 1;
        CALLS
            .iter()
            .any(|(known, ways)| *known == call && ways.contains(&way))
    }

    /// Adds another one.
    pub(crate) fn add(&mut self, other: &Self) {
        for (drawn, count) in &other.calls {
            *self.calls.entry(*drawn).or_default() += count;
        }
    }

    /// How many there are to draw, calls and weather.
    #[must_use]
    pub fn all() -> usize {
        CALLS.iter().map(|(_, ways)| ways.len()).sum::<usize>() + WEATHER.len()
    }

    /// Names what was drawn the least often, of what was.
    #[must_use]
    pub(crate) fn rarest(&self) -> Vec<String> {
        let mut counts: Vec<_> = self.calls.iter().map(|(drawn, count)| (*count, *drawn)).collect();
        counts.sort_unstable();
        let rarest = counts.iter().take(6);
        rarest
            .map(|(count, (call, way))| format!("{call}: {way:?} {count}"))
            .collect()
    }

    /// Names what was never drawn.
    #[must_use]
    pub(crate) fn missing(&self, faults: &BTreeMap<&'static str, u64>) -> Vec<String> {
        let calls = CALLS
            .iter()
            .flat_map(|(call, ways)| ways.iter().map(move |way| (*call, *way)));
        let calls = calls
            .filter(|drawn| !self.calls.contains_key(drawn))
            .map(|(call, way)| format!("{call}: {way:?}"));
        let weather = WEATHER
            .iter()
            .filter(|name| !faults.contains_key(*name))
            .map(|name| (*name).to_owned());
        calls.chain(weather).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_drawn_is_named() {
        let mut coverage = Coverage::default();
        let nothing = coverage.missing(&BTreeMap::new());
        assert_eq!(nothing.len(), Coverage::all());
        assert!(coverage.draw("claim", Way::Late));
        assert!(
            !coverage.draw("claim", Way::FailsAfter),
            "the record is not local"
        );
        assert!(!coverage.draw("dance", Way::Late));
        let missing = coverage.missing(&BTreeMap::from([("crash", 1)]));
        assert_eq!(missing.len(), Coverage::all() - 2);
        assert!(!missing.contains(&"claim: Late".to_owned()));
        assert!(missing.contains(&"claim: Twice".to_owned()));
    }
}
