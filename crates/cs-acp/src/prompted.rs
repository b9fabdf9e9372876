//! How a prompt ended.

use cs_harness::{Event, Matter, Trouble, UsageReport, UsageSpan, UsageTotals};
use cs_model::FailureClass;
use serde_json::Value;

/// The events with which the task ends, and whether that is a success.
pub(crate) fn ended(result: &Value) -> (Vec<Event>, bool) {
    let mut events: Vec<Event> = usage(result).into_iter().collect();
    let reason = result["stopReason"].as_str().unwrap_or_default();
    let trouble = |class, matter, said: &str| Trouble {
        class,
        status: None,
        again: None,
        said: said.to_owned(),
        matter,
    };
    let failed = match reason {
        // An answer that was cut by the model's limit is an answer, as with every agent.
        "end_turn" | "max_tokens" => None,
        "max_turn_requests" => Some(trouble(
            FailureClass::InvalidRequest,
            Matter::TurnCap,
            "the agent has asked its model as often as it may",
        )),
        "refusal" => Some(trouble(
            FailureClass::Agent,
            Matter::Provider,
            "the model refused",
        )),
        "cancelled" => Some(trouble(FailureClass::Interrupted, Matter::Provider, "cancelled")),
        _ => Some(trouble(
            FailureClass::Agent,
            Matter::Provider,
            "the agent stopped for a reason that is not known",
        )),
    };
    let ok = failed.is_none();
    events.extend(failed.map(Event::Failed));
    events.push(Event::End { ok });
    (events, ok)
}

/// What the prompt used, where the agent tells it: in the field for it, or in one of its own.
fn usage(result: &Value) -> Option<Event> {
    let told = &result["usage"];
    let own = &result["_meta"]["quota"]["token_count"];
    let number = |key: &str| told[key].as_u64();
    let totals = if told.is_object() {
        let cached = number("cachedReadTokens");
        let parts = [number("inputTokens"), cached, number("cachedWriteTokens")];
        let reasoning = number("thoughtTokens");
        UsageTotals {
            input_tokens: sum(&parts),
            cached_tokens: cached,
            output_tokens: sum(&[number("outputTokens"), reasoning]),
            reasoning_tokens: reasoning,
            ..UsageTotals::default()
        }
    } else {
        UsageTotals {
            input_tokens: own["input_tokens"].as_u64(),
            output_tokens: own["output_tokens"].as_u64(),
            ..UsageTotals::default()
        }
    };
    let span = UsageSpan::Process;
    (totals != UsageTotals::default()).then_some(Event::Usage(UsageReport { span, totals }))
}

fn sum(parts: &[Option<u64>]) -> Option<u64> {
    parts.iter().copied().flatten().reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_reason_to_stop_has_its_meaning() {
        let table = [
            ("end_turn", None),
            ("max_tokens", None),
            (
                "max_turn_requests",
                Some((FailureClass::InvalidRequest, Matter::TurnCap)),
            ),
            ("refusal", Some((FailureClass::Agent, Matter::Provider))),
            ("cancelled", Some((FailureClass::Interrupted, Matter::Provider))),
            ("later", Some((FailureClass::Agent, Matter::Provider))),
        ];
        for (reason, expected) in table {
            let (events, ok) = ended(&json!({"stopReason": reason}));
            assert_eq!(ok, expected.is_none(), "{reason}");
            assert_eq!(events.last(), Some(&Event::End { ok }), "{reason}");
            let failed = events.iter().find_map(|event| match event {
                Event::Failed(trouble) => Some((trouble.class, trouble.matter)),
                _ => None,
            });
            assert_eq!(failed, expected, "{reason}");
        }
    }

    #[test]
    fn usage_is_read_where_agents_put_it() {
        let of = |result: Value| match &ended(&result).0[..] {
            [Event::Usage(report), _, ..] => Some(report.totals),
            _ => None,
        };
        let told = of(
            json!({"stopReason": "end_turn", "usage": {"totalTokens": 1542, "inputTokens": 1200,
            "outputTokens": 35, "thoughtTokens": 7, "cachedReadTokens": 300}}),
        );
        let expected = UsageTotals {
            input_tokens: Some(1500),
            cached_tokens: Some(300),
            output_tokens: Some(42),
            reasoning_tokens: Some(7),
            ..UsageTotals::default()
        };
        assert_eq!(told, Some(expected));
        let own = of(
            json!({"stopReason": "end_turn", "_meta": {"quota": {"token_count": {"input_tokens": 5, "output_tokens": 2}}}}),
        );
        assert_eq!(own.and_then(|totals| totals.input_tokens), Some(5));
        assert_eq!(of(json!({"stopReason": "end_turn"})), None);
    }
}
