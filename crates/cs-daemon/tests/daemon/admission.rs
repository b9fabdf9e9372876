//! What is looked at once more between the claim and the GO.

use cs_daemon::Ended;
use cs_model::{Ending, RunState};
use cs_record::{Machines, Scope};
use libtest_mimic::Trial;

use crate::record::{Call, Instead};
use crate::world::{World, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "PS-3: an admission that closes before GO keeps the agent from its prompt, and opens later",
            closes_before_go,
        ),
        trial(
            "AF-9: a card that is stopped during the preparation gets no agent",
            stopped_before_go,
        ),
        trial(
            "a daemon that starts nothing for want of room says so, once",
            without_room,
        ),
        trial(
            "a daemon that only looks after what runs says that there is no room, once",
            without_room_for_what_runs,
        ),
    ]
}

/// Invariant 6.
async fn closes_before_go(world: World) {
    let agent = world.gated("agent");
    world.open_gate("agent");
    let card = world.send("agent").await;
    world.record.plan(Call::Pauses, [Instead::Pass, Instead::Pause]);
    let ended = world.run_once(&[("agent", &agent)]).await.unwrap();
    assert!(matches!(ended, Ended::AdmissionClosed { .. }), "{ended:?}");
    assert_eq!(world.starts("agent"), 0);
    let run = world.card(card).await.runs.remove(0);
    assert_eq!(run.state, RunState::Ended(Ending::Interrupted));
    assert_eq!(world.card(card).await.runs[0].tries, 0, "no fault of the agent");

    assert!(world.record.unpause(Scope::Everything).await.unwrap());
    world.run_once(&[("agent", &agent)]).await.unwrap();
    assert_eq!(world.starts("agent"), 1);
    assert_eq!(world.answers(card).await, ["Done."]);
}

/// Invariant 6.
async fn stopped_before_go(world: World) {
    let agent = world.gated("agent");
    world.open_gate("agent");
    let card = world.send("agent").await;
    world.record.plan(Call::Standing, [Instead::Stop(card)]);
    let ended = world.run_once(&[("agent", &agent)]).await.unwrap();
    assert!(matches!(ended, Ended::Idle { next_due: None }), "{ended:?}");
    assert_eq!(world.starts("agent"), 0);
    let run = world.card(card).await.runs.remove(0);
    assert_eq!(run.state, RunState::Ended(Ending::Stopped));
}

async fn without_room(world: World) {
    let world = world.with_room_for(u64::MAX);
    let agent = world.gated("agent");
    world.open_gate("agent");
    world.send("agent").await;
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_said("no new work starts: only").await;
    // Another pass finds the same.
    let _ = cs_daemon::control::poke(&world.state()).await;
    daemon.leave().await;
    let said = world.all_said();
    assert_eq!(said.matches("no new work starts").count(), 1, "{said}");
    assert_eq!(world.starts("agent"), 0);
}

async fn without_room_for_what_runs(world: World) {
    let agent = world.gated("agent");
    world.send("agent").await;
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_runs("agent").await;
    daemon.leave().await;
    let world = world.with_room_for(u64::MAX);
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_said("no new work starts: only").await;
    world.open_gate("agent");
    world.until_said("answered").await;
    daemon.leave().await;
    let said = world.all_said();
    assert_eq!(said.matches("no new work starts").count(), 1, "{said}");
}
