//! The scripted model provider.
#![expect(clippy::disallowed_methods, reason = "a test starts programs")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A provider that plays a script to whoever asks below its address.
pub(crate) struct Provider {
    child: Child,
    port: u64,
    dir: TempDir,
}

impl Provider {
    pub(crate) fn start() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/live/fake_model.py");
        let mut child = Command::new("python3")
            .arg("-B")
            .arg(program)
            .arg(dir.path().join("log"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the provider is a program for python3, which must be installed");
        let mut line = String::new();
        let mut said = BufReader::new(child.stdout.take().expect("it is piped"));
        said.read_line(&mut line).expect("it says its port");
        let said: Value = serde_json::from_str(&line).expect("it says its port");
        let port = said["port"].as_u64().expect("a port");
        Self { child, port, dir }
    }

    /// The address below which this script is played.
    pub(crate) fn address(&self, script: &str) -> String {
        format!("http://127.0.0.1:{}/s/{script}", self.port)
    }

    /// Sets a script, or begins it anew.
    pub(crate) fn play(&self, script: &str, steps: &Value) {
        let body = steps.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port as u16)).expect("it listens");
        let head = format!(
            "POST /_script/{script} HTTP/1.1\r\nhost: here\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    /// What was asked for this script and is answered, the first first.
    pub(crate) fn asked(&self, script: &str) -> Vec<Value> {
        let log = fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
        let entries = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        entries.filter(|entry| entry["script"] == script).collect()
    }
}

/// It ends with its standard input.
impl Drop for Provider {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
