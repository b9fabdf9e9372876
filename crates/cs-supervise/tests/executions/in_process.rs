//! Executions without a shim.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use cs_supervise::{
    AgentExit, DismissError, Execution, ExecutionDir, Feature, GoError, HeldInProcess, HoldError, Lack,
    LeaseEnd, Life, Proof, RunningInProcess, SpawnReason, StopRequest, Tier, Verdict, dismiss, glance,
    hold_in_process, survey,
};
use libtest_mimic::Trial;
use rustix::process::{
    Pid, PidfdFlags, PidfdGetfdFlags, Signal, getpid, kill_process, kill_process_group, pidfd_getfd,
    pidfd_open,
};

use crate::support::{
    Scratch, alive, is_alive, read_when_there, say_not_tested, spec_of, state_of, trial, until, words,
};

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
        trial(
            "without_a_shim_what_has_ended_is_not_told_to_be_supervised_while_a_child_is_born",
            copied_lock,
        ),
        trial(
            "without_a_shim_what_was_dropped_is_not_told_to_be_supervised_while_another_looks",
            looked_at_by_two,
        ),
        trial(
            "without_a_shim_an_agent_that_others_reap_has_a_number_which_nobody_signals",
            reaped_by_others,
        ),
        trial(
            "without_a_shim_an_agent_outlives_a_moment_without_descriptors",
            starved,
        ),
        trial(
            "without_a_shim_an_agent_inherits_no_descriptor",
            nothing_inherited,
        ),
        trial("no_grace_for_leftovers_is_longer_than_a_minute", longest_grace),
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
    assert_eq!(state_of(running.agent().pid()), None, "it is reaped");
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
    // Nobody can be asked, so the whole budget passes.
    let verdict = survey(&scratch.dir, Duration::from_millis(200)).await.unwrap();
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
    // Not even a zombie is left to the embedder.
    until("the agent is reaped", || state_of(agent.pid()).is_none()).await;
    let Verdict::ShimLost(closed) = scratch.survey().await else {
        panic!("nobody supervises it")
    };
    assert_swept(&scratch, &closed);
    assert_eq!(alive(&descendants), [""; 0]);
}

/// A copy of the descriptor by which this process holds the execution's lock, as a child has it between its birth and its program.
fn copy_of_lock(scratch: &Scratch) -> OwnedFd {
    let lock = scratch.dir.path().join("lock");
    let mut open = fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap());
    let ours = open.find(|entry| fs::read_link(entry.path()).is_ok_and(|file| file == lock));
    let number = ours.unwrap().file_name().to_str().unwrap().parse().unwrap();
    let this = pidfd_open(getpid(), PidfdFlags::empty()).unwrap();
    pidfd_getfd(this, number, PidfdGetfdFlags::empty()).unwrap()
}

async fn copied_lock(scratch: Scratch) {
    let mut running = start(&scratch, &words(&["print=up", "sleep"])).await;
    let _copy = copy_of_lock(&scratch);
    let (told, stopped) = {
        let closed = running.stop(StopRequest::FORCE).await.unwrap();
        (running.closed().await.unwrap(), closed)
    };
    assert_eq!(told, stopped);
    let verdict = scratch.survey().await;
    assert!(
        matches!(&verdict, Verdict::Finished(closed) if *closed == told),
        "{verdict:?}"
    );
    let dropped = scratch.below("dropped");
    let running = start(&dropped, &words(&["sleep"])).await;
    let _copy = copy_of_lock(&dropped);
    drop(running);
    let verdict = dropped.survey().await;
    assert!(matches!(verdict, Verdict::ShimLost(_)), "{verdict:?}");
}

async fn looked_at_by_two(scratch: Scratch) {
    let running = start(&scratch, &words(&["sleep"])).await;
    let agent = running.agent().pid();
    drop(running);
    until("the agent is reaped", || state_of(agent).is_none()).await;
    let other = fs::File::open(scratch.dir.path().join("lock")).unwrap();
    until("another has the lock", || other.try_lock().is_ok()).await;
    let mut surveying = std::pin::pin!(scratch.survey());
    tokio::select! {
        biased;
        verdict = &mut surveying => panic!("{verdict:?}"),
        () = tokio::time::sleep(Duration::from_millis(100)) => {}
    }
    drop(other);
    assert!(matches!(surveying.await, Verdict::ShimLost(_)));
}

