//! A daemon that is going to be killed: it starts an execution, says how far it has come, and waits for its end.

use std::fs;
use std::path::Path;
use std::time::Duration;

use cs_supervise::{Containment, ExecutionDir, HoldError, ShimProgram, Verdict, hold, survey};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::support::{block_on, spec_of};

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
    if station == "tidy" {
        return block_on(stays_tidy(Path::new(dir), agent));
    }
    block_on(async {
        let dir = ExecutionDir::create(dir).unwrap();
        let mut spec = spec_of(agent);
        if station == "closed-in-group" {
            spec.containment = Containment::Best;
        }
        let program = ShimProgram::current().unwrap();
        if station == "upgraded" {
            fs::remove_file(std::env::current_exe().unwrap()).unwrap();
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
