//! Surroundings that do not help: no descriptors, a full disk, files that are not ours, a socket that somebody else has.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cs_supervise::{
    AgentExit, ExecutionDir, HoldError, Life, Proof, ShimProgram, StopRequest, SurveyError, Tier, Verdict,
    glance, hold, survey,
};
use libtest_mimic::Trial;
use rustix::process::geteuid;

use crate::support::{
    Scratch, assert_closed, crash, per_tier, read_when_there, say_not_tested, shim_of, spec_of, trial, until,
    words,
};

pub(crate) fn trials() -> Vec<Trial> {
    let both = per_tier("a_glance_shows_each_part_of_a_life_and_changes_none", glanced);
    let once = vec![
        trial(
            "s15_without_descriptors_nothing_is_started_and_nothing_is_left",
            no_descriptors,
        ),
        trial("s15_on_a_full_disk_nothing_is_started", full_before),
        trial(
            "s15_a_disk_that_fills_up_loses_output_and_not_the_end",
            full_later,
        ),
        trial(
            "s6_a_stranger_with_the_number_of_a_dead_agent_is_left_alone",
            stranger,
        ),
        trial(
            "a_process_that_holds_the_lock_and_the_socket_is_not_signalled",
            foreign_holder,
        ),
        trial("a_file_that_is_not_ours_is_told_and_nothing_is_written", garbage),
    ];
    both.into_iter().chain(once).collect()
}

async fn no_descriptors(scratch: Scratch) {
    let daemon = scratch.spawn_daemon("short-of-descriptors", &words(&["exit=0"]));
    let said = read_when_there(&scratch.path("execution.station")).await;
    drop(daemon);
    assert_eq!(said, "tidy");
}

/// A file system of 1 MiB, and a file that fills it.
struct TinyDisk {
    path: PathBuf,
}

impl TinyDisk {
    fn new(scratch: &Scratch) -> Option<Self> {
        let path = scratch.path("disk");
        fs::create_dir(&path).unwrap();
        if geteuid().is_root() && run("mount", &["-t", "tmpfs", "-o", "size=1m", "tmpfs"], &path) {
            return Some(Self { path });
        }
        say_not_tested("it takes root to mount a small file system");
        None
    }

    fn execution(&self) -> ExecutionDir {
        ExecutionDir::at(self.path.join("execution"))
    }

    fn fill(&self) {
        let mut ballast = fs::File::create(self.path.join("ballast")).unwrap();
        let full = loop {
            if let Err(error) = ballast.write_all(&[0; 4096]) {
                break error;
            }
        };
        assert_eq!(full.raw_os_error(), Some(libc::ENOSPC));
    }

    fn make_room(&self) {
        fs::remove_file(self.path.join("ballast")).unwrap();
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        // Lazily: a shim that is ending may still work in it.
        run("umount", &["-l"], &self.path);
    }
}

fn run(program: &str, arguments: &[&str], path: &Path) -> bool {
    #[expect(clippy::disallowed_methods, reason = "a test's own surroundings")]
    let mut command = Command::new(program);
    let status = command.args(arguments).arg(path).status();
    status.is_ok_and(|status| status.success())
}

async fn full_before(scratch: Scratch) {
    let Some(disk) = TinyDisk::new(&scratch) else {
        return;
    };
    let dir = ExecutionDir::create(disk.execution().path()).unwrap();
    disk.fill();
    let once = format!("once={}", scratch.text("ran"));
    let error = hold(&ShimProgram::current().unwrap(), &dir, &spec_of(&[once]))
        .await
        .unwrap_err();
    let HoldError::Directory { source, .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(source.raw_os_error(), Some(libc::ENOSPC));
    disk.make_room();
    let verdict = survey(&dir, Duration::from_secs(20)).await.unwrap();
    assert!(matches!(verdict, Verdict::NeverStarted(_)), "{verdict:?}");
    assert!(!scratch.path("ran").exists());
}

async fn full_later(scratch: Scratch) {
    let Some(disk) = TinyDisk::new(&scratch) else {
        return;
    };
    let dir = ExecutionDir::create(disk.execution().path()).unwrap();
    let gate = format!("await={}", scratch.text("gate"));
    let spec = spec_of(&[vec![gate], words(&["bytes=2000000", "exit=0"])].concat());
    let held = hold(&ShimProgram::current().unwrap(), &dir, &spec).await.unwrap();
    let mut running = held.go(b"").await.unwrap();
    disk.fill();
    fs::write(scratch.path("gate"), "").unwrap();
    // The agent learns of it, and is not blocked.
    let agent = running.agent().clone();
    until("the agent has ended", || !agent.is_alive()).await;
    disk.make_room();
    let closed = running.closed().await.unwrap();
    assert_eq!(
        (closed.exit, closed.proof),
        (AgentExit::Exited(101), Some(Proof::SubreaperEmpty))
    );
    assert!(dir.path().join("closed.json").exists());
}

async fn foreign_holder(scratch: Scratch) {
    let dir = ExecutionDir::create(scratch.dir.path()).unwrap();
    // A directory as it is just before its shim takes it; but here somebody else does.
    let model = scratch.below("model");
    model.start(&words(&["exit=0"])).await.closed().await.unwrap();
    fs::copy(model.dir.path().join("spec.json"), dir.path().join("spec.json")).unwrap();
    let lock = fs::File::create(dir.path().join("lock")).unwrap();
    lock.lock().unwrap();
    let listener = UnixListener::bind(dir.path().join("sock")).unwrap();
    // It takes connections, and answers none.
    let silent = survey(&dir, Duration::from_millis(200)).await.unwrap_err();
    assert!(matches!(silent, SurveyError::StillHeld { .. }), "{silent:?}");
    // It answers something.
    let answering = std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut asked = [0; 4];
            // Those that gave up before are still in the queue.
            if stream.read_exact(&mut asked).is_ok() && stream.write_all(b"\0\0\0\x05hello").is_ok() {
                stream.read_to_end(&mut Vec::new()).unwrap_or_default();
                return;
            }
        }
    });
    let strange = survey(&dir, Duration::from_secs(20)).await.unwrap_err();
    assert!(
        matches!(strange, SurveyError::NotUnderstood { .. }),
        "{strange:?}"
    );
    answering.join().unwrap();
    assert!(!dir.path().join("closed.json").exists());
}

