//! The table of what a card is ready for.

use cs_fence::{ProcessFact, TokenHash};
use cs_model::{
    AskId, AskState, AskTo, CardId, CardState, CodebaseId, Ending, Epoch, IdSource, LandingId, LandingState,
    MachineId, Opening, Priority, RunId, RunKind, RunState, Time, TurnId, TurnSeq, TurnState,
};
use cs_record::{Aggregate, Ask, Card, Landing, Readiness, ReadyFor, Run, TurnMark, readiness};
use cs_testkit::{SeededIds, SetClock};
use std::sync::Arc;

/// What differs from an open card whose owner has finished, and that nobody has said anything more on.
#[derive(Debug, Clone, Copy)]
struct Case {
    card: CardState,
    owner: Option<RunState>,
    again_at: Option<u8>,
    process: bool,
    turn: Option<(TurnState, u8)>,
    asks: &'static [(AskState, u8, bool)],
    landing: Option<LandingState>,
}

const PLAIN: Case = Case {
    card: CardState::Open,
    owner: Some(RunState::Ended(Ending::Finished)),
    again_at: None,
    process: false,
    turn: None,
    asks: &[],
    landing: None,
};
const PENDING: Case = Case {
    turn: Some((TurnState::Pending, 3)),
    ..PLAIN
};
const ASKED: Case = Case {
    owner: Some(RunState::Asked),
    asks: &[(AskState::Answered, 4, false)],
    ..PLAIN
};
const FAILED: Case = Case {
    owner: Some(RunState::Ended(Ending::Failed)),
    again_at: Some(5),
    turn: Some((TurnState::Leased, 1)),
    ..PLAIN
};

fn time(number: u8) -> Time {
    Time::from_unix_micros(i64::from(number) * 1_000_000)
}

fn check(case: Case, what: ReadyFor, from: u8) {
    let ready = readiness(&aggregate(case));
    let from = time(from);
    assert_eq!(ready, Readiness { what, from }, "{case:?}");
}

fn check_nothing(case: Case) {
    check(case, ReadyFor::Nothing, 9);
}

#[test]
fn pending_turns_start_the_owner() {
    check(PENDING, ReadyFor::Turns, 3);
    check(
        Case {
            owner: None,
            ..PENDING
        },
        ReadyFor::Turns,
        3,
    );
    check(
        Case {
            owner: Some(RunState::Asked),
            ..PENDING
        },
        ReadyFor::Turns,
        3,
    );
    check(
        Case {
            owner: Some(RunState::Ended(Ending::Stopped)),
            ..PENDING
        },
        ReadyFor::Turns,
        3,
    );
    check(
        Case {
            turn: Some((TurnState::Pending, 3)),
            ..FAILED
        },
        ReadyFor::Turns,
        3,
    );
    check_nothing(Case {
        owner: Some(RunState::Running),
        ..PENDING
    });
    check_nothing(PLAIN);
}

#[test]
fn only_an_open_card_is_ready() {
    for card in [
        CardState::Failed,
        CardState::Stopped,
        CardState::Landed,
        CardState::Closed,
    ] {
        check_nothing(Case { card, ..PENDING });
        check_nothing(Case { card, ..ASKED });
        check_nothing(Case { card, ..FAILED });
    }
}

#[test]
fn a_landing_or_a_process_keeps_the_card() {
    for case in [PENDING, ASKED, FAILED] {
        check_nothing(Case {
            landing: Some(LandingState::Accepted),
            ..case
        });
        check_nothing(Case {
            landing: Some(LandingState::Running),
            ..case
        });
        check_nothing(Case {
            process: true,
            ..case
        });
    }
    check(
        Case {
            landing: Some(LandingState::Refused),
            ..PENDING
        },
        ReadyFor::Turns,
        3,
    );
}

#[test]
fn an_answer_wakes_the_run_that_asked() {
    const OPEN: (AskState, u8, bool) = (AskState::Open, 1, false);
    check(ASKED, ReadyFor::Rearm, 4);
    check_nothing(Case {
        asks: &[OPEN],
        ..ASKED
    });
    check(
        Case {
            asks: &[OPEN, (AskState::Answered, 4, false)],
            ..ASKED
        },
        ReadyFor::Rearm,
        4,
    );
    check_nothing(Case {
        asks: &[(AskState::Answered, 4, true)],
        ..ASKED
    });
    check_nothing(Case {
        asks: &[(AskState::Withdrawn, 4, false)],
        ..ASKED
    });
    check(
        Case {
            asks: &[(AskState::Answered, 4, false), (AskState::Answered, 6, false)],
            ..ASKED
        },
        ReadyFor::Rearm,
        6,
    );
    check(
        Case {
            owner: Some(RunState::Ended(Ending::Stopped)),
            ..ASKED
        },
        ReadyFor::Rearm,
        4,
    );
}

