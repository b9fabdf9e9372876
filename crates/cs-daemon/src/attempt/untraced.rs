//! Executions whose directory somebody has removed while their agents ran. Nothing there says that anything runs: the system is asked, by
//! what the ledger and the record have noted, and what still runs is ended before anything else is begun in its place.

use cs_fence::ProcessFact;
use cs_journal::{ClaimedRun, Registered, Started};
use cs_model::{Epoch, RunId};
use cs_record::{HeldProcess, LeftProcess, StoppedRun};
use cs_supervise::{
    AgentExit, Closed, ExecutionDir, NamedProcess, Noted, ProcessIdentity, ShimIdentity, UntracedEnd,
};

use super::Trouble;
use super::settle::named;
use crate::context::Context;
use crate::executions::execution_name;

/// So many executions of one attempt are looked for where no directory is left to count them.
const NUMBERS: std::ops::RangeInclusive<usize> = 1..=3;

/// Ends what runs of a registered attempt; nothing where nothing of it ever ran, as far as anybody can tell.
pub(super) async fn registered(cx: &Context, registered: &Registered) -> Result<Option<Closed>, Trouble> {
    let noted = Noted {
        dirs: vec![dir(cx, registered.dir())],
        shim: shim(registered.shim()),
        agent: None,
    };
    let ended = end(cx, noted).await?;
    if ended.found.is_empty() {
        return Ok(None);
    }
    say(cx, registered.row(), &ended);
    Ok(Some(closed(cx, ended)))
}

/// Ends what runs of an attempt whose agent had started.
pub(super) async fn started(cx: &Context, started: &Started) -> Result<Closed, Trouble> {
    let agent: Option<ProcessFact> = serde_json::from_str(started.agent()).unwrap_or_default();
    let noted = Noted {
        dirs: vec![dir(cx, started.dir())],
        shim: shim(started.shim()),
        agent: agent.as_ref().and_then(identity),
    };
    let ended = end(cx, noted).await?;
    say(cx, started.row(), &ended);
    Ok(closed(cx, ended))
}

/// Ends what runs of a run of which only the record has a process.
pub(super) async fn leftover(cx: &Context, run: &StoppedRun) -> Result<UntracedEnd, Trouble> {
    end(cx, of_record(cx, (run.run, run.epoch), Some(&run.process))).await
}

/// Ends what runs of a run that the record holds for running, and of which nothing else is left. Says whether its end is proven, and takes its
/// process off the record then.
pub(crate) async fn lost(cx: &Context, held: &HeldProcess) -> Result<bool, Trouble> {
    let ended = end(cx, of_record(cx, (held.run, held.epoch), held.process.as_ref())).await?;
    if !ended.found.is_empty() {
        cx.said(&format!(
            "run {} attempt {} of card {}: neither its ledger nor its directory is left, and something of it still ran: {}",
            held.run.short(),
            held.epoch,
            held.card.short(),
            what_became(&ended)
        ));
    }
    if ended.proof.is_none() {
        return Ok(false);
    }
    if let Some(process) = &held.process {
        forget(cx, (held.run, held.epoch), process).await?;
    }
    Ok(true)
}

/// Ends what runs of an attempt before the present one, of which no directory is left. Says whether its end is proven.
pub(super) async fn former(cx: &Context, row: &ClaimedRun, epoch: Epoch) -> Result<bool, Trouble> {
    let ended = end(cx, of_record(cx, (row.run, epoch), None)).await?;
    if !ended.found.is_empty() {
        cx.said(&format!(
            "run {} attempt {epoch} of card {}: its directory was removed, and something of it still ran: {}",
            row.run.short(),
            row.card.short(),
            what_became(&ended)
        ));
    }
    Ok(ended.proof.is_some())
}

/// Ends what still runs of an execution of which nothing is known but where its directory was.
pub(crate) async fn end_removed(cx: &Context, name: &str) -> Result<(), Trouble> {
    let noted = Noted {
        dirs: vec![dir(cx, name)],
        ..Noted::default()
    };
    let ended = end(cx, noted).await?;
    if !ended.found.is_empty() {
        cx.said(&format!(
            "the directory of execution {name} was removed, and something of it still ran: {}",
            what_became(&ended)
        ));
    }
    if ended.proof.is_some() {
        return Ok(());
    }
    Err(Trouble::Local {
        what: "something of an execution whose directory was removed is still there",
        source: std::io::ErrorKind::ResourceBusy.into(),
    })
}

/// Takes a process off the record of which nothing else is left, once its end is proven.
pub(super) async fn forget(
    cx: &Context,
    (run, epoch): (RunId, Epoch),
    process: &ProcessFact,
) -> Result<(), Trouble> {
    let left = LeftProcess {
        run,
        epoch,
        process: process.clone(),
    };
    let machines = &cx.deps.record.machines;
    let forgotten = machines.forget_process(cx.deps.machine.id, &left).await?;
    tracing::debug!(forgotten, %run, %epoch, "the process is off the record");
    cx.wake.notify_one();
    Ok(())
}

async fn end(cx: &Context, noted: Noted) -> Result<UntracedEnd, Trouble> {
    let ended = cx.deps.host.end_untraced(noted).await;
    ended.map_err(|source| Trouble::Local {
        what: "what runs of an execution whose directory is gone cannot be established",
        source,
    })
}

fn of_record(cx: &Context, (run, epoch): (RunId, Epoch), process: Option<&ProcessFact>) -> Noted {
    Noted {
        dirs: NUMBERS
            .map(|number| dir(cx, &execution_name(run, epoch, number)))
            .collect(),
        shim: None,
        agent: process.and_then(identity),
    }
}

fn dir(cx: &Context, name: &str) -> ExecutionDir {
    ExecutionDir::at(cx.state.execution(name))
}

/// The shim, as the ledger names it. One that is not understood was noted by another version: the rest must do.
fn shim(noted: &str) -> Option<ShimIdentity> {
    serde_json::from_str(noted).unwrap_or_default()
}

fn identity(process: &ProcessFact) -> Option<ProcessIdentity> {
    ProcessIdentity::noted(&process.boot_id, process.pid, process.start_ticks)
}

/// How an agent ended that nobody has seen end. It was cut short, whoever removed its directory.
fn closed(cx: &Context, ended: UntracedEnd) -> Closed {
    Closed {
        exit: AgentExit::Unknown,
        stopped_by_us: false,
        proof: ended.proof,
        leaked: Vec::new(),
        survivors: ended.survivors,
        rounds: 0,
        ended_at_unix_micros: cx.deps.clock.now().unix_micros(),
        limit: None,
        worked: None,
        dismissed_at_unix_micros: None,
    }
}

fn say(cx: &Context, row: &ClaimedRun, ended: &UntracedEnd) {
    let what = match ended.found.is_empty() {
        true => "nothing of it runs any more".to_owned(),
        false => format!("something of it still ran: {}", what_became(ended)),
    };
    cx.said(&format!(
        "run {} attempt {} of card {}: the directory of its execution was removed, and {what}",
        row.run.short(),
        row.epoch,
        row.card.short()
    ));
}

/// Says what became of what still ran.
pub(super) fn what_became(ended: &UntracedEnd) -> String {
    let names = |processes: &[NamedProcess]| processes.iter().map(named).collect::<Vec<_>>().join(", ");
    if ended.survivors.is_empty() && ended.proof.is_some() {
        return format!("{}; it was ended", names(&ended.found));
    }
    format!(
        "{}; not all of it could be ended, still there: {}",
        names(&ended.found),
        names(&ended.survivors)
    )
}
