//! Executions without a shim.

use std::fs;
use std::time::Duration;

use cs_supervise::{
    AgentExit, DismissError, Execution, ExecutionDir, Feature, GoError, HeldInProcess, HoldError, Lack,
    LeaseEnd, Life, Proof, RunningInProcess, SpawnReason, StopRequest, Tier, Verdict, dismiss, glance,
    hold_in_process,
};
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::support::{Scratch, alive, is_alive, read_when_there, spec_of, trial, until, words};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("without_a_shim_an_agent_runs_to_its_end_and_all_is_kept", runs),
        trial("without_a_shim_a_stop_closes_the_whole_tree", whole_tree),
        trial(
            "without_a_shim_a_group_kill_leaves_three_alive",
            group_kill_misses,
        ),
        trial("without_a_shim_what_an_agent_leaves_is_named_and_dead", leaks),
        trial("without_a_shim_what_ends_within_the_grace_is_not_leaked", no_leak),
        trial("without_a_shim_an_agent_that_ignores_signals_is_forced", forced),
        trial("without_a_shim_a_second_stop_forces_at_once", second_stop),
        trial(
            "without_a_shim_its_process_is_named_while_it_lives_and_nothing_is_signalled",
            onlooked,
        ),
        trial(
            "without_a_shim_an_agent_whose_process_died_goes_on_until_a_survey_sweeps_it",
            process_killed,
        ),
        trial(
            "without_a_shim_what_is_dropped_is_killed_and_can_be_surveyed",
            dropped,
        ),
        trial("without_a_shim_no_go_means_that_nothing_ran", never_go),
        trial(
            "without_a_shim_an_agent_that_cannot_be_started_is_told",
            not_started,
        ),
        trial("without_a_shim_limits_are_refused", limits),
        trial("without_a_shim_nothing_of_its_process_is_changed", no_globals),
    ]
}

async fn held(scratch: &Scratch, words: &[String]) -> HeldInProcess {
    ExecutionDir::create(scratch.dir.path()).unwrap();
    hold_in_process(&scratch.dir, &spec_of(words)).await.unwrap()
}

async fn start(scratch: &Scratch, words: &[String]) -> RunningInProcess {
    held(scratch, words).await.go(b"the prompt").await.unwrap()
}

fn assert_swept(scratch: &Scratch, closed: &cs_supervise::Closed) {
    assert_eq!(
        (closed.proof, closed.survivors.as_slice()),
        (Some(Proof::SweepClean), &[][..])
    );
    assert!(scratch.dir.path().join("closed.json").exists());
}

async fn runs(scratch: Scratch) {
    let mut running = start(&scratch, &words(&["count-stdin", "print=hello", "exit=7"])).await;
    assert_eq!(running.tier(), Tier::InProcess);
    let closed = running.closed().await.unwrap();
    assert_eq!(
        (&closed.exit, closed.stopped_by_us),
        (&AgentExit::Exited(7), false)
    );
    assert_swept(&scratch, &closed);
    assert_eq!(
        (closed.leaked.len(), scratch.stdout().as_str()),
        (0, "10\nhello\n")
    );
    assert_eq!(running.closed().await.unwrap(), closed);
    assert_eq!(running.stop(StopRequest::FORCE).await.unwrap(), closed);
    assert!(matches!(scratch.survey().await, Verdict::Finished(found) if found == closed));
    assert!(!is_alive(running.agent().pid()));
    assert_eq!(
        crate::support::state_of(running.agent().pid()),
        None,
        "it is reaped"
    );
}

/// All kinds but the one that nobody can find: it has no cookie, and is nobody's child before anybody has looked.
const FINDABLE: [&str; 3] = ["plain", "setsid", "dfork"];

fn hostile(scratch: &Scratch, end: &str) -> Vec<String> {
    [scratch.of_kinds(&FINDABLE), words(&[end])].concat()
}

async fn whole_tree(scratch: Scratch) {
    let running = start(&scratch, &hostile(&scratch, "sleep")).await;
    let descendants = scratch.descendants_of(&FINDABLE).await;
    assert_eq!(alive(&descendants), FINDABLE);
    let graces = StopRequest {
        interrupt_grace: Duration::ZERO,
        terminate_grace: Duration::from_millis(300),
    };
    let closed = running.stop(graces).await.unwrap();
    assert_eq!(
        (&closed.exit, closed.stopped_by_us, closed.leaked.len()),
        (&AgentExit::Signalled(Signal::TERM.as_raw()), true, 0)
    );
    assert_swept(&scratch, &closed);
    assert_eq!(alive(&descendants), [""; 0]);
}

