//! Output: an agent that writes to its spool, and the same program that writes to a file which was opened for it by hand.

use std::fs::{self, File};
use std::path::Path;

use cs_supervise::{AgentExit, Containment, ExecutionDir, Follower, SpoolWindow};
use serde_json::json;

use crate::stage::{role, spec, start, text};
use crate::{Done, Size};

/// What a daemon keeps of a line.
pub(crate) const LINE_CAP_BYTES: usize = 4 << 20;

/// Whether somebody reads the spool while it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watched {
    Yes,
    No,
}

/// Both take turns, so that whatever else the machine does hits both; and so does who is first.
pub(crate) async fn measure(directory: &Path, size: Size) -> Done {
    let bytes: u64 = size.pick(1 << 30, 32 << 20);
    for watched in [Watched::No, Watched::Yes] {
        let (mut spool, mut file) = (Vec::new(), Vec::new());
        // The first round makes everything warm.
        for round in 0..=size.pick(9, 2) {
            let times = if round % 2 == 0 {
                let ours = to_spool(directory, bytes, watched).await?;
                (ours, to_file(directory, bytes, watched).await?)
            } else {
                let theirs = to_file(directory, bytes, watched).await?;
                (to_spool(directory, bytes, watched).await?, theirs)
            };
            if round > 0 {
                spool.push(times.0);
                file.push(times.1);
            }
        }
        let watched = watched == Watched::Yes;
        println!(
            "{}",
            json!({"line": "pour", "bytes": bytes, "watched": watched, "spool": spool, "file": file})
        );
    }
    Ok(())
}

async fn to_spool(directory: &Path, bytes: u64, watched: Watched) -> Done<f64> {
    let (dir, report) = (ExecutionDir::at(directory.join("pour")), directory.join("report"));
    let agent = [format!("pour={bytes}:{}", text(&report)?)];
    let mut running = start(&dir, &spec(&agent, Containment::Best)?).await?;
    let closed = while_read(&dir.stdout_spool(), watched, running.closed()).await??;
    if closed.exit != AgentExit::Exited(0) || fs::metadata(dir.stdout_spool())?.len() != bytes {
        return Err(format!("not all was written: {closed:?}").into());
    }
    fs::remove_dir_all(dir.path())?;
    time_told(&report)
}

async fn to_file(directory: &Path, bytes: u64, watched: Watched) -> Done<f64> {
    let (file, report) = (directory.join("by-hand"), directory.join("report"));
    let out = File::options().append(true).create_new(true).open(&file)?;
    let agent = format!("pour={bytes}:{}", text(&report)?);
    // In a session of its own as well: the kernel shares a busy machine among sessions.
    let mut writer = role(&["agent", "session", &agent])?
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdout(out)
        .spawn()?;
    let status = while_read(&file, watched, writer.wait()).await??;
    if !status.success() || fs::metadata(&file)?.len() != bytes {
        return Err(format!("not all was written: {status}").into());
    }
    fs::remove_file(file)?;
    time_told(&report)
}

/// Awaits the end of who writes. Whoever reads meanwhile does it in the same way, whose file it is.
async fn while_read<T>(file: &Path, watched: Watched, end: impl Future<Output = T>) -> Done<T> {
    if watched == Watched::No {
        return Ok(end.await);
    }
    let mut follower = Follower::open(file, 0, LINE_CAP_BYTES)?.giving_back(SpoolWindow::default());
    tokio::pin!(end);
    loop {
        tokio::select! {
            biased;
            ended = &mut end => return Ok(ended),
            followed = follower.next() => drop(followed?),
        }
    }
}

/// The time that the writer says it took, from its first byte to its last.
fn time_told(report: &Path) -> Done<f64> {
    let told = fs::read_to_string(report)?;
    fs::remove_file(report)?;
    let nanos: f64 = told.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanos / 1e6)
}
