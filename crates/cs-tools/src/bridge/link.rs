//! The bridge's line to the daemon: the same call again and again, until one has answered it or the time is up.

use std::io;
use std::time::Duration;

use tokio::io::BufReader;
use tokio::time::{Instant, sleep, timeout_at};

use super::Bridge;
use crate::call::{Answer, Call};
use crate::wire::{self, Reply, Request};

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(200);
const NO_DAEMON: &str = "Nobody is there to carry this out now. Call it again later, or end your turn with your question or your result as \
                         text: nothing is lost.";

#[derive(Debug)]
pub(super) struct Link {
    bridge: Bridge,
}

impl Link {
    pub(super) fn new(bridge: Bridge) -> Self {
        Self { bridge }
    }

    /// Makes a call, and again where nobody answered. The daemon sees to it that it is done once.
    pub(super) async fn call(&self, call: Call) -> Answer {
        let deadline = Instant::now() + self.bridge.deadline;
        loop {
            match timeout_at(deadline, self.once(&call)).await {
                Ok(Ok(Some(answer))) => return answer,
                Ok(Ok(None)) => {}
                Ok(Err(error)) => tracing::debug!(%error, "no daemon answers"),
                Err(_) => return Answer::refused(NO_DAEMON),
            }
            if Instant::now() + PAUSE >= deadline {
                return Answer::refused(NO_DAEMON);
            }
            sleep(PAUSE).await;
        }
    }

    /// `None`: it is to be made again.
    async fn once(&self, call: &Call) -> io::Result<Option<Answer>> {
        let token = tokio::fs::read_to_string(&self.bridge.token).await?;
        let mut stream = self.bridge.dial.dial().await?;
        let request = Request {
            token: token.trim().to_owned(),
            call: call.clone(),
        };
        wire::write(&mut stream, &request).await?;
        Ok(match wire::read(BufReader::new(stream)).await? {
            Some(Reply::Answer(answer)) => Some(answer),
            Some(Reply::NotHeard { why }) => Some(Answer::refused(why)),
            Some(Reply::Again { why }) => {
                tracing::debug!(why, "the daemon cannot carry it out now");
                None
            }
            None => None,
        })
    }
}
