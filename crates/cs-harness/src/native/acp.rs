//! Any agent that speaks the Agent Client Protocol, version 1.
//!
//! That protocol is a dialogue, so a bridge stands in the agent's place and starts it: `cs-panel acp -- COMMAND...`. The bridge
//! reads one line of ours and prints events as the transcript has them; what they come to is decided as for every other agent.

use std::time::Duration;

use super::read::{self, Read};
use super::{outcome, wire};
use crate::command::{launch_spec, start_line_of_a_dialogue};
use crate::{Event, Harness, HarnessKind, LaunchSpec, Line, Outcome, ProcessEnd, RunFacts, Seen, read_json};

/// How long the bridge waits for each answer before the prompt: agents were seen to need ten seconds to start on a busy machine.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(80);

/// How many bytes of answers, beside the longest message, may wait for an agent behind the bridge to read them.
pub const UNREAD_MAX_BYTES: usize = 1024 * 1024;

/// An agent behind the bridge.
#[derive(Debug)]
pub(crate) struct Acp {
    argv: Vec<String>,
}

impl Acp {
    pub(crate) fn new(argv: &[String]) -> Self {
        Self { argv: argv.to_vec() }
    }
}

impl Harness for Acp {
    fn kind(&self) -> HarnessKind {
        HarnessKind::Acp
    }

    fn launch(&self, facts: &RunFacts) -> LaunchSpec {
        let bridge = facts.bridge.as_deref().unwrap_or("cs-panel");
        let mut argv: Vec<String> = [bridge, "acp", "--"].map(str::to_owned).to_vec();
        argv.extend(self.argv.iter().cloned());
        launch_spec(&argv, facts, start_line_of_a_dialogue(facts))
    }

    fn events(&self, line: &Line<'_>) -> Vec<Event> {
        match read::whole(line) {
            Read::Done(events) => events,
            Read::Whole(bytes) => match read_json(bytes) {
                Ok(event) => vec![event],
                Err(_) => wire::not_understood(bytes),
            },
        }
    }

    fn outcome(&self, end: &ProcessEnd, seen: &Seen) -> Outcome {
        outcome(self.kind(), end, seen)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{FailureCause, Permissions, TaskEnd};

    fn gemini() -> Acp {
        Acp::new(&["gemini".to_owned(), "--acp".to_owned()])
    }

    #[test]
    fn the_bridge_is_started_in_its_place_and_told_what_to_do() {
        let facts = RunFacts {
            prompt: "do it".to_owned(),
            cwd: "/tree".to_owned(),
            session: Some("s".to_owned()),
            history: Some("before".to_owned()),
            model: Some("m".to_owned()),
            permissions: Permissions::Edit,
            bridge: Some("/bin/panel".to_owned()),
            ..RunFacts::default()
        };
        let spec = gemini().launch(&facts);
        assert_eq!(spec.argv, ["/bin/panel", "acp", "--", "gemini", "--acp"]);
        let line: Value = serde_json::from_slice(&spec.stdin).unwrap();
        assert_eq!(
            line,
            json!({"type": "start", "protocol": 1, "card": "", "run": "", "epoch": 0, "wake": "first", "prompt": "do it",
                "session": "s", "answer": null, "cwd": "/tree", "permissions": "edit", "model": "m", "history": "before"})
        );
        assert!(spec.stdin.ends_with(b"\n"));
    }

    #[test]
    fn events_come_through_and_anything_else_is_kept() {
        let of = |text: &str| {
            gemini().events(&Line {
                bytes: text.as_bytes(),
                dropped_bytes: 0,
            })
        };
        let end = Event::End { ok: true };
        let line = serde_json::to_string(&end).unwrap() + "\n";
        assert_eq!(of(&line), [end]);
        assert!(
            matches!(&of("{\"type\":\"later\",\"x\":1}\n")[..], [Event::Unknown { kind, .. }] if kind == "later")
        );
        assert!(matches!(&of("panicked\n")[..], [Event::Text { .. }]));
    }

    #[test]
    fn a_bridge_that_ends_without_an_end_mark_has_not_succeeded() {
        let mut seen = Seen::default();
        seen.observe(&Event::Said {
            text: "half".to_owned(),
        });
        let task = gemini().outcome(&ProcessEnd::Exited(0), &seen).task;
        assert!(
            matches!(
                task,
                TaskEnd::Failed {
                    cause: FailureCause::NoEndMark,
                    ..
                }
            ),
            "{task:?}"
        );
    }
}
