//! The bridge's line to the daemon: the same call again and again, until one has answered it or the time is up.

use std::io;

use async_trait::async_trait;
use tokio::io::BufReader;

use super::Bridge;
use crate::call::{Answer, Call};
use crate::mcp::Carrier;
use crate::patience::until_answered;
use crate::wire::{self, LINE_MAX_BYTES, Reply, Request};

#[derive(Debug)]
pub(super) struct Link {
    bridge: Bridge,
}

#[async_trait]
impl Carrier for Link {
    /// Makes a call, and again where nobody answered. The daemon sees to it that it is done once.
    async fn carry(&self, call: Call) -> Answer {
        until_answered(self.bridge.deadline, || async {
            self.once(&call).await.unwrap_or_else(|error| {
                tracing::debug!(%error, "no daemon answers");
                None
            })
        })
        .await
    }
}

impl Link {
    pub(super) fn new(bridge: Bridge) -> Self {
        Self { bridge }
    }

    /// `None`: it is to be made again.
    async fn once(&self, call: &Call) -> io::Result<Option<Answer>> {
        let token = tokio::fs::read_to_string(&self.bridge.token).await?;
        let request = Request {
            token: token.trim().to_owned(),
            call: call.clone(),
        };
        let line = wire::line(&request)?;
        if line.len() as u64 > LINE_MAX_BYTES {
            tracing::warn!(tool = call.tool, bytes = line.len(), "a call is too large");
            return Ok(Some(Answer::refused(format!(
                "Nothing was done: the call has {} bytes, {LINE_MAX_BYTES} at most are taken. Call it again with less.",
                line.len()
            ))));
        }
        let mut stream = self.bridge.dial.dial().await?;
        wire::write(&mut stream, &line).await?;
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
