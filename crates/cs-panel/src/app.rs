//! What every command is given, and what it opens when it needs it.

use std::path::PathBuf;

use cs_daemon::control::Poked;
use cs_daemon::{StateDir, StateError};
use cs_model::{Clock, MachineId, Person, Time};
use cs_worktree::{Git, GitSetup, Identity, OUTPUT_MAX_BYTES, Transport, WorktreeError};

use crate::checkouts::Checkouts;
use crate::cli::Global;
use crate::config::Config;
use crate::env::Env;
use crate::failure::Failure;
use crate::machine;
use crate::os::{SystemClock, SystemIds};
use crate::out::Out;
use crate::record::{self, Place, Ports};
use crate::{log, os};

/// What a command is given.
#[derive(Debug, Clone)]
pub(crate) struct App {
    /// What the process was started with.
    pub(crate) env: Env,
    /// Where results go.
    pub(crate) out: Out,
    /// The flags that every command takes.
    pub(crate) global: Global,
    /// What is taken for the configuration, where its file cannot be read and the command must do without.
    defaults: Option<Config>,
}

/// An opened state directory with its record.
#[derive(Debug)]
pub(crate) struct Desk {
    /// The state directory.
    pub(crate) state: StateDir,
    /// This machine.
    pub(crate) machine: MachineId,
    /// The record.
    pub(crate) ports: Ports,
    /// Where the record is.
    pub(crate) record: Place,
    /// The checkouts of this machine.
    pub(crate) checkouts: Checkouts,
}

impl App {
    /// Takes what the process was started with.
    pub(crate) fn new(env: Env, out: Out, global: Global) -> Self {
        Self {
            env,
            out,
            global,
            defaults: None,
        }
    }

    /// The same for a command that must work whatever is wrong with the configuration file, such as one that stops something: where the
    /// file cannot be read, that is said, and its defaults hold.
    pub(crate) fn forgiving(&self) -> Self {
        let Err(failure) = self.config() else {
            return self.clone();
        };
        let why = failure.text().unwrap_or_default();
        self.out.said(&format!(
            "the configuration cannot be read, its defaults are used for this command: {why}"
        ));
        Self {
            defaults: Some(Config::defaults(&self.env, self.global.config.as_deref())),
            ..self.clone()
        }
    }

    /// Says whether the configuration file says what this command takes for its configuration.
    pub(crate) fn knows_config(&self) -> bool {
        self.defaults.is_none()
    }

    /// Returns the present time.
    pub(crate) fn now(&self) -> Time {
        SystemClock.now()
    }

