//! Agents over HTTP.

use std::time::Duration;

use cs_tools::*;
use serde_json::json;

use crate::host::{Gate, Place};
use crate::web::{MODERN, Web};

const LONG: Duration = Duration::from_secs(50);
const SOON: Duration = Duration::from_millis(300);

#[tokio::test]
async fn every_version_that_agents_speak_is_answered_under_one_address() {
    let place = Place::new();
    let web = Web::open(&place, Gate::Us, LONG).await;
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let client = json!({"name": "an agent", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        let told = web
            .post(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}))
            .await;
        assert_eq!(told.json()["result"]["protocolVersion"], version, "{told:?}");
        assert!(!told.head.contains("mcp-session-id"), "{told:?}");
        let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(web.post(&done).await.status, 202);
        let tools = web
            .post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))
            .await;
        assert_eq!(
            tools.json()["result"]["tools"].as_array().unwrap().len(),
            catalog().len()
        );
    }
    let found = web.modern(1, "server/discover", json!({})).await;
    let versions = found.json()["result"]["supportedVersions"].clone();
    assert!(versions.as_array().unwrap().contains(&json!(MODERN)), "{found:?}");
    let ask = json!({"name": "ask", "arguments": {"question": "Which?"}});
    let (text, is_error) = web.modern(2, "tools/call", ask).await.words();
    assert!(!is_error && text.contains("End your turn"), "{text}");
    let unknown = web.modern(3, "unheard/of", json!({})).await;
    assert_eq!(
        (unknown.status, unknown.json()["error"]["code"].clone()),
        (404, json!(-32601))
    );
    assert_eq!(place.host.rows.lock().unwrap().asks.len(), 1);
    web.close();
}

/// `harness.md`: four agents open a stream that there is not, and take 405 calmly.
#[tokio::test]
async fn there_is_no_stream_and_no_place_to_log_in() {
    let place = Place::new();
    let web = Web::open(&place, Gate::Us, LONG).await;
    let (path, mut headers) = (web.path(), web.headers());
    assert_eq!(web.send("GET", &path, &headers, b"").await.status, 405);
    assert_eq!(web.send("DELETE", &path, &headers, b"").await.status, 405);
    headers.retain(|(name, _)| name != "Authorization");
    for path in [
        path.as_str(),
        "/.well-known/oauth-protected-resource",
        "/register",
        "/",
    ] {
        let told = web.send("POST", path, &headers, b"{}").await;
        assert_eq!(told.status, 404, "{told:?}");
        assert!(!told.head.contains("www-authenticate"), "{told:?}");
    }
    web.close();
}

