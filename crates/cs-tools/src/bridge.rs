//! The stdio server that an agent starts: it runs in the agent's tree, knows the tools by heart, and carries each call to whichever
//! daemon lives. Three agents never start such a server again, so it ends when its agent is gone and for nothing else: no message, no
//! order of messages and no fault of one call ends it. What it holds is bounded: [`LINE_MAX_BYTES`] of a line, and so many requests at
//! once as [`stream`] says.

mod link;
mod stream;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rmcp::service::serve_directly;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::time::timeout;

use self::link::Link;
use self::stream::Stream;
use crate::mcp::{Face, Unnamed};

/// A longer line of the agent is dropped as it comes. No answer is possible: what it asks stands in it.
const LINE_MAX_BYTES: usize = 4 << 20;
/// An agent that has closed its end gets what the bridge answers by itself, if it takes it at once.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Where a bridge finds its daemon, and what it proves itself with.
#[derive(Debug, Clone)]
pub struct Bridge {
    /// The way to the socket of its attempt. Nobody may be there yet, or for a while.
    pub dial: Arc<dyn Dial>,
    /// The file that holds its token.
    pub token: PathBuf,
    /// Something that no other bridge of the attempt has: some agents number their calls from the start again in each.
    pub instance: String,
    /// How long one call waits for a daemon and its answer: 50 s is below what every agent waits.
    pub deadline: Duration,
}

/// Finds the daemon. How a socket is reached is left to the caller, since its path may be longer than its address can be.
#[async_trait]
pub trait Dial: fmt::Debug + Send + Sync {
    /// Connects to whichever daemon lives.
    ///
    /// # Errors
    /// There is none now. It is tried again.
    async fn dial(&self) -> io::Result<UnixStream>;
}

/// Why a bridge ended before its agent closed its end.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// What it says cannot be written any more.
    #[error("the agent takes no answer")]
    Unheard(#[source] io::Error),
}

/// Serves an agent until it is gone: at once when it has closed its end, even while calls wait.
///
/// # Errors
/// The agent takes no answers any more.
pub async fn serve(
    bridge: Bridge,
    from_agent: impl AsyncRead + Send + Unpin + 'static,
    to_agent: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), BridgeError> {
    let (stream, mut agent) = Stream::new(from_agent, to_agent);
    let face = Face {
        unnamed: Unnamed::InBridge(bridge.instance.clone()),
        carrier: Arc::new(Link::new(bridge)),
    };
    // Each request is answered as what it is, whatever came before it: a server that insists on a handshake ends at the first oddity.
    let running = serve_directly(face, stream, None);
    let gone = agent.gone().await;
    if gone.is_ok() {
        // Whoever does not take it at once has left.
        let _ = timeout(LAST_WORDS, agent.answered()).await;
    }
    drop(running);
    gone.map_err(BridgeError::Unheard)
}
