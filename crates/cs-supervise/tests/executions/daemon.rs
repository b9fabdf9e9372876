//! A daemon that is going to be killed: it starts an execution, says how far it has come, and waits for its end.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use cs_supervise::{
    AgentExit, Containment, Execution, ExecutionDir, Followed, Follower, HoldError, Proof, Puncher,
    ShimProgram, SpoolWindow, StopRequest, Verdict, hold, survey,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::task::JoinSet;

use crate::support::{LIMIT, block_on, read_when_there, spec_of};

/// `daemon STATION DIR WORDS...`: goes up to the station `held` or `started` and stays there, or to the end. When it
/// is to be `upgraded`, its own file is gone before the first shim is started.
pub(crate) fn run(words: &[String]) {
    let [station, dir, agent @ ..] = words else {
        panic!("what to do?")
    };
    if station == "dismiss" {
        return block_on(dismisses(Path::new(dir)));
    }
    if station == "short-of-descriptors" {
        return block_on(short_of_descriptors(Path::new(dir), agent));
    }
    match station.as_str() {
        "in-process" => return block_on(keeps(Path::new(dir), agent)),
        "in-process-to-the-end" => return block_on(keeps_to_the_end(Path::new(dir), agent)),
        "in-process-starved" => return block_on(starves(Path::new(dir), agent)),
        "tidy" => return block_on(stays_tidy(Path::new(dir), agent)),
        "crowd" => return block_on(is_crowded(Path::new(dir), agent[0].parse().unwrap())),
        "follow-line" => return block_on(reads_line(Path::new(dir), agent, Reading::Capped)),
        "read-line-whole" => return block_on(reads_line(Path::new(dir), agent, Reading::Whole)),
        _ => {}
    }
    block_on(async {
        let dir = ExecutionDir::create(dir).unwrap();
        let mut spec = spec_of(agent);
        match station.as_str() {
            "closed-in-group" => spec.containment = Containment::Best,
            "closed-in-namespace" | "namespace-refused" => spec.containment = Containment::Namespace,
            _ => {}
        }
        let program = ShimProgram::current().unwrap();
        if station == "upgraded" {
            fs::remove_file(std::env::current_exe().unwrap()).unwrap();
        }
        if station == "namespace-refused" {
            let error = hold(&program, &dir, &spec).await.unwrap_err();
            return say(dir.path(), &crate::namespaces::told_of(&error));
        }
        let held = hold(&program, &dir, &spec).await.unwrap();
        if station == "held" {
            say(dir.path(), station);
            return stay().await;
        }
        let mut running = held.go(b"the prompt").await.unwrap();
        if station == "started" {
            say(dir.path(), station);
            return stay().await;
        }
        let closed = running.closed().await.unwrap();
        say(dir.path(), &format!("{:?} {:?}", closed.exit, closed.proof));
    });
}

/// Dismisses an execution, and says what it was before, then and after.
async fn dismisses(dir: &Path) {
    let there = ExecutionDir::at(dir);
    let look = || async { survey(&there, Duration::from_secs(20)).await.unwrap() };
    let Verdict::ShimDiedClosing(before) = look().await else {
        panic!("it is not proven closed")
    };
    let dismissed = cs_supervise::dismiss(&there).await.unwrap();
    let Verdict::Finished(after) = look().await else {
        panic!("it is over")
    };
    assert_eq!((&before.survivors, &dismissed), (&after.survivors, &after));
    let text = format!("{} {} {:?}", before.is_over(), after.is_over(), after.proof);
    say(dir, &text);
}

/// Runs executions and says what they left behind in this process.
async fn stays_tidy(dir: &Path, agent: &[String]) {
    let program = ShimProgram::current().unwrap();
    let mut counts = Vec::new();
    for number in 0..4 {
        let dir = ExecutionDir::create(dir.with_extension(number.to_string())).unwrap();
        let held = hold(&program, &dir, &spec_of(agent)).await.unwrap();
        held.go(b"").await.unwrap().closed().await.unwrap();
        counts.push((fs::read_dir("/proc/self/fd").unwrap().count(), children()));
    }
    // The first one may have opened what the runtime keeps.
    let expected = (counts[0].0, String::new());
    let is_tidy = counts.iter().all(|count| *count == expected);
    say(
        dir,
        &if is_tidy {
            "tidy".to_owned()
        } else {
            format!("{counts:?}")
        },
    );
}

