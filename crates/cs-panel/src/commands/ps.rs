//! `ps`: the executions of this machine. It reads their directories, asks live shims whether their agents stand still, and neither the
//! daemon nor the record.

use std::fs;
use std::io;

use clap::Args;
use cs_daemon::{AttemptFile, StateDir, VerifyFile};
use cs_model::{Epoch, RunId, Time};
use cs_supervise::{Closed, ExecutionDir, Glance, Life, NamedProcess, Proof, Tier, glance};
use serde::Serialize;

use crate::app::App;
use crate::failure::Failure;
use crate::standstill::Standstill;
use crate::text;

#[derive(Debug, Args)]
pub(crate) struct PsArgs {
    /// Those too of which nothing is left.
    #[arg(long)]
    all: bool,
}

/// An execution as it is printed.
#[derive(Debug, Serialize)]
pub(super) struct ExecutionWire {
    pub(super) name: String,
    card: Option<String>,
    agent: Option<String>,
    /// The landing whose merge is verified there, where it is no agent's.
    landing: Option<String>,
    pub(super) state: &'static str,
    pid: Option<i32>,
    shim_pid: Option<i32>,
    started_at: Option<Time>,
    tier: &'static str,
    pub(super) proof: Option<&'static str>,
    processes: Option<u32>,
    memory_bytes: Option<u64>,
    output_bytes: u64,
    last_output_at: Option<Time>,
    pub(super) survivors: Vec<ProcessWire>,
    /// Why its agent stands still, if it does.
    paused: Option<Standstill>,
    #[serde(skip)]
    is_over: bool,
    #[serde(skip)]
    attempt: Option<(RunId, Epoch)>,
}

/// The state of an execution whose shim lives.
const ALIVE: &str = "alive";

/// A process that could not be ended.
#[derive(Debug, Serialize)]
pub(super) struct ProcessWire {
    pid: i32,
    name: String,
}

impl ProcessWire {
    fn new(process: &NamedProcess) -> Self {
        Self {
            pid: process.identity.pid(),
            name: process.name.clone(),
        }
    }

    /// Names it for people.
    pub(super) fn words(&self) -> String {
        format!("{} (pid {})", self.name, self.pid)
    }
}

