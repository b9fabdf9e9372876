//! The daemon's side of the control socket.

use std::io;
use std::time::Duration;

use cs_model::CardId;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::client::Stopped;
use super::wire::{Ask, LINE_MAX_BYTES, Reply};

/// How many connections are served at once; more wait.
const CONNECTIONS_MAX: usize = 64;

/// How long a peer may take to say what it wants.
const ASK_TIMEOUT: Duration = Duration::from_secs(10);
/// How long nothing is accepted after the system refused to: it has no descriptors left, and asking at once again gives none.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// A request for the daemon's loop.
#[derive(Debug)]
pub enum Request {
    /// Look at the record now.
    Wake,
    /// Close what still runs of a stopped card, and say so.
    Stop {
        /// The card.
        card: CardId,
        /// Where the answer goes.
        reply: oneshot::Sender<Stopped>,
    },
}

/// Serves connections until the receiver is gone. A broken connection is its peer's affair.
pub(crate) async fn serve(listener: UnixListener, requests: mpsc::Sender<Request>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            accepted = listener.accept(), if connections.len() < CONNECTIONS_MAX => match accepted {
                Ok((stream, _)) => { connections.spawn(connection(stream, requests.clone())); }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept on the control socket");
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                }
            },
            Some(ended) = connections.join_next() => {
                if let Ok(Err(error)) = ended {
                    tracing::debug!(%error, "a connection on the control socket broke");
                }
            }
            () = requests.closed() => return,
        }
    }
}

async fn connection(stream: UnixStream, requests: mpsc::Sender<Request>) -> io::Result<()> {
    if !cs_supervise::socket::peer_is_this_user(&stream)? {
        return Ok(());
    }
    let (reader, mut writer) = stream.into_split();
    let mut line = String::new();
    let mut reader = BufReader::new(reader.take(LINE_MAX_BYTES));
    tokio::time::timeout(ASK_TIMEOUT, reader.read_line(&mut line)).await??;
    let reply = match serde_json::from_str::<Ask>(&line) {
        Err(error) => Reply::Refused {
            why: error.to_string(),
        },
        Ok(Ask::Wake) => match requests.send(Request::Wake).await {
            Ok(()) => Reply::Waking,
            Err(_) => Reply::Leaving,
        },
        Ok(Ask::Stop { card }) => stop(card, &requests).await,
    };
    let mut line = serde_json::to_vec(&reply)?;
    line.push(b'\n');
    writer.write_all(&line).await
}

async fn stop(card: CardId, requests: &mpsc::Sender<Request>) -> Reply {
    let (reply, answer) = oneshot::channel();
    let sent = requests.send(Request::Stop { card, reply }).await;
    let stopped = match sent {
        Ok(()) => answer.await.ok(),
        Err(_) => None,
    };
    match stopped {
        Some(Stopped::Closed { executions }) => Reply::Closed { executions },
        Some(Stopped::Incomplete { left }) => Reply::Incomplete { left },
        Some(Stopped::NoDaemon) | None => Reply::Leaving,
    }
}
