//! The daemon's end of the bridge: a Unix socket for each attempt, where its place is known before the attempt begins, so that a later
//! daemon opens the same one.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use subtle::ConstantTimeEq;
use tokio::io::BufReader;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::call::Caller;
use crate::handler::{Outcome, Tools};
use crate::wire::{self, Reply, Request};

/// A bridge says its line at once.
const REQUEST_WITHIN: Duration = Duration::from_secs(10);
/// So many calls of one attempt at once; more wait.
pub(crate) const AT_ONCE: usize = 16;
pub(crate) const NOT_YOURS: &str = "These tools are not for this process. Nothing was done.";

/// Who is at the other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Its process, as the kernel says it.
    pub pid: i32,
    /// Its user.
    pub uid: u32,
}

/// Knows which processes belong to an attempt.
pub trait Peers: std::fmt::Debug + Send + Sync {
    /// Whether this process belongs to the attempt's tree. Nobody does before its agent is registered.
    fn belongs(&self, caller: &Caller, peer: Peer) -> bool;
}

/// A connection on the loopback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// The end of whoever calls.
    pub from: SocketAddr,
    /// Our end.
    pub to: SocketAddr,
}

/// Knows whose connections are whose. The kernel does not tell it as it does of a Unix socket: it takes a look at its table of
/// connections and at what the processes of the attempt hold. Where that cannot be done the token is all that tells who calls.
pub trait Sockets: std::fmt::Debug + Send + Sync {
    /// Whether a process of the attempt's tree holds the other end. Nobody does before its agent is registered. It may block.
    fn belongs(&self, caller: &Caller, connection: Connection) -> bool;
}

/// What a door needs to know of its attempt.
#[derive(Debug, Clone)]
pub struct Attempted {
    /// Which attempt it is.
    pub caller: Caller,
    /// What its bridge has to say.
    pub token: String,
}

/// An open door.
#[derive(Debug)]
pub struct Door {
    listener: UnixListener,
    keeper: Arc<Keeper>,
}

#[derive(Debug)]
struct Keeper {
    of: Attempted,
    tools: Tools,
    peers: Arc<dyn Peers>,
}

impl Door {
    /// Opens the door of an attempt on a socket that is for it alone.
    #[must_use]
    pub fn new(listener: UnixListener, of: Attempted, tools: Tools, peers: Arc<dyn Peers>) -> Self {
        Self {
            listener,
            keeper: Arc::new(Keeper { of, tools, peers }),
        }
    }

    /// Hears calls until it is dropped.
    pub async fn serve(&self) -> io::Error {
        let mut calls = JoinSet::new();
        loop {
            while calls.try_join_next().is_some() {}
            if calls.len() >= AT_ONCE {
                calls.join_next().await;
                continue;
            }
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let keeper = Arc::clone(&self.keeper);
                    calls.spawn(async move { keeper.hear(stream).await });
                }
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => return error,
            }
        }
    }
}

impl Keeper {
    async fn hear(&self, mut stream: UnixStream) {
        let run = self.of.caller.run;
        let reply = match self.answer(&mut stream).await {
            Ok(Some(reply)) => reply,
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%run, %error, "a message at the tools' door cannot be read");
                let why = format!("The message to the tools cannot be read ({error}). Nothing was done.");
                Reply::NotHeard { why }
            }
        };
        let said = match wire::line(&reply) {
            Ok(line) => wire::write(&mut stream, &line).await,
            Err(error) => Err(error),
        };
        if let Err(error) = said {
            tracing::debug!(%run, %error, "nobody waits for the answer any more");
        }
    }

    async fn answer(&self, stream: &mut UnixStream) -> io::Result<Option<Reply>> {
        let peer = stream.peer_cred()?;
        let peer = Peer {
            pid: peer.pid().unwrap_or_default(),
            uid: peer.uid(),
        };
        let Ok(request) = timeout(
            REQUEST_WITHIN,
            wire::read::<Request>(BufReader::new(&mut *stream)),
        )
        .await
        else {
            return Ok(None);
        };
        let Some(request) = request? else { return Ok(None) };
        let is_token: bool = request.token.as_bytes().ct_eq(self.of.token.as_bytes()).into();
        if !is_token || !self.peers.belongs(&self.of.caller, peer) {
            tracing::warn!(run = %self.of.caller.run, pid = peer.pid, uid = peer.uid, is_token, "a stranger at the tools' door");
            return Ok(Some(Reply::NotHeard {
                why: NOT_YOURS.to_owned(),
            }));
        }
        Ok(Some(match self.tools.call(&self.of.caller, request.call).await {
            Outcome::Answer(answer) => Reply::Answer(answer),
            Outcome::Again { why } => Reply::Again { why },
        }))
    }
}

/// Whether only one connection failed, or there are too many files now; the door is still open.
pub(crate) fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted
    )
}
