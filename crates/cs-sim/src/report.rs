//! What came of a simulation.

use std::collections::BTreeMap;
use std::fmt;

use crate::coverage::Coverage;

/// What happened in a simulation, or in many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// Changes after which the invariants were looked at.
    pub steps: u64,
    /// Faults, and what else went wrong, by name.
    pub faults: BTreeMap<&'static str, u64>,
    /// What was done, by name.
    pub done: BTreeMap<&'static str, u64>,
    /// Which calls went wrong, and how.
    pub coverage: Coverage,
}

impl Totals {
    /// Adds another one.
    pub fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.coverage.add(&other.coverage);
        for (name, count) in &other.faults {
            *self.faults.entry(name).or_default() += count;
        }
        for (name, count) in &other.done {
            *self.done.entry(name).or_default() += count;
        }
    }

    /// Names what never went wrong of all that can.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        self.coverage.missing(&self.faults)
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |counts: &BTreeMap<&str, u64>| {
            let counts: Vec<_> = counts
                .iter()
                .map(|(name, count)| format!("{name} {count}"))
                .collect();
            counts.join(", ")
        };
        writeln!(f, "steps {}", self.steps)?;
        writeln!(f, "went wrong: {}", list(&self.faults))?;
        writeln!(f, "done: {}", list(&self.done))?;
        let (all, missing) = (Coverage::all(), self.missing());
        write!(
            f,
            "{} of {all} ways in which something goes wrong were drawn",
            all - missing.len()
        )?;
        write!(f, "; the rarest: {}", self.coverage.rarest().join(", "))?;
        if !missing.is_empty() {
            write!(f, "; never: {}", missing.join(", "))?;
        }
        Ok(())
    }
}

/// An invariant that did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which one.
    pub invariant: &'static str,
    /// What was seen.
    pub seen: String,
}

/// What came of one simulation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Its seed.
    pub seed: u64,
    /// A digest of everything that happened, in order.
    pub digest: u64,
    /// What happened.
    pub totals: Totals,
    /// The first invariant that did not hold.
    pub violation: Option<Violation>,
    /// The last events before the end, first to last.
    pub last: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.last {
            writeln!(f, "  {line}")?;
        }
        match &self.violation {
            Some(Violation { invariant, seen }) => write!(f, "seed {}: {invariant}: {seen}", self.seed),
            None => write!(f, "seed {}: every invariant held", self.seed),
        }
    }
}
