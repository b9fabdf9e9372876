//! Rows, events and random events for the tests.

use cs_fence::TokenSeed;
use cs_model::{CardId, CodebaseId, Epoch, LandingId, OperationId, RunId, RunKind, Time};
use proptest::prelude::*;
use uuid::Uuid;

use crate::event::{Event, LandingEvent, RunEvent};
use crate::{ClaimRequest, ClaimedLanding, ClaimedRun, Receipt, Task, Woke};

pub(crate) fn operation(number: u128) -> OperationId {
    OperationId::from_uuid(Uuid::from_u128(number))
}

pub(crate) fn run_id(number: u128) -> RunId {
    RunId::from_uuid(Uuid::from_u128(number))
}

pub(crate) fn landing_id(number: u128) -> LandingId {
    LandingId::from_uuid(Uuid::from_u128(number))
}

pub(crate) fn seed() -> TokenSeed {
    TokenSeed::from_bytes([7; 32])
}

pub(crate) fn request(task: Task) -> ClaimRequest {
    ClaimRequest {
        task,
        limit: 3,
        agents: vec!["scripted".to_owned()],
        seed: seed(),
    }
}

pub(crate) fn row(run: u128, epoch: u32) -> ClaimedRun {
    ClaimedRun {
        run: run_id(run),
        card: CardId::from_uuid(Uuid::from_u128(90)),
        kind: RunKind::Owner,
        epoch: Epoch::new(epoch),
        started_at: Time::from_unix_micros(1_000_000),
        resumed_at: None,
        woke: Woke::Retry,
        agent: "scripted".to_owned(),
        model: None,
        effort: None,
        codebase: None,
        fresh: false,
    }
}

pub(crate) fn landing_row(landing: u128, epoch: u32) -> ClaimedLanding {
    ClaimedLanding {
        landing: landing_id(landing),
        card: CardId::from_uuid(Uuid::from_u128(90)),
        codebase: CodebaseId::from_uuid(Uuid::from_u128(91)),
        epoch: Epoch::new(epoch),
    }
}

pub(crate) fn begun(number: u128) -> Event {
    Event::ClaimBegun {
        operation: operation(number),
        request: request(Task::Turns),
    }
}

pub(crate) fn recorded(number: u128, runs: Vec<ClaimedRun>) -> Event {
    Event::ClaimRecorded {
        operation: operation(number),
        receipt: Receipt {
            runs,
            ..Receipt::default()
        },
    }
}

pub(crate) fn run(number: u128, did: RunEvent) -> Event {
    Event::Run {
        run: run_id(number),
        epoch: Epoch::new(1),
        did,
    }
}

/// One event of each kind that can happen to an attempt.
pub(crate) fn run_events() -> Vec<RunEvent> {
    vec![
        RunEvent::Prepared { dir: "d".to_owned() },
        RunEvent::Registered { shim: "s".to_owned() },
        RunEvent::Started {
            agent: "a".to_owned(),
        },
        RunEvent::Outcome {
            outcome: "o".to_owned(),
            session: Some("n".to_owned()),
        },
        RunEvent::Acknowledged,
        RunEvent::Closed,
        RunEvent::Failed {
            reason: "r".to_owned(),
        },
        RunEvent::Interrupted {
            operation: operation(70),
            at: Time::from_unix_micros(2_000_000),
        },
        RunEvent::Void,
    ]
}

/// One event of each kind that can happen to a landing.
pub(crate) fn landing_events() -> Vec<LandingEvent> {
    vec![
        LandingEvent::Step { step: "s".to_owned() },
        LandingEvent::Result {
            result: "r".to_owned(),
        },
        LandingEvent::Acknowledged,
        LandingEvent::Void,
    ]
}

/// Any event about a handful of things, so that many are legal and many are not.
pub(crate) fn any_event() -> impl Strategy<Value = Event> {
    let op = || (1_u128..4).prop_map(operation);
    let epoch = || (1_u32..3).prop_map(Epoch::new);
    let receipt = (
        prop::collection::vec((1_u128..4, 1_u32..3), 0..3),
        prop::collection::vec((1_u128..3, 1_u32..3), 0..2),
    )
        .prop_map(|(runs, landings)| Receipt {
            runs: runs.into_iter().map(|(id, epoch)| row(id, epoch)).collect(),
            landings: landings
                .into_iter()
                .map(|(id, epoch)| landing_row(id, epoch))
                .collect(),
            refused: None,
        });
    prop_oneof![
        2 => op().prop_map(|operation| Event::ClaimBegun { operation, request: request(Task::Turns) }),
        3 => (op(), receipt).prop_map(|(operation, receipt)| Event::ClaimRecorded { operation, receipt }),
        1 => op().prop_map(|operation| Event::ClaimCancelled { operation }),
        1 => (1_u128..4, 1_u32..3).prop_map(|(id, epoch)| {
            let row = row(id, epoch);
            Event::RunKept { attempt: row.attempt(&seed()), row, operation: None }
        }),
        12 => (1_u128..4, epoch(), prop::sample::select(run_events()))
            .prop_map(|(id, epoch, did)| Event::Run { run: run_id(id), epoch, did }),
        1 => (1_u128..3, 1_u32..3).prop_map(|(id, epoch)| {
            let row = landing_row(id, epoch);
            Event::LandingKept { attempt: row.attempt(&seed()), row, operation: Some(operation(9)) }
        }),
        5 => (1_u128..3, epoch(), prop::sample::select(landing_events()))
            .prop_map(|(id, epoch, did)| Event::Landing { landing: landing_id(id), epoch, did }),
        1 => (1_u128..4).prop_map(|id| Event::SessionKnown { run: run_id(id), session: "n".to_owned() }),
        1 => (1_u128..4).prop_map(|id| Event::SessionForgotten { run: run_id(id) }),
        3 => (1_u128..4, epoch()).prop_map(|(id, epoch)| Event::SecretGiven { run: run_id(id), epoch, secret: "x".to_owned() }),
        1 => Just(Event::Imported),
        1 => Just(Event::TailLost { bytes: 3 }),
    ]
}