/// A process that does not belong to the execution, has this number and leads a group, and its child; `None` where numbers cannot be chosen.
fn stranger(pid: i32, child: &Path) -> Option<Child> {
    let script = format!(
        "sleep 100 & echo $! > {0}.new; mv {0}.new {0}; wait",
        child.display()
    );
    for _ in 0..1000 {
        fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).ok()?;
        #[expect(clippy::disallowed_methods, reason = "none of the execution's")]
        let mut command = Command::new("sh");
        let mut stranger = command.args(["-c", &script]).process_group(0).spawn().unwrap();
        if stranger.id() as i32 == pid {
            return Some(stranger);
        }
        // Somebody else was faster.
        kill_process_group(Pid::from_child(&stranger), Signal::KILL).unwrap();
        stranger.wait().unwrap();
        fs::remove_file(child).unwrap_or_default();
    }
    None
}

async fn reaped_by_others(scratch: Scratch) {
    let gate = format!("await={}", scratch.text("gate"));
    let agent = [scratch.of_kinds(&["setsid"]), vec![gate, "exit=3".to_owned()]].concat();
    #[expect(
        clippy::disallowed_methods,
        reason = "a daemon whose children the kernel reaps"
    )]
    let mut command = Command::new("env");
    command
        .arg("--ignore-signal=CHLD")
        .arg(std::env::current_exe().unwrap())
        .args(["daemon", "in-process-to-the-end"]);
    let mut daemon = command.arg(scratch.dir.path()).args(agent).spawn().unwrap();
    let left = scratch.descendants_of(&["setsid"]).await;
    read_when_there(&scratch.dir.path().join("agent.json")).await;
    let agent = glance(&scratch.dir).unwrap().agent.unwrap();
    fs::write(scratch.path("gate"), "").unwrap();
    read_when_there(&scratch.dir.path().join("exit.json")).await;
    assert_eq!(state_of(agent.pid()), None, "it is reaped");
    let child = scratch.path("child");
    let stranger = stranger(agent.pid(), &child);
    if stranger.is_some() {
        read_when_there(&child).await;
    }
    assert_eq!(alive(&left), ["setsid"], "the grace is not over");
    kill_process(Pid::from_raw(left[0].pid).unwrap(), Signal::KILL).unwrap();
    assert!(daemon.wait().unwrap().success());
    let told = read_when_there(&scratch.path("execution.station")).await;
    assert_eq!(told, "Unknown Some(SweepClean)");
    let Some(mut stranger) = stranger else {
        return say_not_tested("it takes root to choose the number of a process");
    };
    let child = fs::read_to_string(child).unwrap().trim().parse().unwrap();
    let lived = (stranger.try_wait().unwrap().is_none(), is_alive(child));
    if lived.0 {
        kill_process_group(Pid::from_child(&stranger), Signal::KILL).unwrap();
    }
    stranger.wait().unwrap();
    assert_eq!(lived, (true, true), "a stranger was signalled");
}

async fn starved(scratch: Scratch) {
    let gate = format!("await={}", scratch.text("gate"));
    let _daemon = scratch
        .daemon("in-process-starved", &[gate, "exit=3".to_owned()])
        .await;
    assert!(glance(&scratch.dir).unwrap().agent.unwrap().is_alive());
    fs::write(scratch.path("gate"), "").unwrap();
    let station = scratch.path("execution.station");
    until("its end is told", || {
        fs::read_to_string(&station).is_ok_and(|told| told == "Exited(3) Some(SweepClean)")
    })
    .await;
}

async fn nothing_inherited(scratch: Scratch) {
    let _daemon = scratch.spawn_daemon("in-process-to-the-end", &words(&["descriptors"]));
    let told = read_when_there(&scratch.path("execution.station")).await;
    assert_eq!(told, "Exited(0) Some(SweepClean)");
    assert_eq!(scratch.stdout(), "[\"0\", \"1\", \"2\"]\n");
}

async fn longest_grace(scratch: Scratch) {
    let mut spec = spec_of(&words(&["exit=0"]));
    spec.leak_grace = Duration::MAX;
    ExecutionDir::create(scratch.dir.path()).unwrap();
    let held = hold_in_process(&scratch.dir, &spec).await.unwrap();
    let written = crate::raw::read(&scratch.dir.path().join("spec.json"));
    assert_eq!(written["leak_grace_ms"], 60_000);
    held.abandon().await.unwrap();
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
