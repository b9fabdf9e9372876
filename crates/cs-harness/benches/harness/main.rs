//! What it costs to understand an agent: its bytes, cut into lines, made into events and folded. `cargo xtask bench harness` runs it.
//!
//! It takes an empty directory and `full` or `short`, and prints what it measures as lines of JSON, times in milliseconds of processor.
#![expect(clippy::print_stdout, reason = "a bench stands at the edge")]

mod read;
mod stage;
mod streams;

use std::fs;
use std::path::Path;

use cs_harness::HarnessKind;

use crate::stage::{Done, LONG_LINE_MIN_BYTES, role, text};

/// The harnesses whose output is a language of its own.
const KINDS: [HarnessKind; 6] = [
    HarnessKind::Claude,
    HarnessKind::Codex,
    HarnessKind::Opencode,
    HarnessKind::Pi,
    HarnessKind::JsonLines,
    HarnessKind::Acp,
];

fn main() -> Done {
    let given = stage::words();
    let words: Vec<&str> = given.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["stream", kind, short, long] => read::stream(kind.parse()?, Path::new(short), Path::new(long)),
        ["line", kind, file] => read::line(kind.parse()?, Path::new(file)),
        [directory, "full"] => measure(Path::new(directory), 100_000_000),
        [directory, "short"] => measure(Path::new(directory), 4_000_000),
        _ => Err("give an empty directory and a size: `cargo xtask bench harness` does".into()),
    }
}

/// Each part in a process of its own, whose high-water mark nothing else has raised.
fn measure(directory: &Path, bytes: usize) -> Done {
    for kind in KINDS {
        let (short, long) = (directory.join("short"), directory.join("long"));
        let recorded = streams::recorded(kind)?;
        streams::repeat(&recorded, bytes / 10, &short)?;
        streams::repeat(&recorded, bytes, &long)?;
        print!(
            "{}",
            role(&["stream", kind.as_str(), text(&short)?, text(&long)?])?
        );
        streams::one_line(kind, bytes.max(LONG_LINE_MIN_BYTES), &long)?;
        print!("{}", role(&["line", kind.as_str(), text(&long)?])?);
        for file in [short, long] {
            fs::remove_file(file)?;
        }
    }
    Ok(())
}
