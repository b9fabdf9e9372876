//! The harness `command`: any command line, in two modes. The protocol is described in `docs/command-harness.md`.

mod json_lines;
mod message;
mod plain;

pub(crate) use json_lines::JsonLinesCommand;
pub(crate) use message::start_line_of_a_dialogue;
pub(crate) use plain::PlainCommand;

use std::collections::BTreeMap;

use crate::text::pieces;
use crate::{Event, LaunchSpec, PanelTools, RunFacts};

/// The variable that tells a command how to start the server of our tools: a list of texts in JSON.
const TOOLS_VARIABLE: &str = "CS_PANEL_TOOLS";

pub(crate) fn launch_spec(argv: &[String], facts: &RunFacts, stdin: Vec<u8>) -> LaunchSpec {
    let env = BTreeMap::from([
        ("CS_PANEL_CARD".to_owned(), facts.card.clone()),
        ("CS_PANEL_RUN".to_owned(), facts.run.clone()),
    ]);
    LaunchSpec {
        argv: argv.to_vec(),
        env,
        stdin,
        files: Vec::new(),
    }
}

/// A command that is no agent of its own, with the tools that it may start.
fn with_tools(mut spec: LaunchSpec, facts: &RunFacts) -> LaunchSpec {
    if let Some(PanelTools::Command { argv, keep: _ }) = &facts.tools {
        let argv = serde_json::Value::from(argv.as_slice());
        spec.env.insert(TOOLS_VARIABLE.to_owned(), argv.to_string());
    }
    spec
}

/// Output that is no message, as text: what is not UTF-8 is replaced here and nowhere else.
pub(crate) fn text_events(bytes: &[u8]) -> Vec<Event> {
    pieces(&String::from_utf8_lossy(bytes))
        .into_iter()
        .map(|text| Event::Text { text })
        .collect()
}