async fn garbage(scratch: Scratch) {
    for file in [
        "spec.json",
        "ident.json",
        "exit.json",
        "closed.json",
        "cgroup.json",
    ] {
        let round = scratch.below(file);
        let running = round.start(&words(&["sleep"])).await;
        crash(&shim_of(&round));
        until("the agent is dead", || !running.agent().is_alive()).await;
        let path = round.dir.path().join(file);
        fs::write(&path, "{\"half\":").unwrap();
        let error = survey(&round.dir, Duration::from_secs(20)).await.unwrap_err();
        assert!(
            matches!(error, SurveyError::NotUnderstood { .. }),
            "{file}: {error:?}"
        );
        assert_eq!(fs::read_to_string(path).unwrap(), "{\"half\":");
        assert!(file == "closed.json" || !round.dir.path().join("closed.json").exists());
    }
}

async fn glanced(scratch: Scratch) {
    let look = || glance(&scratch.dir).unwrap();
    let held = scratch.hold(&spec_of(&words(&["sleep"]))).await.unwrap();
    let before = look();
    assert!(matches!(before.life, Life::Alive(_)), "{before:?}");
    assert_eq!((before.agent, before.last_output_unix_micros), (None, None));
    drop(held);
    until("it has ended", || matches!(look().life, Life::Over(_))).await;

    let live = scratch.below("live");
    let look = || glance(&live.dir).unwrap();
    let spawn = format!("spawn=setsid:{}", live.text("setsid"));
    let running = live
        .start(&[spawn, "print=hello".to_owned(), "sleep".to_owned()])
        .await;
    until("it has said something", || look().output_bytes == 6).await;
    let seen = look();
    let Life::Alive(load) = seen.life else {
        panic!("{seen:?}")
    };
    // The shim, the first process of a namespace, the agent and its child.
    let count = if live.tier == Tier::Namespace { 4 } else { 3 };
    assert_eq!((load.processes, seen.tier), (count, live.tier));
    assert!(load.memory_bytes > 0 && seen.last_output_unix_micros.is_some());
    assert_eq!(seen.agent.as_ref(), Some(running.agent()));
    assert!(seen.started_at_unix_micros <= seen.last_output_unix_micros);
    crash(&shim_of(&live));
    until("the shim is gone", || look().life == Life::Lost).await;
    let closed = running.stop(StopRequest::FORCE).await.unwrap();
    assert_eq!(look().life, Life::Over(closed));

    let ended = live.below("ended");
    let closed = ended.start(&words(&["exit=0"])).await.closed().await.unwrap();
    assert_closed(&ended, &closed);
    assert_eq!(glance(&ended.dir).unwrap().life, Life::Over(closed));
    let empty = ExecutionDir::create(scratch.path("empty")).unwrap();
    let seen = glance(&empty).unwrap();
    assert_eq!(
        (seen.life, seen.shim, seen.tier),
        (Life::Unheld, None, Tier::Subreaper)
    );
    assert_eq!(
        fs::read_dir(empty.path()).unwrap().count(),
        0,
        "nothing was written"
    );
}

/// Starts a leader of a process group whose number is this one; nothing where numbers cannot be chosen.
async fn leader_with_pid(pid: i32) -> Option<std::process::Child> {
    let limit = std::time::Instant::now() + crate::support::LIMIT / 2;
    while std::time::Instant::now() < limit {
        // The next process gets the next number, unless somebody else is faster.
        fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).ok()?;
        #[expect(clippy::disallowed_methods, reason = "a process that is none of ours")]
        let mut command = Command::new("sleep");
        let mut child = command.arg("120").process_group(0).spawn().unwrap();
        if i32::try_from(child.id()) == Ok(pid) {
            return Some(child);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    None
}

async fn stranger(scratch: Scratch) {
    let mut running = scratch.start(&words(&["exit=0"])).await;
    let agent = running.agent().clone();
    let closed = running.closed().await.unwrap();
    // Two processes of one number that start within one tick of the clock cannot be told apart by their start.
    until("the clock has gone on", || ticks_now() > agent.start_ticks() + 2).await;
    let Some(mut stranger) = leader_with_pid(agent.pid()).await else {
        return say_not_tested("the number of the next process cannot be chosen here");
    };
    assert_eq!(running.stop(StopRequest::FORCE).await.unwrap(), closed);
    // Nor is it taken for the agent by who has to sweep.
    for file in ["closed.json", "exit.json"] {
        fs::remove_file(scratch.dir.path().join(file)).unwrap();
    }
    let verdict = scratch.survey().await;
    assert!(matches!(verdict, Verdict::ShimLost(_)), "{verdict:?}");
    assert!(!agent.is_alive());
    assert!(stranger.try_wait().unwrap().is_none(), "the stranger lives");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

fn ticks_now() -> u64 {
    let up = fs::read_to_string("/proc/uptime").unwrap();
    let seconds: f64 = up.split(' ').next().unwrap().parse().unwrap();
    (seconds * rustix::param::clock_ticks_per_second() as f64) as u64
}
