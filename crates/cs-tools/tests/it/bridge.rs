//! What a bridge must do and must not, whatever its agent and its daemon do (time is paused where it counts).

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use cs_tools::*;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, duplex};
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::host::{Place, Way};

const DEADLINE: Duration = Duration::from_secs(50);
const LONG: Duration = Duration::from_secs(300);

/// No daemon is ever there.
#[derive(Debug)]
struct Nobody;

#[async_trait]
impl Dial for Nobody {
    async fn dial(&self) -> io::Result<UnixStream> {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Nobody is there for a while, then somebody who says nothing.
#[derive(Debug)]
struct Late {
    start: Instant,
    comes_after: Duration,
    kept: std::sync::Mutex<Vec<UnixStream>>,
    is_heard: AtomicBool,
}

#[async_trait]
impl Dial for Late {
    async fn dial(&self) -> io::Result<UnixStream> {
        if self.start.elapsed() < self.comes_after {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let (ours, theirs) = UnixStream::pair()?;
        self.kept.lock().unwrap().push(theirs);
        self.is_heard.store(true, Ordering::Relaxed);
        Ok(ours)
    }
}

/// The first way breaks, the next one leads there.
#[derive(Debug)]
struct Broken(AtomicU64, Way);

#[async_trait]
impl Dial for Broken {
    async fn dial(&self) -> io::Result<UnixStream> {
        assert!(
            self.0.fetch_add(1, Ordering::Relaxed) > 0,
            "a fault of the dialler"
        );
        self.1.dial().await
    }
}

/// An agent whose two ends are apart.
struct Ends {
    bridge: JoinHandle<Result<(), BridgeError>>,
    to: DuplexStream,
    from: Lines<BufReader<DuplexStream>>,
}

impl Ends {
    fn start(place: &Place, dial: impl Dial + 'static) -> Self {
        let bridge = Bridge {
            dial: Arc::new(dial),
            token: place.path("token"),
            instance: "a".to_owned(),
            deadline: DEADLINE,
        };
        let ((to, from_agent), (to_agent, from)) = (duplex(1 << 16), duplex(1 << 16));
        Self {
            bridge: tokio::spawn(serve(bridge, from_agent, to_agent)),
            to,
            from: BufReader::new(from).lines(),
        }
    }

    async fn send(&mut self, message: &Value) {
        self.to
            .write_all(format!("{message}\n").as_bytes())
            .await
            .unwrap();
    }

    async fn call(&mut self, id: u64) {
        let meta = json!({"progressToken": 7});
        let params = json!({"name": "show", "arguments": {"what": "run"}, "_meta": meta});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
            .await;
    }

    async fn ping(&mut self, id: u64) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}))
            .await;
    }

    async fn next(&mut self) -> Value {
        let line = self.from.next_line().await.unwrap();
        serde_json::from_str(&line.expect("the bridge is gone")).unwrap()
    }

    /// It answers, and ends when its agent does.
    async fn ends_well(mut self) {
        self.ping(999).await;
        while self.next().await["id"] != 999 {}
        drop(self.to);
        self.bridge.await.unwrap().unwrap();
    }
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn it_ends_at_once_when_the_agent_has_closed_its_end_even_while_calls_wait() {
    let mut agent = Ends::start(&Place::new(), Nobody);
    for id in 0..10 {
        agent.call(id).await;
    }
    sleep(Duration::from_secs(1)).await;
    let left = Instant::now();
    drop(agent.to);
    agent.bridge.await.unwrap().unwrap();
    assert!(
        left.elapsed() < Duration::from_millis(500),
        "{:?}",
        left.elapsed()
    );
}

/// What asks and closes its end in one go is still told what needs no daemon.
#[tokio::test]
async fn what_it_knows_by_itself_is_still_said_to_one_who_has_closed_its_end() {
    let mut agent = Ends::start(&Place::new(), Nobody);
    agent.ping(1).await;
    agent
        .send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}))
        .await;
    drop(agent.to);
    agent.bridge.await.unwrap().unwrap();
    let mut said = Vec::new();
    while let Some(line) = agent.from.next_line().await.unwrap() {
        said.push(serde_json::from_str::<Value>(&line).unwrap()["id"].clone());
    }
    said.sort_by_key(Value::to_string);
    assert_eq!(said, [json!(1), json!(2)]);
}

#[tokio::test]
async fn it_ends_when_nobody_takes_what_it_says() {
    let mut agent = Ends::start(&Place::new(), Nobody);
    drop(agent.from);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    agent.to.write_all(format!("{ping}\n").as_bytes()).await.unwrap();
    let ended = timeout(LONG, agent.bridge).await.unwrap().unwrap();
    assert!(matches!(ended, Err(BridgeError::Unheard(_))), "{ended:?}");
}

