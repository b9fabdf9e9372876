//! The agents of a daemon: read again whenever the configuration file was changed, since a daemon stays for weeks.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cs_daemon::{AgentTable, Agents};

use super::Config;
use crate::app::App;
use crate::env::Env;
use crate::failure::Failure;
use crate::out::Out;

/// The agents that the configuration file names now. A file that is broken or gone changes nothing, and is said once.
#[derive(Debug)]
pub(crate) struct RereadAgents {
    env: Env,
    given: Option<PathBuf>,
    path: PathBuf,
    out: Out,
    known: Mutex<Known>,
}

/// What was read last.
#[derive(Debug)]
struct Known {
    seen: Option<Stamp>,
    agents: Arc<AgentTable>,
}

/// What of a file changes with its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: (u64, u64),
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let seen = fs::metadata(path).ok()?;
        Some(Self {
            inode: (seen.dev(), seen.ino()),
            length: seen.len(),
            modified: (seen.mtime(), seen.mtime_nsec()),
            changed: (seen.ctime(), seen.ctime_nsec()),
        })
    }
}

impl RereadAgents {
    /// Begins with what the command has read.
    pub(crate) fn new(app: &App, config: &Config) -> Self {
        // Looked at before it is read: what changes from here on is read again.
        let seen = Stamp::of(&config.path);
        let read = Config::read(&app.env, app.global.config.as_deref());
        Self {
            env: app.env.clone(),
            given: app.global.config.clone(),
            path: config.path.clone(),
            out: app.out,
            known: Mutex::new(Known {
                seen,
                agents: table(read.as_ref().unwrap_or(config)),
            }),
        }
    }

    fn read(&self, seen: Option<Stamp>) -> Result<Config, String> {
        if seen.is_none() {
            return Err("it is gone".to_owned());
        }
        let why = |failure: Failure| failure.text().unwrap_or_default();
        Config::read(&self.env, self.given.as_deref()).map_err(why)
    }
}

impl Agents for RereadAgents {
    fn now(&self) -> Arc<AgentTable> {
        let seen = Stamp::of(&self.path);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.seen != seen {
            known.seen = seen;
            let path = self.path.display();
            match self.read(seen) {
                Ok(config) => {
                    known.agents = table(&config);
                    if let Some(exposed) = config.exposed() {
                        self.out.said(&exposed);
                    }
                    self.out.said(&format!(
                        "read {path} again: its agents hold from their next start on"
                    ));
                }
                Err(why) => self.out.said(&format!(
                    "{path} was changed and cannot be used, the agents stay as they were: {why}"
                )),
            }
        }
        Arc::clone(&known.agents)
    }
}

fn table(config: &Config) -> Arc<AgentTable> {
    let agents = config.agents.iter();
    Arc::new(
        agents
            .map(|(name, agent)| (name.to_string(), agent.clone()))
            .collect(),
    )
}
