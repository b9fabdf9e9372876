//! A start that finds many executions at once, some of which hang.

use std::fs;

use cs_model::{Ending, RunState};
use cs_supervise::{ExecutionDir, glance};
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};

use crate::world::{World, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial(
        "shims that hang keep no other execution from being taken up, and are ended within one wait for all",
        some_hang,
    )]
}

const ALL: u32 = 30;
const HUNG: usize = 6;

/// The shims of all executions.
fn shims(world: &World) -> Vec<Pid> {
    let entries = fs::read_dir(world.state().executions()).unwrap();
    let dirs = entries.map(|entry| ExecutionDir::at(entry.unwrap().path()));
    let shims = dirs.map(|dir| glance(&dir).unwrap().shim.unwrap().pid());
    shims.map(|pid| Pid::from_raw(pid).unwrap()).collect()
}

async fn some_hang(world: World) {
    let world = world.with_slots(ALL);
    let agent = world.gated("agent");
    let mut cards = Vec::new();
    for _ in 0..ALL {
        cards.push(world.send("agent").await);
    }
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_starts("agent", 30).await;
    // Each is known to run: it is on the record.
    for card in &cards {
        world.until_noted(*card).await;
    }
    daemon.leave().await;
    let hung = shims(&world).split_off(ALL as usize - HUNG);
    for shim in &hung {
        kill_process(*shim, Signal::STOP).unwrap();
    }

    let daemon = world.daemon(&[("agent", &agent)]).await;
    world
        .until_said_times("its agent still runs", ALL as usize - HUNG)
        .await;
    assert!(
        !world.all_said().contains("was cut short"),
        "one that hangs was waited for before another was taken up:\n{}",
        world.all_said()
    );
    world.until_said_times("was cut short", HUNG).await;
    world.until_starts("agent", ALL as usize + HUNG).await;
    world.open_gate("agent");
    world.until_said_times("answered", ALL as usize).await;
    for card in cards {
        let run = &world.card(card).await.runs[0];
        assert_eq!(run.state, RunState::Ended(Ending::Finished));
    }
    daemon.leave().await;
}
