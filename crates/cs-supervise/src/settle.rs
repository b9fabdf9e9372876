//! What became of an execution whose lock is free: reads what its shim left, kills what it left behind, writes the end.

use std::io;
use std::time::Duration;

use crate::cgroup::{Cgroup, Emptiness};
use crate::clock;
use crate::closed::{AgentExit, Closed, Proof};
use crate::dir::{self, ExecutionDir, Lock};
use crate::identity::{BootId, NamedProcess, named};
use crate::sweep::Sweep;
use crate::wire::{
    Agent, CgroupRecord, ClosedRecord, Descendants, ExitRecord, Ident, Keeper, NamespaceRecord, Spec, Spent,
};

/// A process that is not dead so long after it was killed cannot be killed by us.
const SWEEP_LIMIT: Duration = Duration::from_secs(10);

/// An ended execution, and what had become of its shim.
#[derive(Debug)]
pub(crate) enum Settled {
    NeverStarted(Closed),
    Finished(Closed),
    ShimDiedClosing(Closed),
    ShimLost(Closed),
    HostRebooted(Closed),
}

impl Settled {
    pub(crate) fn into_closed(self) -> Closed {
        match self {
            Self::NeverStarted(closed)
            | Self::Finished(closed)
            | Self::ShimDiedClosing(closed)
            | Self::ShimLost(closed)
            | Self::HostRebooted(closed) => closed,
        }
    }
}

/// Takes note that a person has looked after what is left of an execution. It is settled first, and stays as it is when there is a
/// proof. The terms are those of [`settle`].
pub(crate) fn dismiss(dir: &ExecutionDir, lock: &Lock) -> io::Result<Closed> {
    let mut closed = settle(dir, lock)?.into_closed();
    if !closed.is_over() {
        closed.dismissed_at_unix_micros = Some(clock::unix_micros());
        dir.write_durably(dir::CLOSED, &ClosedRecord::from(&closed))?;
    }
    if let Some(spec) = dir.read::<Spec>(dir::SPEC)?
        && let Some(group) = group_of(dir, &spec)?
        && let Err(error) = group.remove()
    {
        // What survived may be in it.
        tracing::debug!(%error, "the control group of a dismissed execution stays");
    }
    Ok(closed)
}

/// Settles an execution. Blocks for as long as killing takes, 10 s at most.
///
/// The caller holds the execution's lock: two may find the same dead shim. An end that is not proven is written as such,
/// and the next one who looks tries again.
pub(crate) fn settle(dir: &ExecutionDir, lock: &Lock) -> io::Result<Settled> {
    settle_leaked(dir, lock, Vec::new())
}

/// Settles an execution whose agent was seen to leave these processes behind. The terms are those of [`settle`].
pub(crate) fn settle_leaked(
    dir: &ExecutionDir,
    lock: &Lock,
    leaked: Vec<NamedProcess>,
) -> io::Result<Settled> {
    let _held: &Lock = lock;
    let earlier = dir.read::<ClosedRecord>(dir::CLOSED)?.map(Closed::from);
    if let Some(closed) = earlier.clone().filter(Closed::is_over) {
        return Ok(match closed.exit {
            AgentExit::NeverStarted => Settled::NeverStarted(closed),
            _ => Settled::Finished(closed),
        });
    }
    let exit = dir.read::<ExitRecord>(dir::EXIT)?;
    let has_exit = exit.is_some();
    let held_in = match dir.read::<Ident>(dir::IDENT)? {
        Some(ident) => Some(ident.boot_id),
        None => dir
            .read::<Keeper>(dir::KEEPER)?
            .map(|keeper| keeper.process.boot_id().clone()),
    };
    // Before the prompt was stored nothing can have been started.
    let could_run = held_in.is_some() && (has_exit || dir.holds(dir::STDIN)?);
    let otherwise = if could_run {
        AgentExit::Unknown
    } else {
        AgentExit::NeverStarted
    };
    // An end that was written without a proof is taken up where it was left.
    let mut closed = match earlier {
        Some(earlier) => earlier,
        None => Closed {
            leaked,
            ..unproven(exit, otherwise, dir.read::<Spent>(dir::SPENT)?)
        },
    };

    let boot_id = BootId::current()?;
    let rebooted = could_run && held_in.is_some_and(|boot| boot != boot_id);
    if rebooted {
        closed.survivors.clear();
        closed.proof = Some(Proof::HostRebooted);
    } else {
        sweep(dir, boot_id, &mut closed)?;
    }
    dir.write_durably(dir::CLOSED, &ClosedRecord::from(&closed))?;
    Ok(match closed.exit {
        AgentExit::NeverStarted => Settled::NeverStarted(closed),
        _ if rebooted => Settled::HostRebooted(closed),
        _ if has_exit => Settled::ShimDiedClosing(closed),
        _ => Settled::ShimLost(closed),
    })
}

