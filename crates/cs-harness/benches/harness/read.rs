//! Reading a stream as a daemon does it, in turn with what nobody who reads JSON can do without.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use cs_harness::{
    AgentConfig, Harness, HarnessKind, LINE_MAX_BYTES, Line, ProcessEnd, Seen, TaskEnd, adapter,
};
use cs_supervise::{Framer, Record};
use serde::de::IgnoredAny;
use serde_json::json;

use crate::stage::{Done, most_bytes, processor_millis};

const ROUNDS: usize = 5;

/// Measures the speed over the long stream, and by how much more memory it takes than the short one.
pub(crate) fn stream(kind: HarnessKind, short: &Path, long: &Path) -> Done {
    let harness = harness(kind)?;
    events(&*harness, short)?;
    let short_bytes = most_bytes()?;
    let (mut ours, mut parse) = (Vec::new(), Vec::new());
    let mut unknown = 0;
    for _ in 0..ROUNDS {
        let (seen, millis) = processor_millis(|| events(&*harness, long))?;
        unknown = seen.unknown_count();
        ours.push(millis);
        parse.push(processor_millis(|| skip(long))?.1);
    }
    println!(
        "{}",
        json!({
            "line": "stream",
            "of": kind.as_str(),
            "bytes": std::fs::metadata(long)?.len(),
            "ours": ours,
            "parse": parse,
            "unknown": unknown,
            "more_bytes": most_bytes()? - short_bytes,
        })
    );
    Ok(())
}

/// Measures one line that nobody wants to hold, and the run after it.
pub(crate) fn line(kind: HarnessKind, file: &Path) -> Done {
    let harness = harness(kind)?;
    let (seen, millis) = processor_millis(|| events(&*harness, file))?;
    let outcome = harness.outcome(&ProcessEnd::Exited(0), &seen);
    println!(
        "{}",
        json!({
            "line": "long_line",
            "of": kind.as_str(),
            "bytes": std::fs::metadata(file)?.len(),
            "millis": millis,
            "most_bytes": most_bytes()?,
            "is_answered": outcome.task == TaskEnd::Answered { text: "PONG: the final answer.".to_owned() },
        })
    );
    Ok(())
}

fn harness(kind: HarnessKind) -> Done<std::sync::Arc<dyn Harness>> {
    Ok(adapter(&AgentConfig::new(
        "agent",
        vec!["agent".to_owned()],
        kind,
    )?))
}

fn events(harness: &dyn Harness, file: &Path) -> Done<Seen> {
    let mut seen = Seen::default();
    each_line(file, |record| {
        let mut bytes = record.bytes;
        if record.terminated {
            bytes.push(b'\n');
        }
        let line = Line {
            bytes: &bytes,
            dropped_bytes: record.dropped_bytes,
        };
        for event in harness.events(&line) {
            seen.observe(&event);
        }
    })?;
    Ok(seen)
}

/// The least that a reader of JSON does: it looks at every byte, and keeps nothing.
fn skip(file: &Path) -> Done {
    each_line(file, |record| {
        // Not every line of a stream is JSON, and those that are not are read too.
        let _ = serde_json::from_slice::<IgnoredAny>(&record.bytes);
    })
}

fn each_line(file: &Path, mut take: impl FnMut(Record)) -> Done {
    let mut framer = Framer::new(0, LINE_MAX_BYTES);
    let mut from = File::open(file)?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            framer.finish().into_iter().for_each(take);
            return Ok(());
        }
        let mut rest = &buffer[..read];
        while !rest.is_empty() {
            let (taken, record) = framer.feed(rest);
            rest = &rest[taken..];
            record.into_iter().for_each(&mut take);
        }
    }
}
