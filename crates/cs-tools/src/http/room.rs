//! One attempt behind the door.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hyper::Request;
use hyper::body::Incoming;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;

use super::front::{BODY_MAX_BYTES, Reply};
use crate::call::{Answer, Call, Caller};
use crate::door::{AT_ONCE, Attempted, Sockets};
use crate::handler::{Outcome, Tools};
use crate::mcp::{Carrier, Face, Unnamed};
use crate::patience::until_answered;

pub(super) struct Room {
    of: Attempted,
    sockets: Arc<dyn Sockets>,
    service: StreamableHttpService<Face, NeverSessionManager>,
}

impl std::fmt::Debug for Room {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Room")
            .field("caller", &self.of.caller)
            .finish_non_exhaustive()
    }
}

impl Room {
    pub(super) fn new(of: Attempted, tools: Tools, sockets: Arc<dyn Sockets>, deadline: Duration) -> Self {
        let face = Face {
            unnamed: Unnamed::ByContent,
            carrier: Arc::new(Here {
                caller: of.caller,
                tools,
                deadline,
                at_once: Semaphore::new(AT_ONCE),
            }),
        };
        // What its own checks refuse, the front has refused before.
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            // A stream begins with the first word of progress, and such words keep it alive.
            .with_sse_keep_alive(None)
            .with_max_request_body_bytes(BODY_MAX_BYTES)
            .enforce_origin_validation();
        let service = StreamableHttpService::new(move || Ok(face.clone()), Arc::default(), config);
        Self { of, sockets, service }
    }

    pub(super) fn caller(&self) -> &Caller {
        &self.of.caller
    }

    pub(super) fn sockets(&self) -> Arc<dyn Sockets> {
        Arc::clone(&self.sockets)
    }

    pub(super) fn is_token(&self, token: &str) -> bool {
        token.as_bytes().ct_eq(self.of.token.as_bytes()).into()
    }

    pub(super) async fn answer(&self, request: Request<Incoming>) -> Reply {
        self.service.handle(request).await
    }
}

/// Carries out calls in this process.
#[derive(Debug)]
struct Here {
    caller: Caller,
    tools: Tools,
    deadline: Duration,
    at_once: Semaphore,
}

#[async_trait]
impl Carrier for Here {
    async fn carry(&self, call: Call) -> Answer {
        until_answered(self.deadline, || async {
            // It is never closed.
            let _place = self.at_once.acquire().await;
            match self.tools.call(&self.caller, call.clone()).await {
                Outcome::Answer(answer) => Some(answer),
                Outcome::Again { why } => {
                    tracing::debug!(why, "it cannot be carried out now");
                    None
                }
            }
        })
        .await
    }
}