/// Kills what is left, as far as it can be found and killed.
fn sweep(dir: &ExecutionDir, boot_id: BootId, closed: &mut Closed) -> io::Result<()> {
    // Whoever survived then may have no cookie and be on no list.
    let survived: Vec<_> = closed.survivors.drain(..).collect();
    // Without a spec no shim can have started anything.
    if let Some(spec) = dir.read::<Spec>(dir::SPEC)? {
        let agent = dir.read::<Agent>(dir::AGENT)?.map(|agent| agent.agent);
        let namespace = dir.read::<NamespaceRecord>(dir::NAMESPACE)?;
        let listed = dir.read::<Descendants>(dir::DESCENDANTS)?.unwrap_or_default();
        let known = listed
            .processes
            .into_iter()
            .chain(survived)
            .map(|process| process.identity)
            .chain(agent)
            // It falls with its shim; with it everything does.
            .chain(namespace.iter().map(|namespace| namespace.init.clone()))
            .collect();
        let group = group_of(dir, &spec)?;
        // Should it be refused, the sweep does it alone.
        let by_group = group.as_ref().is_some_and(|group| group.kill().is_ok());
        let sweep = Sweep::new(boot_id.clone(), spec.cookie_assignment(), known, SWEEP_LIMIT);
        let mut sweep = sweep.after_a_kill_by_group(by_group);
        closed.survivors = sweep.run()?;
        closed.rounds += sweep.rounds();
        if let Some(group) = group.filter(|_| closed.survivors.is_empty()) {
            // Of what cannot be read nothing is known.
            let emptiness = group.close(SWEEP_LIMIT).unwrap_or(Emptiness::Populated);
            closed.proof = emptiness.proof(Proof::SweepClean);
            if closed.proof.is_none() {
                closed.survivors = named(&boot_id, group.members());
            }
            return Ok(());
        }
        // The kernel lets the first process of a namespace end when it is the last.
        if namespace.is_some_and(|namespace| !namespace.init.is_alive()) && closed.survivors.is_empty() {
            closed.proof = Some(Proof::NamespaceEnded);
            return Ok(());
        }
    }
    if closed.survivors.is_empty() {
        closed.proof = Some(Proof::SweepClean);
    }
    Ok(())
}

/// The control group of an execution, if it is there.
fn group_of(dir: &ExecutionDir, spec: &Spec) -> io::Result<Option<Cgroup>> {
    let record = dir.read::<CgroupRecord>(dir::CGROUP)?;
    // Another name would be another's group.
    let ours = record.filter(|record| record.path.ends_with(spec.cgroup_name()));
    Ok(ours.map(|record| Cgroup::at(record.path)).filter(Cgroup::exists))
}

fn unproven(exit: Option<ExitRecord>, otherwise: AgentExit, spent: Option<Spent>) -> Closed {
    let limit = exit.as_ref().and_then(|record| record.limit);
    let worked_ms = match &exit {
        Some(record) => record.worked_ms,
        None => spent.map(|spent| spent.worked_ms),
    };
    let (exit, stopped_by_us, ended_at_unix_micros) = match exit {
        Some(record) => (record.exit, record.stopped_by_us, record.ended_at_unix_micros),
        None => (otherwise, false, clock::unix_micros()),
    };
    Closed {
        exit,
        stopped_by_us,
        proof: None,
        leaked: Vec::new(),
        survivors: Vec::new(),
        rounds: 0,
        ended_at_unix_micros,
        limit,
        worked: worked_ms.map(Duration::from_millis),
        dismissed_at_unix_micros: None,
    }
}