    /// Reads the configuration file.
    ///
    /// # Errors
    /// See [`Config::read`].
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        if let Some(defaults) = &self.defaults {
            return Ok(defaults.clone());
        }
        Config::read(&self.env, self.global.config.as_deref())
    }

    /// Opens the state directory: the flag, `CS_PANEL_STATE_DIR`, or the user's own.
    ///
    /// # Errors
    /// It cannot be used, or the log cannot be begun.
    pub(crate) fn state(&self) -> Result<StateDir, Failure> {
        let state = StateDir::open(&self.state_path())?;
        log::begin(&state.log(), self.env.log.as_deref())?;
        Ok(state)
    }

    /// Opens the state directory, or where it cannot be written names it to read it, and says so.
    ///
    /// # Errors
    /// It is not there, or the log cannot be begun in one that can be written.
    pub(crate) fn state_to_read(&self) -> Result<StateDir, Failure> {
        let path = self.state_path();
        match StateDir::open(&path) {
            Ok(state) => {
                log::begin(&state.log(), self.env.log.as_deref())?;
                Ok(state)
            }
            Err(error) => {
                let Ok(state) = StateDir::at(&path) else {
                    return Err(error.into());
                };
                let why = Failure::from(error).text().unwrap_or_default();
                self.out.said(&format!("{why}; it is only read"));
                Ok(state)
            }
        }
    }

    fn state_path(&self) -> PathBuf {
        let given = self.global.state_dir.as_ref().or(self.env.state_dir.as_ref());
        given.map_or_else(
            || self.env.state_home.join("cs-panel"),
            |path| self.env.absolute(path),
        )
    }

    /// Says where the flag or the environment puts the record; nothing means the file in the state directory.
    ///
    /// # Errors
    /// See [`record::place`].
    pub(crate) async fn record_place(&self) -> Result<Option<Place>, Failure> {
        record::place(&self.env, self.global.database_url.as_deref()).await
    }

    /// Opens the state directory and the record.
    ///
    /// # Errors
    /// The database URL, the state directory, the machine's id or the database cannot be used.
    pub(crate) async fn desk(&self) -> Result<Desk, Failure> {
        let place = self.record_place().await?;
        let state = self.state()?;
        let machine = machine::machine_id(&state.machine(), &SystemIds)?;
        let record = match place {
            Some(place) => place,
            None => {
                record::refuse_emptied(&state)?;
                Place::File(state.record())
            }
        };
        let ports = record::open(&record).await?;
        let checkouts = Checkouts::new(state.checkouts());
        Ok(Desk {
            state,
            machine,
            ports,
            record,
            checkouts,
        })
    }

    /// Tells this machine's daemon that the record changed; where none runs, says how one is started.
    pub(crate) async fn wake(&self, desk: &Desk) {
        if cs_daemon::control::poke(&desk.state).await == Poked::NoDaemon {
            self.out
                .said("no daemon runs here yet: `cs-panel run` starts one, which carries this out");
        }
    }

    /// Finds the git program.
    ///
    /// # Errors
    /// It is not there, or too old.
    pub(crate) async fn git(&self, state: &StateDir) -> Result<Git, Failure> {
        let setup = GitSetup {
            path: self.env.path.clone(),
            home: self.env.home.clone(),
            xdg_config_home: self.env.xdg_config_home.clone(),
            state_dir: state.root().to_owned(),
            identity: Identity::default(),
            transport: Transport::from_environment(self.env.all.iter().map(|(name, value)| (name, value))),
            output_max_bytes: OUTPUT_MAX_BYTES,
        };
        Ok(Git::probe(setup).await?)
    }

    /// Says who acts: `person` of the configuration, else git's `user.email`, else the login name.
    ///
    /// # Errors
    /// The configuration file is broken.
    pub(crate) async fn person(&self, state: &StateDir) -> Result<Person, Failure> {
        if let Some(person) = self.config()?.person {
            return Ok(person);
        }
        let from_git = match self.git(state).await {
            Ok(git) => git.user_email().await.ok().flatten(),
            Err(_) => None,
        };
        let candidates = from_git.into_iter().chain(self.env.login.clone());
        let person = candidates.filter_map(|name| name.parse().ok()).next();
        let numbered = || format!("user-{}", os::user_number()).parse();
        person
            .map_or_else(numbered, Ok)
            .map_err(|error| Failure::plain(format!("{error}; set `person` in the configuration file")))
    }
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        match error {
            StateError::Busy { .. } => Self::Refused(error.to_string()),
            StateError::Unusable { .. } | StateError::NoLocks { .. } => Self::Failed(error.into()),
        }
    }
}

impl From<WorktreeError> for Failure {
    fn from(error: WorktreeError) -> Self {
        if matches!(error, WorktreeError::NotARepository { .. }) {
            return Self::Usage(error.to_string());
        }
        match error.class() {
            cs_worktree::ErrorClass::Invalid => Self::Usage(format!("{:#}", anyhow::Error::new(error))),
            cs_worktree::ErrorClass::Conflict => Self::Refused(format!("{:#}", anyhow::Error::new(error))),
            cs_worktree::ErrorClass::NotFound
            | cs_worktree::ErrorClass::Transient
            | cs_worktree::ErrorClass::Corrupt => Self::Failed(error.into()),
        }
    }
}