#[tokio::test]
async fn a_fault_in_a_call_is_one_of_this_call_alone() {
    let place = Place::new();
    let daemon = place.daemon();
    let way = Way(place.path("socket"));
    let mut agent = Ends::start(&place, Broken(AtomicU64::new(0), way));
    agent.call(1).await;
    let answer = agent.next().await;
    assert!(text(&answer).contains("Something went wrong"), "{answer}");
    agent.call(2).await;
    assert_eq!(text(&agent.next().await), "Run");
    // The same at the daemon's end.
    *place.host.breaks.lock().unwrap() = true;
    agent.call(3).await;
    let answer = agent.next().await;
    assert!(text(&answer).contains("Something went wrong"), "{answer}");
    *place.host.breaks.lock().unwrap() = false;
    agent.call(4).await;
    assert_eq!(text(&agent.next().await), "Run");
    agent.ends_well().await;
    daemon.abort();
}

/// opencode sends one after every call.
#[tokio::test]
async fn a_cancel_for_what_is_answered_or_unknown_is_nothing() {
    let place = Place::new();
    let daemon = place.daemon();
    let mut agent = Ends::start(&place, Way(place.path("socket")));
    for id in 1..20 {
        agent.call(id).await;
        assert_eq!(agent.next().await["id"], id);
        for cancelled in [json!(id), json!(id + 1), json!("x"), json!(null), json!({})] {
            let params = json!({"requestId": cancelled, "reason": "answered"});
            agent
                .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
                .await;
        }
    }
    agent.ends_well().await;
    daemon.abort();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_waits_no_more_and_makes_room() {
    let mut agent = Ends::start(&Place::new(), Nobody);
    for id in 0..200 {
        agent.call(id).await;
        let params = json!({"requestId": id});
        agent
            .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
            .await;
    }
    agent.ping(500).await;
    assert_eq!(agent.next().await["id"], 500, "nothing is said of the others");
    agent.ends_well().await;
}

#[tokio::test(start_paused = true)]
async fn the_agent_is_told_every_ten_seconds_and_at_fifty_what_to_do() {
    let place = Place::new();
    let start = Instant::now();
    let late = Late {
        start,
        comes_after: Duration::from_secs(30),
        kept: std::sync::Mutex::default(),
        is_heard: AtomicBool::new(false),
    };
    let mut agent = Ends::start(&place, late);
    agent.call(1).await;
    for told in 1..=4_u64 {
        let progress = agent.next().await;
        assert_eq!(progress["method"], "notifications/progress", "{progress}");
        assert_eq!(progress["params"]["progressToken"], 7);
        assert_eq!(start.elapsed().as_secs(), told * 10);
    }
    // One deadline is over both: the daemon that comes after 30 s gets the 20 s that are left.
    let mut answer = agent.next().await;
    if answer["method"] == "notifications/progress" {
        answer = agent.next().await;
    }
    assert!(
        text(&answer).contains("end your turn with your question"),
        "{answer}"
    );
    let waited = start.elapsed();
    assert!(
        waited >= Duration::from_secs(49) && waited <= Duration::from_secs(51),
        "{waited:?}"
    );
    agent.ends_well().await;
}

#[tokio::test]
async fn a_message_out_of_order_does_not_end_it() {
    let place = Place::new();
    let daemon = place.daemon();
    let mut agent = Ends::start(&place, Way(place.path("socket")));
    for message in [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}),
        json!({"jsonrpc": "2.0", "id": 5, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 5, "error": {"code": 1, "message": "x"}}),
    ] {
        agent.send(&message).await;
    }
    agent.call(1).await;
    assert_eq!(text(&agent.next().await), "Run", "a call before any handshake");
    for id in [2, 3] {
        let params = json!({"protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
        agent
            .send(&json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params}))
            .await;
        assert_eq!(agent.next().await["result"]["protocolVersion"], "2025-11-25");
    }
    agent.ends_well().await;
    daemon.abort();
}

/// What cannot be delivered is not read: nothing grows.
#[tokio::test(start_paused = true)]
async fn an_agent_that_asks_without_reading_is_not_read_for_ever() {
    let mut agent = Ends::start(&Place::new(), Nobody);
    let mut written = 0;
    let flood = async {
        for id in 0..100_000 {
            agent.ping(id).await;
            written = id + 1;
        }
    };
    assert!(timeout(Duration::from_secs(1), flood).await.is_err());
    assert!(written < 10_000, "{written} requests were taken");
    for _ in 0..written {
        assert_eq!(agent.next().await["result"], json!({}));
    }
}
