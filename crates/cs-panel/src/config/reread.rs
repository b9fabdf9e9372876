//! The agents of a daemon: read again whenever the configuration file was changed, since a daemon stays for weeks.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cs_daemon::{AgentTable, Agents};
use tokio::time::Instant;

use super::Config;
use crate::app::App;
use crate::env::Env;
use crate::failure::Failure;
use crate::out::Out;

/// A file that names an agent no more has to stay as it is for so long before that is believed: an editor may empty a file before it
/// writes it, piece by piece, and what was begun for the agent meanwhile would fail for good.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

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
    /// The file in which an agent is missing, and since when it is as it is.
    unsettled: Option<(Stamp, Instant)>,
}

impl Known {
    /// Says whether what was read may be half of what is being written.
    fn is_unsettled(&mut self, seen: Option<Stamp>, read: &AgentTable, now: Instant) -> bool {
        let names = |name: &String| read.contains_key(name);
        let (Some(seen), false) = (seen, self.agents.keys().all(names)) else {
            return false;
        };
        match self.unsettled {
            Some((known, since)) if known == seen => now.duration_since(since) < SETTLED_AFTER,
            Some(_) | None => {
                self.unsettled = Some((seen, now));
                true
            }
        }
    }
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
                unsettled: None,
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

    fn at(&self, now: Instant) -> Arc<AgentTable> {
        let seen = Stamp::of(&self.path);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.seen != seen {
            let path = self.path.display();
            match self.read(seen) {
                Ok(config) => {
                    let agents = table(&config);
                    if known.is_unsettled(seen, &agents, now) {
                        return Arc::clone(&known.agents);
                    }
                    known.agents = agents;
                    for remark in config.remarks() {
                        self.out.said(&remark);
                    }
                    self.out.said(&format!(
                        "read {path} again: its agents hold from their next start on"
                    ));
                }
                Err(why) => self.out.said(&format!(
                    "{path} was changed and cannot be used, the agents stay as they were: {why}"
                )),
            }
            known.seen = seen;
        }
        Arc::clone(&known.agents)
    }
}

impl Agents for RereadAgents {
    fn now(&self) -> Arc<AgentTable> {
        self.at(Instant::now())
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

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    const BOTH: &str = "[agents.a]\ncommand = [\"cat\"]\n[agents.b]\ncommand = [\"cat\"]\n";

    struct Desk {
        dir: tempfile::TempDir,
        agents: RereadAgents,
        start: Instant,
    }

    impl Desk {
        fn new() -> Self {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("config.toml");
            let agents = RereadAgents {
                env: Env::read().expect("there is a home directory"),
                given: Some(path.clone()),
                path,
                out: Out::new(None),
                known: Mutex::new(Known {
                    seen: None,
                    agents: Arc::default(),
                    unsettled: None,
                }),
            };
            let start = Instant::now();
            Self { dir, agents, start }
        }

        fn write(&self, text: &str) {
            fs::write(self.dir.path().join("config.toml"), text).expect("written");
        }

        fn after(&self, span: Duration) -> String {
            let agents = self.agents.at(self.start + span);
            agents.keys().cloned().collect::<Vec<_>>().join(" ")
        }
    }

    #[test]
    fn a_file_that_is_being_written_takes_no_agent_away() {
        let desk = Desk::new();
        desk.write(BOTH);
        assert_eq!(desk.after(Duration::ZERO), "a b");
        for half in ["", "# mine\n", "[agents.a]\ncommand = [\"cat\"]\n"] {
            desk.write(half);
            assert_eq!(desk.after(Duration::ZERO), "a b", "{half:?}");
            assert_eq!(desk.after(SETTLED_AFTER / 2), "a b", "{half:?}");
        }
        desk.write(&format!("{BOTH}[agents.c]\ncommand = [\"cat\"]\n"));
        assert_eq!(
            desk.after(SETTLED_AFTER / 2),
            "a b c",
            "what is new is taken at once"
        );
    }

    #[test]
    fn what_is_no_plain_file_holds_nobody_up_and_is_read_again_when_it_is_mended() {
        let desk = Desk::new();
        let path = desk.dir.path().join("config.toml");
        desk.write(BOTH);
        assert_eq!(desk.after(Duration::ZERO), "a b");
        fs::remove_file(&path).expect("removed");
        mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).expect("made");
        assert_eq!(desk.after(Duration::ZERO), "a b", "a pipe");
        fs::remove_file(&path).expect("removed");
        fs::create_dir(&path).expect("made");
        assert_eq!(desk.after(Duration::ZERO), "a b", "a directory");
        fs::remove_dir(&path).expect("removed");
        desk.write(&format!("{BOTH}[agents.c]\ncommand = [\"cat\"]\n"));
        assert_eq!(desk.after(Duration::ZERO), "a b c");
    }

    #[test]
    fn an_agent_that_stays_away_is_gone() {
        let desk = Desk::new();
        desk.write(BOTH);
        assert_eq!(desk.after(Duration::ZERO), "a b");
        desk.write("[agents.b]\ncommand = [\"cat\"]\n");
        assert_eq!(desk.after(Duration::ZERO), "a b");
        assert_eq!(desk.after(SETTLED_AFTER), "b");
        desk.write("");
        assert_eq!(desk.after(SETTLED_AFTER), "b");
        assert_eq!(desk.after(SETTLED_AFTER * 2), "");
    }
}
