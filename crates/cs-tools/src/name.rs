//! How a call is named. Whatever its name, what it is belongs to it: one name for two things is two calls.
//!
//! An agent's own name of it, where it tells one, is the same in its next process and over each door. Without one, a bridge names it by
//! itself and the number of the request: its next life never takes a call for one of the last. Over HTTP nothing tells one process of an
//! agent from the next, so there the name is made from tool, arguments and number: a request that is sent again after a lost answer is
//! the same call, and two calls are taken for one only if all three are the same in one attempt. Then the second gets the first one's
//! answer, which is what it asked for word by word.

use std::fmt::Write as _;

use rmcp::model::{RequestId, RequestMetaObject};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::call::{Call, CallId};

/// Where agents put their own names of a call.
const OWN: [&str; 2] = ["claudecode/toolUseId", "callId"];

/// The agent's own name of a call.
pub(crate) fn told(meta: &RequestMetaObject) -> Option<CallId> {
    OWN.iter().find_map(|key| match meta.get(*key) {
        Some(Value::String(id)) => CallId::new(id.clone()).ok(),
        Some(_) | None => None,
    })
}

/// One that no other bridge of the attempt gives.
pub(crate) fn in_bridge(instance: &str, id: &RequestId) -> CallId {
    let id: String = id
        .to_string()
        .chars()
        .filter(char::is_ascii_graphic)
        .take(100)
        .collect();
    let name = format!("{instance}/{id}");
    CallId::new(name).unwrap_or_else(|_| CallId::new("unnamed").expect("a name"))
}

/// One that the same request gets again.
pub(crate) fn by_content(tool: &str, arguments: &Map<String, Value>, id: &RequestId) -> CallId {
    let mut hash = Sha256::new();
    feed_text(&mut hash, tool);
    match id {
        RequestId::Number(number) => feed_text(&mut hash, &number.to_string()),
        RequestId::String(text) => feed_text(&mut hash, &format!("{text:?}")),
    }
    feed_object(&mut hash, arguments);
    hexadecimal("content/", hash)
}

/// A call by its name and by what it is: an agent that uses a name again for something else makes another call.
pub(crate) fn with_content(call: &Call) -> CallId {
    let mut hash = Sha256::new();
    feed_text(&mut hash, call.id.as_str());
    feed_text(&mut hash, &call.tool);
    feed_object(&mut hash, &call.arguments);
    hexadecimal("call/", hash)
}

fn hexadecimal(kind: &str, hash: Sha256) -> CallId {
    let mut name = kind.to_owned();
    for byte in hash.finalize() {
        write!(name, "{byte:02x}").expect("a string takes everything");
    }
    CallId::new(name).expect("hexadecimal digits are a name")
}

/// Different values never feed the same: each says its kind and its length first.
fn feed(hash: &mut Sha256, value: &Value) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            hash.update("v");
            feed_text(hash, &value.to_string());
        }
        Value::String(text) => {
            hash.update("s");
            feed_text(hash, text);
        }
        Value::Array(values) => {
            hash.update("a");
            hash.update((values.len() as u64).to_be_bytes());
            for value in values {
                feed(hash, value);
            }
        }
        Value::Object(entries) => feed_object(hash, entries),
    }
}

/// The order of the entries says nothing.
fn feed_object(hash: &mut Sha256, entries: &Map<String, Value>) {
    let mut entries: Vec<_> = entries.iter().collect();
    entries.sort_by_key(|(key, _)| *key);
    hash.update("o");
    hash.update((entries.len() as u64).to_be_bytes());
    for (key, value) in entries {
        feed_text(hash, key);
        feed(hash, value);
    }
}

fn feed_text(hash: &mut Sha256, text: &str) {
    hash.update((text.len() as u64).to_be_bytes());
    hash.update(text);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    fn named(tool: &str, arguments: &Value, id: &RequestId) -> CallId {
        by_content(tool, arguments.as_object().unwrap(), id)
    }

    #[test]
    fn the_same_request_has_the_same_name_and_no_other_has() {
        let (one, text) = (RequestId::Number(1), RequestId::String("1".into()));
        let requests = [
            ("ask", json!({"question": "a"}), &one),
            ("ask", json!({"question": "a"}), &text),
            ("ask", json!({"question": "a"}), &RequestId::Number(2)),
            ("show", json!({"question": "a"}), &one),
            ("ask", json!({"question": ["a"]}), &one),
            ("ask", json!({"question": "a", "choices": []}), &one),
            ("ask", json!({"question": "a", "choices": {}}), &one),
            ("ask", json!({"question": null}), &one),
            ("ask", json!({"question": "null"}), &one),
            ("ask", json!({}), &one),
        ];
        let names: BTreeSet<_> = requests
            .iter()
            .map(|(tool, arguments, id)| named(tool, arguments, id))
            .collect();
        assert_eq!(names.len(), requests.len());
        for (tool, arguments, id) in &requests {
            assert!(names.contains(&named(tool, arguments, id)));
        }
    }

    #[test]
    fn the_order_of_the_arguments_says_nothing() {
        let id = RequestId::Number(1);
        let there: Value = serde_json::from_str(r#"{"a":1,"b":{"c":2,"d":3}}"#).unwrap();
        let back: Value = serde_json::from_str(r#"{"b":{"d":3,"c":2},"a":1}"#).unwrap();
        assert_eq!(named("ask", &there, &id), named("ask", &back, &id));
    }

    #[test]
    fn a_number_of_any_form_is_a_name() {
        let long = "x".repeat(1000);
        for id in ["", " ", "\u{1F980}", long.as_str()] {
            let id = RequestId::String(id.into());
            assert!(in_bridge("a", &id).as_str().starts_with("a/"));
            assert!(in_bridge("an instance with spaces", &id).as_str() == "unnamed");
        }
    }
}
