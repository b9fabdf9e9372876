//! Short commands against real processes.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking and cleans up after itself"
)]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use cs_supervise::command::{CommandError, CommandSpec, Exit, Finished, run, run_swept};

fn shell(script: &str) -> CommandSpec {
    CommandSpec {
        program: PathBuf::from("sh"),
        args: vec!["-c".into(), script.into()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: PathBuf::from("/"),
        stdin: Vec::new(),
        timeout: Duration::from_secs(30),
        stdout_cap_bytes: 1 << 20,
        stderr_cap_bytes: 1 << 10,
    }
}

async fn done(spec: &CommandSpec) -> Finished {
    run(spec).await.unwrap()
}

/// Whether a process is running; a zombie has ended.
fn is_running(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}

async fn assert_ends(pid: &str) {
    let limit = Instant::now() + Duration::from_secs(10);
    while is_running(pid) {
        assert!(Instant::now() < limit, "process {pid} is still running");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn code_output_and_error_come_back_apart() {
    let finished = done(&shell("echo out; echo err >&2; exit 3")).await;
    assert_eq!(finished.exit, Exit::Code(3));
    assert_eq!(
        (finished.stdout.as_slice(), finished.stderr.as_slice()),
        (&b"out\n"[..], &b"err\n"[..])
    );
}

#[tokio::test]
async fn nothing_of_our_environment_is_inherited() {
    let mut spec = shell("/usr/bin/env || /bin/env");
    spec.env.push(("ONLY".into(), "this".into()));
    let text = String::from_utf8(done(&spec).await.stdout).unwrap();
    assert!(text.contains("ONLY=this") && !text.contains("CARGO"), "{text}");
}

#[tokio::test]
async fn a_large_input_and_a_large_output_do_not_block_each_other() {
    let mut spec = shell("head -c 4000000 /dev/zero; cat");
    spec.stdin = vec![b'x'; 8 << 20];
    spec.stdout_cap_bytes = 16 << 20;
    let finished = done(&spec).await;
    assert_eq!(
        (finished.exit, finished.stdout.len()),
        (Exit::Code(0), 4_000_000 + (8 << 20))
    );
}

#[tokio::test]
async fn input_that_nobody_reads_is_no_error() {
    let mut spec = shell("exit 0");
    spec.stdin = vec![b'x'; 8 << 20];
    assert_eq!(done(&spec).await.exit, Exit::Code(0));
}

#[tokio::test]
async fn input_is_still_written_after_the_outputs_were_closed() {
    let mut spec = shell("exec >&- 2>&-; exit $(wc -c | head -c 1)");
    spec.stdin = vec![b'x'; 7_000_000];
    assert_eq!(done(&spec).await.exit, Exit::Code(7));
}

#[tokio::test]
async fn a_command_whose_time_is_up_is_killed_with_everything_below_it() {
    // The second sleeper has left the process group, so a group kill alone would miss it.
    let mut spec = shell("trap '' TERM; sleep 600 & echo $!; setsid sleep 600 & echo $!; wait");
    spec.timeout = Duration::from_secs(1);
    let finished = done(&spec).await;
    assert_eq!(finished.exit, Exit::TimedOut);
    let text = String::from_utf8(finished.stdout).unwrap();
    let pids: Vec<_> = text.lines().collect();
    assert_eq!(pids.len(), 2);
    for pid in pids {
        assert_ends(pid).await;
    }
}

#[tokio::test]
async fn too_much_output_kills_and_keeps_the_cap() {
    let mut spec = shell("yes");
    spec.stdout_cap_bytes = 1000;
    let finished = done(&spec).await;
    assert_eq!(
        (finished.exit, finished.stdout.len()),
        (Exit::OutputOverCap, 1000)
    );
}

#[tokio::test]
async fn output_of_exactly_the_cap_is_fine() {
    let mut spec = shell("printf 12345");
    spec.stdout_cap_bytes = 5;
    assert_eq!(done(&spec).await.exit, Exit::Code(0));
    spec.stdout_cap_bytes = 4;
    assert_eq!(done(&spec).await.exit, Exit::OutputOverCap);
}

#[tokio::test]
async fn a_long_error_output_keeps_its_tail() {
    let finished = done(&shell("head -c 1000000 /dev/zero >&2; printf the-end >&2")).await;
    assert_eq!(finished.exit, Exit::Code(0));
    assert_eq!(finished.stderr.len(), 1 << 10);
    assert!(finished.stderr.ends_with(b"the-end"));
}

#[tokio::test]
async fn a_grandchild_that_keeps_the_pipe_open_does_not_hang_us() {
    for holder in ["sleep 600 &", "setsid sleep 600 &"] {
        let finished = done(&shell(&format!("{holder} echo $!; exit 0"))).await;
        assert_eq!(finished.exit, Exit::Code(0));
        assert!(
            finished.duration < Duration::from_secs(10),
            "{:?}",
            finished.duration
        );
        let pid = String::from_utf8(finished.stdout).unwrap();
        if holder.starts_with("setsid") {
            // It left the group and was orphaned: known to escape a short command, so the test cleans up.
            std::process::Command::new("kill")
                .arg("-9")
                .arg(pid.trim())
                .status()
                .unwrap();
        }
        assert_ends(pid.trim()).await;
    }
}

#[tokio::test]
async fn a_signal_is_told_apart_from_a_code() {
    assert_eq!(done(&shell("kill -SEGV $$")).await.exit, Exit::Signalled(11));
}

#[tokio::test]
async fn dropping_the_future_kills_the_tree() {
    let dir = tempfile::tempdir().unwrap();
    let mut spec = shell("sleep 600 & echo $! > pid.new; mv pid.new pid; wait");
    spec.cwd = dir.path().to_path_buf();
    let file = dir.path().join("pid");
    let pid = tokio::select! {
        finished = run(&spec) => panic!("ended early: {finished:?}"),
        pid = async {
            loop {
                if let Ok(pid) = std::fs::read_to_string(&file) { break pid }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        } => pid,
    };
    assert_ends(pid.trim()).await;
}

#[tokio::test]
async fn each_way_not_to_start_has_its_own_error() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str, text: &str, mode: u32| {
        use std::os::unix::fs::PermissionsExt;
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let start = async |program: PathBuf, cwd: PathBuf| {
        run(&CommandSpec {
            program,
            cwd,
            ..shell("")
        })
        .await
        .unwrap_err()
    };
    let root = PathBuf::from("/");
    let error = start("no-such-program-here".into(), root.clone()).await;
    assert!(matches!(error, CommandError::NotFound { .. }), "{error:?}");
    let error = start(dir.path().join("missing"), root.clone()).await;
    assert!(matches!(error, CommandError::NotFound { .. }), "{error:?}");
    let error = start(at("plain", "#!/bin/sh\n", 0o600), root.clone()).await;
    assert!(matches!(error, CommandError::NotExecutable { .. }), "{error:?}");
    let error = start(at("orphan", "#!/no/such/interpreter\n", 0o700), root.clone()).await;
    assert!(matches!(error, CommandError::NotExecutable { .. }), "{error:?}");
    let error = start("sh".into(), dir.path().join("missing")).await;
    assert!(matches!(error, CommandError::Cwd { .. }), "{error:?}");
}

#[tokio::test]
async fn what_left_its_group_and_its_parent_ends_with_a_swept_command() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let escape = format!(
        "setsid sh -c 'sleep 1000 & echo $! >\"{0}.new\"; mv \"{0}.new\" \"{0}\"' & wait; echo told",
        file.display()
    );
    for (script, exit) in [
        (escape.clone(), Exit::Code(0)),
        (format!("{escape}; sleep 1000"), Exit::TimedOut),
    ] {
        let mut spec = shell(&script);
        spec.timeout = match exit {
            Exit::TimedOut => Duration::from_secs(2),
            _ => spec.timeout,
        };
        let finished = run_swept(&spec, &format!("{exit:?}-{}", dir.path().display()))
            .await
            .unwrap();
        assert_eq!(
            (finished.exit, finished.stdout.as_slice()),
            (exit, &b"told\n"[..])
        );
        let pid = std::fs::read_to_string(&file).unwrap();
        assert_ends(pid.trim()).await;
        std::fs::remove_file(&file).unwrap();
    }
}
