use cs_model::FailureClass;
use serde::Deserialize;
use serde_json::Value;

use super::super::classify::ErrorFacts;
use super::super::read::{Number, Object, Words};
use super::super::wire::{self, ProviderError};
use crate::text::{cap_answer, cap_text, one_line};
use crate::{Event, Trouble, TurnMark, UsageReport, UsageSpan, UsageTotals, read_json};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message {
    #[serde(rename = "type")]
    kind: Words,
    #[serde(rename = "sessionID")]
    session: Words,
    part: Object<Part>,
    error: Object<ErrorBody>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Part {
    text: Words,
    tool: Words,
    #[serde(rename = "callID")]
    call: Words,
    state: Object<ToolState>,
    reason: Words,
    tokens: Object<Tokens>,
    cost: Number,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ToolState {
    status: Words,
    title: Words,
    error: Words,
    input: Value,
    metadata: Object<ToolMetadata>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ToolMetadata {
    exit: Number,
}

/// The tokens of a step: `input` without those of the cache, `output` without those of reasoning.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens {
    input: Number,
    output: Number,
    reasoning: Number,
    cache: Object<Cache>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cache {
    read: Number,
    write: Number,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorBody {
    name: Words,
    data: Object<ErrorData>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ErrorData {
    message: Words,
    status_code: Number,
    response_headers: Value,
    response_body: Words,
}

/// The events of a line; nothing for one that is not known.
pub(super) fn events(line: &[u8]) -> Option<Vec<Event>> {
    let message: Message = read_json(line).ok()?;
    let part = &message.part.0;
    match message.kind.as_deref()? {
        // The name of the conversation is in every line; it is told with those that come first.
        "step_start" => {
            let asked = Event::Turn {
                mark: TurnMark::Asked,
            };
            Some(
                Event::session(message.session.or_empty())
                    .into_iter()
                    .chain([asked])
                    .collect(),
            )
        }
        "text" => Some(said(part.text.as_deref()?)),
        "reasoning" => Some(Vec::new()),
        "tool_use" => tool(part),
        "step_finish" => Some(step_finish(part)),
        "error" => {
            let failed = Event::Failed(trouble(&message.error.0));
            Some(
                Event::session(message.session.or_empty())
                    .into_iter()
                    .chain([failed])
                    .collect(),
            )
        }
        _ => None,
    }
}

fn said(text: &str) -> Vec<Event> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    vec![Event::Said {
        text: cap_answer(text),
    }]
}

/// A tool is told of when it has ended.
fn tool(part: &Part) -> Option<Vec<Event>> {
    let (tool, state) = (part.tool.as_deref()?, &part.state.0);
    let call = cap_text(part.call.or_empty());
    let about = match state.title.as_deref().map(one_line) {
        Some(title) if !title.is_empty() => title,
        Some(_) | None => wire::about(&state.input),
    };
    let exit = state.metadata.0.exit.0;
    let ok = state.status.as_deref() == Some("completed")
        && tool != "invalid"
        && exit.is_none_or(|exit| exit == 0.0);
    let denied = state
        .error
        .as_deref()
        .is_some_and(is_denial)
        .then(|| Event::Denied {
            what: wire::tool_phrase(tool, &about),
        });
    let started = Event::ToolStart {
        call: call.clone(),
        tool: one_line(tool),
        about,
    };
    let ended = Event::ToolEnd { call, ok };
    Some([started, ended].into_iter().chain(denied).collect())
}

/// A denied call has no field of its own; these sentences are the program's, and stand in the field of the error.
fn is_denial(error: &str) -> bool {
    error.starts_with("The user has specified a rule which prevents you from using this")
        || error.starts_with("The user rejected permission to use this")
}

fn step_finish(part: &Part) -> Vec<Event> {
    let mark = match part.reason.as_deref() {
        Some("stop" | "length") => TurnMark::Rests,
        Some(_) | None => TurnMark::Goes,
    };
    let usage = UsageReport {
        span: UsageSpan::Step,
        totals: totals(part),
    };
    vec![Event::Usage(usage), Event::Turn { mark }]
}

fn totals(part: &Part) -> UsageTotals {
    let used = &part.tokens.0;
    let cached = used.cache.0.read.whole();
    let written = used.cache.0.write.whole();
    let reasoning = used.reasoning.whole();
    UsageTotals {
        turns: Some(1),
        input_tokens: wire::sum([used.input.whole(), cached, written]),
        cached_tokens: cached,
        output_tokens: wire::sum([used.output.whole(), reasoning]),
        reasoning_tokens: reasoning,
        cost_micro_usd: part.cost.micro_usd(),
    }
}

fn trouble(error: &ErrorBody) -> Trouble {
    let data = &error.data.0;
    let message = data.message.or_empty();
    let body = data.response_body.as_deref().unwrap_or(message);
    let told = ProviderError::within(body).unwrap_or_default();
    // These two names say nothing; the others are made for telling.
    let name = error
        .name
        .as_deref()
        .filter(|name| !matches!(*name, "APIError" | "UnknownError"));
    let facts = ErrorFacts {
        status: data.status_code.status(),
        word: name.or(told.word()),
        message: told.message().unwrap_or(message),
        retry_after_ms: retry_after_ms(data),
    };
    let mut trouble = facts.trouble();
    if name == Some("MessageAbortedError") {
        trouble.class = FailureClass::Interrupted;
    }
    trouble
}

/// What the headers of the provider's answer say in seconds; a date is left alone.
fn retry_after_ms(data: &ErrorData) -> Option<u64> {
    let header = data.response_headers.get("retry-after")?;
    let seconds = match header.as_str() {
        Some(text) => text.trim().parse().ok()?,
        None => header.as_u64()?,
    };
    seconds.checked_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Vec<Event> {
        events(line.as_bytes()).unwrap_or_else(|| panic!("not known: {line}"))
    }

    #[test]
    fn a_denied_call_is_told() {
        let line = r#"{"type":"tool_use","sessionID":"ses_1","part":{"type":"tool","tool":"bash","callID":"c","state":{"status":"error","input":{"command":"rm -r /"},"error":"The user has specified a rule which prevents you from using this specific tool call. Here are some of the relevant rules []"}}}"#;
        let all = of(line);
        assert!(matches!(&all[1], Event::ToolEnd { ok: false, .. }));
        assert_eq!(
            all[2],
            Event::Denied {
                what: "bash: rm -r /".to_owned()
            }
        );
    }

    #[test]
    fn names_of_errors_are_classes() {
        let class = |name: &str, message: &str| {
            let line = format!(
                r#"{{"type":"error","sessionID":"s","error":{{"name":"{name}","data":{{"message":"{message}"}}}}}}"#
            );
            match of(&line).pop() {
                Some(Event::Failed(trouble)) => trouble.class,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            class("ContextOverflowError", "too much"),
            FailureClass::ContextOverflow
        );
        assert_eq!(class("ProviderAuthError", "x"), FailureClass::Authentication);
        assert_eq!(class("MessageAbortedError", "aborted"), FailureClass::Interrupted);
        assert_eq!(
            class("UnknownError", "Unexpected server error."),
            FailureClass::Agent
        );
        assert_eq!(
            class("APIError", "Cannot connect to API: Unable to connect."),
            FailureClass::Infrastructure
        );
    }

    #[test]
    fn tokens_of_the_cache_and_of_reasoning_are_in_the_sums() {
        let line = r#"{"type":"step_finish","part":{"reason":"stop","tokens":{"input":10,"output":5,"reasoning":2,"cache":{"read":100,"write":3}},"cost":0.5}}"#;
        let expected = UsageTotals {
            turns: Some(1),
            input_tokens: Some(113),
            cached_tokens: Some(100),
            output_tokens: Some(7),
            reasoning_tokens: Some(2),
            cost_micro_usd: Some(500_000),
        };
        let Event::Usage(report) = &of(line)[0] else {
            panic!("no usage")
        };
        assert_eq!(report.totals, expected);
    }
}
