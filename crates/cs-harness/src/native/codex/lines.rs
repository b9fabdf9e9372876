use serde::Deserialize;

use super::super::classify::ErrorFacts;
use super::super::read::{List, Number, Object, Words};
use crate::text::{cap_answer, cap_text, one_line};
use crate::{Event, Trouble, UsageReport, UsageSpan, UsageTotals, read_json};

/// The events of a whole line.
pub(super) fn events(line: &[u8]) -> Vec<Event> {
    let Ok(message) = read_json::<Message>(line) else {
        return vec![Event::unknown("no message", line)];
    };
    let (kind, item) = (message.kind.or_empty(), &message.item.0);
    match kind {
        "thread.started" => started(&message.thread_id),
        "turn.started" | "item.updated" => Vec::new(),
        "item.started" => item.started().unwrap_or_default(),
        "item.completed" => item
            .completed()
            .unwrap_or_else(|| vec![Event::unknown(item.kind.or_empty(), line)]),
        "error" => vec![error(message.message.or_empty())],
        "turn.completed" => completed(&message.usage.0),
        "turn.failed" => vec![
            Event::Failed(trouble(message.error.0.message.or_empty())),
            Event::End { ok: false },
        ],
        _ => vec![Event::unknown(kind, line)],
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message {
    #[serde(rename = "type")]
    kind: Words,
    thread_id: Words,
    message: Words,
    error: Object<Error>,
    item: Object<Item>,
    usage: Object<Tokens>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Error {
    message: Words,
}

/// Something that was said or done. What a tool printed is not even looked at.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Item {
    id: Words,
    #[serde(rename = "type")]
    kind: Words,
    text: Words,
    message: Words,
    status: Words,
    command: Words,
    server: Words,
    tool: Words,
    query: Words,
    changes: List<Object<Change>>,
    error: Object<Error>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Change {
    path: Words,
}

/// Tokens; those that were kept are among those that went in.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct Tokens {
    input_tokens: Number,
    cached_input_tokens: Number,
    output_tokens: Number,
    reasoning_output_tokens: Number,
}

fn started(id: &Words) -> Vec<Event> {
    let session = Event::session(id.or_empty());
    let up = Event::Started {
        version: None,
        servers: Vec::new(),
    };
    session.into_iter().chain([up]).collect()
}

/// An error that it meets again and again is one that it tries again by itself.
fn error(message: &str) -> Event {
    match message.strip_prefix("Reconnecting...") {
        Some(_) => Event::Retry(facts(message).passing_trouble()),
        None => Event::Failed(trouble(message)),
    }
}

fn trouble(message: &str) -> Trouble {
    facts(message).trouble()
}

fn facts(message: &str) -> ErrorFacts<'_> {
    ErrorFacts {
        message,
        ..ErrorFacts::default()
    }
}

impl Tokens {
    pub(in super::super) fn totals(&self) -> UsageTotals {
        UsageTotals {
            input_tokens: self.input_tokens.whole(),
            cached_tokens: self.cached_input_tokens.whole(),
            output_tokens: self.output_tokens.whole(),
            reasoning_tokens: self.reasoning_output_tokens.whole(),
            ..UsageTotals::default()
        }
    }
}

/// The numbers count since the conversation began, in whatever processes.
fn completed(tokens: &Tokens) -> Vec<Event> {
    let report = UsageReport {
        span: UsageSpan::Session,
        totals: tokens.totals(),
    };
    vec![Event::Usage(report), Event::End { ok: true }]
}

impl Item {
    /// The tool, and what it is about, where it is one.
    fn tool(&self) -> Option<(String, String)> {
        let own = |tool: &str, about: &str| Some((tool.to_owned(), one_line(about)));
        match self.kind.or_empty() {
            "command_execution" => own("command", self.command.or_empty()),
            "file_change" => {
                let paths = self.changes.0.iter().map(|change| change.0.path.or_empty());
                own("file change", &paths.collect::<Vec<_>>().join(", "))
            }
            "web_search" => own("web search", self.query.or_empty()),
            "mcp_tool_call" => own(
                &one_line(&format!("{}.{}", self.server.or_empty(), self.tool.or_empty())),
                "",
            ),
            "collab_tool_call" => own(&one_line(self.tool.or_empty()), ""),
            _ => None,
        }
    }

    fn started(&self) -> Option<Vec<Event>> {
        let (tool, about) = self.tool()?;
        Some(vec![Event::ToolStart {
            call: cap_text(self.id.or_empty()),
            tool,
            about,
        }])
    }

    fn completed(&self) -> Option<Vec<Event>> {
        match self.kind.or_empty() {
            "agent_message" => Some(vec![Event::Said {
                text: cap_answer(self.text.or_empty()),
            }]),
            "reasoning" | "todo_list" => Some(Vec::new()),
            // A warning: what ends the turn is told outside of items.
            "error" => Some(vec![Event::Progress {
                text: one_line(self.message.or_empty()),
            }]),
            _ => self.tool_ended(),
        }
    }

    fn tool_ended(&self) -> Option<Vec<Event>> {
        let (tool, about) = self.tool()?;
        let ended = Event::ToolEnd {
            call: cap_text(self.id.or_empty()),
            ok: matches!(self.status.or_empty(), "completed" | ""),
        };
        let what = match about.as_str() {
            "" => tool,
            about => format!("{tool}: {about}"),
        };
        let denied = self.is_denied().then_some(Event::Denied { what });
        Some([ended].into_iter().chain(denied).collect())
    }

    /// Nobody is there to be asked, so what would need approval is refused.
    fn is_denied(&self) -> bool {
        let error = self.error.0.message.or_empty();
        self.status.or_empty() == "declined"
            || error.contains("requires approval")
            || error.contains("user cancelled MCP tool call")
    }
}
