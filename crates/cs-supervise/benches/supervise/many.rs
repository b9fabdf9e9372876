//! Many executions at once: taken over by a new owner after the death of the old one, and quiet.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cs_supervise::{Containment, ExecutionDir, Follower, Running, SpoolWindow, StopRequest, Verdict, survey};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::pour::LINE_CAP_BYTES;
use crate::stage::{
    millis, own_pid, own_processor_nanos, owner, private_dirty_bytes, role, shim_processor_nanos, spec,
    start, status_bytes, text,
};
use crate::{Done, Size};

/// So many executions are started or ended at once.
const AT_ONCE: usize = 8;
const SURVEY_BUDGET: Duration = Duration::from_secs(20);
/// A shim looks often at a tree that is young.
const YOUTH: Duration = Duration::from_secs(5);

pub(crate) async fn measure(directory: &Path, size: Size) -> Done {
    let (count, quiet, seconds) = size.pick(("200", "50", "60"), ("20", "5", "5"));
    let adopted = directory.join("adopted");
    fs::create_dir(&adopted)?;
    let mut first = role(&["owner", "many", text(&adopted)?, count])?
        .stdout(Stdio::piped())
        .spawn()?;
    let out = first.stdout.take().ok_or("no standard output")?;
    let ready = BufReader::new(out).lines().next_line().await?;
    if ready.as_deref() != Some("ready") {
        return Err(format!("not all were started: {ready:?}").into());
    }
    first.kill().await?;
    println!("{}", owner(&["adopt", text(&adopted)?, count]).await?);
    let still = directory.join("quiet");
    fs::create_dir(&still)?;
    println!("{}", owner(&["quiet", text(&still)?, quiet, seconds]).await?);
    Ok(())
}

fn dirs(directory: &Path, count: usize) -> Vec<ExecutionDir> {
    (0..count)
        .map(|number| ExecutionDir::at(directory.join(number.to_string())))
        .collect()
}

async fn start_all(directory: &Path, count: usize) -> Done<Vec<Running>> {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut starting = JoinSet::new();
    for dir in dirs(directory, count) {
        let turns = Arc::clone(&turns);
        starting.spawn(async move {
            let _turn = turns.acquire().await?;
            start(&dir, &spec(&["sleep".to_owned()], Containment::Best)?).await
        });
    }
    starting.join_all().await.into_iter().collect()
}

async fn end_all(running: Vec<Running>) -> Done {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut ending = JoinSet::new();
    for running in running {
        let turns = Arc::clone(&turns);
        ending.spawn(async move {
            let _turn = turns.acquire().await?;
            let closed = running.stop(StopRequest::FORCE).await?;
            closed
                .proof
                .map(drop)
                .ok_or_else(|| format!("not closed: {closed:?}").into())
        });
    }
    ending.join_all().await.into_iter().collect()
}

/// The owner that is going to be killed.
pub(crate) async fn start_and_stay(directory: &Path, count: usize) -> Done {
    let _running = start_all(directory, count).await?;
    println!("ready");
    std::future::pending().await
}

/// The owner after it: asks for all of them at once, as a daemon does at its start. Their output is not opened.
pub(crate) async fn adopt(directory: &Path, count: usize) -> Done {
    let begun = Instant::now();
    let mut surveys = JoinSet::new();
    for dir in dirs(directory, count) {
        surveys.spawn(async move { survey(&dir, SURVEY_BUDGET).await });
    }
    let mut adopted = Vec::new();
    while let Some(verdict) = surveys.join_next().await {
        match verdict?? {
            Verdict::Adopted(running) => adopted.push(running),
            other => return Err(format!("not adopted: {other:?}").into()),
        }
    }
    let time = millis(begun);
    println!(
        "{}",
        json!({"line": "adopt", "executions": count, "millis": time})
    );
    end_all(adopted).await
}

/// An owner whose agents say nothing: it follows the output and waits for the end of each.
pub(crate) async fn quiet(directory: &Path, count: usize, seconds: u64) -> Done {
    let mut following = JoinSet::new();
    let mut stoppers = Vec::new();
    let mut pids = Vec::new();
    let there = dirs(directory, count);
    for mut running in start_all(directory, count).await? {
        stoppers.push(running.stopper());
        following.spawn(async move { running.closed().await.map(drop) });
    }
    for dir in &there {
        pids.push(cs_supervise::glance(dir)?.shim.ok_or("no shim")?.pid());
        let follower = Follower::open(&dir.stdout_spool(), 0, LINE_CAP_BYTES)?;
        let mut follower = follower.giving_back(SpoolWindow::default());
        following.spawn(async move {
            // A quiet agent says nothing.
            let _: Result<_, _> = follower.next().await;
            Ok(())
        });
    }
    tokio::time::sleep(YOUTH).await;
    let spent = |pids: &[i32]| {
        pids.iter()
            .map(|pid| shim_processor_nanos(*pid))
            .sum::<Done<u64>>()
    };
    let begun = Instant::now();
    let before = (own_processor_nanos()?, spent(&pids)?);
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let after = (own_processor_nanos()?, spent(&pids)?);
    let nanos = begun.elapsed().as_nanos() as f64;
    let dirty = pids
        .iter()
        .map(|pid| private_dirty_bytes(*pid))
        .sum::<Done<u64>>()?;
    println!(
        "{}",
        json!({
            "line": "quiet",
            "executions": count,
            "seconds": nanos / 1e9,
            "owner_share": after.0.saturating_sub(before.0) as f64 / nanos,
            "owner_bytes": status_bytes(own_pid()?, "VmRSS:")?,
            "shims_share": after.1.saturating_sub(before.1) as f64 / nanos,
            "shims_dirty_bytes": dirty,
        })
    );
    for stopper in stoppers {
        stopper.stop(StopRequest::FORCE).await?;
    }
    Ok(())
}
