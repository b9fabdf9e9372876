//! Which processes belong to an execution.

use cs_supervise::{ExecutionDir, StopRequest, belongs_to};
use libtest_mimic::Trial;

use crate::support::{Scratch, per_tier, trial, words};

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = per_tier(
        "each_descendant_of_an_agent_belongs_to_it_and_nobody_else_does",
        belong,
    );
    trials.push(trial(
        "nobody_belongs_to_an_execution_that_is_not_or_is_over",
        nobody,
    ));
    trials
}

async fn belong(scratch: Scratch) {
    let mut hostile = scratch.hostile();
    hostile.push("sleep".to_owned());
    let running = scratch.start(&hostile).await;
    let others = scratch.below("other");
    let other = others.start(&words(&["sleep"])).await;
    let belongs = |dir: &ExecutionDir, pid: i32| belongs_to(dir, pid).unwrap();
    let ours = scratch.descendants().await.into_iter().map(|process| process.pid);
    for pid in ours.chain([running.agent().pid()]) {
        assert!(belongs(&scratch.dir, pid) && !belongs(&others.dir, pid), "{pid}");
    }
    let own = i32::try_from(std::process::id()).unwrap();
    for pid in [own, 1, 0, -1, i32::MAX, other.agent().pid()] {
        assert!(!belongs(&scratch.dir, pid), "{pid}");
    }
    other.stopper().stop(StopRequest::FORCE).await.unwrap();
    running.stopper().stop(StopRequest::FORCE).await.unwrap();
}

async fn nobody(scratch: Scratch) {
    let own = i32::try_from(std::process::id()).unwrap();
    assert!(!belongs_to(&scratch.dir, own).unwrap());
    let running = scratch.start(&words(&["sleep"])).await;
    let agent = running.agent().pid();
    assert!(belongs_to(&scratch.dir, agent).unwrap());
    running.stopper().stop(StopRequest::FORCE).await.unwrap();
    assert!(!belongs_to(&scratch.dir, agent).unwrap());
}