/// Shows that the test above can fail.
async fn group_kill_misses(scratch: Scratch) {
    let mut spec = spec_of(&hostile(&scratch, "sleep"));
    spec.leak_grace = Duration::from_secs(60);
    ExecutionDir::create(scratch.dir.path()).unwrap();
    let held = hold_in_process(&scratch.dir, &spec).await.unwrap();
    let running = held.go(b"").await.unwrap();
    let descendants = scratch.descendants_of(&FINDABLE).await;
    kill_process_group(Pid::from_raw(running.agent().pid()).unwrap(), Signal::KILL).unwrap();
    until("the plain child is dead", || alive(&descendants).len() < 3).await;
    assert_eq!(alive(&descendants), ["setsid", "dfork"]);
    // The stop cuts the grace for what is left short.
    let closed = running.stop(StopRequest::FORCE).await.unwrap();
    assert_eq!(closed.exit, AgentExit::Signalled(Signal::KILL.as_raw()));
    assert_swept(&scratch, &closed);
    assert_eq!(alive(&descendants), [""; 0]);
}

async fn leaks(scratch: Scratch) {
    let gate = format!("await={}", scratch.text("gate"));
    let agent = [
        scratch.of_kinds(&FINDABLE),
        vec![gate],
        words(&["print=hi", "exit=0"]),
    ]
    .concat();
    let mut running = start(&scratch, &agent).await;
    let descendants = scratch.descendants_of(&FINDABLE).await;
    fs::write(scratch.path("gate"), "").unwrap();
    let closed = running.closed().await.unwrap();
    assert_eq!(
        (&closed.exit, scratch.stdout().as_str()),
        (&AgentExit::Exited(0), "hi\n")
    );
    assert_swept(&scratch, &closed);
    assert_eq!(closed.leaked.len(), 3, "{:?}", closed.leaked);
    assert_eq!(alive(&descendants), [""; 0]);
}

async fn no_leak(scratch: Scratch) {
    let go = scratch.text("go");
    // The background process waits for the file, which comes only after the agent's end is stored.
    let script = format!("(while [ ! -e {go} ]; do sleep 0.01; done) & exit 0");
    let mut spec = spec_of(&[]);
    spec.argv = vec!["sh".into(), "-c".into(), script.into()];
    spec.leak_grace = Duration::from_secs(60);
    ExecutionDir::create(scratch.dir.path()).unwrap();
    let held = hold_in_process(&scratch.dir, &spec).await.unwrap();
    let mut running = held.go(b"").await.unwrap();
    read_when_there(&scratch.dir.path().join("exit.json")).await;
    fs::write(scratch.path("go"), "").unwrap();
    let closed = running.closed().await.unwrap();
    assert_swept(&scratch, &closed);
    assert_eq!(closed.leaked, []);
}

