//! The record of this command: where it is, and the ports that a command uses.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cs_daemon::RecordPorts;
use cs_record::{CardReads, Codebases, Machines, PeopleActs, Record};
use cs_sqlite::SqliteStore;

use crate::disk;
use crate::env::Env;
use crate::failure::Failure;
use crate::os::{SystemClock, SystemIds};

/// The ports of the record that commands use. One store stands behind all of them.
#[derive(Debug, Clone)]
pub(crate) struct Ports {
    /// What people do.
    pub(crate) acts: Arc<dyn PeopleActs>,
    /// What people see.
    pub(crate) reads: Arc<dyn CardReads>,
    /// The codebases.
    pub(crate) codebases: Arc<dyn Codebases>,
    /// Machines and pauses.
    pub(crate) machines: Arc<dyn Machines>,
    /// What a daemon needs.
    pub(crate) daemon: RecordPorts,
}

/// Reads the URL of a record: nothing means the file in the state directory.
///
/// # Errors
/// It is no URL of a record that this version can use.
pub(crate) fn database_file(env: &Env, given: Option<&str>) -> Result<Option<PathBuf>, Failure> {
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
            Ok(Some(env.absolute(Path::new(path))))
        }
        Some(("postgres" | "postgresql", _)) => Err(Failure::Usage(
            "a record on Postgres is not there yet; use sqlite:PATH, or leave out --database-url \
             (CS_PANEL_DATABASE_URL) to keep the record in the state directory"
                .to_owned(),
        )),
        _ => Err(Failure::Usage(
            "the database URL is not understood, expected sqlite:PATH (--database-url or CS_PANEL_DATABASE_URL)"
                .to_owned(),
        )),
    }
}

/// Opens the record in a file, which is made if it is not there.
///
/// # Errors
/// The file cannot be used, is not ours, or is newer than this program.
pub(crate) async fn open(file: &Path) -> Result<Ports, Failure> {
    // Two commands that both make a new file get in each other's way; afterwards nobody waits here.
    let dir = file.parent().filter(|dir| dir.is_dir());
    let _lock = dir.map(disk::lock_dir).transpose()?;
    let store = SqliteStore::open(file, Arc::new(SystemClock))
        .await
        .map_err(|error| Failure::Failed(error.into()))?;
    Ok(Ports::of(&Arc::new(Record::new(store, Arc::new(SystemIds)))))
}

impl Ports {
    /// Takes all ports from the one record behind them.
    fn of(record: &Arc<Record<SqliteStore>>) -> Self {
        Self {
            acts: record.clone(),
            reads: record.clone(),
            codebases: record.clone(),
            machines: record.clone(),
            daemon: RecordPorts {
                claims: record.clone(),
                attempts: record.clone(),
                settlements: record.clone(),
                landings: record.clone(),
                reads: record.clone(),
                cards: record.clone(),
                machines: record.clone(),
            },
        }
    }
}
