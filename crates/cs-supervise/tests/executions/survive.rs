//! Daemons and shims that die at the worst moment.

use std::fs;
use std::time::Duration;

use cs_supervise::{AgentExit, ExecutionDir, Proof, StopRequest, Tier, Verdict, survey};
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{
    KINDS, Process, Scratch, adopt, alive, assert_closed, crash, per_tier, read_when_there, shim_of, spec_of,
    trial, until, words,
};

pub(crate) fn trials() -> Vec<Trial> {
    let both = [
        per_tier(
            "s4_a_killed_shim_takes_the_agent_along_and_the_rest_is_swept",
            shim_killed,
        ),
        per_tier(
            "a_shim_killed_after_the_exit_was_stored_keeps_the_exit",
            shim_killed_closing,
        ),
        per_tier(
            "a_daemon_that_waits_while_the_shim_is_killed_gets_the_end",
            waiting_while_killed,
        ),
        per_tier(
            "a_stop_kills_a_shim_that_does_not_answer_and_closes_the_tree",
            hung_and_stopped,
        ),
        per_tier("a_shim_is_small", small),
    ];
    let once = vec![
        trial(
            "s2_p10_an_agent_goes_on_when_its_daemon_is_killed_and_the_next_one_gets_its_end",
            adopted,
        ),
        trial("s2_p8_a_daemon_killed_before_go_leaves_nothing", killed_before_go),
        trial(
            "s2_p6_to_p9_a_daemon_killed_at_any_moment_leaves_one_agent_or_none",
            killed_any_time,
        ),
        trial(
            "s3_an_agent_that_ends_while_no_daemon_lives_is_found_with_all_its_output",
            ended_away,
        ),
        trial("a_shim_that_does_not_answer_is_told_and_can_be_killed", hung),
        trial(
            "an_answer_with_another_nonce_is_foreign_and_nothing_is_signalled",
            foreign,
        ),
        trial("p28_after_a_reboot_nothing_is_signalled", rebooted),
        trial("p6_half_written_directories_never_started", half_written),
        trial("the_signals_that_end_a_session_do_not_end_a_shim", deaf_shim),
    ];
    both.into_iter().flatten().chain(once).collect()
}

async fn adopted(scratch: Scratch) {
    let once = format!("once={}", scratch.text("once"));
    let gate = format!("await={}", scratch.text("gate"));
    let agent = [vec![once], words(&["lines=50"]), vec![gate], words(&["exit=7"])].concat();
    scratch.daemon("started", &agent).await.kill();
    let mut running = adopt(&scratch).await;
    assert!(running.agent().is_alive());
    fs::write(scratch.path("gate"), "").unwrap();
    let closed = running.closed().await.unwrap();
    assert_eq!(
        (&closed.exit, closed.stopped_by_us),
        (&AgentExit::Exited(7), false)
    );
    assert_closed(&scratch, &closed);
    let lines: Vec<_> = scratch
        .stdout()
        .lines()
        .map(|line| line.parse::<usize>().unwrap())
        .collect();
    assert_eq!(lines, (0..50).collect::<Vec<_>>());
}

/// Invariant 6.
async fn killed_before_go(scratch: Scratch) {
    let daemon = scratch
        .daemon("held", &[format!("once={}", scratch.text("ran"))])
        .await;
    let shim = shim_of(&scratch);
    daemon.kill();
    until("the shim has ended", || !shim.is_alive()).await;
    let Verdict::NeverStarted(closed) = scratch.survey().await else {
        panic!("it had no GO")
    };
    assert_eq!(closed.proof, Some(Proof::SubreaperEmpty));
    assert!(!scratch.path("ran").exists());
}

async fn killed_any_time(scratch: Scratch) {
    // From before the directory is there to after the agent runs.
    for step in 0..24 {
        let round = scratch.below(&step.to_string());
        let once = format!("once={}", round.text("once"));
        let daemon = round.spawn_daemon("started", &[once, "sleep".to_owned()]);
        tokio::time::sleep(Duration::from_millis(step * step / 12)).await;
        daemon.kill();
        let verdict = match round.survey().await {
            // It had not noticed yet that its daemon is gone.
            Verdict::Waiting(_) => {
                let shim = shim_of(&round);
                until("the shim has judged", || {
                    !shim.is_alive() || round.path("once").exists()
                })
                .await;
                round.survey().await
            }
            verdict => verdict,
        };
        match verdict {
            Verdict::NeverStarted(closed) => assert_eq!(closed.exit, AgentExit::NeverStarted),
            Verdict::Adopted(running) => {
                // A second agent would have found the file and ended by itself.
                let closed = running.stop(StopRequest::FORCE).await.unwrap();
                assert_eq!(closed.exit, AgentExit::Signalled(Signal::KILL.as_raw()), "{step}");
                assert_closed(&round, &closed);
                continue;
            }
            other => panic!("{step}: {other:?}"),
        }
        assert!(
            !round.path("once").exists(),
            "{step}: what never started did not run"
        );
    }
}

