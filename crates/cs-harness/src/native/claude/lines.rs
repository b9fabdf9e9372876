use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::super::classify::{ErrorFacts, known_code};
use super::super::read::{Flag, List, Number, Object, Words};
use super::result;
use crate::text::{cap_answer, cap_text, one_line};
use crate::{AskAgain, Event, ToolServer, Trouble, read_json};

/// The events of a whole line.
pub(super) fn events(line: &[u8]) -> Vec<Event> {
    let Ok(head) = read_json::<Head>(line) else {
        return vec![Event::unknown("no message", line)];
    };
    let kind = head.kind.or_empty();
    let events = match kind {
        "assistant" => read(line, assistant),
        "user" => read(line, user),
        "system" => system(head.subtype.or_empty(), line),
        "result" => result::events(line),
        "rate_limit_event" => read(line, rate_limit),
        // Pieces of what comes whole later, signs of life, and what is for the window of a person.
        "stream_event" | "tool_progress" | "auth_status" | "prompt_suggestion" | "tool_use_summary" => {
            Some(Vec::new())
        }
        _ => None,
    };
    events.unwrap_or_else(|| vec![Event::unknown(kind, line)])
}

fn read<T: DeserializeOwned>(line: &[u8], events: impl Fn(T) -> Vec<Event>) -> Option<Vec<Event>> {
    read_json(line).ok().map(events)
}

/// What kind of line it is. No field has its fixed place.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Head {
    #[serde(rename = "type")]
    kind: Words,
    subtype: Words,
}

