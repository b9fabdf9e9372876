//! Simulations: of many seeds every invariant holds, of seeds that once failed too, and what is broken on purpose is noticed.

use cs_sim::{Kind, Mutant, Options, simulate};

/// Simulates each seed twice: every invariant holds, and both went the same way.
fn hold(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let report = simulate(seed, Options::default()).expect("a simulation");
        assert!(report.violation.is_none(), "{report}");
        let again = simulate(seed, Options::default()).expect("a simulation");
        assert!(report == again, "seed {seed} went two ways:\n{report}\n{again}");
    }
}

/// Invariant 6. Invariant 9. Invariant 10. Invariant 16. Invariant 17.
#[test]
fn every_invariant_holds_from_seed_0_on() {
    hold(0..125);
}

#[test]
fn every_invariant_holds_from_seed_125_on() {
    hold(125..250);
}

#[test]
fn every_invariant_holds_from_seed_250_on() {
    hold(250..375);
}

#[test]
fn every_invariant_holds_from_seed_375_on() {
    hold(375..500);
}

/// Invariant 7. A daemon without its ledger ended what a person had stopped, could not prove that nothing of it was left, and freed
/// the card all the same.
#[test]
fn a_leftover_that_is_not_proven_closed_keeps_its_card() {
    hold(1537..1538);
}

/// Invariant 7. A daemon without its ledger tried again and again, without a pause, to end what could not be ended.
#[test]
fn a_leftover_that_cannot_be_ended_does_not_keep_its_daemon_busy() {
    let options = Options {
        kind: Kind::Leftovers,
        ..Options::default()
    };
    for seed in 0..40 {
        let report = simulate(seed, options).expect("a simulation");
        assert!(report.violation.is_none(), "{report}");
    }
}

/// Says how many seeds it takes until an invariant with this number notices.
fn notices(mutant: Mutant, invariants: &[&str]) {
    let options = Options {
        mutant: Some(mutant),
        ..Options::default()
    };
    let mut seen = (0..1000).map(|seed| simulate(seed, options).expect("a simulation"));
    let found = seen.find_map(|report| report.violation);
    let found = found.expect("one of 1000 seeds shows that something is broken");
    let is_named = invariants.iter().any(|name| found.invariant.starts_with(name));
    assert!(is_named, "{found:?}");
}

/// Invariant 1.
#[test]
fn a_record_without_a_fence_is_noticed() {
    notices(Mutant::NoFence, &["1."]);
}

/// Invariant 3.
#[test]
fn a_record_that_forgets_what_it_cancelled_is_noticed() {
    notices(Mutant::NoTombstone, &["3.", "4."]);
}

#[test]
fn a_record_that_takes_twice_is_noticed() {
    notices(Mutant::ClaimsTwice, &["3.", "4."]);
}

/// Invariant 4. Invariant 5.
#[test]
fn a_ledger_that_is_not_durable_is_noticed() {
    notices(Mutant::LedgerForgets, &["1.", "4.", "when"]);
}

/// Whom nobody adopts, nobody hears either. Invariant 7. Invariant 8.
#[test]
fn a_daemon_that_does_not_adopt_is_noticed() {
    notices(Mutant::AdoptionForgets, &["1.", "7.", "8."]);
}

/// Invariant 13.
#[test]
fn a_landing_that_forgets_its_move_is_noticed() {
    notices(Mutant::MoveForgets, &["13."]);
}

/// Invariant 8.
#[test]
fn a_spool_that_is_not_read_to_its_end_is_noticed() {
    notices(Mutant::SpoolForgets, &["8."]);
}
