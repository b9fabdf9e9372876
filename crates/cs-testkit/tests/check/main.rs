//! The exhaustive check: every state of two machines and one card, with the production rules and the production ledger.
//!
//! What it covers and what it leaves out stands in docs/architecture.md. `cargo xtask check` runs it with its figures.

#![expect(
    clippy::print_stdout,
    reason = "the figures are what `cargo xtask check` is run for"
)]

mod act;
mod machine;
mod model;
mod record;
mod seams;
mod state;
mod step;
mod worlds;

use std::time::Instant;

use stateright::{Checker, HasDiscoveries, Model};

use model::Claims;
use seams::Variant;
use worlds::World;

/// Visits every state of a world. Invariant 1. Invariant 3. Invariant 4. Invariant 5. Invariant 8. Invariant 9.
fn check(world: &World) {
    let begun = Instant::now();
    let model = Claims {
        bounds: world.bounds,
        variant: Variant::Sound,
    };
    let checker = model.checker().threads(2).spawn_bfs().join();
    println!(
        "{}: {} states visited, {} steps, the longest path {}, {:.0?}",
        world.name,
        checker.unique_state_count(),
        checker.state_count(),
        checker.max_depth(),
        begun.elapsed()
    );
    for (name, path) in checker.discoveries() {
        if !world.wanted.contains(&name) {
            panic!("not so: {name}, after\n{}", lines(&path.into_actions()));
        }
    }
    for name in world.wanted {
        let path = checker.discovery(name);
        assert!(
            path.is_some(),
            "the world is too small, it never comes to this: {name}"
        );
    }
}

/// Breaks one piece, and expects the check to say so in these words.
fn catches(variant: Variant, expected: &[&str]) {
    catches_in(&worlds::CLAIMS, variant, expected);
}

fn catches_in(world: &World, variant: Variant, expected: &[&str]) {
    let model = Claims {
        bounds: world.bounds,
        variant,
    };
    let seen = HasDiscoveries::AnyFailures;
    let checker = model.checker().finish_when(seen).spawn_bfs().join();
    let found = checker.discoveries();
    let names: Vec<_> = found.keys().copied().collect();
    let failed: Vec<_> = found
        .into_iter()
        .filter(|(name, _)| expected.contains(name))
        .collect();
    assert!(!failed.is_empty(), "{variant:?} was not caught, but {names:?}");
    for (name, path) in failed {
        let acts = path.into_actions();
        println!(
            "{variant:?} is caught, «{name}» fails after {} steps:\n{}",
            acts.len(),
            lines(&acts)
        );
    }
}

fn lines(acts: &[act::Act]) -> String {
    let lines: Vec<String> = acts.iter().map(|act| format!("    {act:?}")).collect();
    lines.join("\n")
}

#[test]
fn every_state_keeps_the_invariants() {
    for world in worlds::chosen() {
        check(world);
    }
}

#[test]
fn a_missing_fence_is_caught() {
    catches(Variant::FenceRemoved, &["no effect of a stale attempt"]);
}

#[test]
fn a_reconcile_without_a_tombstone_is_caught() {
    let expected = [
        "an operation takes once, and cancelled never",
        "every attempt has one owner on disk",
    ];
    catches(Variant::NoTombstone, &expected);
}

#[test]
fn a_failure_that_settles_turns_is_caught() {
    let expected = ["a turn waits, or is held by a run that goes on, or is answered"];
    catches(Variant::FailureSettles, &expected);
}

#[test]
fn an_adoption_after_the_end_of_the_window_is_caught() {
    catches(
        Variant::AdoptionAfterFinish,
        &["a run has one execution on a machine"],
    );
}

#[test]
fn an_outcome_that_is_told_before_it_is_durable_is_caught() {
    let expected = ["an outcome is in the ledger until the record has answered"];
    catches(Variant::OutcomeAfterTelling, &expected);
}

/// Two attempts of one run on one machine, while a person has stopped the first: what [`running_beside`] keeps apart.
///
/// [`running_beside`]: cs_journal::pure::LedgerState::running_beside
#[test]
fn two_executions_of_a_run_on_a_machine_are_caught() {
    catches_in(
        &worlds::STOPPED,
        Variant::PreparedBeside,
        &["a run has one execution on a machine"],
    );
}
