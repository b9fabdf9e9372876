//! Calls of the panel's tools, as an agent makes them: through the server that `CS_PANEL_TOOLS` names, over its standard input and output.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{ChildStdin, Stdio};

use serde_json::{Value, json};

use crate::children;
use crate::script::ToolCall;

/// The command of the server, as a JSON array.
const SERVER: &str = "CS_PANEL_TOOLS";
const VERSION: &str = "2025-11-25";

/// Calls a tool in a server of its own, and says what it answered.
pub(crate) fn call(call: &ToolCall, out: &mut impl Write) -> io::Result<()> {
    let answer = talk(call)?;
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str();
    let text = text.map_or_else(|| answer.to_string(), str::to_owned);
    let text = match result["isError"].as_bool() {
        Some(true) => format!("refused: {text}"),
        Some(false) | None => text,
    };
    if let Some(path) = &call.into {
        fs::write(path, &text)?;
    }
    writeln!(out, "{}: {text}", call.tool)
}

#[expect(
    clippy::disallowed_methods,
    reason = "an agent finds its tools in its environment"
)]
fn server() -> io::Result<Vec<String>> {
    let named = std::env::var(SERVER).map_err(|error| io::Error::other(format!("{SERVER}: {error}")))?;
    let argv: Vec<String> = serde_json::from_str(&named)?;
    if argv.is_empty() {
        return Err(io::Error::other(format!("{SERVER} names no command")));
    }
    Ok(argv)
}

fn talk(call: &ToolCall) -> io::Result<Value> {
    let argv = server()?;
    let mut server = children::command(&argv[0])
        .args(&argv[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (to, from) = (server.stdin.take(), server.stdout.take());
    let (Some(mut to), Some(from)) = (to, from) else {
        return Err(io::Error::other(
            "the server of the tools has no standard input and output",
        ));
    };
    let mut from = BufReader::new(from);
    let client = json!({"name": "scripted agent", "version": "1"});
    let hello = json!({"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client});
    send(
        &mut to,
        &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
    )?;
    answer_to(1, &mut from)?;
    send(
        &mut to,
        &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    )?;
    let mut params = json!({"name": call.tool, "arguments": call.arguments});
    if let Some(id) = &call.id {
        params["_meta"] = json!({"callId": id});
    }
    send(
        &mut to,
        &json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}),
    )?;
    let answer = answer_to(2, &mut from);
    drop(to);
    server.wait()?;
    answer
}

fn send(to: &mut ChildStdin, message: &Value) -> io::Result<()> {
    writeln!(to, "{message}")?;
    to.flush()
}

/// Reads on to the answer to a request; what the server says meanwhile is left out.
fn answer_to(id: u64, from: &mut impl BufRead) -> io::Result<Value> {
    loop {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server of the tools is gone",
            ));
        }
        let message: Value = serde_json::from_str(&line)?;
        if message["id"] == id {
            return Ok(message);
        }
    }
}