/// An agent that is deaf to polite signals.
async fn deaf(scratch: &Scratch) -> RunningInProcess {
    let mut spec = spec_of(&words(&["print=up", "sleep"]));
    spec.argv.splice(
        0..0,
        ["sh", "-c", r#"trap "" TERM INT HUP; exec "$0" "$@""#].map(Into::into),
    );
    ExecutionDir::create(scratch.dir.path()).unwrap();
    let held = hold_in_process(&scratch.dir, &spec).await.unwrap();
    let running = held.go(b"").await.unwrap();
    until("the agent is up", || scratch.stdout() == "up\n").await;
    running
}

async fn forced(scratch: Scratch) {
    let running = deaf(&scratch).await;
    let grace = Duration::from_millis(100);
    let begun = std::time::Instant::now();
    let graces = StopRequest {
        interrupt_grace: grace,
        terminate_grace: grace,
    };
    let closed = running.stop(graces).await.unwrap();
    assert!(begun.elapsed() >= 2 * grace, "both graces are given");
    assert_eq!(closed.exit, AgentExit::Signalled(Signal::KILL.as_raw()));
    assert_swept(&scratch, &closed);
}

async fn second_stop(scratch: Scratch) {
    let running = deaf(&scratch).await;
    let hour = Duration::from_secs(3600);
    let patient = StopRequest {
        interrupt_grace: hour,
        terminate_grace: hour,
    };
    let (first, second) = tokio::join!(running.stop(patient), running.stop(patient));
    let closed = first.unwrap();
    assert_eq!(closed.exit, AgentExit::Signalled(Signal::KILL.as_raw()));
    assert_eq!(second.unwrap(), closed);
}

/// The process that supervises, as its directory names it.
async fn keeper_pid(scratch: &Scratch) -> i32 {
    let text = read_when_there(&scratch.dir.path().join("keeper.json")).await;
    let keeper: serde_json::Value = serde_json::from_str(&text).unwrap();
    keeper["process"]["pid"].as_i64().unwrap() as i32
}

async fn onlooked(scratch: Scratch) {
    let daemon = scratch.daemon("in-process", &words(&["print=up", "sleep"])).await;
    until("the agent is up", || scratch.stdout() == "up\n").await;
    let pid = keeper_pid(&scratch).await;
    let verdict = scratch.survey().await;
    assert!(
        matches!(&verdict, Verdict::InProcess(process) if process.pid() == pid),
        "{verdict:?}"
    );
    let error = dismiss(&scratch.dir).await.unwrap_err();
    assert!(matches!(error, DismissError::Alive { .. }), "{error:?}");
    let seen = glance(&scratch.dir).unwrap();
    let Life::Alive(load) = seen.life else {
        panic!("{seen:?}")
    };
    // The agent alone, not what else its process does.
    assert_eq!((load.processes, seen.tier), (1, Tier::InProcess));
    assert_eq!(seen.shim.unwrap().pid(), pid);
    assert!(is_alive(pid) && seen.agent.unwrap().is_alive());
    daemon.kill();
    assert!(matches!(scratch.survey().await, Verdict::ShimLost(_)));
}

async fn process_killed(scratch: Scratch) {
    let daemon = scratch.daemon("in-process", &hostile(&scratch, "sleep")).await;
    let descendants = scratch.descendants_of(&FINDABLE).await;
    let agent = glance(&scratch.dir).unwrap().agent.unwrap();
    daemon.kill();
    assert_eq!(glance(&scratch.dir).unwrap().life, Life::Lost);
    assert!(agent.is_alive(), "nobody guards it");
    assert_eq!(alive(&descendants), FINDABLE);
    let Verdict::ShimLost(closed) = scratch.survey().await else {
        panic!("its process was killed")
    };
    assert_eq!(closed.exit, AgentExit::Unknown);
    assert_swept(&scratch, &closed);
    assert!(!agent.is_alive());
    assert_eq!(alive(&descendants), [""; 0]);
}

async fn dropped(scratch: Scratch) {
    let running = start(&scratch, &hostile(&scratch, "sleep")).await;
    let descendants = scratch.descendants_of(&FINDABLE).await;
    let agent = running.agent().clone();
    drop(running);
    until("the agent is dead", || !agent.is_alive()).await;
    let Verdict::ShimLost(closed) = scratch.survey().await else {
        panic!("nobody supervises it")
    };
    assert_swept(&scratch, &closed);
    assert_eq!(alive(&descendants), [""; 0]);
}

async fn never_go(scratch: Scratch) {
    let once = format!("once={}", scratch.text("ran"));
    drop(held(&scratch, std::slice::from_ref(&once)).await);
    assert!(matches!(scratch.survey().await, Verdict::NeverStarted(_)));
    let again = hold_in_process(&scratch.dir, &spec_of(&[])).await.unwrap_err();
    assert!(matches!(again, HoldError::DirectoryUsed { .. }), "{again:?}");
    let abandoned = scratch.below("abandoned");
    let closed = held(&abandoned, &[once]).await.abandon().await.unwrap();
    assert_eq!(closed.exit, AgentExit::NeverStarted);
    assert!(matches!(abandoned.survey().await, Verdict::NeverStarted(_)));
    assert!(!scratch.path("ran").exists());
}

async fn not_started(scratch: Scratch) {
    let mut spec = spec_of(&[]);
    spec.argv = vec!["no-such-program-anywhere".into()];
    ExecutionDir::create(scratch.dir.path()).unwrap();
    let held = hold_in_process(&scratch.dir, &spec).await.unwrap();
    let error = held.go(b"").await.unwrap_err();
    let GoError::SpawnFailed { failure, closed } = error else {
        panic!("{error:?}")
    };
    assert_eq!(failure.reason, SpawnReason::ProgramNotFound);
    assert_eq!(closed.exit, AgentExit::SpawnFailed(failure));
    assert_swept(&scratch, &closed);
}

async fn limits(scratch: Scratch) {
    ExecutionDir::create(scratch.dir.path()).unwrap();
    let refused = async |change: fn(&mut cs_supervise::Limits)| {
        let mut spec = spec_of(&words(&["exit=0"]));
        change(&mut spec.limits);
        let error = hold_in_process(&scratch.dir, &spec).await.unwrap_err();
        assert!(
            matches!(
                error,
                HoldError::Unsupported {
                    feature: Feature::Limits,
                    source: Lack::NoShim
                }
            ),
            "{error:?}"
        );
    };
    refused(|limits| limits.spool_bytes = Some(1)).await;
    refused(|limits| limits.awake = Some(Duration::from_secs(1))).await;
    refused(|limits| limits.lease.at_end = LeaseEnd::Stop).await;
    // Nothing was written: the directory can serve.
    let held = hold_in_process(&scratch.dir, &spec_of(&words(&["exit=0"]))).await;
    held.unwrap().go(b"").await.unwrap().closed().await.unwrap();
}

async fn no_globals(scratch: Scratch) {
    #[expect(
        clippy::disallowed_methods,
        reason = "a child that is none of the execution's"
    )]
    let mut own = std::process::Command::new("true").spawn().unwrap();
    let handlers = || {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let masks = ["SigBlk:", "SigIgn:", "SigCgt:"];
        let masks = status
            .lines()
            .filter(|line| masks.iter().any(|mask| line.starts_with(mask)));
        masks.map(str::to_owned).collect::<Vec<_>>()
    };
    let before = handlers();
    let closed = start(&scratch, &words(&["exit=0"])).await.closed().await.unwrap();
    assert_eq!(closed.exit, AgentExit::Exited(0));
    assert_eq!(rustix::process::child_subreaper().unwrap(), None);
    assert_eq!(handlers(), before);
    assert!(own.wait().unwrap().success(), "nobody else has reaped it");
}
