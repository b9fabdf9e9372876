//! An execution whose directory somebody has removed is ended by what was noted of it elsewhere.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use cs_supervise::{
    BootId, ExecutionDir, Noted, ProcessIdentity, Proof, ShimIdentity, StopRequest, end_untraced,
};
use libtest_mimic::Trial;

use crate::support::{
    KINDS, Process, Scratch, alive, crash, per_tier, shim_of, spec_of, trial, until, words,
};

pub(crate) fn trials() -> Vec<Trial> {
    [
        per_tier("a_tree_whose_directory_was_removed_is_ended_by_its_shim", by_shim),
        vec![
            trial(
                "a_tree_whose_directory_was_removed_is_found_by_its_agent",
                by_agent,
            ),
            trial("a_shim_is_found_by_the_directory_that_was_removed", by_place),
            trial(
                "what_a_lost_shim_left_without_a_directory_is_found_by_its_cookie",
                by_cookie,
            ),
            trial(
                "a_process_of_another_boot_is_over_and_nobody_is_signalled",
                of_another_boot,
            ),
            trial(
                "another_process_with_the_same_number_is_not_signalled",
                of_another,
            ),
        ],
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// An execution without a directory.
struct Removed {
    noted: Noted,
    tree: Vec<Process>,
    group: Option<PathBuf>,
}

/// A tree of every kind of descendant, whose directory was removed. Nobody follows it.
async fn removed(scratch: &Scratch) -> Removed {
    let agent = [scratch.hostile(), words(&["sleep"])].concat();
    let held = scratch.hold(&spec_of(&agent)).await.unwrap();
    let shim = held.identity().clone();
    let running = held.go(b"").await.unwrap();
    let tree = scratch.descendants().await;
    let noted = Noted {
        dirs: Vec::new(),
        shim: Some(shim),
        agent: Some(running.agent().clone()),
    };
    let group = scratch.group();
    remove(scratch).await;
    Removed { noted, tree, group }
}

/// Removes the directory of an execution whose shim may be writing into it.
async fn remove(scratch: &Scratch) {
    let dir = scratch.dir.path();
    until("its directory is removed", || fs::remove_dir_all(dir).is_ok()).await;
}

fn nothing_is_left(noted: &Noted, tree: &[Process]) {
    assert_eq!(alive(tree), [""; 0]);
    assert!(!noted.agent.as_ref().unwrap().is_alive());
    assert!(!noted.shim.as_ref().unwrap().process.is_alive());
}

async fn by_shim(scratch: Scratch) {
    let Removed { noted, tree, group } = removed(&scratch).await;
    let by = Noted {
        agent: None,
        ..noted.clone()
    };
    let end = end_untraced(by.clone()).await.unwrap();
    assert!(!end.found.is_empty() && end.survivors.is_empty(), "{end:?}");
    assert!(end.proof >= Some(Proof::CgroupEmpty), "{end:?}");
    nothing_is_left(&noted, &tree);
    assert!(!group.is_some_and(|group| group.exists()));
    let again = end_untraced(by).await.unwrap();
    assert_eq!(
        (again.found.as_slice(), again.proof),
        (&[][..], Some(Proof::SweepClean))
    );
}

async fn by_agent(scratch: Scratch) {
    let Removed { noted, tree, .. } = removed(&scratch).await;
    // It tells the cookie, but not what has cleared its environment.
    let by = Noted {
        shim: None,
        ..noted.clone()
    };
    let end = end_untraced(by).await.unwrap();
    assert_eq!(end.proof, Some(Proof::SweepClean), "{end:?}");
    assert!(!noted.agent.as_ref().unwrap().is_alive());
    until("its shim has ended what is left", || alive(&tree).is_empty()).await;
}

async fn by_place(scratch: Scratch) {
    let Removed { noted, tree, .. } = removed(&scratch).await;
    let link = scratch.path("link");
    symlink(scratch.dir.path().parent().unwrap(), &link).unwrap();
    let by = |path: PathBuf| Noted {
        dirs: vec![ExecutionDir::at(path)],
        ..Noted::default()
    };
    let end = end_untraced(by(scratch.path("other"))).await.unwrap();
    assert!(end.found.is_empty(), "{end:?}");
    assert_eq!(alive(&tree), KINDS);
    // The same place by another name.
    let end = end_untraced(by(link.join("execution"))).await.unwrap();
    assert_eq!(end.proof, Some(Proof::SweepClean), "{end:?}");
    nothing_is_left(&noted, &tree);
}

async fn by_cookie(scratch: Scratch) {
    let agent = [scratch.of_kinds(&["setsid", "dfork"]), words(&["sleep"])].concat();
    let held = scratch.hold(&spec_of(&agent)).await.unwrap();
    let shim = held.identity().clone();
    let running = held.go(b"").await.unwrap();
    let tree = scratch.descendants_of(&["setsid", "dfork"]).await;
    drop(running);
    remove(&scratch).await;
    crash(&shim.process);
    until("it is gone", || !shim.process.is_alive()).await;
    assert_eq!(alive(&tree), ["setsid", "dfork"]);
    let as_written: ShimIdentity = serde_json::from_str(&serde_json::to_string(&shim).unwrap()).unwrap();
    let by = Noted {
        shim: Some(as_written),
        ..Noted::default()
    };
    let end = end_untraced(by).await.unwrap();
    assert!(!end.found.is_empty() && end.survivors.is_empty(), "{end:?}");
    assert_eq!(alive(&tree), [""; 0]);
}

/// S8
async fn of_another_boot(scratch: Scratch) {
    let running = scratch.start(&words(&["sleep"])).await;
    let agent = running.agent().clone();
    let pid = u32::try_from(agent.pid()).unwrap();
    let noted = ProcessIdentity::noted("another boot", pid, agent.start_ticks());
    let by = Noted {
        agent: noted,
        ..Noted::default()
    };
    let end = end_untraced(by).await.unwrap();
    assert_eq!(
        (end.found.as_slice(), end.proof),
        (&[][..], Some(Proof::HostRebooted))
    );
    assert!(agent.is_alive());
    running.stop(StopRequest::FORCE).await.unwrap();
}

async fn of_another(scratch: Scratch) {
    let running = scratch.start(&words(&["sleep"])).await;
    let (agent, shim) = (running.agent().clone(), shim_of(&scratch));
    let pid = u32::try_from(agent.pid()).unwrap();
    let boot = BootId::current().unwrap();
    let noted = ProcessIdentity::noted(boot.as_str(), pid, agent.start_ticks() + 1);
    let by = Noted {
        agent: noted,
        ..Noted::default()
    };
    let end = end_untraced(by).await.unwrap();
    assert_eq!(
        (end.found.as_slice(), end.proof),
        (&[][..], Some(Proof::SweepClean))
    );
    assert!(agent.is_alive() && shim.is_alive());
    running.stop(StopRequest::FORCE).await.unwrap();
}
