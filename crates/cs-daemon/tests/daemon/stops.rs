//! Stops that come at bad moments.

use cs_daemon::control::{self, Stopped};
use cs_model::{CardId, Ending, RunState};
use libtest_mimic::Trial;

use crate::record::{Call, Instead};
use crate::world::{Staying, World, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "a stop is answered only when its agent is gone, also while the daemon rests from trouble",
            while_it_rests,
        ),
        trial(
            "an agent whose attempt the record does not know any more is stopped, noted or not",
            stopped_unnoted,
        ),
        trial(
            "an agent that was stopped unnoticed is ended by the attempt that follows, which then starts",
            followed,
        ),
        trial(
            "an agent that neither the record nor a new ledger knows is ended before the next attempt works in its tree",
            unknown_to_all,
        ),
        trial(
            "an attempt that follows one that cannot be ended now waits for it, and is no trouble",
            waits_for_its_forerunner,
        ),
        trial(
            "a stop ends its agent and is answered with the reason while the record is away",
            while_the_record_is_away,
        ),
        trial(
            "a stop of a card of which nothing runs is answered at once",
            of_nothing,
        ),
    ]
}

/// Invariant 7.
async fn while_it_rests(world: World) {
    let agent = world.gated("agent");
    let card = world.send("agent").await;
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_runs("agent").await;
    daemon.leave().await;

    world.record.plan(Call::RunBrief, [Instead::Away]);
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_said("could not be carried on").await;
    world.stop(card).await;
    let stopped = control::stop(&world.state(), card).await.unwrap();
    assert!(matches!(stopped, Stopped::Closed { .. }), "{stopped:?}");
    assert!(!world.is_alive("agent"));
    daemon.leave().await;
}

/// An agent waits at its gate, and its process could not be noted on the record.
async fn not_noted(world: &World) -> (String, CardId, Staying) {
    let agent = world.gated("agent");
    let card = world.send("agent").await;
    world.record.plan(Call::RecordProcess, [Instead::Away]);
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_runs("agent").await;
    world.until_said("could not be noted").await;
    (agent, card, daemon)
}

/// Invariant 1.
async fn stopped_unnoted(world: World) {
    let (agent, card, daemon) = not_noted(&world).await;
    daemon.leave().await;
    world.stop(card).await;

    world.run_once(&[("agent", &agent)]).await.unwrap();
    assert!(!world.is_alive("agent"));
    let run = world.card(card).await.runs.remove(0);
    assert_eq!(run.state, RunState::Ended(Ending::Stopped));
}

/// Invariant 1.
async fn followed(world: World) {
    let world = world.with_slots(2);
    let (agent, card, daemon) = not_noted(&world).await;
    world.stop(card).await;
    world.send_more(card).await;
    control::poke(&world.state()).await;
    world.until_starts("agent", 2).await;
    world.open_gate("agent");
    daemon.leave().await;
    world.run_once(&[("agent", &agent)]).await.unwrap();
    assert_eq!(world.answers(card).await, ["Done."]);
    assert_eq!(world.starts("agent"), 2);
    assert!(!world.all_said().contains("could not be carried on"), "{world:?}");
}

/// Invariant 7. The process could not be noted, the ledger was lost, and a person stopped the card meanwhile.
async fn unknown_to_all(world: World) {
    let (agent, card, daemon) = not_noted(&world).await;
    daemon.leave().await;
    std::fs::remove_file(world.state().ledger()).unwrap();
    world.stop(card).await;
    world.send_more(card).await;
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_said("nothing here knows of it: it is stopped").await;
    world.until_starts("agent", 2).await;
    world.open_gate("agent");
    daemon.leave().await;
    world.run_once(&[("agent", &agent)]).await.unwrap();
    assert_eq!(world.answers(card).await, ["Done."]);
    assert_eq!(world.starts("agent"), 2);
}

/// Invariant 1. Invariant 7.
async fn waits_for_its_forerunner(world: World) {
    let world = world.with_slots(2);
    let agent = world.gated("agent");
    let card = world.send("agent").await;
    world.record.plan(Call::RecordProcess, [Instead::Away; 2]);
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_runs("agent").await;
    world.until_said("could not be noted").await;
    daemon.leave().await;

    // The next daemon cannot take it up now, and rests; meanwhile the card is ready for its next attempt.
    world.record.plan(Call::RunBrief, [Instead::Away]);
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_said("could not be carried on").await;
    world.stop(card).await;
    world.send_more(card).await;
    control::poke(&world.state()).await;
    world.until_starts("agent", 2).await;
    world.open_gate("agent");
    daemon.leave().await;
    world.run_once(&[("agent", &agent)]).await.unwrap();
    assert_eq!(world.answers(card).await, ["Done."]);
    assert_eq!(world.starts("agent"), 2);
    let troubles = world.all_said().matches("could not be carried on").count();
    assert_eq!(troubles, 1, "{world:?}");
}

/// Only a whole pass knows of everything that a stop is about.
async fn while_the_record_is_away(world: World) {
    let agent = world.gated("agent");
    let card = world.send("agent").await;
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_runs("agent").await;
    world.stop(card).await;
    world.record.plan(Call::Peek, [Instead::Away; 100]);
    let stopped = control::stop(&world.state(), card).await.unwrap();
    let Stopped::Incomplete { left } = &stopped else {
        panic!("nobody can prove it now: {stopped:?}");
    };
    assert!(
        left[0].contains("not known") && left[0].contains("as planned"),
        "{left:?}"
    );
    world.until_gone("agent").await;
    daemon.leave().await;
}

async fn of_nothing(world: World) {
    let card = world.send("elsewhere").await;
    let daemon = world.daemon(&[]).await;
    world.stop(card).await;
    let stopped = control::stop(&world.state(), card).await.unwrap();
    assert_eq!(stopped, Stopped::Closed { executions: 0 });
    daemon.leave().await;
}
