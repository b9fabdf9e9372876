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

/// Where a command finds the server of the panel's tools: its program and arguments, as a JSON array of strings.
const TOOLS: &str = "CS_PANEL_TOOLS";

pub(crate) fn launch_spec(argv: &[String], facts: &RunFacts, stdin: Vec<u8>) -> LaunchSpec {
    let mut env = BTreeMap::from([
        ("CS_PANEL_CARD".to_owned(), facts.card.clone()),
        ("CS_PANEL_RUN".to_owned(), facts.run.clone()),
    ]);
    if let Some(PanelTools::Command { argv, .. }) = &facts.tools {
        env.insert(
            TOOLS.to_owned(),
            serde_json::Value::from(argv.clone()).to_string(),
        );
    }
    LaunchSpec {
        argv: argv.to_vec(),
        env,
        stdin,
        files: Vec::new(),
    }
}

/// Output that is no message, as text: what is not UTF-8 is replaced here and nowhere else.
pub(crate) fn text_events(bytes: &[u8]) -> Vec<Event> {
    pieces(&String::from_utf8_lossy(bytes))
        .into_iter()
        .map(|text| Event::Text { text })
        .collect()
}
