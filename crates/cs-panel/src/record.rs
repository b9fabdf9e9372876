//! The record of this command: where it is, and the ports that a command uses.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cs_daemon::{RecordPorts, StateDir};
use cs_postgres::{OpenError, PostgresStore, Settings};
use cs_record::{
    Attachments, CardReads, Codebases, Events, Housekeeping, Machines, PeopleActs, Record, RowStore,
    StandingRules,
};
use cs_sqlite::SqliteStore;
use cs_worktree::plain;

use crate::env::Env;
use crate::failure::Failure;
use crate::os::{SystemClock, SystemIds};
use crate::password;

/// The ports of the record that commands use. One store stands behind all of them.
#[derive(Debug, Clone)]
pub(crate) struct Ports {
    /// What people do.
    pub(crate) acts: Arc<dyn PeopleActs>,
    /// What people see.
    pub(crate) reads: Arc<dyn CardReads>,
    /// The codebases.
    pub(crate) codebases: Arc<dyn Codebases>,
    /// Files of cards.
    pub(crate) attachments: Arc<dyn Attachments>,
    /// Standing rules.
    pub(crate) standing: Arc<dyn StandingRules>,
    /// What happened.
    pub(crate) events: Arc<dyn Events>,
    /// Machines, pauses and limits.
    pub(crate) machines: Arc<dyn Machines>,
    /// What the record forgets.
    pub(crate) housekeeping: Arc<dyn Housekeeping>,
    /// What a daemon needs.
    pub(crate) daemon: RecordPorts,
}

/// Where the record is.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// A file of this machine.
    File(PathBuf),
    /// A Postgres server.
    Server(Box<Settings>),
}

/// What is understood as the URL of a record.
const EXPECTED: &str =
    "expected sqlite:PATH or postgres://USER@HOST/DATABASE (--database-url or CS_PANEL_DATABASE_URL)";

/// Reads the URL of a record: nothing means the file in the state directory.
///
/// # Errors
/// It is no URL of a record, or the command that tells the password fails.
pub(crate) async fn place(env: &Env, given: Option<&str>) -> Result<Option<Place>, Failure> {
    let Some(url) = given.or(env.database_url.as_deref()) else {
        return Ok(None);
    };
    // The rest of a URL may hold a password: only its scheme is said.
    match url.split_once(':') {
        Some(("sqlite", path)) => {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() || path.contains('?') {
                return Err(Failure::Usage(
                    "the database URL names no file, expected sqlite:PATH without parameters".to_owned(),
                ));
            }
            Ok(Some(Place::File(env.absolute(Path::new(path)))))
        }
        Some(("postgres" | "postgresql", _)) => {
            refuse_odd_password_files(env)?;
            let settings: Settings = url.parse()?;
            let settings = match password::from_command(env).await? {
                Some(password) => settings.with_password(&password),
                None => settings,
            };
            Ok(Some(Place::Server(Box::new(settings))))
        }
        _ => Err(Failure::Usage(format!(
            "the database URL is not understood, {EXPECTED}"
        ))),
    }
}

/// Refuses what is no plain file in the place of a password file: whoever reads it would wait without end.
fn refuse_odd_password_files(env: &Env) -> Result<(), Failure> {
    let named = env.all.iter().filter(|(name, _)| name == "PGPASSFILE");
    let named = named.map(|(_, file)| env.absolute(Path::new(file)));
    for file in named.chain([env.home.join(".pgpass")]) {
        if let Err(error) = plain::open(&file)
            && error.kind() == ErrorKind::InvalidInput
        {
            let file = file.display();
            return Err(Failure::Usage(format!(
                "the password file {file} cannot be read: {error}"
            )));
        }
    }
    Ok(())
}

/// Refuses a file of no bytes in the place of a record that this state directory has had: a new one would take what ran here for nothing.
///
/// # Errors
/// Refused; the text says what to do.
pub(crate) fn refuse_emptied(state: &StateDir) -> Result<(), Failure> {
    let file = state.record();
    let is_empty = fs::metadata(&file).is_ok_and(|meta| meta.len() == 0);
    let has_ledger = fs::metadata(state.ledger()).is_ok_and(|meta| meta.len() > 0);
    let has_executions = fs::read_dir(state.executions()).is_ok_and(|mut dir| dir.next().is_some());
    if !is_empty || !(has_ledger || has_executions) {
        return Ok(());
    }
    Err(Failure::plain(format!(
        "the record {} is empty, and this state directory has worked with one: put a copy of it in its place, or remove the empty file to \
         begin a new record without the old cards",
        file.display()
    )))
}

/// Opens the record. A file is made if it is not there; a server's record is as `cs-panel migrate` has made it.
///
/// # Errors
/// The file or the server cannot be used, is not ours, or is newer or older than this program can use.
pub(crate) async fn open(place: &Place) -> Result<Ports, Failure> {
    match place {
        Place::File(file) => open_file(file).await,
        Place::Server(settings) => {
            let store = PostgresStore::open(settings).await?;
            Ok(Ports::of(&Arc::new(Record::new(store, Arc::new(SystemIds)))))
        }
    }
}

async fn open_file(file: &Path) -> Result<Ports, Failure> {
    let store = SqliteStore::open(file, Arc::new(SystemClock))
        .await
        .map_err(|error| Failure::Failed(error.into()))?;
    Ok(Ports::of(&Arc::new(Record::new(store, Arc::new(SystemIds)))))
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        if matches!(error, OpenError::BadUrl { .. }) {
            return Self::Usage(error.to_string());
        }
        Self::Failed(error.into())
    }
}

impl Ports {
    /// Takes all ports from the one record behind them.
    fn of<S: RowStore>(record: &Arc<Record<S>>) -> Self {
        Self {
            acts: record.clone(),
            reads: record.clone(),
            codebases: record.clone(),
            attachments: record.clone(),
            standing: record.clone(),
            events: record.clone(),
            machines: record.clone(),
            daemon: RecordPorts {
                claims: record.clone(),
                attempts: record.clone(),
                settlements: record.clone(),
                landings: record.clone(),
                reads: record.clone(),
                cards: record.clone(),
                agents: record.clone(),
                machines: record.clone(),
                housekeeping: record.clone(),
            },
            housekeeping: record.clone(),
        }
    }
}