#[test]
fn a_failed_or_interrupted_run_goes_on_at_its_time() {
    check(FAILED, ReadyFor::Resume, 5);
    check(
        Case {
            owner: Some(RunState::Ended(Ending::Interrupted)),
            ..FAILED
        },
        ReadyFor::Resume,
        5,
    );
    check_nothing(Case {
        again_at: None,
        ..FAILED
    });
    check_nothing(Case {
        owner: Some(RunState::Ended(Ending::Stopped)),
        ..FAILED
    });
}

fn aggregate(case: Case) -> Aggregate {
    let ids = SeededIds::new(1, Arc::new(SetClock::new()));
    let (card, owner) = (CardId::from_uuid(ids.uuid_v7()), RunId::from_uuid(ids.uuid_v7()));
    let machine = MachineId::from_uuid(ids.uuid_v7());
    let codebase = CodebaseId::from_uuid(ids.uuid_v7());
    let asks = case.asks.iter().map(|(state, at, delivered)| Ask {
        id: AskId::from_uuid(ids.uuid_v7()),
        card,
        run: owner,
        question: "which way?".to_owned(),
        choices: Vec::new(),
        offer: None,
        to: AskTo::Person,
        state: *state,
        answer: None,
        answered_by: None,
        asked_at: time(1),
        answered_at: Some(time(*at)),
        delivered: *delivered,
        given: None,
        turn: None,
    });
    Aggregate {
        card: plain_card(card, case.card, case.owner.map(|_| owner)),
        runs: case
            .owner
            .map(|state| run(card, owner, machine, state, case))
            .into_iter()
            .collect(),
        turns: case
            .turn
            .map(|(state, at)| turn(TurnId::from_uuid(ids.uuid_v7()), state, at))
            .into_iter()
            .collect(),
        asks: asks.collect(),
        landings: case
            .landing
            .map(|state| {
                landing(
                    LandingId::from_uuid(ids.uuid_v7()),
                    card,
                    codebase,
                    machine,
                    state,
                )
            })
            .into_iter()
            .collect(),
        waits_for: Vec::new(),
    }
}

fn plain_card(id: CardId, state: CardState, owner: Option<RunId>) -> Card {
    Card {
        id,
        title: "make it go".to_owned(),
        state,
        reason: None,
        person: "Ada".parse().expect("a name"),
        codebase: None,
        base: None,
        agent: "mine".parse().expect("a name"),
        model: None,
        effort: None,
        owner,
        machine: None,
        opening: Opening::Owner,
        priority: Priority::default(),
        not_before: None,
        recovery: false,
        done: false,
        last_seq: TurnSeq::START,
        ready: Readiness {
            what: ReadyFor::Nothing,
            from: time(0),
        },
        usage: cs_settle::Usage::default(),
        landings_returned: 0,
        created_at: time(0),
        updated_at: time(9),
        version: 1,
    }
}

fn run(card: CardId, id: RunId, machine: MachineId, state: RunState, case: Case) -> Run {
    Run {
        id,
        card,
        kind: RunKind::Owner,
        parent: None,
        codebase: None,
        model: None,
        effort: None,
        state,
        epoch: Epoch::new(1),
        token: TokenHash::from_bytes([1; 32]),
        machine,
        agent: "mine".parse().expect("a name"),
        process: case.process.then(|| ProcessFact {
            pid: 7,
            start_ticks: 7,
            boot_id: "boot".to_owned(),
        }),
        left_behind: None,
        started_at: time(1),
        resumed_at: None,
        ended_at: None,
        again_at: case.again_at.map(time),
        failure: None,
        failed_because: None,
        failures_in_row: 0,
        tries: 0,
        starts: 1,
        settled: Epoch::NONE,
        given: None,
        read_back: false,
        handed_back_at: None,
        used: None,
        fresh: false,
    }
}

fn turn(id: TurnId, state: TurnState, at: u8) -> TurnMark {
    TurnMark {
        id,
        seq: TurnSeq::new(1),
        state,
        run: None,
        said_at: time(at),
    }
}

fn landing(
    id: LandingId,
    card: CardId,
    codebase: CodebaseId,
    machine: MachineId,
    state: LandingState,
) -> Landing {
    Landing {
        id,
        card,
        codebase,
        base: None,
        method: None,
        ask: None,
        message: None,
        state,
        epoch: Epoch::NONE,
        token: None,
        machine,
        accepted_by: "Ada".parse().expect("a name"),
        accepted_at: time(1),
        commit: None,
        result: None,
        evidence: None,
        ended_at: None,
    }
}
