//! What an agent tells on its way.

use std::collections::BTreeMap;

use cs_harness::{Event, Tail, one_line};
use serde_json::Value;

use crate::permission::Call;
use crate::usage;

/// Of so many tool calls it is remembered what they are.
const CALLS_MAX: usize = 1000;
/// And in so many bytes.
const CALLS_MAX_BYTES: usize = 4 << 20;

/// What the agent is in the middle of.
#[derive(Debug, Default)]
pub(crate) struct Told {
    calls: BTreeMap<String, Known>,
    calls_bytes: usize,
    /// The words of the message that is coming.
    text: Tail,
    message: Option<String>,
    /// Whether it tells what each request to the model used.
    counts_requests: bool,
}

#[derive(Debug, Default)]
struct Known {
    call: Call,
    is_over: bool,
}

impl Told {
    /// What an update tells.
    pub(crate) fn update(&mut self, update: &Value) -> Vec<Event> {
        let kind = update
            .get("sessionUpdate")
            .and_then(Value::as_str)
            .unwrap_or_default();
        match kind {
            "agent_message_chunk" => self.chunk(update),
            "tool_call" | "tool_call_update" => self.tool(update),
            "usage_update" => usage::cost(update).into_iter().collect(),
            "agent_thought_chunk"
            | "user_message_chunk"
            | "plan"
            | "plan_update"
            | "plan_removed"
            | "available_commands_update"
            | "current_mode_update"
            | "config_option_update"
            | "session_info_update"
            | "notice"
            | "compaction_update"
            | "compaction_summary_chunk" => Vec::new(),
            _ => vec![Event::unknown(kind, update.to_string().as_bytes())],
        }
    }

    /// The message that has come, if it has words.
    pub(crate) fn said(&mut self) -> Option<Event> {
        self.message = None;
        let text = std::mem::take(&mut self.text).render();
        (!text.trim().is_empty()).then_some(Event::Said { text })
    }

    /// What is known of the call that a request is about, with what the request itself tells.
    pub(crate) fn call(&self, asked: &Value) -> Call {
        let known = id_of(asked).and_then(|id| self.calls.get(&id));
        let mut call = known.map(|known| known.call.clone()).unwrap_or_default();
        call.learn(asked);
        call
    }

    /// Messages come in pieces; a piece of another message ends the one before.
    fn chunk(&mut self, update: &Value) -> Vec<Event> {
        let message = update.get("messageId").and_then(Value::as_str);
        let is_new = message.is_some() && self.message.as_deref() != message;
        let before = if is_new { self.said() } else { None };
        if is_new {
            self.message = message.map(one_line);
        }
        let content = update.get("content").unwrap_or(&Value::Null);
        if let Some(text) = content.get("text").and_then(Value::as_str) {
            self.text.push(text);
        }
        let used = usage::of_request(update);
        self.counts_requests |= used.is_some();
        before.into_iter().chain(used).collect()
    }

    /// What the prompt used, from the answer to it, unless that was told in parts.
    pub(crate) fn used(&self, result: &Value) -> Option<Event> {
        usage::of_prompt(result).filter(|_| !self.counts_requests)
    }

    /// Takes in what is told of a tool call.
    pub(crate) fn tool(&mut self, update: &Value) -> Vec<Event> {
        let Some(id) = id_of(update) else {
            return Vec::new();
        };
        let mut events: Vec<Event> = self.said().into_iter().collect();
        let is_new = !self.calls.contains_key(&id);
        if is_new && self.calls.len() >= CALLS_MAX {
            self.forget_another(&id);
        }
        let known = self.calls.entry(id.clone()).or_default();
        let before = known.call.bytes();
        known.call.learn(update);
        self.calls_bytes = (self.calls_bytes + known.call.bytes()).saturating_sub(before);
        if is_new {
            events.push(started(&id, update, &known.call));
        }
        let ok = match update.get("status").and_then(Value::as_str) {
            Some("completed") => Some(true),
            Some("failed") => Some(false),
            Some(_) | None => None,
        };
        if let (Some(ok), false) = (ok, known.is_over) {
            known.is_over = true;
            events.push(Event::ToolEnd { call: id.clone(), ok });
        }
        while self.calls_bytes > CALLS_MAX_BYTES && self.forget_another(&id) {}
        events
    }