async fn ended_away(scratch: Scratch) {
    let gate = format!("await={}", scratch.text("gate"));
    let daemon = scratch
        .daemon(
            "started",
            &[vec![gate], words(&["bytes=200000", "exit=3"])].concat(),
        )
        .await;
    let shim = shim_of(&scratch);
    daemon.kill();
    fs::write(scratch.path("gate"), "").unwrap();
    until("the shim has ended", || !shim.is_alive()).await;
    let ended = fs::metadata(scratch.dir.path().join("exit.json"))
        .unwrap()
        .modified()
        .unwrap();
    let Verdict::Finished(closed) = scratch.survey().await else {
        panic!("it ended in order")
    };
    assert_eq!(closed.exit, AgentExit::Exited(3));
    assert_closed(&scratch, &closed);
    assert_eq!(scratch.stdout().len(), 200_000);
    let ended = ended.duration_since(std::time::UNIX_EPOCH).unwrap().as_micros() as i64;
    assert!(
        (ended - closed.ended_at_unix_micros).abs() < 5_000_000,
        "the time is that of the end"
    );
}

/// Waits until the shim's list names these processes: only then could another find the one without a cookie. A control group
/// needs no list.
async fn listed(scratch: &Scratch, descendants: &[Process]) {
    if scratch.tier == Tier::Cgroup {
        return;
    }
    let list = scratch.dir.path().join("descendants.json");
    until("the shim lists its tree", || {
        let text = fs::read_to_string(&list).unwrap_or_default();
        descendants
            .iter()
            .all(|process| text.contains(&format!("\"pid\":{},", process.pid)))
    })
    .await;
}

/// Invariant 7.
async fn shim_killed(scratch: Scratch) {
    let running = scratch
        .start(&[scratch.hostile(), words(&["sleep"])].concat())
        .await;
    let agent = running.agent().clone();
    drop(running);
    let descendants = scratch.descendants().await;
    listed(&scratch, &descendants).await;
    crash(&shim_of(&scratch));
    until("the agent is dead", || !agent.is_alive()).await;
    if scratch.tier != Tier::Namespace {
        assert_eq!(alive(&descendants), KINDS);
    }
    let Verdict::ShimLost(closed) = scratch.survey().await else {
        panic!("the shim was killed")
    };
    assert_eq!(
        (&closed.exit, closed.proof),
        (&AgentExit::Unknown, Some(scratch.proof_without_shim()))
    );
    assert_eq!(closed.survivors, []);
    assert_eq!(alive(&descendants), [""; 0]);
    assert!(matches!(scratch.survey().await, Verdict::Finished(again) if again == closed));
}

async fn shim_killed_closing(scratch: Scratch) {
    let mut spec = spec_of(&[scratch.hostile(), words(&["exit=5"])].concat());
    // Long enough to be killed within.
    spec.leak_grace = Duration::from_secs(60);
    drop(scratch.start_spec(&spec, b"").await);
    let descendants = scratch.descendants().await;
    read_when_there(&scratch.dir.path().join("exit.json")).await;
    crash(&shim_of(&scratch));
    let Verdict::ShimDiedClosing(closed) = scratch.survey().await else {
        panic!("the shim was killed")
    };
    assert_eq!(
        (&closed.exit, closed.proof),
        (&AgentExit::Exited(5), Some(scratch.proof_without_shim()))
    );
    assert_eq!(alive(&descendants), [""; 0]);
}

async fn waiting_while_killed(scratch: Scratch) {
    let mut running = scratch
        .start(&[scratch.hostile(), words(&["sleep"])].concat())
        .await;
    let descendants = scratch.descendants().await;
    listed(&scratch, &descendants).await;
    crash(&shim_of(&scratch));
    let closed = running.closed().await.unwrap();
    assert_eq!(
        (closed.exit, closed.proof),
        (AgentExit::Unknown, Some(scratch.proof_without_shim()))
    );
    assert_eq!(alive(&descendants), [""; 0]);
}

async fn hung(scratch: Scratch) {
    let running = scratch.start(&words(&["sleep"])).await;
    let shim = shim_of(&scratch);
    kill_process(Pid::from_raw(shim.pid()).unwrap(), Signal::STOP).unwrap();
    let verdict = survey(&scratch.dir, Duration::from_millis(300)).await.unwrap();
    let Verdict::ShimHung(hung) = verdict else {
        panic!("{verdict:?}")
    };
    assert_eq!(hung.shim(), &shim);
    let closed = hung.end().await.unwrap();
    assert_eq!(
        (closed.exit, closed.proof),
        (AgentExit::Unknown, Some(Proof::SweepClean))
    );
    assert!(!running.agent().is_alive() && !shim.is_alive());
}

