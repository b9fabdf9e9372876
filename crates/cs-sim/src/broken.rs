//! What is broken on purpose, what each breaks, and how: the simulation is worth what it notices.

use cs_fence::{Attempt, LandingAttempt};
use cs_journal::Receipt;
use cs_model::{AskState, Author, IdSource, MachineId, RunId, RunKind, TurnId, TurnSeq, TurnState};
use cs_settle::{Answer, GiveUp};
use cs_testkit::Rows;

use crate::profile::Kind;
use crate::world::World;

/// Something that is broken on purpose, to see whether an invariant notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// The record takes the outcome of any attempt as that of the present one.
    NoFenceForOutcomes,
    /// The record takes the interruption of any attempt as that of the present one.
    NoFenceForInterruptions,
    /// The record takes the process of any attempt as that of the present one.
    NoFenceForProcesses,
    /// The record takes the result of any life of a landing as that of the present one.
    NoFenceForLandings,
    /// The record makes another owner's run for a card that has one.
    SecondOwner,
    /// The record forgets that it was asked about an operation that it does not know.
    NoTombstone,
    /// The record takes work of an operation as often as it is asked.
    ClaimsTwice,
    /// What the daemon wrote to its ledger last is not there after a crash.
    LedgerForgets,
    /// Whether an attempt is the present one is answered without a look at its row.
    RowIsNotRead,
    /// Nobody hears of a pause before the GO.
    AdmissionIsNotAsked,
    /// The end of an agent counts as proven although it left something.
    ProofIsForged,
    /// A daemon finds nothing of agents that another one started.
    AdoptionForgets,
    /// What an agent said is gone when it is read after its end.
    SpoolForgets,
    /// The record takes an answer without its words.
    WordsAreLost,
    /// The record loses a turn.
    TurnIsLost,
    /// The record settles what a failed attempt held.
    TurnIsSettledUnanswered,
    /// The record writes an answer down twice.
    AnswerIsSettledTwice,
    /// The record forgets a question.
    AskIsForgotten,
    /// The last answer to a question wins.
    LastAnswerWins,
    /// The record forgets that an answer has reached its run.
    AnswerIsDeliveredAgain,
    /// A landing whose end nobody saw counts as one that was not made, and the base moves whatever it holds.
    MoveForgets,
    /// A daemon is told that no codebase has a verify command.
    VerifyIsForgotten,
    /// The reason of a failure names a file of the machine.
    PathIsTold,
    /// The record forgets what a new card waits for.
    PlanIsForgotten,
    /// A daemon takes more than it has slots.
    SlotsAreForgotten,
    /// The record forgets a limit.
    LimitIsForgotten,
    /// A daemon is told that there are no turns.
    TurnsAreOverlooked,
}

/// What must notice that something is broken.
#[derive(Debug, Clone, Copy)]
pub struct Broken {
    /// What is broken.
    pub mutant: Mutant,
    /// In which simulations it shows.
    pub kind: Kind,
    /// How the invariants begin of which one must notice it: the first is the one that it breaks.
    pub by: &'static [&'static str],
}

const fn broken(mutant: Mutant, kind: Kind, by: &'static [&'static str]) -> Broken {
    Broken { mutant, kind, by }
}

/// Everything that is broken on purpose, each once.
pub const BROKEN: &[Broken] = &[
    broken(Mutant::NoFenceForOutcomes, Kind::Any, &["1."]),
    broken(Mutant::NoFenceForInterruptions, Kind::Zombies, &["1."]),
    broken(Mutant::NoFenceForProcesses, Kind::Zombies, &["1."]),
    broken(Mutant::NoFenceForLandings, Kind::Landings, &["1."]),
    broken(Mutant::SecondOwner, Kind::Any, &["2."]),
    broken(Mutant::NoTombstone, Kind::Any, &["3.", "4."]),
    broken(Mutant::ClaimsTwice, Kind::Any, &["3.", "4."]),
    broken(Mutant::LedgerForgets, Kind::Any, &["4.", "5.", "8."]),
    broken(Mutant::RowIsNotRead, Kind::Any, &["6."]),
    broken(Mutant::AdmissionIsNotAsked, Kind::Bounds, &["6."]),
    broken(Mutant::ProofIsForged, Kind::Leftovers, &["7.", "8."]),
    broken(Mutant::AdoptionForgets, Kind::Any, &["7.", "8.", "4.", "1."]),
    broken(Mutant::SpoolForgets, Kind::Any, &["8."]),
    broken(Mutant::WordsAreLost, Kind::Any, &["8."]),
    broken(Mutant::TurnIsLost, Kind::Any, &["9."]),
    broken(Mutant::TurnIsSettledUnanswered, Kind::Any, &["9."]),
    broken(Mutant::AnswerIsSettledTwice, Kind::Any, &["9."]),
    broken(Mutant::AskIsForgotten, Kind::Any, &["10."]),
    broken(Mutant::LastAnswerWins, Kind::Any, &["10."]),
    broken(Mutant::AnswerIsDeliveredAgain, Kind::Any, &["10."]),
    broken(Mutant::MoveForgets, Kind::Landings, &["13."]),
    broken(Mutant::VerifyIsForgotten, Kind::Landings, &["13."]),
    broken(Mutant::PathIsTold, Kind::Any, &["14."]),
    broken(Mutant::PlanIsForgotten, Kind::Bounds, &["16."]),
    broken(Mutant::SlotsAreForgotten, Kind::Any, &["17."]),
    broken(Mutant::LimitIsForgotten, Kind::Bounds, &["17."]),
    broken(Mutant::TurnsAreOverlooked, Kind::Any, &["when"]),
];

