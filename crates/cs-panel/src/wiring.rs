//! Puts a daemon together from what this machine and its configuration say.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cs_daemon::{
    Borders, Checkouts, Deps, GitTrees, MachineIdentity, MachineLeftovers, PROBE_LIMIT, Reporter, Settings,
    ShimExecutions, ThisHost,
};
use cs_secrets::{MachineSecrets, Prefer, SystemKeyring};
use cs_supervise::ShimProgram;
use cs_worktree::Worktrees;

use crate::app::{App, Desk};
use crate::config::{Config, RereadAgents, SecretsIn, Serve};
use crate::env::Env;
use crate::failure::Failure;
use crate::os::{self, SystemClock, SystemIds};
use crate::out::Out;
use crate::record::Place;

/// What agents get of the environment, beside everything that begins with `LC_`.
const AGENT_ENV: [&str; 29] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NIX_SSL_CERT_FILE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "CARGO_HOME",
    "RUSTUP_HOME",
];

impl Reporter for Out {
    fn out(&self, line: &str) {
        // A reader that left takes nothing from the daemon: its agents matter more than its lines.
        if let Err(error) = self.line(line) {
            tracing::debug!(?error, "standard output is gone");
        }
    }

    fn said(&self, line: &str) {
        Self::said(*self, line);
    }
}

/// Gives a daemon what it needs.
///
/// # Errors
/// Git is missing or too old, the configuration is broken, or a border for tests is unknown.
pub(crate) async fn deps(app: &App, desk: &Desk, config: &Config, slots: u32) -> Result<Deps, Failure> {
    let git = app.git(&desk.state).await?;
    let shim = ShimProgram::current()
        .map_err(|error| Failure::failed(error, "this program cannot be opened again"))?;
    // Many agents at once need many descriptors; what they start themselves has what it would have without us.
    let shim = match os::raise_open_files() {
        Some(usual) => shim.with_open_files(usual),
        None => shim,
    };
    let machine = MachineIdentity {
        id: desk.machine,
        name: os::host_name(),
        person: app.person(&desk.state).await?,
        serves_everyone: config.serve == Serve::Everyone || matches!(desk.record, Place::File(_)),
    };
    let checkouts: Arc<dyn Checkouts> = Arc::new(desk.checkouts.clone());
    let worktrees = Worktrees::new(desk.state.git(), git);
    let trees = Arc::new(GitTrees::new(worktrees.clone(), Arc::clone(&checkouts)));
    Ok(Deps {
        record: desk.ports.daemon.clone(),
        machine,
        agents: Arc::new(RereadAgents::new(app, config)),
        checkouts,
        leftovers: Arc::new(MachineLeftovers::new(
            desk.state.clone(),
            worktrees,
            desk.ports.reads.clone(),
        )),
        trees: trees.clone(),
        landings: trees,
        executions: Arc::new(ShimExecutions::new(desk.state.clone(), shim)),
        host: Arc::new(host(&app.env, desk.state.root())),
        secrets: Arc::new(secrets(app, desk)?),
        agent_env: agent_env(&app.env, &config.pass_env),
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        reporter: Arc::new(app.out),
        settings: settings(&desk.record, slots),
        borders: borders(app.env.crash_at.as_deref())?,
    })
}

/// The secrets of this machine: what the environment or the configuration says, else in the keyring where there may be one.
///
/// # Errors
/// The environment says what nobody understands, or the configuration is broken.
pub(crate) fn secrets(app: &App, desk: &Desk) -> Result<MachineSecrets, Failure> {
    let prefer = match app.env.secrets.as_deref() {
        Some("keyring") => Prefer::Keyring,
        Some("file") => Prefer::File,
        Some(other) => {
            return Err(Failure::Usage(format!(
                "CS_PANEL_SECRETS says `{other}`, expected `keyring` or `file`"
            )));
        }
        None => match app.config()?.secrets {
            Some(SecretsIn::Keyring) => Prefer::Keyring,
            Some(SecretsIn::File) => Prefer::File,
            None if app.env.has_session => Prefer::Keyring,
            None => Prefer::File,
        },
    };
    let scope = desk.machine.to_string();
    Ok(MachineSecrets::new(
        desk.state.root(),
        scope,
        prefer,
        Arc::new(SystemKeyring),
    ))
}

/// A server says when its record changed, so that looking is for what got lost; while it does not, it is `run` that wakes the daemon.
fn settings(record: &Place, slots: u32) -> Settings {
    let usual = Settings::default();
    Settings {
        slots,
        fallback_interval: match record {
            Place::File(_) => usual.fallback_interval,
            Place::Server(_) => Duration::from_secs(30),
        },
        bridge: os::this_program(),
        ..usual
    }
}

/// This machine, with a disk under this directory.
pub(crate) fn host(env: &Env, state: impl Into<PathBuf>) -> ThisHost {
    ThisHost::new(state).answered_within(env.probe_limit.unwrap_or(PROBE_LIMIT))
}

/// The environment of agents: an allow-list, and what the configuration names.
pub(crate) fn agent_env(env: &Env, pass: &[String]) -> Vec<(OsString, OsString)> {
    let passes = |name: &OsString| {
        let name = name.to_string_lossy();
        name.starts_with("LC_")
            || AGENT_ENV.contains(&name.as_ref())
            || pass.iter().any(|named| *named == name)
    };
    env.all.iter().filter(|(name, _)| passes(name)).cloned().collect()
}

fn borders(name: Option<&str>) -> Result<Borders, Failure> {
    let Some(name) = name else {
        return Ok(Borders::none());
    };
    match Borders::named(name) {
        Some(border) => Ok(Borders::crash_at(border)),
        None => Err(Failure::Usage(format!(
            "CS_PANEL_CRASH_AT names no border of the protocols (`{name}`), expected one such as P7 or L3"
        ))),
    }
}
