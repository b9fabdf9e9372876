//! Simulations: of many seeds every invariant holds, and of seeds that once failed too.

use cs_sim::{FLOOR_FROM, Kind, Options, Seen, simulate, simulate_all};

/// Of each seed every invariant holds, it goes the same way twice, and of all of them together everything that can go wrong has.
/// Invariant 1. Invariant 2. Invariant 3. Invariant 4. Invariant 5. Invariant 6. Invariant 7. Invariant 8. Invariant 9. Invariant 10.
/// Invariant 13. Invariant 14. Invariant 16. Invariant 17.
#[test]
fn every_invariant_holds_whatever_goes_wrong() {
    let say = |seen: Seen<'_>| {
        if let Seen::Failed { report, again } = seen {
            eprintln!("{report}\n{again}");
        }
    };
    let (totals, failed) = simulate_all(0, FLOOR_FROM, Options::default(), &say).expect("simulations");
    assert_eq!(failed, 0);
    assert_eq!(totals.missing(), Vec::<String>::new());
}

/// Invariant 7. A daemon without its ledger tried again and again, without a pause, to end what could not be ended; and what it could not
/// prove to be closed it freed all the same.
#[test]
fn a_leftover_that_cannot_be_ended_keeps_its_card_and_does_not_keep_its_daemon_busy() {
    let options = Options {
        kind: Some(Kind::Leftovers),
        ..Options::default()
    };
    for seed in 0..40 {
        let report = simulate(seed, options).expect("a simulation");
        assert!(report.violation.is_none(), "{report}");
    }
}
