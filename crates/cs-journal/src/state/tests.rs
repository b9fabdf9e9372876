use cs_model::{Epoch, Time};
use proptest::prelude::*;

use super::*;
use crate::sample::{
    any_event, begun, landing_events, landing_id, landing_row, operation, recorded, row, run, run_events,
    run_id, seed,
};

fn text(word: &str) -> String {
    word.to_owned()
}

fn execution() -> Execution {
    Execution {
        dir: text("d"),
        shim: text("s"),
        agent: text("a"),
    }
}

fn run_stages() -> Vec<Stage> {
    vec![
        Stage::Claimed,
        Stage::Prepared { dir: text("d") },
        Stage::Registered {
            dir: text("d"),
            shim: text("s"),
        },
        Stage::Started(execution()),
        Stage::Settling {
            execution: execution(),
            outcome: text("o"),
        },
        Stage::Acknowledged(execution()),
        Stage::Failed {
            dir: Some(text("d")),
            reason: text("r"),
        },
        Stage::Interrupted {
            dir: None,
            operation: operation(70),
            at: Time::from_unix_micros(2_000_000),
        },
    ]
}

fn landing_stages() -> Vec<LandingStage> {
    vec![
        LandingStage::Claimed,
        LandingStage::Working {
            steps: vec![text("s")],
        },
        LandingStage::Done {
            steps: vec![text("s")],
            result: text("r"),
        },
    ]
}

fn fold(events: &[Event]) -> LedgerState {
    let mut state = LedgerState::default();
    for event in events {
        state.apply(event).expect("the events follow each other");
    }
    state
}

fn line<S>(
    table: &mut String,
    from: &str,
    event: &str,
    next: Option<Next<S>>,
    name: impl Fn(&S) -> &'static str,
) {
    let to = match &next {
        Some(Next::Stage(stage)) => name(stage),
        Some(Next::Over) => "over",
        None => "-",
    };
    *table += &format!("{from:<13} {event:<13} {to}\n");
}

