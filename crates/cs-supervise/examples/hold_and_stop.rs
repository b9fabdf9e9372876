//! Holds an execution, lets it go, reads what it says, and stops it with everything that it started.
//!
//! `cargo run -p cs-supervise --example hold_and_stop`

use std::time::Duration;

use cs_supervise::{ExecutionDir, ExecutionSpec, Followed, Follower, ShimProgram, StopRequest, hold, shim};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    shim::run_if_requested();
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(supervise())
}

#[expect(clippy::print_stdout, reason = "an example shows what happens")]
async fn supervise() -> Result<(), Box<dyn std::error::Error>> {
    let scratch = tempfile::tempdir()?;
    let dir = ExecutionDir::create(scratch.path().join("execution"))?;
    let script = "read name; setsid sleep 1000 & echo hello $name; wait";
    let env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    let spec = ExecutionSpec::new(vec!["sh".into(), "-c".into(), script.into()], env, scratch.path());

    let held = hold(&ShimProgram::current()?, &dir, &spec).await?;
    println!(
        "held by process {}; nothing has run",
        held.identity().process.pid()
    );
    let mut running = held.go(b"world\n").await?;
    println!("the agent is process {}", running.agent().pid());
    let mut follower = Follower::open(&dir.stdout_spool(), 0, 1024)?;
    if let Followed::Record(line) = follower.next().await? {
        println!("it says: {}", String::from_utf8_lossy(&line.bytes));
    }
    let graces = StopRequest {
        interrupt_grace: Duration::ZERO,
        terminate_grace: Duration::from_secs(1),
    };
    running.stop(graces).await?;
    let closed = running.closed().await?;
    println!(
        "it ended with {:?}; proof that nothing is left: {:?}",
        closed.exit, closed.proof
    );
    Ok(())
}
