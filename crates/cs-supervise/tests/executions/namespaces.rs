//! PID namespaces: what they are for, and what happens where none can be made.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use cs_supervise::{AgentExit, Feature, HoldError, Lack, Proof, Verdict};
use libtest_mimic::Trial;
use rustix::process::geteuid;

use crate::peers::{NOBODY, Open};
use crate::support::{
    KINDS, Scratch, alive, assert_closed, crash, in_namespace, is_alive, read_when_there, say_not_tested,
    shim_of, spec_of, trial, until, words,
};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        in_namespace(
            "a_killed_shim_takes_its_whole_namespace_along",
            dies_with_its_shim,
        ),
        in_namespace(
            "in_a_namespace_an_agent_sees_and_signals_its_own_alone",
            sees_its_own,
        ),
        in_namespace("what_never_started_leaves_no_namespace", never_started),
        in_namespace("any_user_can_have_a_namespace_where_users_may", as_nobody),
        trial("where_no_namespace_can_be_made_the_hold_is_refused", refused),
    ]
}

async fn dies_with_its_shim(scratch: Scratch) {
    let running = scratch
        .start(&[scratch.hostile(), words(&["sleep"])].concat())
        .await;
    let descendants = scratch.descendants().await;
    assert_eq!(alive(&descendants), KINDS);
    let agent = running.agent().clone();
    drop(running);
    crash(&shim_of(&scratch));
    // Nobody of ours does anything about it.
    until("all are dead", || {
        !agent.is_alive() && alive(&descendants).is_empty()
    })
    .await;
    let Verdict::ShimLost(closed) = scratch.survey().await else {
        panic!("the shim was killed")
    };
    assert_eq!(
        (closed.exit, closed.proof),
        (AgentExit::Unknown, Some(Proof::NamespaceEnded))
    );
}

async fn sees_its_own(scratch: Scratch) {
    let mut spec = spec_of(&[]);
    let script = "sleep 60 & kill -0 $! && echo ours; ls /proc | grep -c '^[0-9]'; kill $!; \
                  kill -0 OUTSIDE 2>/dev/null || echo 'no such'";
    let outside = Outside::new();
    let script = script.replace("OUTSIDE", &outside.pid().to_string());
    spec.argv = vec!["sh".into(), "-c".into(), script.into()];
    let mut running = scratch.start_spec(&spec, b"").await;
    let closed = running.closed().await.unwrap();
    assert_closed(&scratch, &closed);
    let said = scratch.stdout();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!((lines[0], lines[2]), ("ours", "no such"), "{said}");
    // The first process, the shell, what it starts.
    assert!(lines[1].parse::<u32>().unwrap() < 10, "{said}");
}

/// Processes outside, the last with a number that is higher than any in a new namespace.
struct Outside(Vec<Child>);

impl Outside {
    fn new() -> Self {
        let mut outside = Self(Vec::new());
        while outside.0.is_empty() || outside.pid() < 100 {
            #[expect(clippy::disallowed_methods, reason = "none of the execution's")]
            let mut command = Command::new("sleep");
            outside.0.push(command.arg("100").spawn().unwrap());
        }
        outside
    }

    fn pid(&self) -> u32 {
        self.0.last().unwrap().id()
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        for child in &mut self.0 {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

async fn never_started(scratch: Scratch) {
    let held = scratch.hold(&spec_of(&words(&["exit=0"]))).await.unwrap();
    let text = fs::read_to_string(scratch.dir.path().join("namespace.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&text).unwrap();
    let first = record["init"]["pid"].as_i64().unwrap() as i32;
    assert!(is_alive(first));
    let closed = held.abandon().await.unwrap();
    assert_eq!(
        (closed.exit, closed.proof, closed.leaked.len()),
        (AgentExit::NeverStarted, Some(Proof::NamespaceEnded), 0)
    );
    assert!(!is_alive(first));
}

async fn as_nobody(_scratch: Scratch) {
    let Some(open) = Open::new() else { return };
    chown(open.root.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let dir = open.root.path().join("execution");
    let mut daemon = open.as_nobody(&["daemon", "closed-in-namespace", dir.to_str().unwrap(), "exit=3"]);
    assert!(daemon.status().unwrap().success());
    let said = fs::read_to_string(dir.with_extension("station")).unwrap();
    assert_eq!(said, "Exited(3) Some(NamespaceEnded)");
}

async fn refused(scratch: Scratch) {
    if !geteuid().is_root() {
        return say_not_tested("it takes root to forbid namespaces");
    }
    let script = "echo 0 > /proc/sys/user/max_pid_namespaces && exec \"$0\" daemon namespace-refused \"$@\"";
    #[expect(clippy::disallowed_methods, reason = "a daemon that may make no namespace")]
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", script]);
    command
        .arg(std::env::current_exe().unwrap())
        .arg(scratch.dir.path());
    command.arg(format!("once={}", scratch.text("ran")));
    let mut daemon = command.stdin(Stdio::null()).process_group(0).spawn().unwrap();
    let told = read_when_there(&scratch.path("execution.station")).await;
    daemon.wait().unwrap();
    assert_eq!(told, format!("Namespace {}", libc::ENOSPC));
    assert!(matches!(scratch.survey().await, Verdict::NeverStarted(_)));
    assert!(!scratch.path("ran").exists());
}

/// What a daemon says of a hold that was refused.
pub(crate) fn told_of(error: &HoldError) -> String {
    match error {
        HoldError::Unsupported {
            feature: feature @ Feature::Namespace,
            source: Lack::System(error),
        } => format!("{feature:?} {}", error.raw_os_error().unwrap_or(0)),
        other => format!("{other:?}"),
    }
}