/// Carries out `ps`.
pub(crate) async fn ps(app: &App, args: &PsArgs) -> Result<(), Failure> {
    let state = app.state_to_read()?;
    let mut executions = Vec::new();
    for name in names(&state)? {
        let dir = ExecutionDir::at(state.execution(&name));
        match look(&name, &dir) {
            Ok(execution) if execution.is_over && !args.all => {}
            Ok(mut execution) => {
                if let (true, Some((run, epoch))) = (execution.state == ALIVE, execution.attempt) {
                    execution.paused = Standstill::of(&state, run, epoch).await;
                }
                executions.push(execution);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => app.out.said(&format!(
                "execution {name} cannot be read: {error}; its directory is {}",
                dir.path().display()
            )),
        }
    }
    if app.global.json {
        return app.out.json(&executions);
    }
    if executions.is_empty() {
        let more = if args.all {
            ""
        } else {
            " (`--all` lists those of which nothing is left)"
        };
        app.out.said(&format!("no executions{more}"));
        return Ok(());
    }
    let now = app.now();
    let head = [
        "EXECUTION",
        "CARD",
        "STATE",
        "PID",
        "AGE",
        "PROOF",
        "MEMORY",
        "OUTPUT",
    ];
    app.out
        .table(&head, executions.iter().map(|it| row(it, now)).collect())?;
    for left in executions.iter().filter(|it| it.state == "stop_incomplete") {
        app.out.said(&format!("execution {}: {}", left.name, cure(left)));
    }
    Ok(())
}

/// Says what is to be done about an execution that could not be ended.
pub(super) fn cure(execution: &ExecutionWire) -> String {
    let left: Vec<String> = execution.survivors.iter().map(ProcessWire::words).collect();
    let what = if left.is_empty() {
        "something of it could not be ended and cannot be named".to_owned()
    } else {
        format!("these could not be ended: {}", left.join(", "))
    };
    format!(
        "{what}; end them, or look after them and say so with `cs-panel execution dismiss {}`",
        execution.name
    )
}

/// Lists the names of all executions of a state directory, in their order.
pub(crate) fn names(state: &StateDir) -> Result<Vec<String>, Failure> {
    let path = state.executions();
    let unread = |error: io::Error| Failure::failed(error, format!("{} cannot be listed", path.display()));
    let entries = match fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unread(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(unread)?;
        // A name that is no text is none that we gave.
        names.extend(entry.file_name().into_string().ok());
    }
    names.sort();
    Ok(names)
}

/// Looks at one execution.
pub(super) fn look(name: &str, dir: &ExecutionDir) -> io::Result<ExecutionWire> {
    let seen = glance(dir)?;
    let row = AttemptFile::read(dir).map(|attempt| attempt.row);
    let verify = VerifyFile::read(dir);
    let card = row
        .as_ref()
        .map(|row| row.card)
        .or(verify.as_ref().map(|it| it.card));
    let closed = closed_of(&seen);
    let load = match &seen.life {
        Life::Alive(load) => Some(*load),
        Life::Unheld | Life::Lost | Life::Incomplete(_) | Life::Over(_) => None,
    };
    Ok(ExecutionWire {
        name: name.to_owned(),
        card: card.map(|card| card.short()),
        agent: row.as_ref().map(|row| row.agent.to_string()),
        landing: verify.map(|verify| verify.landing.short()),
        state: state_of(&seen),
        pid: seen.agent.as_ref().map(cs_supervise::ProcessIdentity::pid),
        shim_pid: seen.shim.as_ref().map(cs_supervise::ProcessIdentity::pid),
        started_at: seen.started_at_unix_micros.map(Time::from_unix_micros),
        tier: match seen.tier {
            Tier::Cgroup => "cgroup",
            Tier::Subreaper => "subreaper",
            Tier::Namespace => "namespace",
            Tier::InProcess => "in_process",
        },
        proof: closed.and_then(|closed| closed.proof).map(proof_name),
        processes: load.map(|load| load.processes),
        memory_bytes: load.map(|load| load.memory_bytes),
        output_bytes: seen.output_bytes,
        last_output_at: seen.last_output_unix_micros.map(Time::from_unix_micros),
        survivors: closed
            .map(|closed| closed.survivors.iter().map(ProcessWire::new).collect())
            .unwrap_or_default(),
        paused: None,
        is_over: matches!(seen.life, Life::Over(_)),
        attempt: row.as_ref().map(|row| (row.run, row.epoch)),
    })
}

fn closed_of(seen: &Glance) -> Option<&Closed> {
    match &seen.life {
        Life::Incomplete(closed) | Life::Over(closed) => Some(closed),
        Life::Unheld | Life::Alive(_) | Life::Lost => None,
    }
}

fn state_of(seen: &Glance) -> &'static str {
    match &seen.life {
        Life::Unheld => "not_started",
        // Its shim may be long about it, such as on a full disk.
        Life::Alive(_) if seen.agent.as_ref().is_some_and(|agent| !agent.is_alive()) => "ending",
        Life::Alive(_) => ALIVE,
        Life::Lost => "lost",
        Life::Incomplete(_) => "stop_incomplete",
        Life::Over(closed) if closed.proof.is_none() => "dismissed",
        Life::Over(_) => "closed",
    }
}

fn proof_name(proof: Proof) -> &'static str {
    match proof {
        Proof::HostRebooted => "host_rebooted",
        Proof::NamespaceEnded => "namespace_ended",
        Proof::CgroupEmpty => "cgroup_empty",
        Proof::SubreaperEmpty => "subreaper_empty",
        Proof::SweepClean => "sweep_clean",
    }
}

fn row(execution: &ExecutionWire, now: Time) -> Vec<String> {
    let dash = || "-".to_owned();
    let shown = |text: Option<String>| text.unwrap_or_else(dash);
    vec![
        execution.name.clone(),
        shown(execution.card.clone()),
        execution
            .paused
            .as_ref()
            .map_or_else(|| execution.state.replace('_', " "), |still| still.words(now)),
        shown(execution.pid.map(|pid| pid.to_string())),
        shown(execution.started_at.map(|then| text::span(now, then))),
        execution.proof.unwrap_or(execution.tier).replace('_', " "),
        shown(execution.memory_bytes.map(mib)),
        shown(execution.last_output_at.map(|then| text::ago(now, then))),
    ]
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}