/// Runs so many executions at once and says what they left behind in this process.
async fn is_crowded(dir: &Path, count: i32) {
    let run = |number: i32| {
        let there = dir.with_extension(number.to_string());
        async move {
            let dir = ExecutionDir::create(there).unwrap();
            let gate = dir.path().parent().unwrap().join("gate");
            let agent = [format!("await={}", gate.display()), format!("exit={number}")];
            let held = hold(&ShimProgram::current().unwrap(), &dir, &spec_of(&agent))
                .await
                .unwrap();
            (number, held.go(b"").await.unwrap())
        }
    };
    // The first one may open what the runtime keeps.
    let gate = dir.parent().unwrap().join("gate");
    fs::write(&gate, "").unwrap();
    run(-1).await.1.closed().await.unwrap();
    fs::remove_file(&gate).unwrap();
    let descriptors = || fs::read_dir("/proc/self/fd").unwrap().count();
    let before = descriptors();
    let running = (0..count).map(run).collect::<JoinSet<_>>().join_all().await;
    // So many connections are open now; the look afterwards would see them.
    assert!(descriptors() >= before + running.len());
    fs::write(gate, "").unwrap();
    let ending = running.into_iter().map(|(number, mut running)| async move {
        let closed = running.closed().await.unwrap();
        assert_eq!(
            (closed.exit, closed.proof),
            (AgentExit::Exited(number), Some(Proof::SubreaperEmpty))
        );
    });
    ending.collect::<JoinSet<_>>().join_all().await;
    for number in 0..count {
        let there = ExecutionDir::at(dir.with_extension(number.to_string()));
        let verdict = survey(&there, LIMIT).await.unwrap();
        assert!(matches!(verdict, Verdict::Finished(_)), "{number}: {verdict:?}");
    }
    let (after, children) = (descriptors(), children());
    let text = format!("{before} descriptors before, {after} after; children: {children}");
    let is_tidy = before == after && children.is_empty();
    say(dir, if is_tidy { "tidy" } else { &text });
}

/// Supervises an agent without a shim until somebody kills this process.
async fn keeps(dir: &Path, agent: &[String]) {
    let dir = ExecutionDir::create(dir).unwrap();
    let held = cs_supervise::hold_in_process(&dir, &spec_of(agent))
        .await
        .unwrap();
    let _running = held.go(b"").await.unwrap();
    say(dir.path(), "in-process");
    stay().await;
}

/// Supervises an agent without a shim to its end, with a descriptor open that children inherit.
async fn keeps_to_the_end(dir: &Path, agent: &[String]) {
    let _inherited = rustix::io::dup(fs::File::open("/dev/null").unwrap()).unwrap();
    let dir = ExecutionDir::create(dir).unwrap();
    let mut spec = spec_of(agent);
    spec.leak_grace = LIMIT;
    let held = cs_supervise::hold_in_process(&dir, &spec).await.unwrap();
    let closed = held.go(b"").await.unwrap().closed().await.unwrap();
    say(dir.path(), &format!("{:?} {:?}", closed.exit, closed.proof));
}

/// Supervises an agent without a shim to its end, and has no descriptor to give for the first looks.
async fn starves(dir: &Path, agent: &[String]) {
    let dir = ExecutionDir::create(dir).unwrap();
    let held = cs_supervise::hold_in_process(&dir, &spec_of(agent))
        .await
        .unwrap();
    let mut running = held.go(b"").await.unwrap();
    let usual = getrlimit(Resource::Nofile);
    let none = Rlimit {
        current: Some(0),
        maximum: usual.maximum,
    };
    setrlimit(Resource::Nofile, none).unwrap();
    assert!(fs::File::open("/dev/null").is_err());
    tokio::time::sleep(Duration::from_millis(300)).await;
    setrlimit(Resource::Nofile, usual).unwrap();
    say(dir.path(), "in-process-starved");
    let closed = running.closed().await.unwrap();
    say(dir.path(), &format!("{:?} {:?}", closed.exit, closed.proof));
}

/// How an endless line is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// As a daemon does it.
    Capped,
    /// As it comes to mind first.
    Whole,
}