    /// Forgets what a call is about, but not this one. What is forgotten of a call is not allowed to it either.
    fn forget_another(&mut self, than: &str) -> bool {
        let other = self.calls.keys().find(|id| *id != than).cloned();
        let forgotten = other.and_then(|id| self.calls.remove(&id));
        let Some(Known { call, .. }) = forgotten else {
            return false;
        };
        self.calls_bytes = self.calls_bytes.saturating_sub(call.bytes());
        true
    }
}

fn started(id: &str, update: &Value, call: &Call) -> Event {
    let name = update.get("name").and_then(Value::as_str).map(one_line);
    let kind = Some(call.kind.clone()).filter(|kind| !kind.is_empty());
    Event::ToolStart {
        call: id.to_owned(),
        tool: name.or(kind).unwrap_or_else(|| "tool".to_owned()),
        about: call.title.clone(),
    }
}

fn id_of(message: &Value) -> Option<String> {
    message.get("toolCallId")?.as_str().map(one_line)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn chunk(text: &str) -> Value {
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
    }

    fn said(text: &str) -> Event {
        Event::Said {
            text: text.to_owned(),
        }
    }

    #[test]
    fn pieces_are_one_message_until_a_tool_is_used() {
        let mut told = Told::default();
        let mut events: Vec<Event> = Vec::new();
        for update in [
            chunk("I will "),
            chunk("look."),
            json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "ls", "kind": "execute", "status": "pending"}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "in_progress"}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "failed"}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "failed"}),
            chunk("Done."),
        ] {
            events.extend(told.update(&update));
        }
        events.extend(told.said());
        let started = Event::ToolStart {
            call: "1".to_owned(),
            tool: "execute".to_owned(),
            about: "ls".to_owned(),
        };
        let ended = Event::ToolEnd {
            call: "1".to_owned(),
            ok: false,
        };
        assert_eq!(events, [said("I will look."), started, ended, said("Done.")]);
    }

    #[test]
    fn a_new_message_ends_the_one_before() {
        let piece = |id: &str, text: &str| json!({"sessionUpdate": "agent_message_chunk", "messageId": id, "content": {"type": "text", "text": text}});
        let mut told = Told::default();
        assert_eq!(told.update(&piece("a", "one")), []);
        assert_eq!(told.update(&piece("a", " two")), []);
        assert_eq!(told.update(&piece("b", "three")), [said("one two")]);
        assert_eq!(told.said(), Some(said("three")));
        assert_eq!(told.said(), None);
    }

    #[test]
    fn calls_are_remembered_up_to_a_limit() {
        let mut told = Told::default();
        for id in 0..CALLS_MAX + 10 {
            told.update(
                &json!({"sessionUpdate": "tool_call", "toolCallId": format!("{id:05}"), "title": "x"}),
            );
        }
        assert_eq!(told.calls.len(), CALLS_MAX);
    }

    #[test]
    fn calls_that_name_many_places_are_remembered_up_to_a_size() {
        let mut told = Told::default();
        let mut most = 0;
        for id in 0..300 {
            let places: Vec<Value> = (0..100)
                .map(|place| json!({"path": format!("/{id}/{place}/{}", "x".repeat(4000))}))
                .collect();
            let update =
                json!({"sessionUpdate": "tool_call", "toolCallId": id.to_string(), "locations": places});
            told.update(&update);
            // The same again takes no more.
            told.update(&update);
            assert!(told.calls.contains_key(&id.to_string()));
            let held: usize = told.calls.values().map(|known| known.call.bytes()).sum();
            assert_eq!(held, told.calls_bytes);
            most = most.max(held);
        }
        assert!((CALLS_MAX_BYTES / 2..=CALLS_MAX_BYTES).contains(&most), "{most}");
    }

    #[test]
    fn an_update_that_is_not_known_is_kept() {
        let events = Told::default().update(&json!({"sessionUpdate": "later", "x": 1}));
        assert!(matches!(&events[..], [Event::Unknown { kind, .. }] if kind == "later"));
    }
}
