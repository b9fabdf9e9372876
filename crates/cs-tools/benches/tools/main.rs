//! How long a call of a tool takes: from the agent's line through a bridge of its own process and the door of a daemon to the answer's
//! line, against an echo over a socket of the same kind. `cargo xtask bench tools` starts it and judges what it prints.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench fails by panicking and prints what it measured"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "it starts its bridge, and a daemon is a task"
)]

#[expect(dead_code, reason = "the tests do more with a place")]
#[path = "../../tests/it/host.rs"]
mod host;

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cs_tools::*;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::process::Command;

use host::{Place, Way};

/// As long as a line of a progress report.
const TEXT_BYTES: usize = 200;
const WARM_UP: usize = 100;

#[derive(Debug)]
struct Everybody;

impl Peers for Everybody {
    fn belongs(&self, _: &Caller, _: Peer) -> bool {
        true
    }
}

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["bridge", dir] => bridge(Path::new(dir)).await,
        ["measure", rounds] => measure(rounds.parse().unwrap()).await,
        _ => println!("`cargo xtask bench tools` runs this"),
    }
}

async fn bridge(dir: &Path) {
    let bridge = Bridge {
        dial: Arc::new(Way(dir.join("socket"))),
        token: dir.join("token"),
        instance: "bench".to_owned(),
        deadline: Duration::from_secs(50),
    };
    serve(bridge, tokio::io::stdin(), tokio::io::stdout())
        .await
        .unwrap();
}

/// Calls and echoes take turns, so that what else the machine does hits both.
async fn measure(rounds: usize) {
    let place = Place::new();
    let listener = UnixListener::bind(place.path("socket")).unwrap();
    let tools = Tools::new(place.host.clone());
    let door = Door::new(listener, Place::attempted(), tools, Arc::new(Everybody));
    tokio::spawn(async move { door.serve().await });
    let echo = UnixListener::bind(place.path("echo")).unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = echo.accept().await.unwrap();
            tokio::spawn(async move {
                let mut stream = BufReader::new(stream);
                let mut line = Vec::new();
                stream.read_until(b'\n', &mut line).await.unwrap();
                stream.write_all(&line).await.unwrap();
            });
        }
    });
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg("bridge")
        .arg(place.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut to = child.stdin.take().unwrap();
    let mut from = BufReader::new(child.stdout.take().unwrap());
    let text = "x".repeat(TEXT_BYTES);
    let (mut called, mut echoed) = (Vec::new(), Vec::new());
    for round in 0..WARM_UP + rounds {
        let params = json!({"name": "report_progress", "arguments": {"text": text}});
        let call = json!({"jsonrpc": "2.0", "id": round, "method": "tools/call", "params": params});
        let call = format!("{call}\n");
        let begun = Instant::now();
        to.write_all(call.as_bytes()).await.unwrap();
        let mut answer = String::new();
        from.read_line(&mut answer).await.unwrap();
        let took = begun.elapsed();
        assert!(answer.contains("Noted"), "{answer}");
        let begun = Instant::now();
        let mut stream = UnixStream::connect(place.path("echo")).await.unwrap();
        stream.write_all(call.as_bytes()).await.unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).await.unwrap();
        let took_echo = begun.elapsed();
        if round >= WARM_UP {
            called.push(took.as_secs_f64() * 1000.0);
            echoed.push(took_echo.as_secs_f64() * 1000.0);
        }
    }
    println!(
        "{}",
        json!({"line": "round_trip", "bridge": called, "echo": echoed})
    );
}
