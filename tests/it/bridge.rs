//! The bridge as a process of its own: it ends when its agent is gone, at once, and for nothing else.
#![expect(clippy::disallowed_methods, reason = "a test starts what it looks at")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A call waits 50 s for a daemon; nothing here may wait for that.
const AT_ONCE: Duration = Duration::from_secs(20);
const GARBAGE_LINES: usize = 1_000_000;
const LONG_LINE_BYTES: usize = 50_000_000;
/// What it may occupy more after that than before: one line of the longest that is read, several times over.
const MORE_MAX_KIB: u64 = 24 << 10;

struct Bridge {
    process: Child,
    to: Option<ChildStdin>,
    from: Option<BufReader<ChildStdout>>,
    _execution: TempDir,
}

impl Bridge {
    fn start() -> Self {
        let execution = tempfile::tempdir().expect("a directory");
        fs::write(execution.path().join("tools.token"), "a token").expect("it is ours");
        let mut process = Command::new(assert_cmd::cargo::cargo_bin("cs-panel"))
            .args(["mcp", "--execution"])
            .arg(execution.path())
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it is built");
        Self {
            to: process.stdin.take(),
            from: process.stdout.take().map(BufReader::new),
            process,
            _execution: execution,
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        let to = self.to.as_mut().expect("it is open");
        to.write_all(bytes).expect("the bridge reads");
    }

    fn request(&mut self, id: u64, method: &str, params: &Value) {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(format!("{message}\n").as_bytes());
    }

    /// It answers.
    fn answers(&mut self, id: u64) {
        self.request(id, "ping", &json!({}));
        let from = self.from.as_mut().expect("it is open");
        loop {
            let mut line = String::new();
            assert!(
                from.read_line(&mut line).expect("it speaks") > 0,
                "the bridge is gone"
            );
            let message: Value = serde_json::from_str(&line).expect("a message");
            if message["id"] == id {
                return;
            }
        }
    }

    /// Begins a call that waits for a daemon.
    fn call(&mut self) {
        let params = json!({"name": "show", "arguments": {"what": "run"}});
        self.request(1, "tools/call", &params);
        self.answers(2);
    }

    /// Waits for its end.
    fn ends_at_once(mut self) {
        let begun = Instant::now();
        self.process.wait().expect("it is ours");
        assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    }

    fn most_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).expect("it lives");
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let most = most.and_then(|line| line.split_ascii_whitespace().next());
        most.expect("a number").parse().expect("a number")
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn it_ends_at_once_when_its_input_does_even_while_a_call_waits() {
    let mut bridge = Bridge::start();
    bridge.call();
    bridge.to = None;
    bridge.ends_at_once();
}

#[test]
fn it_ends_at_once_by_each_signal_that_agents_send() {
    for signal in ["-TERM", "-INT", "-HUP"] {
        let mut bridge = Bridge::start();
        bridge.call();
        let pid = bridge.process.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(sent.expect("there is such a command").success());
        bridge.ends_at_once();
    }
}

#[test]
fn it_ends_at_once_when_nobody_takes_what_it_says() {
    let mut bridge = Bridge::start();
    bridge.call();
    bridge.from = None;
    bridge.request(3, "ping", &json!({}));
    bridge.ends_at_once();
}

#[test]
fn a_million_lines_of_garbage_and_one_of_fifty_megabytes_neither_end_nor_fill_it() {
    let mut bridge = Bridge::start();
    bridge.answers(1);
    let before = bridge.most_kib();
    for _ in 0..GARBAGE_LINES / 1000 {
        bridge.send("{\"no\": message\n".repeat(1000).as_bytes());
    }
    bridge.answers(2);
    for _ in 0..LONG_LINE_BYTES / 100_000 {
        bridge.send(&[b'x'; 100_000]);
    }
    bridge.send(b"\n");
    bridge.answers(3);
    let more = bridge.most_kib() - before;
    assert!(more < MORE_MAX_KIB, "it has grown by {more} KiB");
}
