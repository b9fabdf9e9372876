//! The tools of running agents: a door beside each execution, and what comes through it.
//!
//! An agent's words to people are noted beside its execution first ([`Said`]), then told to the record, then answered. So a daemon that
//! dies in between leaves what the next one needs to do the rest, and a question is neither lost nor asked twice.

mod host;
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
use cs_supervise::{ExecutionDir, belongs_to, socket};
use cs_tools::{Attempted, Caller, Door, Peer, Peers, Tools};
use tokio::time::sleep;

use self::host::AttemptHost;
use crate::context::Context;
use crate::executions::StopSwitch;

pub(crate) use said::Said;
pub use said::progress_of;

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

/// What an agent is told of its tools, and the file that its bridge needs for them.
pub(crate) fn tools_for(cx: &Context, execution: &Path) -> Option<(PanelTools, PrivateFile)> {
    let program = cx.deps.settings.bridge.clone()?;
    let execution = execution.to_str()?.to_owned();
    let secret: String = cx
        .deps
        .ids
        .secret()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let tools = PanelTools::Command {
        argv: vec![program, "mcp".to_owned(), "--execution".to_owned(), execution],
        keep: vec![cs_supervise::EXECUTION_VARIABLE.to_owned()],
    };
    let token = PrivateFile {
        name: TOKEN.to_owned(),
        bytes: secret.into_bytes(),
    };
    Some((tools, token))
}

/// The attempt whose tools these are.
#[derive(Debug, Clone)]
pub(crate) struct Of {
    pub(crate) attempt: Attempt,
    pub(crate) row: ClaimedRun,
    /// The name of its execution.
    pub(crate) name: String,
}

/// Hears what the agent of a running execution calls, until it is dropped. Nobody passes before, since nobody listens.
pub(crate) async fn serve(cx: &Arc<Context>, of: Of, stop: &StopSwitch) -> Infallible {
    let execution = cx.state.execution(&of.name);
    let Ok(token) = fs::read_to_string(execution.join(TOKEN)) else {
        // It was started without tools.
        return std::future::pending().await;
    };
    loop {
        let (what, error) = match open(cx, &of, token.trim(), stop) {
            Ok(door) => ("cannot be heard any more", door.serve().await),
            Err(error) => ("cannot be opened", error),
        };
        tracing::warn!(run = %of.row.run, %error, "the door of an agent's tools {what}");
        sleep(AGAIN_AFTER).await;
    }
}

fn open(cx: &Arc<Context>, of: &Of, token: &str, stop: &StopSwitch) -> io::Result<Door> {
    let execution = cx.state.execution(&of.name);
    let dir = ExecutionDir::at(&execution);
    let said = Said::open(&dir)?;
    make_place(&execution)?;
    let listener = socket::listen(&tools_socket(&execution))?;
    let attempted = Attempted {
        caller: Caller {
            run: of.row.run,
            epoch: of.row.epoch,
        },
        token: token.to_owned(),
    };
    let host = AttemptHost::new(Arc::clone(cx), of.clone(), said, stop.clone());
    let tools = Tools::new(Arc::new(host));
    Ok(Door::new(listener, attempted, tools, Arc::new(TreeOf(dir))))
}

/// The processes of an execution.
#[derive(Debug)]
struct TreeOf(ExecutionDir);

impl Peers for TreeOf {
    fn belongs(&self, _: &Caller, peer: Peer) -> bool {
        belongs_to(&self.0, peer.pid).unwrap_or_else(|error| {
            tracing::warn!(%error, pid = peer.pid, "whether a process belongs to an execution is not known");
            false
        })
    }
}