fn system(subtype: &str, line: &[u8]) -> Option<Vec<Event>> {
    match subtype {
        "init" => read(line, init),
        "api_retry" => read(line, retry),
        "permission_denied" => read(line, denied),
        "compact_boundary" => Some(vec![Event::Progress {
            text: "the conversation was made shorter".to_owned(),
        }]),
        "status"
        | "thinking_tokens"
        | "task_started"
        | "task_progress"
        | "task_updated"
        | "task_notification"
        | "ui_invalidate"
        | "hook_started"
        | "hook_progress"
        | "hook_response"
        | "session_state_changed"
        | "files_persisted"
        | "api_retry_end" => Some(Vec::new()),
        _ => None,
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Init {
    session_id: Words,
    claude_code_version: Words,
    mcp_servers: List<Object<Server>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Server {
    name: Words,
    status: Words,
}

fn init(init: Init) -> Vec<Event> {
    let servers = init.mcp_servers.0.into_iter().map(|Object(server)| ToolServer {
        name: one_line(server.name.or_empty()),
        connected: server.status.or_empty() == "connected",
    });
    let started = Event::Started {
        version: init.claude_code_version.0.map(|version| one_line(&version)),
        servers: servers.collect(),
    };
    Event::session(init.session_id.or_empty())
        .into_iter()
        .chain([started])
        .collect()
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Retry {
    error: Words,
    error_status: Number,
    retry_delay_ms: Number,
}

/// Where the provider answered, the agent waits as long as that wants it to; otherwise the wait is its own choice.
fn retry(retry: Retry) -> Vec<Event> {
    let status = retry.error_status.status();
    let facts = ErrorFacts {
        status,
        word: retry.error.as_deref(),
        message: retry.error.or_empty(),
        retry_after_ms: status.and_then(|_| retry.retry_delay_ms.whole()),
    };
    vec![Event::Retry(facts.passing_trouble())]
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DeniedNow {
    tool_name: Words,
    message: Words,
}

/// That it was denied counts when the result says so: until then the agent may find another way.
fn denied(denied: DeniedNow) -> Vec<Event> {
    let text = format!(
        "{} was denied: {}",
        denied.tool_name.or_empty(),
        one_line(denied.message.or_empty())
    );
    vec![Event::Progress { text }]
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RateLimit {
    rate_limit_info: Object<RateLimitInfo>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RateLimitInfo {
    status: Words,
    #[serde(rename = "resetsAt")]
    resets_at: Number,
    #[serde(rename = "isUsingOverage")]
    is_using_overage: Flag,
}

/// The state of a subscription's limit: only that it is reached is worth an event.
fn rate_limit(event: RateLimit) -> Vec<Event> {
    let info = event.rate_limit_info.0;
    if info.status.or_empty() != "rejected" || info.is_using_overage.is_yes() {
        return Vec::new();
    }
    let facts = ErrorFacts {
        word: Some("usage_limit_reached"),
        message: "the limit of the subscription is reached",
        ..ErrorFacts::default()
    };
    let resets_at = info.resets_at.whole();
    vec![Event::Retry(Trouble {
        again: resets_at
            .and_then(|at| i64::try_from(at).ok())
            .map(AskAgain::AtUnix),
        ..facts.trouble()
    })]
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Assistant {
    message: Object<Message>,
    parent_tool_use_id: Words,
    error: Words,
    api_error: Words,
    api_error_type: Words,
    api_error_status: Number,
    is_api_error_message: Flag,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message {
    content: List<Object<Block>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Block {
    #[serde(rename = "type")]
    kind: Words,
    text: Words,
    id: Words,
    name: Words,
    input: Object<Input>,
}

/// Of what a tool is given only what says in a few words what it is about.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Input {
    command: Words,
    file_path: Words,
    path: Words,
    pattern: Words,
    url: Words,
    query: Words,
    description: Words,
}

impl Input {
    pub(super) fn about(&self) -> String {
        let all = [
            &self.command,
            &self.file_path,
            &self.path,
            &self.pattern,
            &self.url,
            &self.query,
            &self.description,
        ];
        all.into_iter()
            .find_map(|words| words.as_deref().map(one_line))
            .unwrap_or_default()
    }
}

fn assistant(line: Assistant) -> Vec<Event> {
    if line.error.0.is_some() || line.is_api_error_message.is_yes() {
        return vec![refused(&line)];
    }
    let is_own = line.parent_tool_use_id.0.is_none();
    let blocks = line.message.0.content.0.into_iter();
    blocks.filter_map(|Object(block)| said(block, is_own)).collect()
}

/// The agent writes an error of its provider down as if the model had said it, and marks it.
fn refused(line: &Assistant) -> Event {
    let codes = [&line.api_error, &line.error, &line.api_error_type].map(Words::as_deref);
    let blocks = line.message.0.content.0.iter();
    let texts = blocks.map(|block| block.0.text.or_empty());
    let trouble = ErrorFacts {
        status: line.api_error_status.status(),
        word: known_code(&codes),
        message: &texts.collect::<Vec<_>>().join("\n"),
        retry_after_ms: None,
    }
    .trouble();
    match line.parent_tool_use_id.as_deref() {
        None => Event::Failed(trouble),
        Some(_) => Event::Progress {
            text: format!("an agent that it started failed: {}", one_line(&trouble.said)),
        },
    }
}

/// The words of an agent that it started are no answer of its own.
fn said(block: Block, is_own: bool) -> Option<Event> {
    match (block.kind.or_empty(), block.text.0) {
        ("text", Some(text)) if is_own => Some(Event::Said {
            text: cap_answer(&text),
        }),
        ("text", Some(text)) => Some(Event::Progress {
            text: one_line(&text),
        }),
        ("tool_use" | "server_tool_use", _) => Some(Event::ToolStart {
            call: cap_text(block.id.or_empty()),
            tool: one_line(block.name.or_empty()),
            about: block.input.0.about(),
        }),
        _ => None,
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct User {
    message: Object<Results>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Results {
    content: List<Object<ToolResult>>,
}

/// What the tool printed is not even looked at.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ToolResult {
    #[serde(rename = "type")]
    kind: Words,
    tool_use_id: Words,
    is_error: Flag,
}

fn user(line: User) -> Vec<Event> {
    let results = line.message.0.content.0.into_iter().map(|block| block.0);
    let ended = results.filter(|block| block.kind.or_empty() == "tool_result");
    ended
        .map(|block| Event::ToolEnd {
            call: cap_text(block.tool_use_id.or_empty()),
            ok: !block.is_error.is_yes(),
        })
        .collect()
}
