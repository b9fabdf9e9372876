//! A stop that the record cannot be told, such as on a full disk: what runs of the card here is ended all the same. The daemon that follows
//! it, or the next one, finds that it was stopped, and tells the record as soon as it can.

use std::time::Duration;

use cs_supervise::{Closed, ExecutionDir, Life, StopError, StopRequest, Stopper, Verdict, glance, survey};
use tokio::task::JoinSet;

use crate::app::App;
use crate::failure::Failure;
use crate::here::{self, Live};
use crate::standstill::SHIM_PATIENCE;
use crate::text;

/// How often it is looked whether anything of an agent is left, beside waiting for its shim's word.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Ends what runs of a card on this machine, and says that the record does not know.
///
/// # Errors
/// Always: the record does not know.
pub(super) async fn stop(app: &App, card: &str, why: Failure) -> Result<(), Failure> {
    let state = app.state_to_read()?;
    let running = here::live(&state, card)?;
    let why = why.text().unwrap_or_default();
    if running.is_empty() {
        return Err(Failure::plain(format!(
            "card {card} was not stopped: {why}; no agent of it runs on this machine"
        )));
    }
    let count = running.len();
    let mut stops = JoinSet::new();
    for Live { name, dir, .. } in running {
        stops.spawn(async move { (name, end(&dir).await) });
    }
    let mut left = Vec::new();
    while let Some(stopped) = stops.join_next().await {
        match stopped {
            Ok((_, Ok(()))) => {}
            Ok((name, Err(why))) => left.push(format!("execution {name}: {why}")),
            Err(error) => left.push(error.to_string()),
        }
    }
    if left.is_empty() {
        return Err(Failure::plain(format!(
            "{} of card {card} ended, but the record could not be told: {why}; the daemon tells it once that is mended, or say `cs-panel \
             stop {card}` again then",
            text::count(count, "agent")
        )));
    }
    Err(Failure::plain(format!(
        "card {card} is not stopped, and the record could not be told: {why}; this is not proven closed:\n  {}",
        left.join("\n  ")
    )))
}

/// Ends an execution. Its shim says so once it could write the end down, which a full disk keeps it from: so it is looked as well whether any
/// process is left beside it.
async fn end(dir: &ExecutionDir) -> Result<(), String> {
    let stopper = match survey(dir, SHIM_PATIENCE).await {
        Ok(Verdict::Adopted(running)) => running.stopper(),
        Ok(Verdict::Waiting(waiting)) => waiting.stopper(),
        Ok(Verdict::ShimHung(hung)) => return proven(&hung.end().await.map_err(|error| error.to_string())?),
        Ok(Verdict::InProcess(_)) => return Err("it has no shim: whoever started it holds it".to_owned()),
        Ok(Verdict::ForeignShim) => return Err("something else answers in the place of its shim".to_owned()),
        Ok(
            Verdict::NeverStarted(closed)
            | Verdict::Finished(closed)
            | Verdict::ShimDiedClosing(closed)
            | Verdict::ShimLost(closed)
            | Verdict::HostRebooted(closed),
        ) => return proven(&closed),
        Err(error) => return Err(error.to_string()),
    };
    tokio::select! {
        stopped = stop_by(&stopper) => proven(&stopped.map_err(|error| error.to_string())?),
        () = nothing_but_its_shim(dir) => Ok(()),
    }
}

async fn stop_by(stopper: &Stopper) -> Result<Closed, StopError> {
    stopper.stop(StopRequest::default()).await
}

/// Returns when no process of an execution is there any more beside its shim.
async fn nothing_but_its_shim(dir: &ExecutionDir) {
    let mut look = tokio::time::interval(LOOK_EVERY);
    loop {
        look.tick().await;
        let life = glance(dir).map(|seen| seen.life);
        if matches!(life, Ok(Life::Alive(load)) if load.processes == 1) {
            return;
        }
    }
}

fn proven(closed: &Closed) -> Result<(), String> {
    if closed.is_over() {
        return Ok(());
    }
    let names = closed.survivors.iter().map(|left| left.name.clone());
    Err(format!("still there: {}", names.collect::<Vec<_>>().join(", ")))
}