/// How often a record that is broken is, in ten thousand writes where it could be.
const OFTEN: u32 = 3_000;

/// What the record takes an attempt for.
pub(crate) fn taken_for(world: &World, mutant: Mutant, attempt: Attempt) -> Attempt {
    if !world.is_mutant(mutant) {
        return attempt;
    }
    let rows = world.store.rows().unwrap_or_default();
    let run = rows.runs.iter().find(|run| run.id == attempt.run);
    run.and_then(|run| world.attempt(run.id, run.epoch))
        .unwrap_or(attempt)
}

/// Whose report the record takes a report for.
pub(crate) fn machine_taken_for(world: &World, mutant: Mutant, run: RunId, machine: MachineId) -> MachineId {
    if !world.is_mutant(mutant) {
        return machine;
    }
    let rows = world.store.rows().unwrap_or_default();
    let run = rows.runs.iter().find(|row| row.id == run);
    run.map_or(machine, |run| run.machine)
}

/// What the record takes a life of a landing for.
pub(crate) fn landing_taken_for(world: &World, attempt: LandingAttempt) -> LandingAttempt {
    if !world.is_mutant(Mutant::NoFenceForLandings) {
        return attempt;
    }
    let rows = world.store.rows().unwrap_or_default();
    let landing = rows.landings.iter().find(|landing| landing.id == attempt.landing);
    landing
        .and_then(|landing| world.landing(landing.id, landing.epoch))
        .unwrap_or(attempt)
}

/// What becomes of an answer before the record reads it.
pub(crate) fn answer_on_its_way(world: &World, answer: &mut Answer) {
    if world.is_mutant(Mutant::WordsAreLost) {
        answer.text = None;
    }
}

/// What becomes of a failure before the record reads it.
pub(crate) fn failure_on_its_way(world: &World, failure: &mut GiveUp) {
    if world.is_mutant(Mutant::PathIsTold)
        && let Some(machine) = world.machines.first()
    {
        failure.reason = format!("no such file: {}", machine.state.ledger().display());
    }
}

/// Spoils the rows of the record if this is broken, now and then.
fn spoil(world: &World, mutant: Mutant, change: impl FnOnce(&mut Rows)) {
    if world.is_mutant(mutant) && world.dice.chance(OFTEN) {
        world.store.spoil(change);
    }
}

/// What else the record does when it takes work.
pub(crate) fn claim_taken(world: &World, receipt: &Receipt) {
    spoil(world, Mutant::SecondOwner, |rows| {
        let taken = |run: &&cs_record::Run| receipt.runs.iter().any(|row| row.run == run.id);
        let owner = rows
            .runs
            .iter()
            .filter(taken)
            .find(|run| run.kind == RunKind::Owner);
        if let Some(mut second) = owner.cloned() {
            second.id = RunId::from_uuid(world.ids.uuid_v7());
            rows.runs.push(second);
        }
    });
    spoil(world, Mutant::AnswerIsDeliveredAgain, |rows| {
        rows.asks.iter_mut().for_each(|ask| ask.delivered = false);
    });
    spoil(world, Mutant::AskIsForgotten, |rows| {
        rows.asks.pop();
    });
}

/// What else the record does when it takes an answer that was written down as this turn.
pub(crate) fn answer_taken(world: &World, turn: Option<TurnId>) {
    spoil(world, Mutant::AnswerIsSettledTwice, |rows| {
        let said = rows.turns.iter().find(|row| Some(row.id) == turn).cloned();
        let last = rows.turns.iter().map(|row| row.seq).max();
        if let (Some(mut again), Some(last)) = (said, last) {
            again.id = TurnId::from_uuid(world.ids.uuid_v7());
            again.seq = TurnSeq::new(last.get() + 1);
            rows.turns.push(again);
        }
    });
    spoil(world, Mutant::TurnIsLost, |rows| {
        let said = rows.turns.iter().find(|row| Some(row.id) == turn);
        let card = said.map(|row| row.card);
        let is_lost =
            |row: &cs_record::Turn| matches!(row.author, Author::Person(_)) && Some(row.card) == card;
        if let Some(place) = rows.turns.iter().position(is_lost) {
            rows.turns.remove(place);
        }
    });
}

/// What else the record does when it takes the failure of a run.
pub(crate) fn failure_taken(world: &World, run: RunId) {
    if !world.is_mutant(Mutant::TurnIsSettledUnanswered) {
        return;
    }
    world.store.spoil(|rows| {
        for turn in rows.turns.iter_mut().filter(|turn| turn.run == Some(run)) {
            turn.state = TurnState::Settled;
        }
    });
}

/// What else the record does when somebody answers what is answered already.
pub(crate) fn answered_again(world: &World, ask: cs_model::AskId, body: &str) {
    if !world.is_mutant(Mutant::LastAnswerWins) {
        return;
    }
    world.store.spoil(|rows| {
        let asks = rows.asks.iter_mut();
        for ask in asks.filter(|row| row.id == ask && row.state == AskState::Answered) {
            ask.answer = Some(body.to_owned());
        }
    });
}
