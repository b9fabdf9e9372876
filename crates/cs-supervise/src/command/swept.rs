//! A command of which nothing may stay, also where it is a program that nobody has looked at.

use std::io;
use std::time::Duration;

use super::{CommandError, CommandSpec, Finished, run};
use crate::identity::BootId;
use crate::sweep::Sweep;

/// The variable by which what a command has started is found again.
const MARK: &str = "CS_PANEL_COMMAND";
/// What is not dead so long after it was killed cannot be killed by us.
const SWEEP_LIMIT: Duration = Duration::from_secs(2);

/// Runs a command as [`run`] does, then ends what it has left behind, also what has left its process group and lost its parent. `mark` is
/// a word that no other command has had. Of what cleared its environment and has lost its parent nothing is known.
///
/// # Errors
/// See [`CommandError`]; that what stays cannot be looked for is [`CommandError::Io`].
pub async fn run_swept(spec: &CommandSpec, mark: &str) -> Result<Finished, CommandError> {
    let mut spec = spec.clone();
    spec.env.retain(|(name, _)| name != MARK);
    spec.env.push((MARK.into(), mark.into()));
    let finished = run(&spec).await;
    let mark = format!("{MARK}={mark}").into_bytes();
    let swept = tokio::task::spawn_blocking(move || sweep(mark)).await;
    let swept = swept.map_err(io::Error::other).and_then(|swept| swept);
    let finished = finished?;
    swept.map_err(|source| CommandError::Io {
        op: "sweep",
        program: spec.program.clone(),
        source,
    })?;
    Ok(finished)
}

fn sweep(mark: Vec<u8>) -> io::Result<()> {
    let left = Sweep::new(BootId::current()?, mark, Vec::new(), SWEEP_LIMIT).run()?;
    if !left.is_empty() {
        tracing::warn!(?left, "a command has left processes that cannot be ended");
    }
    Ok(())
}
