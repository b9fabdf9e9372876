//! Holds an execution, lets it go, reads what it says, and stops it with everything that it started.
#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use std::time::Duration;

use cs_supervise::{ExecutionDir, ExecutionSpec, Followed, Follower, ShimProgram, StopRequest, hold, shim};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    shim::run_if_requested();
    tokio::runtime::Runtime::new()?.block_on(supervise())
}

async fn supervise() -> Result<(), Box<dyn std::error::Error>> {
    let scratch = tempfile::tempdir()?;
    let dir = ExecutionDir::create(scratch.path().join("execution"))?;
    let script = "read name; setsid sleep 1000 & echo hello $name; wait";
    let env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    let argv = vec!["sh".into(), "-c".into(), script.into()];
    let spec = ExecutionSpec::new(argv, env, scratch.path());

    let held = hold(&ShimProgram::current()?, &dir, &spec).await?;
    println!("process {} holds it", held.identity().process.pid());
    let mut running = held.go(b"world\n").await?;
    println!("process {} is the agent", running.agent().pid());
    let mut follower = Follower::open(&dir.stdout_spool(), 0, 1024)?;
    if let Followed::Record(line) = follower.next().await? {
        println!("it says: {}", String::from_utf8_lossy(&line.bytes));
    }
    running
        .stop(StopRequest::terminate(Duration::from_secs(1)))
        .await?;
    let closed = running.closed().await?;
    println!("its end: {:?}", closed.exit);
    println!("nothing is left of it: {:?}", closed.proof);
    Ok(())
}
