//! What is broken on purpose is noticed, each by the invariant that it breaks: the simulation bites.

use cs_sim::{BROKEN, Broken, Options, simulate};

/// So many seeds must be enough to show that something is broken.
const SEEDS: u64 = 60;

/// Everything that breaks this invariant is noticed by one that it is written down for.
fn is_noticed(invariant: &str) {
    let broken: Vec<&Broken> = BROKEN.iter().filter(|broken| broken.by[0] == invariant).collect();
    assert!(!broken.is_empty(), "nothing breaks {invariant}");
    for broken in broken {
        let options = Options {
            mutant: Some(broken.mutant),
            kind: Some(broken.kind),
            ..Options::default()
        };
        let mut reports = (0..SEEDS).map(|seed| simulate(seed, options).expect("a simulation"));
        let found = reports.find_map(|report| report.violation);
        let found = found.unwrap_or_else(|| panic!("{:?} shows in none of {SEEDS} seeds", broken.mutant));
        let is_named = broken.by.iter().any(|name| found.invariant.starts_with(name));
        assert!(is_named, "{:?}: {found:?}", broken.mutant);
    }
}

/// Invariant 1.
#[test]
fn another_attempt_that_writes_is_noticed() {
    is_noticed("1.");
}

/// Invariant 2.
#[test]
fn a_second_owner_is_noticed() {
    is_noticed("2.");
}

/// Invariant 3.
#[test]
fn an_operation_that_takes_twice_is_noticed() {
    is_noticed("3.");
}

/// Invariant 4. Invariant 5.
#[test]
fn a_ledger_that_is_not_durable_is_noticed() {
    is_noticed("4.");
}

/// Invariant 6.
#[test]
fn a_prompt_that_comes_too_early_is_noticed() {
    is_noticed("6.");
}

/// Invariant 7.
#[test]
fn an_end_that_is_not_proven_is_noticed() {
    is_noticed("7.");
}

/// Invariant 8.
#[test]
fn an_outcome_that_is_lost_is_noticed() {
    is_noticed("8.");
}

/// Invariant 9.
#[test]
fn a_turn_that_is_lost_or_answered_twice_is_noticed() {
    is_noticed("9.");
}

/// Invariant 10.
#[test]
fn a_question_that_is_answered_twice_is_noticed() {
    is_noticed("10.");
}

/// Invariant 13.
#[test]
fn a_landing_that_forgets_its_move_is_noticed() {
    is_noticed("13.");
}

/// Invariant 14.
#[test]
fn a_path_on_the_record_is_noticed() {
    is_noticed("14.");
}

/// Invariant 16.
#[test]
fn a_card_that_does_not_wait_is_noticed() {
    is_noticed("16.");
}

/// Invariant 17.
#[test]
fn a_limit_that_does_not_hold_is_noticed() {
    is_noticed("17.");
}

#[test]
fn work_that_is_never_taken_is_noticed() {
    is_noticed("when");
}
