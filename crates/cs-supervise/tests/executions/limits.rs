//! Limits, leases and pauses.

use std::fs;
use std::time::Duration;

use cs_supervise::{
    AgentExit, ExecutionSpec, Lease, LeaseEnd, Limit, Limits, PauseError, PausedBy, Running, StopRequest,
};
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{
    Scratch, adopt, alive, assert_closed, in_group, per_tier, shim_of, spec_of, state_of, trial, until, words,
};

pub(crate) fn trials() -> Vec<Trial> {
    let both = [
        per_tier("a_pause_stops_the_whole_tree_and_a_resume_lets_it_go_on", pause),
        per_tier(
            "a_pause_before_go_holds_the_agent_as_soon_as_it_runs",
            pause_before,
        ),
        per_tier("a_stop_ends_a_pause_politely", stop_paused),
        per_tier("a_force_ends_what_is_paused", force_paused),
        per_tier(
            "an_execution_that_nobody_follows_is_paused_and_can_go_on",
            lease_pauses,
        ),
        per_tier(
            "what_was_paused_since_nobody_followed_goes_on_when_somebody_does",
            lease_followed_again,
        ),
        per_tier(
            "a_persons_pause_of_what_its_lease_had_paused_outlasts_the_next_follower",
            lease_then_person,
        ),
        per_tier("s10_a_paused_execution_spends_nothing", paused_spends_nothing),
    ];
    let once = vec![
        trial("what_was_punched_out_of_a_spool_counts_no_more", punched),
        in_group(
            "a_pause_holds_also_what_has_left_the_control_group",
            pause_outside,
        ),
        trial(
            "an_agent_that_fills_the_disk_is_stopped_and_the_limit_is_named",
            disk,
        ),
        trial(
            "s10_an_agent_that_works_too_long_is_stopped_and_the_limit_is_named",
            awake,
        ),
        trial("s10_limits_are_kept_without_a_daemon", alone),
        trial(
            "s10_time_worked_is_not_counted_anew_by_the_next_daemon",
            over_restarts,
        ),
        trial(
            "an_execution_that_nobody_follows_is_stopped_at_its_leases_end",
            lease_stops,
        ),
        trial("a_lease_lasts_while_somebody_follows", lease_renewed),
        trial("what_has_ended_cannot_be_paused", pause_ended),
        trial(
            "a_daemon_that_looks_away_while_a_dead_shim_is_settled_gets_the_end",
            looks_away,
        ),
    ];
    both.into_iter().flatten().chain(once).collect()
}

const MOMENT: Duration = Duration::from_millis(300);

fn limited(agent: &[String], limits: Limits) -> ExecutionSpec {
    let mut spec = spec_of(agent);
    spec.limits = limits;
    spec
}

fn lease(at_end: LeaseEnd) -> Limits {
    Limits {
        lease: Lease {
            length: MOMENT,
            at_end,
        },
        ..Limits::default()
    }
}

async fn ends_by(scratch: &Scratch, mut running: Running, limit: Limit) {
    let closed = running.closed().await.unwrap();
    assert_eq!(
        (&closed.exit, closed.stopped_by_us, closed.limit),
        (&AgentExit::Signalled(Signal::INT.as_raw()), true, Some(limit))
    );
    assert_closed(scratch, &closed);
    assert!(closed.worked.is_some());
}

async fn disk(scratch: Scratch) {
    let limits = Limits {
        spool_bytes: Some(1 << 20),
        ..Limits::default()
    };
    let within = limited(&words(&["bytes=500000", "exit=0"]), limits);
    let closed = scratch
        .below("within")
        .start_spec(&within, b"")
        .await
        .closed()
        .await
        .unwrap();
    assert_eq!((closed.exit, closed.limit), (AgentExit::Exited(0), None));
    let beyond = limited(&words(&["bytes=2000000", "sleep"]), limits);
    let running = scratch.start_spec(&beyond, b"").await;
    ends_by(&scratch, running, Limit::SpoolBytes).await;
}

