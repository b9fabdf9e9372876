//! An agent that speaks over HTTP, and the door that it speaks to.

use std::sync::Arc;
use std::time::Duration;

use cs_tools::*;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::host::{Gate, Place, TOKEN};

pub(crate) const MODERN: &str = "2026-07-28";

/// An open door with one attempt behind it.
pub(crate) struct Web {
    pub(crate) door: Arc<HttpDoor>,
    pub(crate) registered: Option<Registered>,
    serving: JoinHandle<()>,
}

/// What a request was told.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Web {
    pub(crate) async fn open(place: &Place, gate: Gate, deadline: Duration) -> Self {
        let door = Arc::new(HttpDoor::bind(0, deadline).await.unwrap());
        let tools = Tools::new(place.host.clone());
        let registered = Some(door.register(Place::attempted(), tools, Arc::new(gate)));
        let serving = Arc::clone(&door);
        let serving = tokio::spawn(async move {
            serving.serve().await;
        });
        Self {
            door,
            registered,
            serving,
        }
    }

    pub(crate) fn path(&self) -> String {
        let url = self.registered.as_ref().unwrap().url();
        let base = format!("http://127.0.0.1:{}", self.door.port());
        url.strip_prefix(&base).unwrap().to_owned()
    }

    /// The headers that every agent sends.
    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        [
            ("Host", format!("127.0.0.1:{}", self.door.port())),
            ("Authorization", format!("Bearer {TOKEN}")),
            ("Accept", "application/json, text/event-stream".to_owned()),
            ("Content-Type", "application/json".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Told {
        self.raw(&request(method, path, headers, body)).await
    }

    pub(crate) async fn raw(&self, bytes: &[u8]) -> Told {
        let said = self.said(bytes).await;
        let said = String::from_utf8(said).unwrap();
        let (head, body) = said
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no answer: {said}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Told {
            status,
            head: head.to_lowercase(),
            body: body.to_owned(),
        }
    }

    async fn said(&self, bytes: &[u8]) -> Vec<u8> {
        let stream = TcpStream::connect(("127.0.0.1", self.door.port())).await.unwrap();
        let (mut from, mut to) = stream.into_split();
        let mut said = Vec::new();
        // The other end may have had enough before all of it is written. Whoever closes its own end wants no answer.
        let (_, _) = tokio::join!(from.read_to_end(&mut said), to.write_all(bytes));
        said
    }

    /// Says these bytes, whatever they are, and leaves.
    pub(crate) async fn leave(&self, bytes: &[u8]) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.door.port())).await.unwrap();
        let _ = stream.write_all(bytes).await;
        let _ = stream.shutdown().await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    }

    pub(crate) async fn post(&self, message: &Value) -> Told {
        let (path, headers) = (self.path(), self.headers());
        self.send("POST", &path, &headers, message.to_string().as_bytes())
            .await
    }

    /// A request of the era without a handshake.
    pub(crate) async fn modern(&self, id: u64, method: &str, mut params: Value) -> Told {
        let mut headers = self.headers();
        let mut header = |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
        header("MCP-Protocol-Version", MODERN);
        header("Mcp-Method", method);
        if let Some(name) = params["name"].as_str() {
            header("Mcp-Name", name);
        }
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
        params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "an agent", "version": "1"});
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send("POST", &self.path(), &headers, message.to_string().as_bytes())
            .await
    }

    /// Calls a tool, and gives what the agent is told and whether it is an error.
    pub(crate) async fn call(&self, id: u64, tool: &str, arguments: Value) -> (String, bool) {
        let params = json!({"name": tool, "arguments": arguments});
        let message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        self.post(&message).await.words()
    }

    /// Closes it, and waits until nobody listens there.
    pub(crate) async fn shut(self) {
        self.serving.abort();
        // It was told to end.
        let _ = self.serving.await;
    }

    pub(crate) fn close(self) {
        self.serving.abort();
    }
}

/// A request as it goes over the wire.
pub(crate) fn request(method: &str, path: &str, headers: &[(String, String)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    [head.as_bytes(), body].concat()
}

impl Told {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn words(&self) -> (String, bool) {
        let told = self.json();
        let text = told["result"]["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("no text: {told}"));
        (text.to_owned(), told["result"]["isError"] == true)
    }
}
