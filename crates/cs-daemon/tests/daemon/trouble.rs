//! What goes wrong and is mended.

use cs_daemon::Ended;
use libtest_mimic::Trial;

use crate::record::{Call, Instead};
use crate::world::{World, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "an answer that the record did not take is told again, and the daemon then ends",
            told_again,
        ),
        trial(
            "an agent that was taken out of the configuration while it ran is read to its end",
            unconfigured,
        ),
        trial(
            "a run that cannot be carried on now keeps its slot",
            keeps_its_slot,
        ),
        trial(
            "a daemon that has left has nobody at its ledger any more",
            leaves_nobody,
        ),
    ]
}

/// Invariant 8.
async fn told_again(world: World) {
    let agent = world.gated("agent");
    world.open_gate("agent");
    let card = world.send("agent").await;
    world.record.plan(Call::Answer, [Instead::Away]);
    let ended = world.run_once(&[("agent", &agent)]).await.unwrap();
    assert!(matches!(ended, Ended::Idle { next_due: None }), "{ended:?}");
    assert_eq!((world.starts("agent"), world.answers(card).await.len()), (1, 1));
}

async fn unconfigured(world: World) {
    let agent = world.gated("agent");
    let card = world.send("agent").await;
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_runs("agent").await;
    daemon.leave().await;
    world.open_gate("agent");
    world.run_once(&[]).await.unwrap();
    assert_eq!(world.answers(card).await, ["Done."]);
}

/// Invariant 7.
async fn keeps_its_slot(world: World) {
    let (first, second) = (world.gated("first"), world.gated("second"));
    let agents = [("first", first.as_str()), ("second", second.as_str())];
    let one = world.send("first").await;
    let daemon = world.daemon(&agents).await;
    world.until_runs("first").await;
    daemon.leave().await;

    let two = world.send("second").await;
    world.open_gate("second");
    world.record.plan(Call::RunBrief, [Instead::Away]);
    let daemon = world.daemon(&agents).await;
    world.until_said("could not be carried on").await;
    world.until_said("still runs").await;
    assert_eq!(world.starts("second"), 0, "the only slot is taken");
    world.open_gate("first");
    daemon.leave().await;
    world.run_once(&agents).await.unwrap();
    assert_eq!(world.answers(one).await, ["Done."]);
    assert_eq!(world.answers(two).await, ["Done."]);
}

async fn leaves_nobody(world: World) {
    let agent = world.gated("agent");
    let card = world.send("agent").await;
    for daemons_before in 0..5 {
        let daemon = world.daemon(&[("agent", &agent)]).await;
        world.until_runs("agent").await;
        // One that left before it had looked would know of nobody who goes on.
        world.until_said_times("still runs", daemons_before).await;
        let ended = daemon.leave().await;
        assert!(
            matches!(&ended, Ended::Detached { going_on } if going_on.len() == 1),
            "daemon {daemons_before}: {ended:?}, {}",
            world.all_said()
        );
    }
    world.open_gate("agent");
    world.run_once(&[("agent", &agent)]).await.unwrap();
    assert_eq!((world.starts("agent"), world.answers(card).await.len()), (1, 1));
}
