//! Pausing an execution and letting it go on.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::dir::{self, ExecutionDir};
use crate::identity::Protocol;
use crate::link::{Link, LinkError, unexpected};
use crate::wire::{Refusal, Reply, Request};

/// How long a shim may take to answer; stopping a tree that grows takes a while.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);

/// Who paused an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PausedBy {
    /// Somebody asked for it.
    Request,
    /// Its lease ended.
    Lease,
}

/// Why an execution was not paused, or does not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PauseError {
    /// It has ended, or is being ended.
    #[error("the execution in {} has ended or is being ended", dir.display())]
    Ended {
        /// The execution's directory.
        dir: PathBuf,
    },
    /// Its shim was built before executions could be paused.
    #[error("the shim of {} is too old to pause it", dir.display())]
    TooOld {
        /// The execution's directory.
        dir: PathBuf,
    },
    /// It is paused, and yet some process of it runs, such as one of another user.
    #[error("not every process of the execution in {} stands still ({reason}): stop it, or let it go on", dir.display())]
    Incomplete {
        /// The execution's directory.
        dir: PathBuf,
        /// What its shim says.
        reason: String,
    },
    /// Its shim does not answer as it should; whether it was paused is not known.
    #[error("the shim of {} does not answer as it should: {reason}", dir.display())]
    Unknown {
        /// The execution's directory.
        dir: PathBuf,
        /// What happened.
        reason: String,
    },
}

/// Pauses one execution and lets it go on. Cheap to clone; each request has a connection of its own.
#[derive(Debug, Clone)]
pub struct Pauser {
    dir: ExecutionDir,
    nonce: String,
}

impl Pauser {
    pub(crate) fn new(dir: &ExecutionDir, nonce: &str) -> Self {
        Self {
            dir: dir.clone(),
            nonce: nonce.to_owned(),
        }
    }

    /// Pauses the execution: on return no process of it runs code of its own, none that has left its control group either. What
    /// waits for its GO is paused as soon as it has it. To pause what is paused changes nothing. A stop ends the pause first.
    ///
    /// A connection of the agent to its provider may be lost meanwhile.
    ///
    /// # Errors
    /// See [`PauseError`].
    pub async fn pause(&self) -> Result<(), PauseError> {
        self.ask(&Request::Pause).await
    }

    /// Lets a paused execution go on, and renews its lease. Nothing happens to what is not paused. Processes that had stopped
    /// themselves before the pause go on as well.
    ///
    /// # Errors
    /// See [`PauseError`].
    pub async fn resume(&self) -> Result<(), PauseError> {
        self.ask(&Request::Resume).await
    }

    async fn ask(&self, request: &Request) -> Result<(), PauseError> {
        let unknown = |reason: &dyn std::fmt::Display| PauseError::Unknown {
            dir: self.dir.path().to_path_buf(),
            reason: reason.to_string(),
        };
        let ended = || PauseError::Ended {
            dir: self.dir.path().to_path_buf(),
        };
        let asked = tokio::time::timeout(ANSWER_LIMIT, async {
            let mut link = Link::connect(&self.dir).await?;
            let (ident, _) = link.greet(&self.nonce).await?;
            if ident.protocol < Protocol::WITH_PAUSE {
                return Ok(None);
            }
            link.send(request).await?;
            link.receive().await.map(Some)
        });
        match asked.await {
            Ok(Ok(Some(Reply::PauseIs { .. }))) => Ok(()),
            Ok(Ok(None)) => Err(PauseError::TooOld {
                dir: self.dir.path().to_path_buf(),
            }),
            Ok(Ok(Some(Reply::Closed { .. }))) => Err(ended()),
            Ok(Ok(Some(Reply::Refused {
                reason: Refusal::WrongPhase,
            }))) => Err(ended()),
            Ok(Ok(Some(Reply::Broken { text, .. }))) => Err(PauseError::Incomplete {
                dir: self.dir.path().to_path_buf(),
                reason: text,
            }),
            Ok(Ok(Some(other))) => Err(unknown(&unexpected(other))),
            Ok(Err(error)) if has_ended(&error, self.dir.holds(dir::CLOSED).unwrap_or(false)) => Err(ended()),
            Ok(Err(error)) => Err(unknown(&error)),
            Err(_) => Err(unknown(&"no answer")),
        }
    }
}

/// Whether a connection that is of no use means that the execution has ended; `is_closed`: its end is written. A shim that lives may
/// turn a client away, and the fault may be ours: then nothing is known.
fn has_ended(error: &LinkError, is_closed: bool) -> bool {
    match error {
        // The socket of what has ended is there, and nobody listens; or the whole directory is gone.
        LinkError::Io(error) => {
            is_closed
                || matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound
                )
        }
        LinkError::Ended => is_closed,
        LinkError::Foreign
        | LinkError::Refused(_)
        | LinkError::Unfit(_)
        | LinkError::NotUnderstood(_)
        | LinkError::Broken { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn os(errno: i32) -> LinkError {
        LinkError::Io(io::Error::from_raw_os_error(errno))
    }

    #[test]
    fn what_nobody_listens_for_has_ended() {
        for errno in [libc::ECONNREFUSED, libc::ENOENT] {
            assert!(has_ended(&os(errno), false));
        }
    }

    #[test]
    fn a_fault_of_ours_or_a_full_shim_does_not_say_that_an_execution_has_ended() {
        for errno in [libc::EMFILE, libc::EAGAIN, libc::EPIPE, libc::ECONNRESET] {
            assert!(!has_ended(&os(errno), false));
        }
        assert!(!has_ended(&LinkError::Ended, false));
    }

    #[test]
    fn a_connection_that_ends_with_a_written_end_means_the_end() {
        assert!(has_ended(&LinkError::Ended, true));
        assert!(has_ended(&os(libc::EPIPE), true));
        assert!(!has_ended(&LinkError::Foreign, true));
    }
}
