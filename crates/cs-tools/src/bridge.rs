//! The stdio server that an agent starts: it runs in the agent's tree, knows the tools by heart, and carries each call to whichever
//! daemon lives. Three agents never start such a server again, so it does not end before they do.

mod link;

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::time::{Instant, interval_at};

use self::link::Link;
use crate::call::{Answer, Call, CallId};
use crate::tool::ToolSpec;
use crate::tools::catalog;

/// Two agents give up a call after 60 s without a word; they get one so often.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);

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

/// Why a bridge ended.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// The agent said something before the handshake that is none.
    #[error("the agent's handshake cannot be understood: {0}")]
    Handshake(String),
}

/// Serves an agent until it is gone.
///
/// # Errors
/// There was no handshake.
pub async fn serve(
    bridge: Bridge,
    from_agent: impl AsyncRead + Send + Unpin + 'static,
    to_agent: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), BridgeError> {
    let server = Server {
        instance: bridge.instance.clone(),
        link: Arc::new(Link::new(bridge)),
    };
    let running = server.serve((from_agent, to_agent)).await;
    let running = running.map_err(|error| BridgeError::Handshake(error.to_string()))?;
    // How it ended is of no use to anybody: the agent is gone.
    let _ = running.waiting().await;
    Ok(())
}

#[derive(Debug)]
struct Server {
    instance: String,
    link: Arc<Link>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::default();
        info.capabilities = ServerCapabilities::builder().enable_tools().build();
        info.server_info = Implementation::new("cs-panel", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(
            "Tools of the panel that gave you this work: ask the person, offer your work for landing, say how far you are.".to_owned(),
        );
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(
            catalog().into_iter().map(told).collect(),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = Call {
            id: self.name_of(&context),
            tool: request.name.into_owned(),
            arguments: request.arguments.unwrap_or_default(),
        };
        let answer = tokio::select! {
            biased;
            answer = self.link.call(call) => answer,
            never = keep_awake(&context) => match never {},
        };
        Ok(result(answer).into())
    }
}

impl Server {
    /// The agent's own name of the call, where it tells one: it is the same in the next bridge.
    fn name_of(&self, context: &RequestContext<RoleServer>) -> CallId {
        let own = ["claudecode/toolUseId", "callId"];
        let told = own.iter().find_map(|key| match context.meta.get(*key) {
            Some(Value::String(id)) => CallId::new(id.clone()).ok(),
            Some(_) | None => None,
        });
        told.unwrap_or_else(|| {
            let id: String = context
                .id
                .to_string()
                .chars()
                .filter(char::is_ascii_graphic)
                .take(100)
                .collect();
            let name = format!("{}/{id}", self.instance);
            CallId::new(name).unwrap_or_else(|_| CallId::new("unnamed").expect("a name"))
        })
    }
}

/// Tells the agent again and again that the call is not forgotten.
async fn keep_awake(context: &RequestContext<RoleServer>) -> std::convert::Infallible {
    let mut ticks = interval_at(Instant::now() + PROGRESS_EVERY, PROGRESS_EVERY);
    let mut progress = 0.0;
    loop {
        ticks.tick().await;
        progress += 1.0;
        if let Some(token) = context.meta.get_progress_token() {
            let told = ProgressNotificationParam::new(token, progress);
            if let Err(error) = context.peer.notify_progress(told).await {
                tracing::debug!(%error, "the agent takes no progress");
            }
        }
    }
}

fn told(spec: ToolSpec) -> Tool {
    let mut tool = Tool::new(
        spec.name,
        Cow::Borrowed(spec.description),
        Arc::new(spec.arguments),
    );
    // Never idempotent: one agent repeats such a call by itself.
    let hints = ToolAnnotations::new()
        .read_only(spec.reads_only)
        .destructive(false);
    tool.annotations = Some(hints.idempotent(false).open_world(false));
    tool
}

fn result(answer: Answer) -> CallToolResult {
    let content = vec![ContentBlock::text(answer.text)];
    if answer.is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    }
}
