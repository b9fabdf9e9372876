//! What bridge and daemon say to each other: one line of JSON each way, then the connection ends. A connection that ends without an
//! answer says nothing about the call, so the bridge makes the same one again.

use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::call::{Answer, Call};

/// A longer line is not read. No tool takes nearly as much.
pub(crate) const LINE_MAX_BYTES: u64 = 1 << 20;

/// What a bridge asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Request {
    /// What proves which execution it speaks for.
    pub(crate) token: String,
    /// What it wants.
    pub(crate) call: Call,
}

/// What it is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    /// The call is over.
    Answer(Answer),
    /// The same call may be made again, soon.
    Again { why: String },
    /// It is not heard here, and will not be: the sentence for the agent.
    NotHeard { why: String },
}

/// Reads one line. `None`: the other end is gone.
pub(crate) async fn read<T: DeserializeOwned>(from: impl AsyncBufRead + Unpin) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    let mut from = from.take(LINE_MAX_BYTES);
    from.read_until(b'\n', &mut line).await?;
    if line.pop() == Some(b'\n') {
        return Ok(Some(serde_json::from_slice(&line)?));
    }
    if from.limit() == 0 {
        let why = format!("a message of more than {LINE_MAX_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(None)
}

/// A message as it goes over the wire.
pub(crate) fn line(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// Writes one line.
pub(crate) async fn write(mut to: impl AsyncWrite + Unpin, line: &[u8]) -> io::Result<()> {
    to.write_all(line).await?;
    to.flush().await
}
