use cs_model::FailureClass;
use serde::Deserialize;
use serde_json::Value;

use super::super::classify::ErrorFacts;
use super::super::read::{Flag, Number, Object, Words};
use super::super::wire::{self, ProviderError};
use crate::text::{cap_answer, cap_text, one_line};
use crate::{Event, Trouble, TurnMark, UsageReport, UsageSpan, UsageTotals, read_json};

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Message {
    #[serde(rename = "type")]
    kind: Words,
    id: Words,
    message: Object<Spoken>,
    tool_call_id: Words,
    tool_name: Words,
    args: Value,
    is_error: Flag,
    success: Flag,
    error_message: Words,
    final_error: Words,
    aborted: Flag,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spoken {
    role: Words,
    content: Value,
    usage: Object<Used>,
    stop_reason: Words,
    error_message: Words,
}

/// What a message used: `input` without the tokens of the cache, `output` with those of reasoning.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Used {
    input: Number,
    output: Number,
    cache_read: Number,
    cache_write: Number,
    reasoning: Number,
    cost: Object<Cost>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cost {
    total: Number,
}

/// Whether a line repeats what another line says, as most bytes of pi's output do. Only its first bytes are looked at.
pub(super) fn is_repetition(line: &[u8]) -> bool {
    const REPETITIONS: [&str; 6] = [
        "message_update",
        "message_start",
        "turn_end",
        "agent_end",
        "tool_execution_update",
        "entry_appended",
    ];
    let Some(rest) = line.strip_prefix(br#"{"type":""#) else {
        return false;
    };
    let Some(end) = rest.iter().take(32).position(|byte| *byte == b'"') else {
        return false;
    };
    // A line that is not whole is kept: it shows that the output was cut.
    line.ends_with(b"\n") && REPETITIONS.iter().any(|kind| kind.as_bytes() == &rest[..end])
}

/// The events of a line; nothing for one that is not known.
pub(super) fn events(line: &[u8]) -> Option<Vec<Event>> {
    let message: Message = read_json(line).ok()?;
    let one = |event| Some(vec![event]);
    match message.kind.as_deref()? {
        "session" => one(Event::session(message.id.or_empty())?),
        "turn_start" => one(Event::Turn {
            mark: TurnMark::Asked,
        }),
        "message_end" => spoken(&message.message.0),
        "tool_execution_start" => one(Event::ToolStart {
            call: cap_text(message.tool_call_id.or_empty()),
            tool: one_line(message.tool_name.or_empty()),
            about: wire::about(&message.args),
        }),
        "tool_execution_end" => one(Event::ToolEnd {
            call: cap_text(message.tool_call_id.or_empty()),
            ok: !message.is_error.is_yes(),
        }),
        "auto_retry_start" => one(Event::Retry(passing(message.error_message.or_empty()))),
        "auto_retry_end" if message.success.0 == Some(false) => {
            one(Event::Failed(passing(message.final_error.or_empty())))
        }
        "compaction_start" => one(Event::Progress {
            text: "sums up the conversation".to_owned(),
        }),
        // It has nothing more to do. Whether that is a success was said before.
        "agent_settled" => one(Event::End {
            ok: !message.aborted.is_yes(),
        }),
        "auto_retry_end"
        | "agent_start"
        | "compaction_end"
        | "queue_update"
        | "message_update"
        | "message_start"
        | "turn_end"
        | "agent_end"
        | "tool_execution_update"
        | "entry_appended" => Some(Vec::new()),
        _ => None,
    }
}

/// What a message that is whole tells, if it is the model's.
fn spoken(message: &Spoken) -> Option<Vec<Event>> {
    match (message.role.as_deref(), message.stop_reason.as_deref()) {
        // Nobody but the model stops for a reason.
        (Some("assistant"), _) | (None, Some(_)) => {}
        (None, None) => return None,
        (Some(_), _) => return Some(Vec::new()),
    }
    let mut events: Vec<Event> = used(message).into_iter().collect();
    // The words of a message that broke off are no answer.
    let (text, after) = match message.stop_reason.or_empty() {
        "error" => (None, Event::Failed(failure(message))),
        "aborted" => {
            let mut trouble = failure(message);
            trouble.class = FailureClass::Interrupted;
            (None, Event::Failed(trouble))
        }
        "stop" | "length" => {
            let mark = TurnMark::Rests;
            (Some(text(&message.content)), Event::Turn { mark })
        }
        _ => {
            let mark = TurnMark::Goes;
            (Some(text(&message.content)), Event::Turn { mark })
        }
    };
    let text = text.filter(|text| !text.trim().is_empty());
    events.extend(text.map(|text| Event::Said {
        text: cap_answer(&text),
    }));
    events.push(after);
    Some(events)
}

fn text(content: &Value) -> String {
    let parts = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let texts = parts.iter().filter(|part| part["type"] == "text");
    texts.filter_map(|part| part["text"].as_str()).collect()
}

/// Nothing where the provider never came to count.
fn used(message: &Spoken) -> Option<Event> {
    let used = &message.usage.0;
    let cached = used.cache_read.whole();
    let input_tokens = wire::sum([used.input.whole(), cached, used.cache_write.whole()]);
    let output_tokens = used.output.whole();
    if wire::sum([input_tokens, output_tokens]).unwrap_or(0) == 0 {
        return None;
    }
    let totals = UsageTotals {
        turns: Some(1),
        input_tokens,
        cached_tokens: cached,
        output_tokens,
        reasoning_tokens: used.reasoning.whole(),
        cost_micro_usd: used.cost.0.total.micro_usd(),
    };
    let span = UsageSpan::Step;
    Some(Event::Usage(UsageReport { span, totals }))
}

fn failure(message: &Spoken) -> Trouble {
    trouble(message.error_message.or_empty())
}

/// An error is one text: the status first, then the message, or in new versions the provider's error as JSON.
fn trouble(text: &str) -> Trouble {
    read_error(text, |facts| facts.trouble())
}

/// The same of one that it tries again, or has tried again.
fn passing(text: &str) -> Trouble {
    read_error(text, |facts| facts.passing_trouble())
}

fn read_error(text: &str, trouble: fn(&ErrorFacts<'_>) -> Trouble) -> Trouble {
    let told = ProviderError::within(text).unwrap_or_default();
    let status = text.split([' ', ':']).next().and_then(|word| word.parse().ok());
    let facts = ErrorFacts {
        status: status.filter(|status| (400..600).contains(status)),
        word: told.word(),
        message: told.message().unwrap_or(text),
        retry_after_ms: None,
    };
    trouble(&facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_told_by_their_first_bytes() {
        assert!(is_repetition(
            b"{\"type\":\"message_update\",\"message\":no json\n"
        ));
        assert!(!is_repetition(b"{\"type\":\"message_end\"}\n"));
        assert!(!is_repetition(b"{\"type\":\"message_update\""));
        assert!(!is_repetition(b"{\"type\":\""));
        assert!(!is_repetition(b""));
    }

    #[test]
    fn an_aborted_message_is_an_interruption() {
        let line =
            br#"{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"aborted"}}"#;
        let all = events(line).unwrap();
        assert!(
            matches!(&all[..], [Event::Failed(trouble)] if trouble.class == FailureClass::Interrupted),
            "{all:?}"
        );
    }

    #[test]
    fn the_status_and_the_code_of_an_error_are_read() {
        let quota = trouble(
            r#"429: {"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}"#,
        );
        assert_eq!((quota.class, quota.status), (FailureClass::Credit, Some(429)));
        assert_eq!(quota.said, "You exceeded your current quota");
        let rate = trouble("429 Rate limit reached. Please try again in 2s.");
        assert_eq!((rate.class, rate.status), (FailureClass::RateLimit, Some(429)));
        assert_eq!(
            trouble("Stream ended without finish_reason").class,
            FailureClass::Infrastructure
        );
    }
}
