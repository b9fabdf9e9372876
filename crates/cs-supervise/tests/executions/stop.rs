//! Stopping: the whole tree, whatever it does against it.

use std::time::{Duration, Instant};

use cs_supervise::{AgentExit, StopRequest};
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::support::{KINDS, Scratch, adopt, alive, assert_closed, per_tier, spec_of, trial, until, words};

pub(crate) fn trials() -> Vec<Trial> {
    let both = [
        per_tier(
            "s1_a_stop_closes_plain_setsid_double_forked_and_clean_descendants",
            whole_tree,
        ),
        per_tier(
            "s1_a_group_kill_of_the_same_tree_leaves_three_alive",
            group_kill_misses,
        ),
        per_tier("an_agent_that_ends_on_the_interrupt_is_not_forced", polite),
        per_tier(
            "the_termination_signal_reaches_descendants_in_other_sessions",
            terminates_all,
        ),
        per_tier(
            "s8_an_agent_that_ignores_signals_and_stops_itself_is_forced_after_the_grace",
            ignored,
        ),
        per_tier("s8_a_tree_that_changes_its_pids_all_the_time_is_closed", hopping),
        per_tier("s8_a_second_stop_forces_at_once", second_stop),
    ];
    let once = vec![
        trial("anybody_with_the_directory_can_stop_and_all_are_told", by_another),
        trial("stopping_what_has_ended_returns_its_end", after_the_end),
    ];
    both.into_iter().flatten().chain(once).collect()
}

const LONG: Duration = Duration::from_secs(3600);

/// Graces after which the test would long have failed: who ends within, ended by an event.
fn patient() -> StopRequest {
    StopRequest {
        interrupt_grace: LONG,
        terminate_grace: LONG,
    }
}

/// An agent that is deaf to polite signals, its words run by a shell that passes the deafness on.
fn deaf(scratch: &Scratch, agent: &[&str]) -> cs_supervise::ExecutionSpec {
    let mut spec = spec_of(&words(agent));
    spec.argv.splice(
        0..0,
        ["sh", "-c", r#"trap "" TERM INT HUP; exec "$0" "$@""#].map(Into::into),
    );
    spec.cwd = scratch.dir.path().parent().unwrap().to_path_buf();
    spec
}

/// Invariant 7.
async fn whole_tree(scratch: Scratch) {
    let running = scratch
        .start(&[scratch.hostile(), words(&["sleep"])].concat())
        .await;
    let descendants = scratch.descendants().await;
    assert_eq!(alive(&descendants), KINDS);
    let graces = StopRequest {
        interrupt_grace: Duration::ZERO,
        terminate_grace: Duration::from_millis(300),
    };
    let closed = running.stop(graces).await.unwrap();
    assert_eq!(
        (&closed.exit, closed.stopped_by_us),
        (&AgentExit::Signalled(Signal::TERM.as_raw()), true)
    );
    assert_closed(&scratch, &closed);
    assert_eq!(alive(&descendants), [""; 0]);
    assert!(!running.agent().is_alive());
}

/// Shows that the test above can fail. Scenario 30: the agent is dead and its tools are alive until the stop that then ends them.
async fn group_kill_misses(scratch: Scratch) {
    let mut spec = spec_of(&[scratch.hostile(), words(&["sleep"])].concat());
    spec.leak_grace = Duration::from_secs(60);
    let running = scratch.start_spec(&spec, b"").await;
    let descendants = scratch.descendants().await;
    kill_process_group(Pid::from_raw(running.agent().pid()).unwrap(), Signal::KILL).unwrap();
    until("the plain child is dead", || alive(&descendants).len() < 4).await;
    assert_eq!(alive(&descendants), ["setsid", "dfork", "dfork-clean"]);
    let closed = running.stop(StopRequest::FORCE).await.unwrap();
    assert_closed(&scratch, &closed);
    assert_eq!(alive(&descendants), [""; 0]);
}

async fn polite(scratch: Scratch) {
    let running = scratch.start(&words(&["sleep"])).await;
    let closed = running.stop(patient()).await.unwrap();
    assert_eq!(
        (&closed.exit, closed.stopped_by_us),
        (&AgentExit::Signalled(Signal::INT.as_raw()), true)
    );
    assert_closed(&scratch, &closed);
}

async fn terminates_all(scratch: Scratch) {
    let file = scratch.text("told");
    let mut spec = spec_of(&[]);
    // The child lives in a session of its own, and ends politely when it is asked to.
    let child = format!("trap 'echo told > {file}; exit' TERM; echo ready; while :; do sleep 0.05; done");
    let script = format!("trap '' INT; trap 'wait; exit 9' TERM; setsid sh -c \"{child}\" & wait");
    spec.argv = vec!["sh".into(), "-c".into(), script.into()];
    let running = scratch.start_spec(&spec, b"").await;
    until("the child is ready", || scratch.stdout() == "ready\n").await;
    let graces = StopRequest {
        interrupt_grace: Duration::from_millis(50),
        terminate_grace: LONG,
    };
    let closed = running.stop(graces).await.unwrap();
    assert_eq!(closed.exit, AgentExit::Exited(9));
    assert_closed(&scratch, &closed);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "told\n");
}

async fn ignored(scratch: Scratch) {
    let running = scratch
        .start_spec(&deaf(&scratch, &["print=up", "stop-self", "sleep"]), b"")
        .await;
    until("the agent is up", || scratch.stdout() == "up\n").await;
    let grace = Duration::from_millis(200);
    let begin = Instant::now();
    let closed = running
        .stop(StopRequest {
            interrupt_grace: grace,
            terminate_grace: grace,
        })
        .await
        .unwrap();
    assert!(begin.elapsed() >= 2 * grace, "both graces are given");
    assert_eq!(closed.exit, AgentExit::Signalled(Signal::KILL.as_raw()));
    assert_closed(&scratch, &closed);
}

async fn hopping(scratch: Scratch) {
    let running = scratch
        .start(&words(&["spawn=hop:", "spawn=hop:", "print=up", "sleep"]))
        .await;
    until("the agent is up", || scratch.stdout().contains("up\n")).await;
    let closed = running.stop(StopRequest::FORCE).await.unwrap();
    assert_closed(&scratch, &closed);
    assert!(closed.rounds < 100, "{} rounds", closed.rounds);
}

async fn second_stop(scratch: Scratch) {
    let spec = deaf(&scratch, &["print=up", "sleep"]);
    let running = scratch.start_spec(&spec, b"").await;
    until("the agent is up", || scratch.stdout() == "up\n").await;
    let (first, second) = (running.stopper(), running.stopper());
    let both = async { tokio::join!(first.stop(patient()), second.stop(patient())) };
    let (first, second) = both.await;
    let closed = first.unwrap();
    assert_eq!(closed.exit, AgentExit::Signalled(Signal::KILL.as_raw()));
    assert_closed(&scratch, &closed);
    assert_eq!(second.unwrap(), closed);
}

async fn by_another(scratch: Scratch) {
    let mut running = scratch.start(&words(&["sleep"])).await;
    let other = adopt(&scratch).await;
    assert_eq!(other.agent(), running.agent());
    let (told, stopped) = tokio::join!(running.closed(), other.stop(StopRequest::FORCE));
    assert_eq!(told.unwrap(), stopped.unwrap());
}

async fn after_the_end(scratch: Scratch) {
    let mut running = scratch.start(&words(&["exit=3"])).await;
    let closed = running.closed().await.unwrap();
    assert_eq!(running.stop(StopRequest::default()).await.unwrap(), closed);
}
