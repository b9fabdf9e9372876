//! What an agent sees of the tools over the Model Context Protocol, the same behind each door.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval_at};

use crate::call::{Answer, Call};
use crate::handler::BROKEN;
use crate::name;
use crate::tool::ToolSpec;
use crate::tools::catalog;

/// Two agents give up a call after 60 s without a word; they get one so often.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);

/// Brings a call to where it is carried out, and waits for what it says.
#[async_trait]
pub(crate) trait Carrier: fmt::Debug + Send + Sync {
    /// The answer comes within the carrier's own deadline.
    async fn carry(&self, call: Call) -> Answer;
}

/// How a call is named for which the agent has no name of its own.
#[derive(Debug, Clone)]
pub(crate) enum Unnamed {
    /// By its number in this life of the bridge.
    InBridge(String),
    /// By what it says, and its number: a request that is made again is the same call, whoever hears it.
    ByContent,
}

/// The server that an agent talks to.
#[derive(Debug, Clone)]
pub(crate) struct Face {
    pub(crate) carrier: Arc<dyn Carrier>,
    pub(crate) unnamed: Unnamed,
}

impl ServerHandler for Face {
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
        let (tool, arguments) = (request.name.into_owned(), request.arguments.unwrap_or_default());
        let id = name::told(&context.meta).unwrap_or_else(|| match &self.unnamed {
            Unnamed::InBridge(instance) => name::in_bridge(instance, &context.id),
            Unnamed::ByContent => name::by_content(&tool, &arguments, &context.id),
        });
        let answer = self.guarded(Call { id, tool, arguments });
        let answer = tokio::select! {
            biased;
            answer = answer => answer,
            // Nobody waits for it any more: it is as if the agent had died.
            () = context.ct.cancelled() => Answer::refused("The call was cancelled."),
            never = keep_awake(&context) => match never {},
        };
        Ok(result(answer).into())
    }
}

impl Face {
    /// Carries a call so that a fault in it is one of this call alone.
    async fn guarded(&self, call: Call) -> Answer {
        let (carrier, tool) = (Arc::clone(&self.carrier), call.tool.clone());
        let mut carried = JoinSet::new();
        carried.spawn(async move { carrier.carry(call).await });
        match carried.join_next().await {
            Some(Ok(answer)) => answer,
            Some(Err(error)) => {
                tracing::error!(tool, %error, "a call has failed in an unforeseen way");
                Answer::refused(BROKEN)
            }
            None => Answer::refused(BROKEN),
        }
    }
}

/// Tells the agent again and again that the call is not forgotten.
async fn keep_awake(context: &RequestContext<RoleServer>) -> Infallible {
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
