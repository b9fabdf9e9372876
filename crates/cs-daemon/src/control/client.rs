//! The command's side of the control socket.

use std::io;
use std::time::Duration;

use cs_model::CardId;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use super::wire::{Ask, LINE_MAX_BYTES, Reply};
use crate::StateDir;

/// How long a daemon may take to say that it looks.
const WAKE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a daemon may take to say what became of a stop: its ladders, three tries, and what keeps it from looking meanwhile.
const STOP_TIMEOUT: Duration = Duration::from_secs(180);

/// What a daemon says of a card that is to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// Nothing of the card runs any more; this many executions were closed for it.
    Closed {
        /// How many.
        executions: u32,
    },
    /// Something could not be proven closed.
    Incomplete {
        /// What is left, for people.
        left: Vec<String>,
    },
    /// No daemon runs on this state directory (any more): it ended before it had an answer.
    NoDaemon,
}

/// What became of the word that the record changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Poked {
    /// A daemon is there. One that is too busy to answer in time looks at the record by itself soon.
    Told,
    /// No daemon runs on this state directory, or the one that does is leaving.
    NoDaemon,
}

/// Why a daemon could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The connection failed or ended.
    #[error("the daemon on this state directory does not answer; what keeps it is in its output")]
    Io(#[source] io::Error),
    /// The daemon does not do it.
    #[error("the daemon on this state directory refused: {0}")]
    Refused(String),
    /// The daemon answered something else.
    #[error(
        "the daemon on this state directory answered `{0}`, which this version does not understand; use the same version of cs-panel for both"
    )]
    Answer(String),
}

/// Tells a running daemon that the record changed, and says whether there is one. Without a daemon nothing happens: its next
/// start looks anyway.
pub async fn poke(state: &StateDir) -> Poked {
    let asked = tokio::time::timeout(WAKE_TIMEOUT, ask(state, &Ask::Wake)).await;
    tracing::debug!(?asked, "told the daemon that the record changed");
    match asked {
        Ok(Ok(None | Some(Reply::Leaving))) => Poked::NoDaemon,
        Ok(Ok(Some(_)) | Err(_)) | Err(_) => Poked::Told,
    }
}

/// Asks a running daemon to close what still runs of a card that was stopped on the record, and waits for its word, for
/// three minutes at most: its ladder bounds the end of an agent, and what hangs in the daemon may have no bound.
///
/// # Errors
/// [`ControlError`] when a daemon is there and does not answer as it should.
pub async fn stop(state: &StateDir, card: CardId) -> Result<Stopped, ControlError> {
    let asked = tokio::time::timeout(STOP_TIMEOUT, ask(state, &Ask::Stop { card })).await;
    let timed_out = |_| ControlError::Io(io::ErrorKind::TimedOut.into());
    match asked.map_err(timed_out)?? {
        None | Some(Reply::Leaving) => Ok(Stopped::NoDaemon),
        Some(Reply::Closed { executions }) => Ok(Stopped::Closed { executions }),
        Some(Reply::Incomplete { left }) => Ok(Stopped::Incomplete { left }),
        Some(Reply::Waking) => Err(ControlError::Answer("waking".to_owned())),
        Some(Reply::Refused { why }) => Err(ControlError::Refused(why)),
    }
}

/// Sends one request and reads its reply; nothing when no daemon listens, or when it ended before it had answered.
async fn ask(state: &StateDir, ask: &Ask) -> Result<Option<Reply>, ControlError> {
    let answer = match exchange(state, ask).await {
        Ok(answer) => answer,
        Err(error) if is_nobody(&error) => return Ok(None),
        Err(error) => return Err(ControlError::Io(error)),
    };
    if answer.is_empty() {
        return Ok(None);
    }
    serde_json::from_str(&answer)
        .map(Some)
        .map_err(|_| ControlError::Answer(answer.trim().to_owned()))
}

/// Sends a request and reads the line that answers it; an empty one when the daemon ended first.
async fn exchange(state: &StateDir, ask: &Ask) -> io::Result<String> {
    let stream = cs_supervise::socket::connect(&state.control_socket()).await?;
    let (reader, mut writer) = stream.into_split();
    let mut line = serde_json::to_vec(ask)?;
    line.push(b'\n');
    writer.write_all(&line).await?;
    let mut answer = String::new();
    let mut reader = BufReader::new(reader.take(LINE_MAX_BYTES));
    reader.read_line(&mut answer).await?;
    Ok(answer)
}

fn is_nobody(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
    )
}