#[test]
fn the_whole_table_of_transitions() {
    let mut table = String::from("An attempt of a run\n");
    for stage in run_stages() {
        for event in run_events() {
            line(
                &mut table,
                stage.name(),
                event.name(),
                stage.after(&event),
                Stage::name,
            );
        }
    }
    table += "\nA landing\n";
    for stage in landing_stages() {
        for event in landing_events() {
            line(
                &mut table,
                stage.name(),
                event.name(),
                stage.after(&event),
                LandingStage::name,
            );
        }
    }
    table += "\nAn operation\n";
    let cancelled = Event::ClaimCancelled {
        operation: operation(1),
    };
    for (name, before) in [("unknown", vec![]), ("begun", vec![begun(1)])] {
        for event in [begun(1), recorded(1, vec![row(1, 1)]), cancelled.clone()] {
            let mut state = fold(&before);
            let to = match state.apply(&event) {
                Err(_) => "-",
                Ok(()) if state.claims.is_empty() => "over",
                Ok(()) => "begun",
            };
            table += &format!("{name:<13} {:<15} {to}\n", event.name());
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn the_events_of_a_stage_lead_to_it() {
    for stage in run_stages() {
        let events = stage.events();
        let reached = events
            .iter()
            .try_fold(Stage::Claimed, |stage, event| match stage.after(event) {
                Some(Next::Stage(next)) => Some(next),
                Some(Next::Over) | None => None,
            });
        assert_eq!(reached, Some(stage));
    }
    for stage in landing_stages() {
        let events = stage.events();
        let reached =
            events
                .iter()
                .try_fold(LandingStage::Claimed, |stage, event| match stage.after(event) {
                    Some(Next::Stage(next)) => Some(next),
                    Some(Next::Over) | None => None,
                });
        assert_eq!(reached, Some(stage));
    }
}

#[test]
fn the_tokens_of_a_claim_come_from_its_seed() {
    let state = fold(&[begun(1), recorded(1, vec![row(5, 2)])]);
    let entry = &state.runs[&(run_id(5), Epoch::new(2))];
    assert_eq!(entry.attempt.token, seed().for_run(run_id(5), Epoch::new(2)));
}

/// A result that names something which this machine already owns is refused as a whole.
#[test]
fn a_receipt_cannot_take_what_is_owned_already() {
    let mut state = fold(&[begun(1), recorded(1, vec![row(5, 1)]), begun(2)]);
    let before = state.clone();
    let refused = state.apply(&recorded(2, vec![row(6, 1), row(5, 1)]));
    assert_eq!(
        refused.map_err(|refusal| (refusal.state, refusal.event)),
        Err(("claimed", "claim_recorded"))
    );
    assert_eq!(state, before);
    let twice = state.apply(&recorded(2, vec![row(6, 1), row(6, 1)]));
    assert_eq!(twice.map_err(|refusal| refusal.state), Err("named twice"));
    assert_eq!(state, before);
}

#[test]
fn two_epochs_of_a_run_are_two_attempts() {
    let mut state = fold(&[
        begun(1),
        recorded(1, vec![row(5, 1)]),
        begun(2),
        recorded(2, vec![row(5, 2)]),
    ]);
    state.apply(&run(5, RunEvent::Void)).expect("the first may go");
    assert_eq!(
        state.runs.keys().collect::<Vec<_>>(),
        [&(run_id(5), Epoch::new(2))]
    );
}

/// RC-4: whoever lost a part of the ledger looks at the record again.
#[test]
fn a_lost_tail_asks_for_another_import() {
    let mut state = fold(&[Event::Imported]);
    assert!(state.is_imported());
    state.apply(&Event::TailLost { bytes: 9 }).expect("always legal");
    assert!(!state.is_imported());
}

#[test]
fn an_attempt_that_is_not_the_rows_is_not_kept() {
    let attempt = row(6, 1).attempt(&seed());
    let refused = LedgerState::default().apply(&Event::RunKept {
        row: row(5, 1),
        attempt,
        operation: None,
    });
    assert!(refused.is_err());
    let attempt = landing_row(6, 1).attempt(&seed());
    let refused = LedgerState::default().apply(&Event::LandingKept {
        row: landing_row(5, 1),
        attempt,
        operation: None,
    });
    assert!(refused.is_err());
    assert_ne!(landing_id(5), landing_id(6));
}

proptest! {
    #[test]
    fn a_refused_event_changes_nothing_and_none_panics(events in prop::collection::vec(any_event(), 0..80)) {
        let mut state = LedgerState::default();
        for event in &events {
            let before = state.clone();
            if state.apply(event).is_err() {
                prop_assert_eq!(&state, &before);
            }
        }
    }

    #[test]
    fn the_events_of_a_state_give_that_state(events in prop::collection::vec(any_event(), 0..80)) {
        let mut state = LedgerState::default();
        for event in &events {
            let _ = state.apply(event);
        }
        prop_assert_eq!(fold(&state.events()), state);
    }

    /// Gap-free ownership: what a claim took leaves the ledger by its own last step only.
    #[test]
    fn an_attempt_leaves_only_by_its_last_step(events in prop::collection::vec(any_event(), 0..80)) {
        let mut state = LedgerState::default();
        for event in &events {
            let before = state.clone();
            if state.apply(event).is_ok() {
                for key in before.runs.keys().filter(|key| !state.runs.contains_key(key)) {
                    let is_last = matches!(event, Event::Run { run, epoch, did }
                        if (*run, *epoch) == *key
                            && matches!(did, RunEvent::Void | RunEvent::Closed | RunEvent::Acknowledged));
                    prop_assert!(is_last, "{:?} lost {:?}", event, key);
                }
                for operation in before.claims.keys().filter(|operation| !state.claims.contains_key(operation)) {
                    let is_last = matches!(event,
                        Event::ClaimRecorded { operation: ended, .. } | Event::ClaimCancelled { operation: ended }
                            if ended == operation);
                    prop_assert!(is_last, "{:?} lost {:?}", event, operation);
                }
            }
        }
    }

    #[test]
    fn an_event_survives_its_wire(event in any_event()) {
        let wire = serde_json::to_string(&event).expect("it encodes");
        prop_assert_eq!(serde_json::from_str::<Event>(&wire).expect("it decodes"), event);
    }
}