async fn punched(scratch: Scratch) {
    let limits = Limits {
        spool_bytes: Some(1 << 20),
        ..Limits::default()
    };
    let (first, second) = (scratch.text("first"), scratch.text("second"));
    let agent = [
        words(&["bytes=900000"]),
        vec![format!("once={first}"), format!("await={second}")],
        words(&["bytes=900000", "exit=0"]),
    ];
    let mut running = scratch.start_spec(&limited(&agent.concat(), limits), b"").await;
    crate::support::read_when_there(&scratch.path("first")).await;
    let window = cs_supervise::SpoolWindow {
        head_bytes: 1000,
        tail_bytes: 1000,
    };
    let mut puncher = cs_supervise::Puncher::open(&scratch.dir.stdout_spool(), window).unwrap();
    assert!(puncher.kept(900_000).unwrap() > 800_000);
    fs::write(second, "").unwrap();
    let closed = running.closed().await.unwrap();
    assert_eq!((closed.exit, closed.limit), (AgentExit::Exited(0), None));
    assert_eq!(fs::metadata(scratch.dir.stdout_spool()).unwrap().len(), 1_800_000);
}

fn short() -> Limits {
    Limits {
        awake: Some(MOMENT),
        ..Limits::default()
    }
}

async fn awake(scratch: Scratch) {
    let running = scratch
        .start_spec(&limited(&words(&["sleep"]), short()), b"")
        .await;
    ends_by(&scratch, running, Limit::Awake).await;
}

