//! What works on a card on this machine, by the executions of its state directory: without the record.

use std::collections::BTreeSet;

use cs_daemon::{AttemptFile, StateDir};
use cs_journal::ClaimedRun;
use cs_supervise::{ExecutionDir, Life, glance};

use crate::commands::ps;
use crate::failure::Failure;

/// So many of the digits of an id are enough.
const DIGITS_MIN: usize = 4;
/// So many of the last digits of an id are shown.
const DIGITS_SHOWN: usize = 8;

/// A live execution.
#[derive(Debug)]
pub(crate) struct Live {
    /// Its name.
    pub(crate) name: String,
    /// Its directory.
    pub(crate) dir: ExecutionDir,
    /// What was claimed for it.
    pub(crate) row: ClaimedRun,
}

/// Finds the live executions of a card, by its id, or the first or last of the digits that are shown.
///
/// # Errors
/// The executions cannot be listed, or several cards fit.
pub(crate) fn live(state: &StateDir, card: &str) -> Result<Vec<Live>, Failure> {
    let mut found = Vec::new();
    for name in ps::names(state)? {
        let dir = ExecutionDir::at(state.execution(&name));
        let Some(file) = AttemptFile::read(&dir) else {
            continue;
        };
        let is_meant = fits(&file.row.card.to_string(), card);
        if is_meant && glance(&dir).is_ok_and(|seen| matches!(seen.life, Life::Alive(_))) {
            let row = file.row;
            found.push(Live { name, dir, row });
        }
    }
    let cards: BTreeSet<_> = found.iter().map(|one| one.row.card).collect();
    if cards.len() > 1 {
        return Err(Failure::Usage(format!(
            "`{card}` fits several cards: {}; give more of its digits",
            cards
                .iter()
                .map(|card| card.short())
                .collect::<Vec<_>>()
                .join(", ")
        )));
    }
    Ok(found)
}

/// Says whether an id ends with what was given, or its last eight digits begin with it: four or more hexadecimal digits, hyphens aside.
fn fits(id: &str, given: &str) -> bool {
    let digits = |text: &str| text.trim().replace('-', "").to_ascii_lowercase();
    let (id, given) = (digits(id), digits(given));
    let shown = id
        .get(id.len().saturating_sub(DIGITS_SHOWN)..)
        .unwrap_or_default();
    given.len() >= DIGITS_MIN
        && given.chars().all(|digit| digit.is_ascii_hexdigit())
        && (id.ends_with(&given) || shown.starts_with(&given))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_meant_by_the_digits_that_are_shown_and_by_nothing_that_has_none() {
        let id = "0197f3c2-7f4e-7a31-9c55-3d1f4f2a9c1b";
        for given in [id, "9c1b", "4f2a-9c1b", "4F2A9C1B", "4f2a", "4f2a9c1"] {
            assert!(fits(id, given), "{given}");
        }
        for given in [
            "----", "--------", "", "    ", "c1b", "-c1b", "zzzz", "9c1c", "f2a9", "0197",
        ] {
            assert!(!fits(id, given), "{given}");
        }
    }
}
