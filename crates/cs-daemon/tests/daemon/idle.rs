//! What a daemon asks of its record while nothing happens.

use std::collections::BTreeMap;
use std::time::Duration;

use cs_daemon::Ended;
use cs_model::PauseKind;
use cs_record::{Machines, Scope};
use libtest_mimic::Trial;

use crate::record::Call;
use crate::world::{World, timed_trial, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        timed_trial(
            "a daemon that is told of changes looks every 30 s, and renews its presence with every other look",
            |world| asks(world, 30, 11, 6),
        ),
        timed_trial(
            "a daemon that is not told looks every 2 s, and renews its presence with the first look after 45 s",
            |world| asks(world, 2, 151, 7),
        ),
        timed_trial(
            "a daemon that seldom looks does so every minute all the same, to renew its presence",
            |world| asks(world, 3600, 6, 6),
        ),
        trial(
            "PS-3: a daemon that is to end says of a closed admission, also when nothing waits for it",
            closed_and_idle,
        ),
    ]
}

/// Counts what five minutes ask: beside looks and presence only what the first pass of every daemon does.
async fn asks(world: World, every_s: u64, looks: usize, renewals: usize) {
    world
        .idles(Duration::from_secs(every_s), Duration::from_secs(301))
        .await;
    let expected = BTreeMap::from([
        (Call::Forget, 1),
        (Call::Pauses, 1),
        (Call::Peek, looks),
        (Call::Present, renewals),
        (Call::RunningRuns, 1),
    ]);
    assert_eq!(world.record.met(), expected);
}

async fn closed_and_idle(world: World) {
    let person = "Ada".parse().unwrap();
    let paused = world
        .record
        .pause(Scope::Everything, PauseKind::Pause, None, &person);
    paused.await.unwrap();
    let ended = world.run_once(&[]).await.unwrap();
    assert!(
        matches!(&ended, Ended::AdmissionClosed { reasons } if reasons.len() == 1),
        "{ended:?}"
    );
}
