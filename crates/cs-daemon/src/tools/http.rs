//! The tools over HTTP: one port for all agents that cannot start a server. It is kept, since an agent that runs knows no other.

use std::convert::Infallible;
use std::fs;
use std::future;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cs_harness::PrivateFile;
use cs_supervise::ExecutionDir;
use cs_tools::HttpDoor;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{AGAIN_AFTER, Of, TreeOf, tools_of, word_in};
use crate::context::Context;
use crate::executions::{EndedFor, StopLevel, StopSwitch};
use crate::state::StateDir;

/// The file of an execution that says which port its agent calls.
const PORT: &str = "tools.http";
/// Below what every agent waits for an answer.
const DEADLINE: Duration = Duration::from_secs(50);

/// The port of a daemon, which nobody has before an agent needs it.
#[derive(Debug)]
pub(crate) struct HttpTools {
    state: StateDir,
    door: tokio::sync::Mutex<Option<Arc<HttpDoor>>>,
    serving: Mutex<JoinSet<()>>,
}

impl HttpTools {
    pub(crate) fn new(state: StateDir) -> Self {
        Self {
            state,
            door: tokio::sync::Mutex::default(),
            serving: Mutex::default(),
        }
    }

    /// The door on the port that is noted. Where somebody else has that by now, it is opened on another: whose agent calls at the old one
    /// is not heard there any more, and finds that out by [`serve`].
    pub(super) async fn door(&self) -> io::Result<Arc<HttpDoor>> {
        let mut door = self.door.lock().await;
        if let Some(door) = &*door {
            return Ok(Arc::clone(door));
        }
        let noted = self.noted();
        let kept = match noted {
            Some(port) => HttpDoor::bind(port, DEADLINE).await,
            None => Err(io::ErrorKind::NotFound.into()),
        };
        let opened = match kept {
            Ok(kept) => kept,
            Err(error) => {
                if let Some(port) = noted {
                    tracing::warn!(port, %error, "the port of the tools cannot be had again");
                }
                let opened = HttpDoor::bind(0, DEADLINE).await?;
                self.note(opened.port())?;
                opened
            }
        };
        let opened = Arc::new(opened);
        *door = Some(Arc::clone(&opened));
        let served = Arc::clone(&opened);
        let mut serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner);
        serving.spawn(async move {
            loop {
                let error = served.serve().await;
                tracing::warn!(%error, "the port of the tools cannot be heard now");
                sleep(AGAIN_AFTER).await;
            }
        });
        Ok(opened)
    }

    fn noted(&self) -> Option<u16> {
        word_in(&self.state.tools_port())?.parse().ok()
    }

    fn note(&self, port: u16) -> io::Result<()> {
        let path = self.state.tools_port();
        let new = path.with_extension("new");
        let mut file = fs::OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(&new)?;
        writeln!(file, "{port}")?;
        file.sync_all()?;
        fs::rename(new, path)
    }
}

/// What says beside an execution which port its agent calls.
pub(super) fn file(port: u16) -> PrivateFile {
    PrivateFile {
        name: PORT.to_owned(),
        bytes: port.to_string().into_bytes(),
    }
}

/// Which port the agent of an execution calls; nothing where it calls none.
pub(super) fn port_of(execution: &Path) -> Option<u16> {
    word_in(&execution.join(PORT))?.parse().ok()
}

/// Hears an agent that calls at this port, until it is dropped. Where the port is not ours any more, the agent would speak to somebody
/// else: it is ended, and goes on in its next attempt with another.
pub(super) async fn serve(
    cx: &Arc<Context>,
    of: &Of,
    (token, port): (&str, u16),
    stop: &StopSwitch,
) -> Infallible {
    let dir = ExecutionDir::at(cx.state.execution(&of.name));
    loop {
        let heard = match cx.http.door().await {
            Ok(door) if door.port() == port => tools_of(cx, of, token, stop)
                .map(|(attempted, tools)| door.register(attempted, tools, Arc::new(TreeOf(dir.clone())))),
            Ok(_) => {
                cx.said(&format!(
                    "run {} attempt {} of card {}: somebody else has port {port}, at which its agent calls its tools; it is ended and goes on \
                     with another",
                    of.row.run.short(),
                    of.row.epoch,
                    of.row.card.short()
                ));
                EndedFor::ToolsLost.write(&dir);
                stop.raise(StopLevel::Ladder);
                return future::pending().await;
            }
            Err(error) => Err(error),
        };
        match heard {
            Ok(_registered) => return future::pending().await,
            Err(error) => {
                tracing::warn!(run = %of.row.run, %error, "the tools of an agent cannot be heard now");
                sleep(AGAIN_AFTER).await;
            }
        }
    }
}
