//! How a prompt ended.

use cs_harness::{Event, Matter, Trouble};
use cs_model::FailureClass;
use serde_json::Value;

/// The events with which the task ends, and whether that is a success.
pub(crate) fn ended(result: &Value) -> (Vec<Event>, bool) {
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
    let mut events: Vec<Event> = failed.map(Event::Failed).into_iter().collect();
    events.push(Event::End { ok });
    (events, ok)
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
}
