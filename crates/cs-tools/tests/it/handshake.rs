//! What the bridge answers by itself.

use std::time::Duration;

use cs_tools::catalog;
use serde_json::json;

use crate::agent::Agent;
use crate::host::Place;

const SOON: Duration = Duration::from_millis(300);

/// `bridge.md`: five agents begin with `initialize`, in three versions. No daemon is there.
#[tokio::test]
async fn every_version_that_agents_speak_is_answered_without_a_daemon() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let place = Place::new();
        let mut agent = Agent::start(&place, "a", SOON);
        let answer = agent.initialize(version).await;
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        assert!(answer["result"]["capabilities"]["tools"].is_object(), "{answer}");
        let tools = agent.request("tools/list", json!({})).await;
        assert_eq!(
            tools["result"]["tools"].as_array().unwrap().len(),
            catalog().len(),
            "{tools}"
        );
        assert_eq!(agent.request("ping", json!({})).await["result"], json!({}));
        let unknown = agent.request("prompts/get", json!({"name": "x"})).await;
        assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
        agent.leave().await;
    }
}

/// Claude Code asks no `initialize` at all.
#[tokio::test]
async fn the_era_without_a_handshake_is_answered_without_a_daemon() {
    let place = Place::new();
    let mut agent = Agent::start(&place, "a", SOON);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "claude-code", "version": "2.1.332"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = agent.request("server/discover", json!({"_meta": meta})).await;
    let versions = found["result"]["supportedVersions"].as_array();
    assert!(
        versions.is_some_and(|all| all.contains(&json!("2026-07-28"))),
        "{found}"
    );
    let tools = agent.request("tools/list", json!({"_meta": meta})).await;
    assert_eq!(tools["result"]["tools"][0]["name"], "ask", "{tools}");
    agent.leave().await;
}

#[tokio::test]
async fn odd_messages_do_not_end_the_bridge() {
    let place = Place::new();
    let mut agent = Agent::greeted(&place, "a", SOON).await;
    agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "reason": "answered"}})).await;
    agent
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/unheard_of"}))
        .await;
    agent
        .send(&json!({"jsonrpc": "2.0", "id": 99, "result": {}}))
        .await;
    for line in [
        "",
        "no json",
        "{}",
        "[]",
        "null",
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
        "\u{0}",
        "{\"half\":",
    ] {
        agent.send_line(line.as_bytes()).await;
    }
    agent.send_line(b"\xff\xfe").await;
    agent.send_line(&vec![b'x'; 3 << 20]).await;
    let unknown = agent.request("unheard/of", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    let (text, is_error) = agent.call("unheard_of", json!({}), None).await;
    assert!(is_error, "{text}");
    assert_eq!(agent.request("ping", json!({})).await["result"], json!({}));
    agent.leave().await;
}

#[test]
fn the_catalog_is_what_is_documented() {
    let told: Vec<_> = catalog()
        .into_iter()
        .map(|tool| json!({"name": tool.name, "description": tool.description, "arguments": tool.arguments, "reads_only": tool.reads_only}))
        .collect();
    insta::assert_snapshot!(serde_json::to_string_pretty(&told).unwrap());
}
