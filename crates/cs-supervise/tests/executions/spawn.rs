//! S15: agents that cannot be started, and surroundings that do not help.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use cs_supervise::{
    AgentExit, Closed, ExecutionDir, ExecutionSpec, GoError, HoldError, Proof, ShimProgram, SpawnFailure,
    SpawnReason, Verdict, hold,
};
use libtest_mimic::Trial;

use crate::support::{Scratch, assert_closed, read_when_there, spec_of, trial, words};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "s15_each_way_not_to_start_is_typed_and_stored_without_a_path",
            not_started,
        ),
        trial("s15_a_working_directory_that_is_gone_is_told", no_directory),
        trial("s15_an_agent_that_exits_at_once_is_seen", at_once),
        trial(
            "s15_a_directory_path_longer_than_a_socket_path_may_be_works",
            long_path,
        ),
        trial(
            "s15_a_daemon_that_ignores_its_children_gets_the_exit_code",
            ignored_children,
        ),
        trial(
            "s15_executions_leave_no_descriptor_and_no_zombie_in_their_daemon",
            tidy,
        ),
        trial("a_daemon_whose_program_file_is_gone_still_starts_shims", upgraded),
        trial("a_directory_serves_one_execution", used_directory),
        trial("a_directory_that_is_not_there_is_told", missing_directory),
        trial("a_program_that_is_no_shim_is_told", no_shim),
    ]
}

