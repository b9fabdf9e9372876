//! The tools of running agents: a door beside each execution, and what comes through it.
//!
//! An agent's words to people are noted beside its execution first ([`Said`]), then told to the record, then answered. So a daemon that
//! dies in between leaves what the next one needs to do the rest, and a question is neither lost nor asked twice.

mod host;
mod http;
mod said;
mod show;

use std::convert::Infallible;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cs_fence::Attempt;
use cs_harness::{PanelTools, PrivateFile};
use cs_journal::ClaimedRun;
use cs_supervise::{ExecutionDir, belongs_to, holds_connection, socket};
use cs_tools::{Attempted, Caller, Connection, Door, Peer, Peers, Sockets, Tools};
use cs_worktree::plain;
use tokio::time::sleep;

use self::host::AttemptHost;
use crate::choices::ToolsBy;
use crate::context::Context;
use crate::executions::StopSwitch;

pub(crate) use http::HttpTools;
pub use said::progress_of;
pub(crate) use said::{Said, Word};

/// The socket of an execution's tools, and the file with what proves whose bridge it is that calls.
/// The socket lies in a directory of its own, which is what a sandbox shows of it: a later daemon makes another socket there.
const PLACE: &str = "tools";
const SOCKET: &str = "socket";
const TOKEN: &str = "tools.token";

/// After a door could not be opened or was lost.
const AGAIN_AFTER: Duration = Duration::from_secs(2);

/// Where the bridge of an execution finds its daemon.
#[must_use]
pub fn tools_socket(execution: &Path) -> std::path::PathBuf {
    tools_place(execution).join(SOCKET)
}

/// The directory of that socket.
pub(crate) fn tools_place(execution: &Path) -> std::path::PathBuf {
    execution.join(PLACE)
}

/// Makes that directory where it is not there yet.
pub(crate) fn make_place(execution: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(tools_place(execution)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Where the bridge of an execution finds what proves whose it is.
#[must_use]
pub fn tools_token(execution: &Path) -> std::path::PathBuf {
    execution.join(TOKEN)
}

/// What an agent is given to reach its tools.
#[derive(Debug, Default)]
pub(crate) struct Given {
    pub(crate) tools: Option<PanelTools>,
    /// The program of the server that it starts itself.
    pub(crate) program: Option<String>,
    pub(crate) files: Vec<PrivateFile>,
}

/// What an agent is told of its tools, and the files that are beside its execution for them.
///
/// # Errors
/// There is to be a port, and none can be had.
pub(crate) async fn tools_for(
    cx: &Context,
    row: &ClaimedRun,
    execution: &Path,
    by: ToolsBy,
) -> io::Result<Given> {
    let secret = cx.deps.ids.secret();
    let bearer: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let token = PrivateFile {
        name: TOKEN.to_owned(),
        bytes: bearer.clone().into_bytes(),
    };
    match by {
        ToolsBy::None => Ok(Given::default()),
        ToolsBy::Http => {
            let door = cx.http.door().await?;
            let url = door.url(&caller(row));
            Ok(Given {
                tools: Some(PanelTools::Http { url, bearer }),
                program: None,
                files: vec![token, http::file(door.port())],
            })
        }
        ToolsBy::Stdio => {
            let (Some(program), Some(execution)) = (cx.deps.settings.bridge.clone(), execution.to_str())
            else {
                return Ok(Given::default());
            };
            let words = [&program, "mcp", "--execution", execution].map(str::to_owned);
            let tools = PanelTools::Command {
                argv: words.to_vec(),
                keep: vec![cs_supervise::EXECUTION_VARIABLE.to_owned()],
            };
            Ok(Given {
                tools: Some(tools),
                program: Some(program),
                files: vec![token],
            })
        }
    }
}

fn caller(row: &ClaimedRun) -> Caller {
    Caller {
        run: row.run,
        epoch: row.epoch,
    }
}

/// The attempt whose tools these are.
#[derive(Debug, Clone)]
pub(crate) struct Of {
    pub(crate) attempt: Attempt,
    pub(crate) row: ClaimedRun,
    /// The name of its execution.
    pub(crate) name: String,
}

/// Reads a short word from a plain file; nothing where there is none.
fn word_in(path: &Path) -> Option<String> {
    let bytes = plain::read(path, 1024).ok()?;
    Some(String::from_utf8(bytes).ok()?.trim().to_owned())
}

/// Hears what the agent of a running execution calls, until it is dropped. Nobody passes before, since nobody listens.
pub(crate) async fn serve(cx: &Arc<Context>, of: Of, stop: &StopSwitch) -> Infallible {
    let execution = cx.state.execution(&of.name);
    let Some(token) = word_in(&execution.join(TOKEN)) else {
        // It was started without tools.
        return std::future::pending().await;
    };
    if let Some(port) = http::port_of(&execution) {
        return http::serve(cx, &of, (&token, port), stop).await;
    }
    loop {
        let (what, error) = match open(cx, &of, &token, stop) {
            Ok(door) => ("cannot be heard any more", door.serve().await),
            Err(error) => ("cannot be opened", error),
        };
        tracing::warn!(run = %of.row.run, %error, "the door of an agent's tools {what}");
        sleep(AGAIN_AFTER).await;
    }
}

fn open(cx: &Arc<Context>, of: &Of, token: &str, stop: &StopSwitch) -> io::Result<Door> {
    let execution = cx.state.execution(&of.name);
    make_place(&execution)?;
    let listener = socket::listen(&tools_socket(&execution))?;
    let (attempted, tools) = tools_of(cx, of, token, stop)?;
    let tree = TreeOf(ExecutionDir::at(execution));
    Ok(Door::new(listener, attempted, tools, Arc::new(tree)))
}

/// Whom a door is for, and what its calls do.
fn tools_of(cx: &Arc<Context>, of: &Of, token: &str, stop: &StopSwitch) -> io::Result<(Attempted, Tools)> {
    let said = Said::open(&ExecutionDir::at(cx.state.execution(&of.name)))?;
    let attempted = Attempted {
        caller: caller(&of.row),
        token: token.to_owned(),
    };
    let host = AttemptHost::new(Arc::clone(cx), of.clone(), said, stop.clone());
    Ok((attempted, Tools::new(Arc::new(host))))
}

/// The processes of an execution.
#[derive(Debug)]
struct TreeOf(ExecutionDir);

impl TreeOf {
    fn is_known(&self, belongs: io::Result<bool>) -> bool {
        belongs.unwrap_or_else(|error| {
            tracing::warn!(%error, dir = %self.0.path().display(), "whether a caller belongs to an execution is not known");
            false
        })
    }
}

impl Peers for TreeOf {
    fn belongs(&self, _: &Caller, peer: Peer) -> bool {
        self.is_known(belongs_to(&self.0, peer.pid))
    }
}

impl Sockets for TreeOf {
    fn belongs(&self, _: &Caller, connection: Connection) -> bool {
        self.is_known(holds_connection(&self.0, connection.from, connection.to))
    }
}
