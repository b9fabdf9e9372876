//! What agents say: the recordings of the tests, as often as a stream wants them.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use cs_harness::{AgentConfig, Event, HarnessKind, Line, adapter};
use serde_json::json;

use crate::stage::Done;

/// All whole lines that were recorded of an agent. Of the harnesses that were never recorded, what a program that speaks their
/// language would say of the same runs.
pub(crate) fn recorded(kind: HarnessKind) -> Done<Vec<u8>> {
    match kind {
        HarnessKind::Claude => folders(&["claude", "claude197"]),
        HarnessKind::Codex => folders(&["codex"]),
        HarnessKind::Opencode => folders(&["opencode"]),
        HarnessKind::Pi => folders(&["pi-0.73", "pi-1.6"]),
        HarnessKind::JsonLines | HarnessKind::Acp | HarnessKind::Plain => {
            let all = [
                HarnessKind::Claude,
                HarnessKind::Codex,
                HarnessKind::Opencode,
                HarnessKind::Pi,
            ];
            let all = all.map(|kind| Ok(events(kind, &recorded(kind)?)));
            let all = all.into_iter().collect::<Done<Vec<_>>>()?.concat();
            Ok(said(kind, &all))
        }
    }
}

/// Writes these lines again and again, until there are so many bytes.
pub(crate) fn repeat(lines: &[u8], bytes: usize, file: &Path) -> Done {
    let mut to = BufWriter::new(File::create(file)?);
    for _ in 0..bytes.div_ceil(lines.len()) {
        to.write_all(lines)?;
    }
    Ok(to.flush()?)
}

/// Writes one line of so many bytes, and after it a run that ends well.
pub(crate) fn one_line(kind: HarnessKind, bytes: usize, file: &Path) -> Done {
    let mut to = BufWriter::new(File::create(file)?);
    to.write_all(br#"{"type":"text","text":""#)?;
    let some = [b'x'; 10_000];
    for _ in 0..bytes / some.len() {
        to.write_all(&some)?;
    }
    to.write_all(b"\"}\n")?;
    to.write_all(&run(kind)?)?;
    Ok(to.flush()?)
}

fn run(kind: HarnessKind) -> Done<Vec<u8>> {
    let one = |folder: &str| Ok(fs::read(captures().join(folder).join("text.jsonl"))?);
    match kind {
        HarnessKind::Claude => one("claude"),
        HarnessKind::Codex => one("codex"),
        HarnessKind::Opencode => one("opencode"),
        HarnessKind::Pi => one("pi-1.6"),
        HarnessKind::JsonLines | HarnessKind::Acp | HarnessKind::Plain => {
            Ok(said(kind, &events(HarnessKind::Claude, &one("claude")?)))
        }
    }
}

fn captures() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures")
}

fn folders(names: &[&str]) -> Done<Vec<u8>> {
    let mut all = Vec::new();
    for name in names {
        let files = fs::read_dir(captures().join(name))?.map(|file| Ok(file?.path()));
        let mut files = files.collect::<Done<Vec<_>>>()?;
        files.sort();
        for file in files
            .iter()
            .filter(|file| file.extension().is_some_and(|it| it == "jsonl"))
        {
            let output = fs::read(file)?;
            let end = output
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1);
            all.extend_from_slice(&output[..end]);
        }
    }
    Ok(all)
}

fn events(kind: HarnessKind, output: &[u8]) -> Vec<Event> {
    let agent = AgentConfig::new("agent", vec!["agent".to_owned()], kind).expect("this is a legal name");
    let harness = adapter(&agent);
    let lines = output.split_inclusive(|byte| *byte == b'\n');
    let lines = lines.map(|bytes| Line {
        bytes,
        dropped_bytes: 0,
    });
    lines.flat_map(|line| harness.events(&line)).collect()
}

fn said(kind: HarnessKind, events: &[Event]) -> Vec<u8> {
    let lines = events.iter().map(|event| match kind {
        HarnessKind::JsonLines => message(event),
        _ => json!(event),
    });
    lines.flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

/// The message of JSON lines that says most of an event.
fn message(event: &Event) -> serde_json::Value {
    match event {
        Event::Usage(report) => json!({
            "type": "usage",
            "turns": report.totals.turns,
            "input_tokens": report.totals.input_tokens,
            "output_tokens": report.totals.output_tokens,
            "cost_usd": 0.25,
        }),
        Event::Session { id } => json!({"type": "session", "id": id}),
        Event::Final { text } => json!({"type": "final", "text": text}),
        Event::Said { text } => json!({"type": "progress", "text": text}),
        other => json!({"type": "progress", "text": format!("{other:?}")}),
    }
}
