//! The ordinary life of an execution: held, GO, output, end.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use cs_supervise::{AgentExit, Followed, Follower, GoError, MAX_PROMPT_BYTES, Proof, Verdict};
use libtest_mimic::Trial;

use crate::support::{Scratch, alive, assert_closed, per_tier, spec_of, trial, words};

pub(crate) fn trials() -> Vec<Trial> {
    let both = [
        per_tier("an_agent_runs_to_its_end_and_its_output_and_code_are_kept", runs),
        per_tier(
            "s7_a_process_that_outlives_the_agent_is_named_as_leaked_and_dead",
            leaks,
        ),
    ];
    let once = vec![
        trial(
            "an_agent_gets_its_environment_its_directory_and_no_descriptor_but_its_own",
            gets,
        ),
        trial("files_of_an_execution_are_for_their_user_only", private),
        trial("a_prompt_that_cannot_be_stored_starts_nothing", unstored_prompt),
        trial("a_prompt_beyond_the_limit_starts_nothing", long_prompt),
        trial("a_process_that_ends_within_the_grace_is_not_leaked", no_leak),
        trial("ps2_without_go_nothing_runs_and_the_shim_ends_itself", never_go),
        trial("an_abandoned_execution_never_started", abandoned),
        trial(
            "a_waiting_shim_is_told_from_a_running_one_and_can_be_ended",
            waiting,
        ),
        trial("twenty_executions_at_once_are_all_closed", many),
        trial("output_can_be_followed_while_the_agent_runs", followed),
    ];
    both.into_iter().flatten().chain(once).collect()
}

async fn runs(scratch: Scratch) {
    let mut running = scratch
        .start(&words(&["count-stdin", "print=hello", "exit=7"]))
        .await;
    let closed = running.closed().await.unwrap();
    assert_eq!(
        (&closed.exit, closed.stopped_by_us),
        (&AgentExit::Exited(7), false)
    );
    assert_closed(&scratch, &closed);
    assert_eq!(
        (closed.leaked.len(), scratch.stdout().as_str()),
        (0, "10\nhello\n")
    );
    assert_eq!(running.closed().await.unwrap(), closed);
    match scratch.survey().await {
        Verdict::Finished(found) => assert_eq!(found, closed),
        other => panic!("{other:?}"),
    }
}

