//! Control groups: what an agent that may write to them can do against its own, and what happens where none can be made.

use std::fs;

use cs_supervise::{AgentExit, Proof, StopRequest, Tier};
use libtest_mimic::Trial;
use rustix::process::Signal;

use crate::support::{
    Scratch, alive, assert_closed, crash, in_group, is_alive, read_when_there, shim_of, spec_of, trial,
    until, words,
};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        in_group(
            "an_agent_and_all_that_it_starts_are_in_its_control_group",
            members,
        ),
        in_group(
            "a_process_that_left_its_control_group_is_ended_all_the_same",
            left,
        ),
        in_group("groups_that_an_agent_made_within_its_own_are_removed", nested),
        in_group(
            "s4_without_its_shim_a_group_proves_the_end_also_of_what_has_no_cookie_and_was_never_listed",
            never_listed,
        ),
        in_group(
            "the_group_of_an_agent_that_could_not_be_started_is_removed",
            not_started,
        ),
        in_group("an_empty_group_goes_when_its_execution_is_dismissed", dismissed),
        trial("an_execution_that_asks_for_no_group_gets_none", none),
    ]
}

fn pids(group: &std::path::Path) -> Vec<i32> {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

async fn members(scratch: Scratch) {
    let running = scratch
        .start(&[scratch.hostile(), words(&["sleep"])].concat())
        .await;
    let descendants = scratch.descendants().await;
    let there = pids(&scratch.group().unwrap());
    for pid in descendants
        .iter()
        .map(|process| process.pid)
        .chain([running.agent().pid()])
    {
        assert!(there.contains(&pid), "{pid} of {there:?}");
    }
    assert!(!there.contains(&shim_of(&scratch).pid()));
    let closed = running.stop(StopRequest::FORCE).await.unwrap();
    assert_closed(&scratch, &closed);
    assert_eq!(alive(&descendants), [""; 0]);
}

/// An agent that is a shell script; `$group` is its control group.
fn script(text: &str) -> cs_supervise::ExecutionSpec {
    let mut spec = spec_of(&[]);
    let find = "mount=$(sed -n 's/^[^ ]* [^ ]* [^ ]* [^ ]* \\([^ ]*\\) .* - cgroup2 .*/\\1/p' /proc/self/mountinfo | head -n 1); \
                group=$mount$(sed -n 's/^0:://p' /proc/self/cgroup); ";
    spec.argv = vec!["sh".into(), "-c".into(), format!("{find}{text}").into()];
    spec
}

async fn left(scratch: Scratch) {
    let file = scratch.text("pid");
    let text = format!(
        "setsid sh -c 'echo $$ > '\"$group\"'/../cgroup.procs && echo $$ > {file}.new; mv {file}.new {file}; exec sleep 120' & \
         sleep 120"
    );
    let running = scratch.start_spec(&script(&text), b"").await;
    let pid: i32 = read_when_there(&scratch.path("pid"))
        .await
        .trim()
        .parse()
        .unwrap();
    assert!(is_alive(pid) && !pids(&scratch.group().unwrap()).contains(&pid));
    let closed = running.stop(StopRequest::FORCE).await.unwrap();
    assert_closed(&scratch, &closed);
    assert!(!is_alive(pid));
}

async fn nested(scratch: Scratch) {
    let text = "mkdir -p $group/a/b && echo $$ > $group/a/b/cgroup.procs && echo up; sleep 120";
    let running = scratch.start_spec(&script(text), b"").await;
    until("the agent is in a group of its own making", || {
        scratch.stdout() == "up\n"
    })
    .await;
    let group = scratch.group().unwrap();
    assert!(pids(&group).is_empty());
    let closed = running.stop(StopRequest::FORCE).await.unwrap();
    assert_eq!(closed.exit, AgentExit::Signalled(Signal::KILL.as_raw()));
    assert_closed(&scratch, &closed);
}

async fn never_listed(scratch: Scratch) {
    let file = scratch.text("dfork-clean");
    let agent = [vec![format!("spawn=dfork-clean:{file}")], words(&["sleep"])].concat();
    let mut running = scratch.start(&agent).await;
    let pid: i32 = read_when_there(&scratch.path("dfork-clean"))
        .await
        .parse()
        .unwrap();
    crash(&shim_of(&scratch));
    until("the shim is dead", || !running.agent().is_alive()).await;
    assert!(is_alive(pid));
    // As if the shim had never come to write it.
    fs::write(scratch.dir.path().join("descendants.json"), r#"{"processes":[]}"#).unwrap();
    let closed = running.closed().await.unwrap();
    assert_eq!(
        (closed.exit, closed.proof),
        (AgentExit::Unknown, Some(Proof::CgroupEmpty))
    );
    assert!(!is_alive(pid) && !scratch.group().unwrap().exists());
}

async fn not_started(scratch: Scratch) {
    let mut spec = spec_of(&[]);
    spec.argv = vec!["no-such-program-anywhere".into()];
    scratch.hold(&spec).await.unwrap().go(b"").await.unwrap_err();
    assert_eq!(scratch.group(), None);
    let name = fs::read_to_string(scratch.dir.path().join("spec.json")).unwrap();
    let spec: serde_json::Value = serde_json::from_str(&name).unwrap();
    let probe = script(&format!(
        "ls -d $group/../cs-panel-{}",
        spec["cookie"].as_str().unwrap()
    ));
    let below = scratch.below("probe");
    let closed = below.start_spec(&probe, b"").await.closed().await.unwrap();
    assert_ne!(closed.exit, AgentExit::Exited(0), "{}", below.stdout());
}

async fn none(scratch: Scratch) {
    let running = scratch.start(&words(&["sleep"])).await;
    assert_eq!((running.tier(), scratch.group()), (Tier::Subreaper, None));
    let closed = running.stop(StopRequest::FORCE).await.unwrap();
    assert_eq!(closed.proof, Some(Proof::SubreaperEmpty));
}

/// What survived had left the group, and a person has looked after it.
async fn dismissed(scratch: Scratch) {
    let running = scratch.start(&words(&["sleep"])).await;
    running.stop(StopRequest::FORCE).await.unwrap();
    let group = scratch.group().unwrap();
    fs::create_dir(&group).unwrap();
    let path = scratch.dir.path().join("closed.json");
    let mut closed = crate::raw::read(&path);
    closed["proof"] = serde_json::Value::Null;
    closed["dismissed_at_unix_micros"] = 1.into();
    fs::write(&path, closed.to_string()).unwrap();
    let closed = cs_supervise::dismiss(&scratch.dir).await.unwrap();
    assert_eq!((closed.proof, closed.dismissed_at_unix_micros), (None, Some(1)));
    assert!(!group.exists());
}