async fn alone(scratch: Scratch) {
    let running = scratch
        .start_spec(&limited(&words(&["sleep"]), short()), b"")
        .await;
    drop(running);
    let shim = shim_of(&scratch);
    until("the shim has ended", || !shim.is_alive()).await;
    let text = fs::read_to_string(scratch.dir.path().join("closed.json")).unwrap();
    assert!(text.contains(r#""limit":"awake""#), "{text}");
}

async fn over_restarts(scratch: Scratch) {
    drop(
        scratch
            .start_spec(&limited(&words(&["sleep"]), short()), b"")
            .await,
    );
    // Each daemon lives for less than the limit: were the time counted anew, it would never be reached.
    let shim = shim_of(&scratch);
    while shim.is_alive() {
        if let cs_supervise::Verdict::Adopted(mut running) = scratch.survey().await {
            let _: Result<_, _> = tokio::time::timeout(MOMENT / 10, running.closed()).await;
        }
    }
    let cs_supervise::Verdict::Finished(closed) = scratch.survey().await else {
        panic!("it ended in order")
    };
    assert_eq!(closed.limit, Some(Limit::Awake));
}

async fn paused_spends_nothing(scratch: Scratch) {
    let spec = limited(&words(&["sleep"]), short());
    let held = scratch.hold(&spec).await.unwrap();
    held.pauser().pause().await.unwrap();
    let mut running = held.go(b"").await.unwrap();
    // Far longer than the limit: had the time counted, the agent were dead.
    let ended = tokio::time::timeout(5 * MOMENT, running.closed()).await;
    assert!(ended.is_err(), "{ended:?}");
    running.pauser().resume().await.unwrap();
    let closed = running.closed().await.unwrap();
    assert_eq!(closed.limit, Some(Limit::Awake));
    assert!(closed.worked.unwrap() >= MOMENT);
}

async fn lease_stops(scratch: Scratch) {
    drop(
        scratch
            .start_spec(&limited(&words(&["sleep"]), lease(LeaseEnd::Stop)), b"")
            .await,
    );
    let shim = shim_of(&scratch);
    until("the shim has ended", || !shim.is_alive()).await;
    let cs_supervise::Verdict::Finished(closed) = scratch.survey().await else {
        panic!("it ended in order")
    };
    assert_eq!((closed.limit, closed.stopped_by_us), (Some(Limit::Lease), true));
}

/// An execution that its lease has paused, adopted. It would exit with 4.
async fn left_alone(scratch: &Scratch) -> Running {
    let gate = format!("await={}", scratch.text("gate"));
    let spec = limited(&[vec![gate], words(&["exit=4"])].concat(), lease(LeaseEnd::Pause));
    let agent = scratch.start_spec(&spec, b"").await.agent().pid();
    until("the agent stands still", || stand_still(scratch, &[agent])).await;
    fs::write(scratch.path("gate"), "").unwrap();
    let running = adopt(scratch).await;
    assert_eq!(running.paused(), Some(PausedBy::Lease));
    running
}

async fn lease_followed_again(scratch: Scratch) {
    let mut running = left_alone(&scratch).await;
    let closed = running.closed().await.unwrap();
    assert_eq!((closed.exit, closed.limit), (AgentExit::Exited(4), None));
}

async fn lease_then_person(scratch: Scratch) {
    let mut running = left_alone(&scratch).await;
    running.pauser().pause().await.unwrap();
    // The follower renews the lease at once and again and again.
    let ended = tokio::time::timeout(2 * MOMENT, running.closed()).await;
    assert!(ended.is_err(), "{ended:?}");
    assert_eq!(adopt(&scratch).await.paused(), Some(PausedBy::Request));
    running.pauser().resume().await.unwrap();
    assert_eq!(running.closed().await.unwrap().exit, AgentExit::Exited(4));
}

async fn lease_pauses(scratch: Scratch) {
    let mut running = left_alone(&scratch).await;
    running.pauser().resume().await.unwrap();
    let closed = running.closed().await.unwrap();
    assert_eq!((closed.exit, closed.limit), (AgentExit::Exited(4), None));
}

async fn lease_renewed(scratch: Scratch) {
    let spec = limited(&words(&["sleep"]), lease(LeaseEnd::Stop));
    let mut running = scratch.start_spec(&spec, b"").await;
    // The lease ends many times over while somebody waits.
    let ended = tokio::time::timeout(6 * MOMENT, running.closed()).await;
    assert!(ended.is_err(), "{ended:?}");
    assert!(running.agent().is_alive());
    let closed = running.stop(StopRequest::FORCE).await.unwrap();
    assert_eq!(closed.limit, None);
}

/// Whether these processes of the execution stand still. In a control group the kernel says so of all at once.
fn stand_still(scratch: &Scratch, pids: &[i32]) -> bool {
    match scratch.group() {
        Some(group) => {
            let events = fs::read_to_string(group.join("cgroup.events")).unwrap();
            let there = fs::read_to_string(group.join("cgroup.procs")).unwrap();
            let is_there = |pid: &i32| there.lines().any(|line| line == pid.to_string());
            events.contains("frozen 1") && pids.iter().all(is_there)
        }
        None => pids
            .iter()
            // In the kernel (`D`) it goes no further than to its stop.
            .all(|pid| state_of(*pid).is_some_and(|state| state == "T" || state == "D")),
    }
}

async fn pause(scratch: Scratch) {
    let agent = [scratch.hostile(), words(&["lines=100000"])].concat();
    let mut running = scratch.start(&agent).await;
    let descendants = scratch.descendants().await;
    until("it says something", || !scratch.stdout().is_empty()).await;
    let all: Vec<i32> = descendants
        .iter()
        .map(|process| process.pid)
        .chain([running.agent().pid()])
        .collect();
    assert!(!stand_still(&scratch, &all));
    let pauser = running.pauser();
    pauser.pause().await.unwrap();
    assert!(stand_still(&scratch, &all));
    let said = scratch.stdout();
    assert_eq!(adopt(&scratch).await.paused(), Some(PausedBy::Request));
    pauser.pause().await.unwrap();
    // Somebody else lets it go on: the shim sees it on its tick.
    match scratch.group() {
        Some(group) => fs::write(group.join("cgroup.freeze"), "0").unwrap(),
        None => kill_process(Pid::from_raw(descendants[1].pid).unwrap(), Signal::CONT).unwrap(),
    }
    until("it stands still again", || stand_still(&scratch, &all)).await;
    let said_then = scratch.stdout();
    assert!(said_then.starts_with(&said));
    pauser.resume().await.unwrap();
    until("it goes on", || scratch.stdout() != said_then).await;
    assert!(adopt(&scratch).await.paused().is_none());
    until("all go on", || {
        all.iter().all(|pid| !stand_still(&scratch, &[*pid]))
    })
    .await;
    let closed = running.stop(StopRequest::FORCE).await.unwrap();
    assert_closed(&scratch, &closed);
    assert_eq!(alive(&descendants), [""; 0]);
    assert_eq!(running.closed().await.unwrap(), closed);
}

async fn pause_outside(scratch: Scratch) {
    let running = scratch
        .start(&[scratch.hostile(), words(&["sleep"])].concat())
        .await;
    let outside = scratch.descendants().await[0].pid;
    let above = scratch.group().unwrap().join("../cgroup.procs");
    fs::write(above, outside.to_string()).unwrap();
    running.pauser().pause().await.unwrap();
    assert_eq!(state_of(outside).as_deref(), Some("T"));
    running.pauser().resume().await.unwrap();
    until("it goes on", || {
        state_of(outside).is_some_and(|state| state != "T")
    })
    .await;
    let closed = running.stop(StopRequest::FORCE).await.unwrap();
    assert_closed(&scratch, &closed);
}

async fn pause_before(scratch: Scratch) {
    let held = scratch
        .hold(&spec_of(&words(&["lines=1000", "exit=0"])))
        .await
        .unwrap();
    let pauser = held.pauser();
    pauser.pause().await.unwrap();
    let mut running = held.go(b"").await.unwrap();
    assert_eq!(running.paused(), Some(PausedBy::Request));
    until("the agent stands still", || {
        stand_still(&scratch, &[running.agent().pid()])
    })
    .await;
    assert!(scratch.stdout().lines().count() < 1000);
    pauser.resume().await.unwrap();
    assert_eq!(running.closed().await.unwrap().exit, AgentExit::Exited(0));
    assert_eq!(scratch.stdout().lines().count(), 1000);
    // A pause that is taken back before GO leaves no trace.
    let again = scratch.below("again");
    let held = again.hold(&spec_of(&words(&["exit=0"]))).await.unwrap();
    held.pauser().pause().await.unwrap();
    held.pauser().resume().await.unwrap();
    let mut running = held.go(b"").await.unwrap();
    assert_eq!(running.paused(), None);
    assert_eq!(running.closed().await.unwrap().exit, AgentExit::Exited(0));
}

async fn stop_paused(scratch: Scratch) {
    let running = scratch.start(&words(&["print=up", "sleep"])).await;
    running.pauser().pause().await.unwrap();
    let hour = Duration::from_secs(3600);
    let graces = StopRequest {
        interrupt_grace: hour,
        terminate_grace: hour,
    };
    let closed = running.stop(graces).await.unwrap();
    assert_eq!(closed.exit, AgentExit::Signalled(Signal::INT.as_raw()));
    assert_closed(&scratch, &closed);
}

async fn force_paused(scratch: Scratch) {
    let running = scratch
        .start(&[scratch.hostile(), words(&["sleep"])].concat())
        .await;
    let descendants = scratch.descendants().await;
    running.pauser().pause().await.unwrap();
    let closed = running.stop(StopRequest::FORCE).await.unwrap();
    assert_eq!(closed.exit, AgentExit::Signalled(Signal::KILL.as_raw()));
    assert_closed(&scratch, &closed);
    assert_eq!(alive(&descendants), [""; 0]);
}

async fn pause_ended(scratch: Scratch) {
    let mut running = scratch.start(&words(&["exit=0"])).await;
    running.closed().await.unwrap();
    let error = running.pauser().pause().await.unwrap_err();
    assert!(matches!(error, PauseError::Ended { .. }), "{error:?}");
}

async fn looks_away(scratch: Scratch) {
    let spawn = format!("spawn=setsid:{}", scratch.text("setsid"));
    let mut running = scratch.start(&[spawn, "sleep".to_owned()]).await;
    crate::support::read_when_there(&scratch.path("setsid")).await;
    crate::support::crash(&shim_of(&scratch));
    // As a follower does that also reads: it comes back to the same question again and again.
    let closed = loop {
        if let Ok(closed) = tokio::time::timeout(Duration::from_millis(1), running.closed()).await {
            break closed.unwrap();
        }
    };
    assert_eq!(closed.exit, AgentExit::Unknown);
    assert_eq!(running.stop(StopRequest::FORCE).await.unwrap(), closed);
}
