//! What the parts of the bench share.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use cs_supervise::{Containment, ExecutionDir, ExecutionSpec, Running, ShimProgram, hold};

use crate::Done;

/// Nothing of this bench may take longer.
const LIMIT: Duration = Duration::from_secs(300);

/// A spec that runs this binary as an agent.
pub(crate) fn spec(words: &[String], containment: Containment) -> Done<ExecutionSpec> {
    let program = std::env::current_exe()?;
    let argv = [program.into_os_string(), "agent".into()]
        .into_iter()
        .chain(words.iter().map(Into::into))
        .collect();
    let mut spec = ExecutionSpec::new(argv, vec![("PATH".into(), "/usr/bin:/bin".into())], "/");
    spec.containment = containment;
    Ok(spec)
}

/// Starts an agent in a new directory.
pub(crate) async fn start(dir: &ExecutionDir, spec: &ExecutionSpec) -> Done<Running> {
    let dir = ExecutionDir::create(dir.path())?;
    Ok(hold(&ShimProgram::current()?, &dir, spec).await?.go(b"").await?)
}

/// This binary in another role, as a process of its own.
#[expect(
    clippy::disallowed_methods,
    reason = "a process of the bench that stands beside the shims"
)]
pub(crate) fn role(words: &[&str]) -> Done<tokio::process::Command> {
    let mut command = tokio::process::Command::new(std::env::current_exe()?);
    command
        .args(words)
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true);
    Ok(command)
}

/// Runs an owner of executions to its end, and returns the line that it prints.
pub(crate) async fn owner(words: &[&str]) -> Done<String> {
    let output = role(&[&["owner"], words].concat())?
        .stderr(std::process::Stdio::inherit())
        .output()
        .await?;
    if !output.status.success() {
        return Err(format!("an owner of executions ended with {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

pub(crate) async fn until(what: &str, condition: impl Fn() -> bool) -> Done {
    let begun = Instant::now();
    while !condition() {
        if begun.elapsed() > LIMIT {
            return Err(format!("{what} never came true").into());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Ok(())
}

/// A figure of a process's `status`, in bytes.
pub(crate) fn status_bytes(pid: i32, name: &str) -> Done<u64> {
    kib_bytes(&format!("/proc/{pid}/status"), name)
}

/// The memory that a process shares with nobody and that cannot be read from a file again.
pub(crate) fn private_dirty_bytes(pid: i32) -> Done<u64> {
    kib_bytes(&format!("/proc/{pid}/smaps_rollup"), "Private_Dirty:")
}

fn kib_bytes(file: &str, name: &str) -> Done<u64> {
    let text = fs::read_to_string(file)?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kib = line
        .ok_or("the kernel does not tell")?
        .trim()
        .trim_end_matches(" kB");
    Ok(kib.parse::<u64>()? * 1024)
}

/// How long this process has been on a processor, with all threads that it has and had.
pub(crate) fn own_processor_nanos() -> Done<u64> {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Ok(u64::try_from(Duration::try_from(spent)?.as_nanos())?)
}

/// How long a shim has been on a processor: it has one thread for all its life.
pub(crate) fn shim_processor_nanos(pid: i32) -> Done<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat"))?;
    Ok(text.split(' ').next().unwrap_or_default().parse()?)
}

pub(crate) fn own_pid() -> Done<i32> {
    Ok(i32::try_from(std::process::id())?)
}

pub(crate) fn millis(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1_000.0
}

pub(crate) fn text(path: &Path) -> Done<&str> {
    Ok(path.to_str().ok_or("the directory's name is no text")?)
}
