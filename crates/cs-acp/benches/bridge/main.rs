//! What it costs to lead an agent that talks: its messages, cut into lines, read and told on. `cargo xtask bench harness` runs it.
//!
//! It takes an empty directory and `full` or `short`, and prints what it measures as lines of JSON, times in milliseconds of processor.
//! The binary is also the agent.
#![expect(clippy::print_stdout, reason = "a bench stands at the edge")]

#[path = "../../../cs-harness/benches/harness/stage.rs"]
mod stage;

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use cs_acp::Spec;
use serde::de::IgnoredAny;
use serde_json::json;

use crate::stage::{Done, LONG_LINE_MIN_BYTES, most_bytes, processor_millis, role, text};

const ROUNDS: usize = 5;

fn main() -> Done {
    let given = stage::words();
    let words: Vec<&str> = given.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["agent", file] => agent(Path::new(file)),
        ["stream", short, long] => stream(Path::new(short), Path::new(long)),
        ["line", file] => line(Path::new(file)),
        [directory, "full"] => measure(Path::new(directory), 100_000_000),
        [directory, "short"] => measure(Path::new(directory), 4_000_000),
        _ => Err("give an empty directory and a size: `cargo xtask bench harness` does".into()),
    }
}

fn measure(directory: &Path, bytes: usize) -> Done {
    let (short, long) = (directory.join("short"), directory.join("long"));
    talk(bytes / 10, &short)?;
    talk(bytes, &long)?;
    print!("{}", role(&["stream", text(&short)?, text(&long)?])?);
    fs::write(
        &long,
        [vec![b'x'; bytes.max(LONG_LINE_MIN_BYTES)], b"\n".to_vec()].concat(),
    )?;
    print!("{}", role(&["line", text(&long)?])?);
    for file in [short, long] {
        fs::remove_file(file)?;
    }
    Ok(())
}

/// Writes what an agent says while it works: pieces of words, thoughts, tools and what they printed.
fn talk(bytes: usize, file: &Path) -> Done {
    let update = |update: serde_json::Value| {
        let params = json!({"sessionId": "s", "update": update});
        json!({"jsonrpc": "2.0", "method": "session/update", "params": params}).to_string() + "\n"
    };
    let piece = |kind: &str, text: &str| {
        update(json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}}))
    };
    let mut to = BufWriter::new(File::create(file)?);
    let mut written = 0;
    for call in 0.. {
        if written >= bytes {
            break;
        }
        let call = format!("call-{call:012}");
        let mut all = piece(
            "agent_thought_chunk",
            "I shall look at the file before I change it. ",
        )
        .repeat(8);
        all += &piece("agent_message_chunk", "Now I will look at it.").repeat(8);
        all += &update(
            json!({"sessionUpdate": "tool_call", "toolCallId": call, "title": "cat src/main.rs", "kind": "execute",
            "status": "pending", "rawInput": {"command": "cat src/main.rs"}}),
        );
        let printed = "fn main() { println!(\"hello\"); }\n".repeat(60);
        all += &update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "completed",
            "content": [{"type": "content", "content": {"type": "text", "text": printed}}], "rawOutput": {"output": printed}}),
        );
        to.write_all(all.as_bytes())?;
        written += all.len();
    }
    Ok(to.flush()?)
}

/// An agent that answers what it has to, says what stands in the file, and is done.
fn agent(file: &Path) -> Done {
    let mut asked = io::stdin().lock().lines();
    let mut out = io::stdout().lock();
    for answer in [json!({"protocolVersion": 1}), json!({"sessionId": "s"})] {
        let asked: serde_json::Value = serde_json::from_str(&asked.next().ok_or("nothing is asked")??)?;
        writeln!(
            out,
            "{}",
            json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer})
        )?;
    }
    let asked: serde_json::Value = serde_json::from_str(&asked.next().ok_or("nothing is asked")??)?;
    io::copy(&mut File::open(file)?, &mut out)?;
    writeln!(
        out,
        "{}",
        json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"stopReason": "end_turn"}})
    )?;
    Ok(())
}

/// Leads the agent that says what stands in the file, and returns how much was told on of it.
fn lead(file: &Path) -> Done<u64> {
    let start = json!({"prompt": "do it", "cwd": "/", "permissions": "full"}).to_string();
    let program = std::env::current_exe()?;
    let spec = Spec::new(
        [text(&program)?, "agent", text(file)?]
            .map(str::to_owned)
            .to_vec(),
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut told = Counted(0);
    match runtime.block_on(cs_acp::run(start.as_bytes(), &mut told, &spec))? {
        0 => Ok(told.0),
        code => Err(format!("the bridge ended with {code}").into()),
    }
}

struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn stream(short: &Path, long: &Path) -> Done {
    lead(short)?;
    let short_bytes = most_bytes()?;
    let (mut ours, mut parse) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(processor_millis(|| lead(long))?.1);
        parse.push(processor_millis(|| skip(long))?.1);
    }
    println!(
        "{}",
        json!({
            "line": "stream",
            "of": "bridge",
            "bytes": fs::metadata(long)?.len(),
            "ours": ours,
            "parse": parse,
            "unknown": 0,
            "more_bytes": most_bytes()? - short_bytes,
        })
    );
    Ok(())
}

fn line(file: &Path) -> Done {
    let (told, millis) = processor_millis(|| lead(file))?;
    println!(
        "{}",
        json!({
            "line": "long_line",
            "of": "bridge",
            "bytes": fs::metadata(file)?.len(),
            "millis": millis,
            "most_bytes": most_bytes()?,
            // The line is told of and not told on.
            "is_answered": told < 10_000,
        })
    );
    Ok(())
}

/// The least that a reader of JSON does: it looks at every byte, and keeps nothing.
fn skip(file: &Path) -> Done {
    let mut from = BufReader::new(File::open(file)?);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        serde_json::from_slice::<IgnoredAny>(&line)?;
        line.clear();
    }
    Ok(())
}