#[tokio::test]
async fn what_is_no_message_is_answered_and_the_door_stays_open() {
    let place = Place::new();
    let web = Web::open(&place, Gate::Us, LONG).await;
    let (path, headers) = (web.path(), web.headers());
    for body in [
        &b""[..],
        b"no json",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[{\"jsonrpc\":\"2.0\"}]",
    ] {
        let told = web.send("POST", &path, &headers, body).await;
        assert!((400..500).contains(&told.status), "{told:?}");
    }
    let told = web.raw(b"no HTTP at all\r\n\r\n").await;
    assert_eq!(told.status, 400, "{told:?}");
    assert!(!web.call(1, "show", json!({"what": "run"})).await.1);
    web.close();
}

/// An answer is lost on its way; the agent sends the request again, or its next process counts from the start.
#[tokio::test]
async fn a_request_that_is_sent_again_is_the_same_call() {
    let place = Place::new();
    let web = Web::open(&place, Gate::Us, LONG).await;
    let mut answers = Vec::new();
    for (id, question) in [(1, "Which?"), (1, "Which?"), (1, "When?"), (2, "Which?")] {
        answers.push(web.call(id, "ask", json!({"question": question})).await);
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(
        place.host.rows.lock().unwrap().asks.len(),
        3,
        "another text and another number are other calls"
    );
    // An agent's own name of a call is the same whatever its number, and over the other door too.
    let named = |id: u64, own: &str| {
        let params = json!({"name": "ask", "arguments": {"question": "Where?"}, "_meta": {own: "call_1"}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    for (id, own) in [
        (7, "claudecode/toolUseId"),
        (8, "claudecode/toolUseId"),
        (9, "callId"),
    ] {
        assert!(!web.post(&named(id, own)).await.words().1);
    }
    let daemon = place.daemon();
    let mut agent = crate::agent::Agent::greeted(&place, "a", LONG).await;
    agent
        .call("ask", json!({"question": "Where?"}), Some("call_1"))
        .await;
    daemon.abort();
    assert_eq!(place.host.rows.lock().unwrap().asks.len(), 4);
    web.close();
}

#[tokio::test]
async fn an_effect_whose_answer_is_lost_in_the_record_is_one_effect() {
    let place = Place::new();
    *place.host.dies_after.lock().unwrap() = 3;
    let web = Web::open(&place, Gate::Us, LONG).await;
    let offer = json!({"summary": "s", "evidence": "e"});
    let (text, is_error) = web.call(1, "offer_landing", offer).await;
    assert!(!is_error, "{text}");
    assert_eq!(place.host.rows.lock().unwrap().offers.len(), 1);
    web.close();
}

#[tokio::test]
async fn without_the_record_the_agent_is_told_what_to_do() {
    let place = Place::new();
    *place.host.standing.lock().unwrap() = Err(HostError::NotNow("the record is away".to_owned()));
    let web = Web::open(&place, Gate::Us, SOON).await;
    let (text, is_error) = web.call(1, "ask", json!({"question": "Which?"})).await;
    assert!(
        is_error && text.contains("end your turn with your question"),
        "{text}"
    );
    assert!(place.is_untouched());
    web.close();
}

#[tokio::test]
async fn a_fault_in_a_tool_is_one_of_this_call_alone() {
    let place = Place::new();
    *place.host.breaks.lock().unwrap() = true;
    let web = Web::open(&place, Gate::Us, LONG).await;
    let (text, is_error) = web.call(1, "show", json!({"what": "run"})).await;
    assert!(is_error && text.contains("Something went wrong"), "{text}");
    assert!(!web.call(2, "show", json!({"what": "card"})).await.1);
    web.close();
}

#[tokio::test]
async fn a_port_that_is_taken_is_not_had_and_one_that_is_free_again_is() {
    let place = Place::new();
    let web = Web::open(&place, Gate::Us, LONG).await;
    let port = web.door.port();
    let refused = HttpDoor::bind(port, LONG).await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::AddrInUse);
    assert!(!web.call(1, "show", json!({"what": "run"})).await.1);
    let path = web.path();
    web.shut().await;
    let door = HttpDoor::bind(port, LONG).await.unwrap();
    assert_eq!(door.port(), port);
    let tools = Tools::new(place.host.clone());
    let registered = door.register(Place::attempted(), tools, std::sync::Arc::new(Gate::Us));
    assert!(registered.url().ends_with(&path));
}

/// The record is away all the time: what an agent is told meanwhile is what a bridge would tell it.
#[tokio::test(start_paused = true)]
async fn the_agent_is_told_every_ten_seconds_and_at_fifty_what_to_do() {
    let place = Place::new();
    *place.host.standing.lock().unwrap() = Err(HostError::NotNow("the record is away".to_owned()));
    let web = Web::open(&place, Gate::Us, LONG).await;
    let begun = tokio::time::Instant::now();
    let params = json!({"name": "ask", "arguments": {"question": "Which?"}, "_meta": {"progressToken": 7}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let told = web.post(&call).await;
    assert!(told.head.contains("text/event-stream"), "{told:?}");
    assert_eq!(told.body.matches("notifications/progress").count(), 4, "{told:?}");
    assert!(told.body.contains("end your turn with your question"), "{told:?}");
    let waited = begun.elapsed();
    assert!(
        waited >= Duration::from_secs(49) && waited <= Duration::from_secs(51),
        "{waited:?}"
    );
    assert!(place.is_untouched());
    web.close();
}
