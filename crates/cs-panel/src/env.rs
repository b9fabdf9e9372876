//! What the process was started with, read once. Nothing else asks the operating system for it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use etcetera::BaseStrategy;

use crate::failure::Failure;

/// The environment of this process.
#[derive(Debug, Clone)]
pub(crate) struct Env {
    /// The directory in which the command was started.
    pub(crate) cwd: PathBuf,
    /// The home directory.
    pub(crate) home: PathBuf,
    /// `PATH`; empty when it is not set.
    pub(crate) path: OsString,
    /// `XDG_CONFIG_HOME` as it was set: git reads it too.
    pub(crate) xdg_config_home: Option<PathBuf>,
    /// Where configuration lives: `XDG_CONFIG_HOME`, or `.config` below the home directory.
    pub(crate) config_home: PathBuf,
    /// Where state lives: `XDG_STATE_HOME`, or `.local/state` below the home directory.
    pub(crate) state_home: PathBuf,
    /// `CS_PANEL_STATE_DIR`.
    pub(crate) state_dir: Option<PathBuf>,
    /// `CS_PANEL_DATABASE_URL`.
    pub(crate) database_url: Option<String>,
    /// `CS_PANEL_DATABASE_PASSWORD_COMMAND`.
    pub(crate) database_password_command: Option<String>,
    /// `CS_PANEL_SECRETS`.
    pub(crate) secrets: Option<String>,
    /// Whether there may be a keyring: the session of a desktop is here, or this system always has one.
    pub(crate) has_session: bool,
    /// `CS_PANEL_LOG`.
    pub(crate) log: Option<String>,
    /// `PAGER` as it was set, also when it is empty.
    pub(crate) pager: Option<OsString>,
    /// Whether a terminal is to get no colour: `NO_COLOR` is set, or `TERM` is `dumb`.
    pub(crate) no_color: bool,
    /// The person's shell: `SHELL`.
    pub(crate) shell: Option<PathBuf>,
    /// `COLUMNS`, when it is a number.
    pub(crate) columns: Option<u16>,
    /// `CS_PANEL_CRASH_AT`, in a build with debug assertions only: the border of the protocols at which a test ends the daemon
    /// (docs/adr/0003).
    pub(crate) crash_at: Option<String>,
    /// `CS_PANEL_PROBE_SECONDS`, in a build with debug assertions only: how long a test lets agent programs take for an answer.
    pub(crate) probe_limit: Option<Duration>,
    /// Where temporary files go: `TMPDIR`, or `/tmp`.
    pub(crate) temp_dir: PathBuf,
    /// The login name: `USER` or `LOGNAME`.
    pub(crate) login: Option<String>,
    /// All variables, for what is handed on.
    pub(crate) all: Vec<(OsString, OsString)>,
}

/// A variable of the environment, for what leads an agent and needs nothing else of it.
#[expect(clippy::disallowed_methods, reason = "this is where the environment is read")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl Env {
    /// Reads the environment.
    ///
    /// # Errors
    /// There is no home directory, or the current directory is gone.
    #[expect(clippy::disallowed_methods, reason = "this is where the environment is read")]
    pub(crate) fn read() -> Result<Self, Failure> {
        let cwd = std::env::current_dir().map_err(|error| {
            Failure::failed(
                error,
                "the current directory cannot be used; change to one that exists",
            )
        })?;
        let base = etcetera::base_strategy::Xdg::new()
            .map_err(|error| Failure::failed(error, "there is no home directory; set HOME"))?;
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let text = |name: &str| set(name).map(|value| value.to_string_lossy().into_owned());
        Ok(Self {
            cwd,
            home: base.home_dir().to_owned(),
            path: set("PATH").unwrap_or_default(),
            xdg_config_home: set("XDG_CONFIG_HOME")
                .map(PathBuf::from)
                .filter(|path| path.is_absolute()),
            config_home: base.config_dir(),
            state_home: base
                .state_dir()
                .unwrap_or_else(|| base.home_dir().join(".local/state")),
            state_dir: set("CS_PANEL_STATE_DIR").map(PathBuf::from),
            database_url: text("CS_PANEL_DATABASE_URL"),
            database_password_command: text("CS_PANEL_DATABASE_PASSWORD_COMMAND"),
            secrets: text("CS_PANEL_SECRETS"),
            has_session: cfg!(target_os = "macos") || set("DBUS_SESSION_BUS_ADDRESS").is_some(),
            log: text("CS_PANEL_LOG"),
            pager: std::env::var_os("PAGER"),
            no_color: set("NO_COLOR").is_some() || set("TERM").is_some_and(|term| term == "dumb"),
            shell: set("SHELL").map(PathBuf::from),
            columns: text("COLUMNS").and_then(|columns| columns.parse().ok()),
            crash_at: text("CS_PANEL_CRASH_AT").filter(|_| cfg!(debug_assertions)),
            probe_limit: text("CS_PANEL_PROBE_SECONDS")
                .filter(|_| cfg!(debug_assertions))
                .and_then(|seconds| seconds.parse().ok())
                .map(Duration::from_secs),
            temp_dir: std::env::temp_dir(),
            login: text("USER").or_else(|| text("LOGNAME")),
            all: std::env::vars_os().collect(),
        })
    }

    /// Makes a path of a person absolute, from where the command was started.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        self.cwd.join(path).components().collect()
    }
}
