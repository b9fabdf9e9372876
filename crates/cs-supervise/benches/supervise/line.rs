//! One line of a gigabyte, and what follows it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use cs_supervise::{
    Containment, ExecutionDir, Followed, Follower, Puncher, Record, SpoolWindow, StopRequest,
};
use serde_json::json;
use tokio::task::JoinSet;

use crate::pour::LINE_CAP_BYTES;
use crate::stage::{own_pid, owner, spec, start, status_bytes, text, until};
use crate::{Done, Size};

const SAMPLES_INTERVAL: Duration = Duration::from_millis(5);

pub(crate) async fn measure(directory: &Path, size: Size) -> Done {
    let bytes: u64 = size.pick(1_000_000_000, 200_000_000);
    let directory = directory.join("line");
    fs::create_dir(&directory)?;
    // In a process of its own, whose high-water mark nothing else has raised.
    println!(
        "{}",
        owner(&["line", text(&directory)?, &bytes.to_string()]).await?
    );
    fs::remove_dir_all(directory)?;
    Ok(())
}

/// Follows an agent as a daemon does it, until it has said its line and what comes after it.
pub(crate) async fn follow(directory: &Path, bytes: u64) -> Done {
    let (dir, report) = (
        ExecutionDir::at(directory.join("execution")),
        directory.join("report"),
    );
    let agent = [format!("line={bytes}:{}", text(&report)?), "sleep".to_owned()];
    let begun = Instant::now();
    let running = start(&dir, &spec(&agent, Containment::Best)?).await?;
    let window = SpoolWindow::default();
    let mut follower = Follower::open(&dir.stdout_spool(), 0, LINE_CAP_BYTES)?.giving_back(window);
    let mut puncher = Puncher::open(&dir.stdout_spool(), window)?;
    let mut samples = JoinSet::new();
    let spool = dir.stdout_spool();
    let (stop, mut stopped) = tokio::sync::oneshot::channel();
    samples.spawn(async move {
        let mut most_bytes = 0;
        loop {
            most_bytes = fs::metadata(&spool)
                .map_or(0, |it| it.blocks() * 512)
                .max(most_bytes);
            tokio::select! {
                biased;
                _ = &mut stopped => return most_bytes,
                () = tokio::time::sleep(SAMPLES_INTERVAL) => {}
            }
        }
    });
    let line = record(follower.next().await?)?;
    puncher.kept(line.end_offset)?;
    let next = record(follower.next().await?)?;
    let millis = crate::stage::millis(begun);
    let _ = stop.send(()); // who samples is there until then
    let most_spool_bytes = samples.join_next().await.ok_or("nobody took samples")??;
    let shim = cs_supervise::glance(&dir)?.shim.ok_or("no shim")?.pid();
    until("the agent has reported", || report.exists()).await?;
    let told = fs::read_to_string(report)?;
    let longest_nanos: f64 = told.split(' ').nth(1).unwrap_or_default().parse()?;
    println!(
        "{}",
        json!({
            "line": "long_line",
            "bytes": bytes,
            "millis": millis,
            "follower_bytes": status_bytes(own_pid()?, "VmHWM:")?,
            "shim_bytes": status_bytes(shim, "VmHWM:")?,
            "spool_bytes": fs::metadata(dir.stdout_spool())?.blocks() * 512,
            "most_spool_bytes": most_spool_bytes,
            "window_bytes": window.head_bytes + window.tail_bytes,
            "longest_write_millis": longest_nanos / 1e6,
            "is_intact": line.dropped_bytes == bytes - LINE_CAP_BYTES as u64 && next.bytes == br#"{"ok":1}"#,
        })
    );
    running.stop(StopRequest::FORCE).await?;
    Ok(())
}

fn record(followed: Followed) -> Done<Record> {
    match followed {
        Followed::Record(record) => Ok(record),
        Followed::Truncated { offset } => Err(format!("the spool was cut at {offset}").into()),
    }
}
