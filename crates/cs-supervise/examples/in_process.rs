//! The same as `hold_and_stop`, without a shim: this process is the only one beside the agent's. Were it killed, the agent would go on
//! until somebody surveys its directory.
#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use std::time::Duration;

use cs_supervise::{
    Execution, ExecutionDir, ExecutionSpec, Followed, Follower, StopRequest, hold_in_process,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scratch = tempfile::tempdir()?;
    let dir = ExecutionDir::create(scratch.path().join("execution"))?;
    let script = "read name; setsid sleep 1000 & echo hello $name; wait";
    let env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    let argv = vec!["sh".into(), "-c".into(), script.into()];
    let spec = ExecutionSpec::new(argv, env, scratch.path());

    let held = hold_in_process(&dir, &spec).await?;
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
    println!("nothing is left of it, as far as can be seen: {:?}", closed.proof);
    Ok(())
}