fn file(scratch: &Scratch, name: &str, text: &str, mode: u32) -> PathBuf {
    let path = scratch.path(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

async fn fails(dir: &ExecutionDir, spec: &ExecutionSpec) -> (SpawnFailure, Closed) {
    let held = hold(&ShimProgram::current().unwrap(), dir, spec).await.unwrap();
    match held.go(b"").await.unwrap_err() {
        GoError::SpawnFailed { failure, closed } => (failure, *closed),
        other => panic!("{other:?}"),
    }
}

async fn not_started(scratch: Scratch) {
    let cases = [
        (
            scratch.path("missing"),
            SpawnReason::ProgramNotFound,
            libc::ENOENT,
        ),
        (
            PathBuf::from("no-such-program-anywhere"),
            SpawnReason::ProgramNotFound,
            libc::ENOENT,
        ),
        (
            file(&scratch, "plain", "#!/bin/sh\n", 0o600),
            SpawnReason::NotExecutable,
            libc::EACCES,
        ),
        (
            file(&scratch, "orphan", "#!/no/such/thing\n", 0o700),
            SpawnReason::InterpreterNotFound,
            libc::ENOENT,
        ),
        (PathBuf::from("/"), SpawnReason::NotExecutable, libc::EACCES),
    ];
    for (number, (program, reason, errno)) in cases.into_iter().enumerate() {
        let dir = ExecutionDir::create(scratch.path(&number.to_string())).unwrap();
        let mut spec = spec_of(&[]);
        spec.argv = vec![program.clone().into_os_string()];
        let (failure, closed) = fails(&dir, &spec).await;
        assert_eq!(failure, SpawnFailure { reason, errno }, "{}", program.display());
        assert_eq!(
            (closed.exit, closed.proof),
            (AgentExit::SpawnFailed(failure), Some(Proof::SubreaperEmpty))
        );
        let record = fs::read_to_string(dir.path().join("exit.json")).unwrap();
        assert!(
            record.contains(&reason.to_string()) && !record.contains('/'),
            "{record}"
        );
    }
}

async fn no_directory(scratch: Scratch) {
    let mut spec = spec_of(&words(&["exit=0"]));
    spec.cwd = scratch.path("gone");
    fs::create_dir(&spec.cwd).unwrap();
    let held = scratch.hold(&spec).await.unwrap();
    fs::remove_dir(&spec.cwd).unwrap();
    let error = held.go(b"").await.unwrap_err();
    let GoError::SpawnFailed { failure, .. } = error else {
        panic!("{error:?}")
    };
    assert_eq!(failure.reason, SpawnReason::WorkingDirectory);
}

async fn at_once(scratch: Scratch) {
    let mut spec = spec_of(&[]);
    spec.argv = vec!["false".into()];
    let closed = scratch.start_spec(&spec, b"").await.closed().await.unwrap();
    assert_eq!(closed.exit, AgentExit::Exited(1));
    assert_closed(&scratch, &closed);
}

async fn long_path(scratch: Scratch) {
    let deep = scratch.path(&"d".repeat(120)).join("e".repeat(120));
    fs::create_dir_all(&deep).unwrap();
    let dir = ExecutionDir::create(deep.join("execution")).unwrap();
    let held = hold(
        &ShimProgram::current().unwrap(),
        &dir,
        &spec_of(&words(&["sleep"])),
    )
    .await
    .unwrap();
    let running = held.go(b"").await.unwrap();
    // A stop goes through the socket.
    let closed = running.stop(cs_supervise::StopRequest::FORCE).await.unwrap();
    assert_eq!(closed.proof, Some(Proof::SubreaperEmpty));
}

async fn ignored_children(scratch: Scratch) {
    #[expect(
        clippy::disallowed_methods,
        reason = "a shell that passes an ignored SIGCHLD on"
    )]
    let mut daemon = Command::new("/bin/sh")
        .args(["-c", r#"trap "" CHLD; exec "$0" daemon closed "$@""#])
        .arg(std::env::current_exe().unwrap())
        .arg(scratch.dir.path())
        .args(["print=hi", "exit=7"])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    assert_eq!(
        read_when_there(&scratch.path("execution.station")).await,
        "Exited(7) Some(SubreaperEmpty)"
    );
    assert!(daemon.wait().unwrap().success());
}

async fn tidy(scratch: Scratch) {
    drop(scratch.daemon("tidy", &words(&["exit=0"])).await);
}

async fn upgraded(scratch: Scratch) {
    let program = scratch.path("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    #[expect(clippy::disallowed_methods, reason = "a daemon from another file")]
    let mut daemon = Command::new(&program)
        .args(["daemon", "upgraded"])
        .arg(scratch.dir.path())
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Its shim runs; its agent, which is that file too, does not.
    assert!(!daemon.wait().unwrap().success());
    let Verdict::Finished(closed) = scratch.survey().await else {
        panic!("it was closed")
    };
    let missing = SpawnFailure {
        reason: SpawnReason::ProgramNotFound,
        errno: libc::ENOENT,
    };
    assert_eq!(closed.exit, AgentExit::SpawnFailed(missing));
    assert_closed(&scratch, &closed);
}

async fn used_directory(scratch: Scratch) {
    let spec = spec_of(&words(&["exit=0"]));
    let held = scratch.hold(&spec).await.unwrap();
    let program = ShimProgram::current().unwrap();
    let again = hold(&program, &scratch.dir, &spec).await.unwrap_err();
    assert!(matches!(again, HoldError::DirectoryUsed { .. }), "{again:?}");
    held.go(b"").await.unwrap().closed().await.unwrap();
    let again = hold(&program, &scratch.dir, &spec).await.unwrap_err();
    assert!(matches!(again, HoldError::DirectoryUsed { .. }), "{again:?}");
}

async fn missing_directory(scratch: Scratch) {
    let error = hold(
        &ShimProgram::current().unwrap(),
        &scratch.dir,
        &spec_of(&words(&["exit=0"])),
    )
    .await
    .unwrap_err();
    assert!(matches!(error, HoldError::Directory { .. }), "{error:?}");
    assert!(matches!(scratch.survey().await, Verdict::NeverStarted(_)));
}

async fn no_shim(scratch: Scratch) {
    ExecutionDir::create(scratch.dir.path()).unwrap();
    let spec = spec_of(&words(&["exit=0"]));
    let error = hold(&ShimProgram::at("/bin/false"), &scratch.dir, &spec)
        .await
        .unwrap_err();
    assert!(matches!(error, HoldError::Shim { .. }), "{error:?}");
    assert!(matches!(scratch.survey().await, Verdict::NeverStarted(_)));
    let dir = ExecutionDir::create(scratch.path("other")).unwrap();
    let error = hold(&ShimProgram::at(scratch.path("missing")), &dir, &spec)
        .await
        .unwrap_err();
    assert!(matches!(error, HoldError::Spawn { .. }), "{error:?}");
}