/// What a daemon keeps of a line here.
pub(crate) const CAP_BYTES: u64 = 1_000_000;
const WINDOW: SpoolWindow = SpoolWindow {
    head_bytes: 1_000_000,
    tail_bytes: 4_000_000,
};

/// Reads an endless line and what follows it, and says what that cost.
async fn reads_line(dir: &Path, agent: &[String], reading: Reading) {
    let dir = ExecutionDir::create(dir).unwrap();
    let held = hold(&ShimProgram::current().unwrap(), &dir, &spec_of(agent))
        .await
        .unwrap();
    let shim = held.identity().process.pid();
    let running = held.go(b"").await.unwrap();
    let spool = dir.stdout_spool();
    let (dropped, next) = match reading {
        Reading::Capped => {
            let mut puncher = Puncher::open(&spool, WINDOW).unwrap();
            let follower = Follower::open(&spool, 0, CAP_BYTES as usize).unwrap();
            let mut follower = follower.giving_back(WINDOW);
            let Followed::Record(line) = follower.next().await.unwrap() else {
                panic!("nothing was cut")
            };
            puncher.kept(line.end_offset).unwrap();
            let Followed::Record(next) = follower.next().await.unwrap() else {
                panic!("nothing was cut")
            };
            (line.dropped_bytes, next.bytes)
        }
        Reading::Whole => {
            let [line, ..] = agent else { panic!("what to say?") };
            read_when_there(Path::new(line.split_once(':').unwrap().1)).await;
            let mut lines = BufReader::new(fs::File::open(&spool).unwrap()).lines();
            // The line itself is dropped only after the next one was read.
            let (_line, next) = (lines.next().unwrap().unwrap(), lines.next().unwrap().unwrap());
            (0, next.into_bytes())
        }
    };
    let told = serde_json::json!({
        "dropped": dropped,
        "next": String::from_utf8(next).unwrap(),
        "follower": high_water_bytes("self"),
        "shim": high_water_bytes(&shim.to_string()),
        "spool": fs::metadata(&spool).unwrap().blocks() * 512,
    });
    running.stop(StopRequest::FORCE).await.unwrap();
    say(dir.path(), &told.to_string());
}

fn high_water_bytes(process: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Holds executions with so many descriptors left, from none on, until it can; and says what the failures left behind in this
/// process.
async fn short_of_descriptors(dir: &Path, agent: &[String]) {
    let program = ShimProgram::current().unwrap();
    let limit = Rlimit {
        current: Some(64),
        maximum: Some(64),
    };
    setrlimit(Resource::Nofile, limit).unwrap();
    let (mut left, mut failures, mut baseline) = (0, 0, None);
    let end = loop {
        let there = ExecutionDir::create(dir.with_extension(left.to_string())).unwrap();
        let mut taken: Vec<fs::File> = Vec::new();
        while let Ok(file) = fs::File::open("/dev/null") {
            taken.push(file);
        }
        taken.truncate(taken.len() - left);
        let held = hold(&program, &there, &spec_of(agent)).await;
        drop(taken);
        match held {
            Ok(held) => break held.go(b"").await.unwrap().closed().await.unwrap(),
            Err(HoldError::Directory { .. } | HoldError::Spawn { .. } | HoldError::Shim { .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
        // Whatever had been begun ends, and is told to have never started.
        let verdict = survey(&there, Duration::from_secs(20)).await.unwrap();
        assert!(matches!(verdict, Verdict::NeverStarted(_)), "{left}: {verdict:?}");
        let count = fs::read_dir("/proc/self/fd").unwrap().count();
        // The first look may have opened what the runtime keeps.
        assert_eq!(*baseline.get_or_insert(count), count, "with {left} left");
        assert_eq!(children(), "");
        failures += 1;
        left += 1;
    };
    assert!(failures > 1 && end.proof.is_some(), "{failures} {end:?}");
    say(dir, "tidy");
}

/// The children of this process, zombies included.
fn children() -> String {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    threads
        .map(|thread| fs::read_to_string(thread.unwrap().path().join("children")).unwrap_or_default())
        .collect()
}

/// The station is told beside the execution's directory.
fn say(dir: &Path, text: &str) {
    let file = dir.with_extension("station");
    fs::write(file.with_extension("new"), text).unwrap();
    fs::rename(file.with_extension("new"), file).unwrap();
}

async fn stay() {
    tokio::time::sleep(Duration::from_secs(120)).await;
}