async fn gets(scratch: Scratch) {
    let mut spec = spec_of(&words(&["where", "descriptors", "environment"]));
    spec.env.push(("ONLY".into(), "this".into()));
    spec.cwd = scratch.dir.path().parent().unwrap().to_path_buf();
    scratch.start_spec(&spec, b"").await.closed().await.unwrap();
    let out = scratch.stdout();
    let mut lines = out.splitn(3, '\n');
    assert_eq!(
        lines.next().unwrap(),
        spec.cwd.canonicalize().unwrap().to_str().unwrap()
    );
    assert_eq!(lines.next().unwrap(), r#"["0", "1", "2"]"#);
    let environment: Vec<_> = lines.next().unwrap().split_terminator('\0').collect();
    assert_eq!(environment.len(), 3, "{environment:?}");
    assert!(environment.contains(&"ONLY=this") && environment.contains(&"PATH=/usr/bin:/bin"));
    assert!(
        environment
            .iter()
            .any(|entry| entry.starts_with("CS_PANEL_EXECUTION="))
    );
}

async fn private(scratch: Scratch) {
    scratch.start(&words(&["exit=0"])).await.closed().await.unwrap();
    let mode = |path: &std::path::Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(scratch.dir.path()), 0o700);
    for entry in fs::read_dir(scratch.dir.path()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

async fn unstored_prompt(scratch: Scratch) {
    let once = format!("once={}", scratch.text("ran"));
    let held = scratch.hold(&spec_of(&[once])).await.unwrap();
    // A directory stands where the shim writes the prompt aside.
    fs::create_dir(scratch.dir.path().join("stdin.new")).unwrap();
    let error = held.go(&vec![b'p'; MAX_PROMPT_BYTES]).await.unwrap_err();
    let GoError::NotStored { source, closed, .. } = error else {
        panic!("{error:?}")
    };
    assert_eq!(
        (source.raw_os_error(), closed.exit),
        (Some(libc::EISDIR), AgentExit::NeverStarted)
    );
    assert!(!scratch.path("ran").exists());
}

async fn long_prompt(scratch: Scratch) {
    let once = format!("once={}", scratch.text("ran"));
    let held = scratch.hold(&spec_of(&[once])).await.unwrap();
    let error = held.go(&vec![b'p'; MAX_PROMPT_BYTES + 1]).await.unwrap_err();
    assert!(matches!(error, GoError::PromptTooLong), "{error:?}");
    assert!(matches!(scratch.survey().await, Verdict::NeverStarted(_)));
    assert!(!scratch.path("ran").exists());
}

async fn leaks(scratch: Scratch) {
    let mut agent = scratch.hostile();
    agent.push(format!("await={}", scratch.text("gate")));
    agent.extend(words(&["print=hi", "exit=0"]));
    let mut running = scratch.start(&agent).await;
    let descendants = scratch.descendants().await;
    // Each of them holds what the agent writes to: whoever waited for its end of file would wait for them.
    for descendant in &descendants {
        let out = fs::read_link(format!("/proc/{}/fd/1", descendant.pid)).unwrap();
        assert_eq!(out, scratch.dir.stdout_spool().canonicalize().unwrap());
    }
    fs::write(scratch.path("gate"), "").unwrap();
    let begin = Instant::now();
    let closed = running.closed().await.unwrap();
    assert!(begin.elapsed() < Duration::from_secs(20));
    assert_eq!(
        (&closed.exit, scratch.stdout().as_str()),
        (&AgentExit::Exited(0), "hi\n")
    );
    assert_closed(&scratch, &closed);
    assert_eq!(closed.leaked.len(), 4, "{:?}", closed.leaked);
    assert!(closed.leaked.iter().all(|leaked| !leaked.identity.is_alive()));
    assert_eq!(alive(&descendants), [""; 0]);
}

/// Scenario 31: what has ended and is still there is not killed before its grace.
async fn no_leak(scratch: Scratch) {
    let go = scratch.text("go");
    // The background process waits for the file, which comes only after the agent's end is stored.
    let script = format!("(while [ ! -e {go} ]; do sleep 0.01; done) & exit 0");
    let mut spec = spec_of(&[]);
    spec.argv = vec!["sh".into(), "-c".into(), script.into()];
    spec.leak_grace = Duration::from_secs(60);
    let mut running = scratch.start_spec(&spec, b"").await;
    crate::support::read_when_there(&scratch.dir.path().join("exit.json")).await;
    fs::write(scratch.path("go"), "").unwrap();
    let closed = running.closed().await.unwrap();
    assert_closed(&scratch, &closed);
    assert_eq!(closed.leaked, []);
}

/// Scenario 16: without GO the agent never gets its prompt, and the end is written once nothing is left.
async fn never_go(scratch: Scratch) {
    let once = format!("once={}", scratch.text("ran"));
    let held = scratch.hold(&spec_of(&[once])).await.unwrap();
    let shim = held.identity().process.clone();
    assert!(shim.is_alive());
    drop(held);
    crate::support::until("the shim is gone", || !shim.is_alive()).await;
    match scratch.survey().await {
        Verdict::NeverStarted(closed) => {
            assert_eq!(
                (closed.exit, closed.proof),
                (AgentExit::NeverStarted, Some(Proof::SubreaperEmpty))
            );
        }
        other => panic!("{other:?}"),
    }
    assert!(!scratch.path("ran").exists());
}

async fn abandoned(scratch: Scratch) {
    let held = scratch.hold(&spec_of(&words(&["exit=0"]))).await.unwrap();
    let closed = held.abandon().await.unwrap();
    assert_eq!(
        (closed.exit, closed.stopped_by_us),
        (AgentExit::NeverStarted, true)
    );
    assert!(matches!(scratch.survey().await, Verdict::NeverStarted(_)));
}

/// P27: a stop while the start waits for its GO.
async fn waiting(scratch: Scratch) {
    let held = scratch.hold(&spec_of(&words(&["exit=0"]))).await.unwrap();
    let Verdict::Waiting(waiting) = scratch.survey().await else {
        panic!("it waits for its GO")
    };
    let closed = waiting
        .stopper()
        .stop(cs_supervise::StopRequest::default())
        .await
        .unwrap();
    assert_eq!(closed.exit, AgentExit::NeverStarted);
    let error = held.go(b"too late").await.unwrap_err();
    assert!(
        matches!(&error, GoError::ShimEnded { closed } if closed.exit == AgentExit::NeverStarted),
        "{error:?}"
    );
}

async fn many(scratch: Scratch) {
    fs::create_dir(scratch.path("many")).unwrap();
    let mut running = Vec::new();
    for number in 0..20 {
        let dir = cs_supervise::ExecutionDir::create(scratch.path("many").join(number.to_string())).unwrap();
        let program = cs_supervise::ShimProgram::current().unwrap();
        let spec = spec_of(&[format!("exit={number}")]);
        running.push(
            cs_supervise::hold(&program, &dir, &spec)
                .await
                .unwrap()
                .go(b"")
                .await
                .unwrap(),
        );
    }
    for (number, running) in running.iter_mut().enumerate() {
        let closed = running.closed().await.unwrap();
        assert_eq!(
            (closed.exit, closed.proof),
            (AgentExit::Exited(number as i32), Some(Proof::SubreaperEmpty))
        );
    }
}

async fn followed(scratch: Scratch) {
    let gate = scratch.text("gate");
    let mut running = scratch
        .start(&[words(&["print=before"]), vec![format!("await={gate}")]].concat())
        .await;
    let mut follower = Follower::open(&scratch.dir.stdout_spool(), 0, 100).unwrap();
    let Followed::Record(record) = follower.next().await.unwrap() else {
        panic!("nothing was cut")
    };
    assert_eq!(record.bytes, b"before");
    fs::write(gate, "").unwrap();
    running.closed().await.unwrap();
    assert_eq!(follower.drain().await.unwrap(), None);
}