async fn hung_and_stopped(scratch: Scratch) {
    let running = scratch
        .start(&[scratch.hostile(), words(&["sleep"])].concat())
        .await;
    let descendants = scratch.descendants().await;
    listed(&scratch, &descendants).await;
    let shim = shim_of(&scratch);
    kill_process(Pid::from_raw(shim.pid()).unwrap(), Signal::STOP).unwrap();
    let closed = running.stop(StopRequest::FORCE).await.unwrap();
    assert_eq!(
        (closed.exit, closed.proof),
        (AgentExit::Unknown, Some(scratch.proof_without_shim()))
    );
    assert!(!running.agent().is_alive() && !shim.is_alive());
    assert_eq!(alive(&descendants), [""; 0]);
}

/// Changes one value of a JSON file of the execution.
fn tamper(scratch: &Scratch, file: &str, key: &str, value: &str) {
    let path = scratch.dir.path().join(file);
    let mut json: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    json[key] = value.into();
    fs::write(path, json.to_string()).unwrap();
}

async fn foreign(scratch: Scratch) {
    let running = scratch.start(&words(&["sleep"])).await;
    tamper(&scratch, "spec.json", "nonce", "another");
    let verdict = scratch.survey().await;
    assert!(matches!(verdict, Verdict::ForeignShim), "{verdict:?}");
    assert!(running.agent().is_alive());
    running.stop(StopRequest::FORCE).await.unwrap();
}

async fn rebooted(scratch: Scratch) {
    let running = scratch
        .start(&[scratch.hostile(), words(&["sleep"])].concat())
        .await;
    drop(running);
    let descendants = scratch.descendants().await;
    listed(&scratch, &descendants).await;
    crash(&shim_of(&scratch));
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let ident = fs::read_to_string(scratch.dir.path().join("ident.json")).unwrap();
    fs::write(
        scratch.dir.path().join("ident.json"),
        ident.replace(boot.trim(), "another-boot"),
    )
    .unwrap();
    until("the lock is free", || lock_is_free(&scratch)).await;
    let Verdict::HostRebooted(closed) = scratch.survey().await else {
        panic!("the boot differs")
    };
    assert_eq!(
        (closed.exit, closed.proof),
        (AgentExit::Unknown, Some(Proof::HostRebooted))
    );
    assert_eq!(alive(&descendants), KINDS, "nothing was signalled");
    // Back in the right boot, the same directory is swept: the test leaves nothing behind.
    fs::remove_file(scratch.dir.path().join("closed.json")).unwrap();
    fs::write(scratch.dir.path().join("ident.json"), ident).unwrap();
    assert!(matches!(scratch.survey().await, Verdict::ShimLost(_)));
    assert_eq!(alive(&descendants), [""; 0]);
}

fn lock_is_free(scratch: &Scratch) -> bool {
    fs::File::open(scratch.dir.path().join("lock"))
        .unwrap()
        .try_lock()
        .is_ok()
}

async fn half_written(scratch: Scratch) {
    let model = scratch.start(&words(&["exit=0"])).await.closed().await.unwrap();
    assert_eq!(model.exit, AgentExit::Exited(0));
    let stages: [&[&str]; 5] = [
        &[],
        &["spec.json.new"],
        &["spec.json"],
        &["spec.json", "lock"],
        &["spec.json", "lock", "ident.json"],
    ];
    for (number, files) in stages.iter().enumerate() {
        let dir = ExecutionDir::create(scratch.path(&format!("half-{number}"))).unwrap();
        for file in *files {
            let from = scratch.dir.path().join(file.trim_end_matches(".new"));
            fs::copy(from, dir.path().join(file)).unwrap();
        }
        let verdict = survey(&dir, Duration::from_secs(20)).await.unwrap();
        let Verdict::NeverStarted(closed) = verdict else {
            panic!("{files:?}: {verdict:?}")
        };
        assert_eq!(
            (closed.exit, closed.proof),
            (AgentExit::NeverStarted, Some(Proof::SweepClean))
        );
        // Whoever comes to it late must not start what was judged.
        let late = cs_supervise::hold(
            &cs_supervise::ShimProgram::current().unwrap(),
            &dir,
            &spec_of(&[]),
        )
        .await;
        assert!(late.is_err());
    }
}

async fn deaf_shim(scratch: Scratch) {
    let running = scratch.start(&words(&["sleep"])).await;
    let shim = shim_of(&scratch);
    let pid = Pid::from_raw(shim.pid()).unwrap();
    for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::PIPE] {
        kill_process(pid, signal).unwrap();
    }
    let closed = running.stop(StopRequest::FORCE).await.unwrap();
    assert_closed(&scratch, &closed);
}

async fn small(scratch: Scratch) {
    let running = scratch
        .start_spec(&spec_of(&words(&["sleep"])), &vec![b'p'; 16 << 20])
        .await;
    let maps = fs::read_to_string(format!("/proc/{}/smaps_rollup", shim_of(&scratch).pid())).unwrap();
    let dirty = maps
        .lines()
        .find_map(|line| line.strip_prefix("Private_Dirty:"))
        .unwrap();
    let dirty_kib: u64 = dirty.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(dirty_kib <= 4096, "{dirty_kib} KiB");
    running.stop(StopRequest::FORCE).await.unwrap();
}
