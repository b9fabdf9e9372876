//! Somebody removes the directory of an execution while its agent runs.

use std::fs;

use cs_daemon::control::{self, Stopped};
use cs_model::{CardId, Ending, RunState};
use libtest_mimic::Trial;

use crate::record::{Call, Instead};
use crate::world::{Staying, World, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "an agent whose directory was removed is ended before the next attempt works in its place",
            after_a_restart,
        ),
        trial(
            "an agent whose directory was emptied but for whose it is does not go on beside the next attempt",
            emptied,
        ),
        trial(
            "a stop ends an agent whose directory was removed under a running daemon",
            stopped,
        ),
        trial(
            "an agent whose directory was removed under a running daemon comes to its answer",
            answered,
        ),
        trial(
            "an agent of which only the record knows is ended, and its run goes on",
            only_on_the_record,
        ),
        trial(
            "a stopped agent of which only the record knows is ended, and its card goes on",
            stopped_on_the_record,
        ),
        trial(
            "a process of which only the record knows and that is over stands in nobody's way",
            over,
        ),
        trial(
            "an agent whose directory was removed before its process was noted is ended before the next attempt",
            never_noted,
        ),
    ]
}

/// A card whose agent waits at its gate, known to the record.
async fn at_work(world: &World) -> (String, CardId, Staying) {
    let agent = world.gated("agent");
    let card = world.send("agent").await;
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_runs("agent").await;
    world.until_noted(card).await;
    (agent, card, daemon)
}

fn remove_executions(world: &World) {
    for execution in fs::read_dir(world.state().executions()).unwrap() {
        let path = execution.unwrap().path();
        // Its shim may be writing into it: then it is not empty in the end, and is removed again.
        let removed = (0..1_000).find_map(|_| fs::remove_dir_all(&path).ok());
        assert!(removed.is_some(), "{} cannot be removed", path.display());
    }
}

/// The first agent is gone when the second one is there; the card comes to its answer, and nothing holds it.
async fn goes_on(world: &World, (agent, card): (&str, CardId), first: u32) {
    let daemon = world.daemon(&[("agent", agent)]).await;
    world.until_starts("agent", 2).await;
    assert!(
        !world.is_alive_as("agent", first),
        "two agents work in one place: {world:?}"
    );
    world.open_gate("agent");
    daemon.leave().await;
    world.run_once(&[("agent", agent)]).await.unwrap();
    assert_eq!(world.answers(card).await, ["Done."]);
    assert_eq!(world.starts("agent"), 2);
    let run = world.card(card).await.runs.remove(0);
    assert_eq!(
        (run.state, run.process),
        (RunState::Ended(Ending::Finished), None)
    );
}

/// Invariant 1. Invariant 7.
async fn after_a_restart(world: World) {
    let (agent, card, daemon) = at_work(&world).await;
    let first = world.pid("agent");
    daemon.leave().await;
    remove_executions(&world);
    goes_on(&world, (&agent, card), first).await;
    let said = world.all_said();
    assert!(
        said.contains("the directory of its execution was removed, and something of it still ran"),
        "{said}"
    );
}

/// Invariant 1. Invariant 7.
async fn emptied(world: World) {
    let (agent, card, daemon) = at_work(&world).await;
    let first = world.pid("agent");
    daemon.leave().await;
    for execution in fs::read_dir(world.state().executions()).unwrap() {
        for file in fs::read_dir(execution.unwrap().path()).unwrap() {
            let file = file.unwrap();
            if file.file_name() != "attempt.json" {
                fs::remove_file(file.path()).unwrap();
            }
        }
    }
    goes_on(&world, (&agent, card), first).await;
}

/// Invariant 7.
async fn stopped(world: World) {
    let (_, card, daemon) = at_work(&world).await;
    remove_executions(&world);
    world.stop(card).await;
    let stopped = control::stop(&world.state(), card).await.unwrap();
    assert!(matches!(stopped, Stopped::Closed { .. }), "{stopped:?} {world:?}");
    assert!(!world.is_alive("agent"));
    let run = world.card(card).await.runs.remove(0);
    assert_eq!((run.state, run.process), (RunState::Ended(Ending::Stopped), None));
    daemon.leave().await;
}

async fn answered(world: World) {
    let (_, card, daemon) = at_work(&world).await;
    remove_executions(&world);
    world.open_gate("agent");
    world.until_said("answered").await;
    daemon.leave().await;
    assert_eq!(world.answers(card).await, ["Done."]);
    assert_eq!(world.card(card).await.runs.remove(0).process, None);
}

/// Invariant 1. Invariant 7.
async fn only_on_the_record(world: World) {
    let (agent, card, daemon) = at_work(&world).await;
    let first = world.pid("agent");
    daemon.leave().await;
    remove_executions(&world);
    fs::remove_file(world.state().ledger()).unwrap();
    goes_on(&world, (&agent, card), first).await;
}

/// Invariant 1. Invariant 7.
async fn stopped_on_the_record(world: World) {
    let (agent, card, daemon) = at_work(&world).await;
    let first = world.pid("agent");
    daemon.leave().await;
    remove_executions(&world);
    fs::remove_file(world.state().ledger()).unwrap();
    world.stop(card).await;
    world.send_more(card).await;
    goes_on(&world, (&agent, card), first).await;
}

/// Invariant 7.
async fn over(world: World) {
    let (agent, card, daemon) = at_work(&world).await;
    daemon.leave().await;
    let first = world.pid("agent");
    world.kill("agent");
    world.until_gone("agent").await;
    remove_executions(&world);
    fs::remove_file(world.state().ledger()).unwrap();
    goes_on(&world, (&agent, card), first).await;
}

/// Invariant 1.
async fn never_noted(world: World) {
    let agent = world.gated("agent");
    let card = world.send("agent").await;
    world.record.plan(Call::RecordProcess, [Instead::Away]);
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_runs("agent").await;
    world.until_said("could not be noted").await;
    let first = world.pid("agent");
    daemon.leave().await;
    remove_executions(&world);
    fs::remove_file(world.state().ledger()).unwrap();
    world.stop(card).await;
    world.send_more(card).await;
    goes_on(&world, (&agent, card), first).await;
}
