//! An agent that speaks the Model Context Protocol as the measured ones do, message by message.

use std::sync::Arc;
use std::time::Duration;

use cs_tools::{Bridge, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::net::UnixStream;
use tokio::task::JoinHandle;

use crate::host::{Place, Way};

pub(crate) struct Agent {
    pub(crate) bridge: JoinHandle<()>,
    to: WriteHalf<DuplexStream>,
    from: BufReader<ReadHalf<DuplexStream>>,
    next: u64,
}

impl Agent {
    /// Starts a bridge that gives up a call after so long.
    pub(crate) fn start(place: &Place, instance: &str, deadline: Duration) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let bridge = Bridge {
            dial: Arc::new(Way(place.path("socket"))),
            token: place.path("token"),
            instance: instance.to_owned(),
            deadline,
        };
        let (from_agent, to_agent) = tokio::io::split(theirs);
        let bridge = tokio::spawn(async move { serve(bridge, from_agent, to_agent).await.unwrap() });
        let (from, to) = tokio::io::split(ours);
        Self {
            bridge,
            to,
            from: BufReader::new(from),
            next: 0,
        }
    }

    /// One that has shaken hands.
    pub(crate) async fn greeted(place: &Place, instance: &str, deadline: Duration) -> Self {
        let mut agent = Self::start(place, instance, deadline);
        agent.initialize("2025-06-18").await;
        agent
    }

    pub(crate) async fn initialize(&mut self, version: &str) -> Value {
        let client = json!({"name": "an agent", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        let answer = self.request("initialize", params).await;
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        answer
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.send_line(message.to_string().as_bytes()).await;
    }

    pub(crate) async fn send_line(&mut self, line: &[u8]) {
        self.to.write_all(&[line, b"\n"].concat()).await.unwrap();
    }

    pub(crate) async fn next(&mut self) -> Value {
        let mut line = String::new();
        assert!(
            self.from.read_line(&mut line).await.unwrap() > 0,
            "the bridge is gone"
        );
        serde_json::from_str(&line).unwrap()
    }

    /// Sends a request and gives its answer; what else is said meanwhile is left out.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        loop {
            let message = self.next().await;
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Sends a request under a number of its own, and gives its answer.
    pub(crate) async fn request_as(&mut self, id: &str, method: &str, params: Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        loop {
            let message = self.next().await;
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Calls a tool under the agent's own name of the call, and gives what the agent is told and whether it is an error.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value, own: Option<&str>) -> (String, bool) {
        let mut params = json!({"name": tool, "arguments": arguments});
        if let Some(own) = own {
            params["_meta"] = json!({"claudecode/toolUseId": own});
        }
        let answer = self.request("tools/call", params).await;
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("no text: {answer}"));
        (text.to_owned(), result["isError"] == true)
    }

    /// Ends as an agent does, and waits for the bridge.
    pub(crate) async fn leave(self) {
        drop((self.to, self.from));
        self.bridge.await.unwrap();
    }
}

/// Says something to the socket of a place, and gives what is said to it.
pub(crate) async fn say(place: &Place, line: impl AsRef<[u8]>) -> String {
    let stream = UnixStream::connect(place.path("socket")).await.unwrap();
    let (mut from, mut to) = stream.into_split();
    let mut said = Vec::new();
    let write = async {
        // The other end may have had enough before all of it is written.
        let _ = to.write_all(line.as_ref()).await;
        let _ = to.shutdown().await;
    };
    let (_, ()) = tokio::join!(from.read_to_end(&mut said), write);
    String::from_utf8(said).unwrap()
}
