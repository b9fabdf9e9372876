//! A client's connection to a shim.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::dir::{ExecutionDir, SOCKET};
use crate::hold::Feature;
use crate::identity::Protocol;
use crate::socket;
use crate::wire::{Ident, MAX_MESSAGE_BYTES, Phase, Refusal, Reply, Request};

/// A connection to a shim, and what was read of the next message.
#[derive(Debug)]
pub(crate) struct Link {
    stream: UnixStream,
    unread: Vec<u8>,
}

/// Why a connection is of no use.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    #[error("the shim cannot be reached")]
    Io(#[source] io::Error),
    #[error("the shim ended the connection")]
    Ended,
    #[error("another execution's shim answers")]
    Foreign,
    #[error("the shim refused")]
    Refused(#[source] Refusal),
    #[error("the shim answered what does not fit: {0}")]
    Unfit(&'static str),
    /// It lives and answers: it must not be taken for one that hangs.
    #[error(
        "the shim answered what is not understood ({0}); if a later version of this program started it, use that version or a later one"
    )]
    NotUnderstood(serde_json::Error),
    #[error("the shim could not {op}: {text}")]
    Broken {
        op: String,
        text: String,
        errno: i32,
        lacks: Option<Feature>,
    },
}

impl Link {
    /// Connects to the socket in a directory, however long its path is.
    pub(crate) async fn connect(dir: &ExecutionDir) -> Result<Self, LinkError> {
        let connected = socket::connect(&dir.file(SOCKET)).await;
        let stream = connected.map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => LinkError::Foreign,
            _ => LinkError::Io(error),
        })?;
        Ok(Self {
            stream,
            unread: Vec::new(),
        })
    }

    /// Takes over one end of a socket pair whose other end a shim has.
    pub(crate) fn over(stream: std::os::unix::net::UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream: UnixStream::from_std(stream)?,
            unread: Vec::new(),
        })
    }

    /// Says hello and makes sure that the right shim answers.
    pub(crate) async fn greet(&mut self, nonce: &str) -> Result<(Ident, Phase), LinkError> {
        let said = self
            .send(&Request::Hello {
                protocol: Protocol::CURRENT,
                nonce: nonce.to_owned(),
            })
            .await;
        // A shim that could not take hold says why and ends, maybe before it is greeted: its word counts, not that nobody hears ours.
        let answer = match (self.receive().await, said) {
            (Ok(answer), _) => answer,
            (Err(_), Err(error)) | (Err(error), Ok(())) => return Err(error),
        };
        match answer {
            Reply::Welcome { ident, .. } if ident.nonce != nonce => Err(LinkError::Foreign),
            Reply::Welcome { ident, .. } if !ident.protocol.is_understood() => {
                Err(LinkError::Unfit("its protocol is of another major version"))
            }
            Reply::Welcome { ident, phase } => Ok((ident, phase)),
            Reply::Refused {
                reason: Refusal::Foreign,
            } => Err(LinkError::Foreign),
            other => Err(unexpected(other)),
        }
    }

    pub(crate) async fn send(&mut self, request: &Request) -> Result<(), LinkError> {
        self.send_raw(&frame(request)?).await
    }

    /// Sends a short request now or not at all. Cancel safe, since it does not wait.
    pub(crate) fn send_now(&self, request: &Request) -> Result<(), LinkError> {
        let message = frame(request)?;
        match self.stream.try_write(&message) {
            Ok(written) if written == message.len() => Ok(()),
            Ok(_) => Err(LinkError::Ended),
            Err(error) => Err(LinkError::Io(error)),
        }
    }

    pub(crate) async fn send_raw(&mut self, bytes: &[u8]) -> Result<(), LinkError> {
        self.stream.write_all(bytes).await.map_err(LinkError::Io)
    }

    /// Waits for the next message of a kind that this build knows. Cancel safe.
    pub(crate) async fn receive(&mut self) -> Result<Reply, LinkError> {
        loop {
            while let Some(body) = self.take_message()? {
                match serde_json::from_slice(&body).map_err(LinkError::NotUnderstood)? {
                    // A later shim may tell more than this build knows.
                    Reply::Unknown => {}
                    reply => return Ok(reply),
                }
            }
            if self
                .stream
                .read_buf(&mut self.unread)
                .await
                .map_err(LinkError::Io)?
                == 0
            {
                return Err(LinkError::Ended);
            }
        }
    }

    fn take_message(&mut self) -> Result<Option<Vec<u8>>, LinkError> {
        let Some(head) = self.unread.first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*head);
        if length > MAX_MESSAGE_BYTES {
            return Err(LinkError::Unfit("its message is too long"));
        }
        let end = 4 + length as usize;
        if self.unread.len() < end {
            return Ok(None);
        }
        let body = self.unread[4..end].to_vec();
        self.unread.drain(..end);
        Ok(Some(body))
    }
}

fn frame(request: &Request) -> Result<Vec<u8>, LinkError> {
    let body = serde_json::to_vec(request).map_err(|error| LinkError::Io(error.into()))?;
    let length = u32::try_from(body.len()).map_err(|_| LinkError::Unfit("the request is too long"))?;
    Ok([&length.to_be_bytes(), body.as_slice()].concat())
}

/// A message that is no answer to what was asked.
pub(crate) fn unexpected(reply: Reply) -> LinkError {
    match reply {
        Reply::Refused { reason } => LinkError::Refused(reason),
        Reply::Broken {
            op,
            errno,
            text,
            lacks,
        } => LinkError::Broken {
            op,
            text,
            errno,
            lacks,
        },
        Reply::Closed { .. } => LinkError::Ended,
        Reply::Welcome { .. }
        | Reply::Started { .. }
        | Reply::SpawnFailed { .. }
        | Reply::Stopping
        | Reply::PauseIs { .. }
        | Reply::Renewed
        | Reply::Unknown => LinkError::Unfit("an answer to another question"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[tokio::test]
    async fn what_a_shim_said_before_it_ended_is_heard_also_when_it_was_not_greeted() {
        let (ours, mut theirs) = std::os::unix::net::UnixStream::pair().expect("a pair");
        let body = br#"{"type":"broken","op":"listen","errno":28,"text":"t"}"#;
        theirs
            .write_all(&[&(body.len() as u32).to_be_bytes(), body.as_slice()].concat())
            .expect("said");
        drop(theirs);
        let error = Link::over(ours)
            .expect("a link")
            .greet("nonce")
            .await
            .unwrap_err();
        assert!(matches!(error, LinkError::Broken { errno: 28, .. }), "{error:?}");
    }

    #[tokio::test]
    async fn one_that_said_nothing_has_ended() {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().expect("a pair");
        drop(theirs);
        let error = Link::over(ours)
            .expect("a link")
            .greet("nonce")
            .await
            .unwrap_err();
        assert!(matches!(error, LinkError::Io(_)), "{error:?}");
    }
}
