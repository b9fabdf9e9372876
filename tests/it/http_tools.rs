//! The tools of an agent that cannot start a server: over HTTP, on a port that is kept.

use std::fs;
use std::net::TcpListener;

use serde_json::json;

use crate::desk::Desk;
use crate::real_agents::{desk_with, does};

/// Calls a tool over HTTP, in the way and with the secret that its configuration says, until it is answered.
const CALLS: &str = r#"
import json, sys, time, urllib.request
server = json.load(open(sys.argv[1]))["mcpServers"]["panel"]
def call(method, params):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    headers = dict(server["headers"], **{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"})
    answer = urllib.request.urlopen(urllib.request.Request(server["url"], body, headers), timeout=60).read().decode()
    lines = [line[6:] if line.startswith("data: ") else line for line in answer.splitlines()]
    return [json.loads(line) for line in lines if line.startswith("{")][-1]
for _ in range(600):
    try:
        answer = call("tools/call", {"name": "ask", "arguments": {"question": "Which?"}, "_meta": {"claudecode/toolUseId": "one"}})
        open(sys.argv[2], "w").write(answer["result"]["content"][0]["text"])
        break
    except OSError:
        time.sleep(0.05)
"#;

/// An agent that asks over HTTP once it may, and answers at its second start.
fn asks_over_http(before: &str) -> Desk {
    let desk = desk_with("claude");
    let path = desk.path("home/.config/cs-panel/config.toml");
    let config = fs::read_to_string(&path).expect("an agent is configured");
    let config = config.replacen("[agents.real]\n", "[agents.real]\ntools = \"http\"\n", 1);
    fs::write(&path, config).expect("written");
    fs::write(desk.path("outside/calls.py"), CALLS).expect("written");
    does(
        &desk,
        &format!(
            r#"begin
for word in "$@"; do
    case $last in --mcp-config) file=$word ;; esac
    last=$word
done
case $* in *--resume*) answer "It goes on."; exit ;; esac
{before}
python3 "$out/calls.py" "$file" "$out/told"
answer "I have asked.""#
        ),
    );
    desk
}

#[test]
fn an_agent_asks_over_http() {
    let desk = asks_over_http("");
    let card = desk.send("Ask");
    desk.run_once();
    let told = fs::read_to_string(desk.path("outside/told")).expect("it was answered");
    assert!(told.contains("End your turn"), "{told}");
    assert_eq!(desk.json(&["asks"])[0]["question"], "Which?");
    desk.ok(&["answer", &card, "This one"]);
    desk.run_once();
    assert_eq!(desk.said_by(&card, "agent"), ["I have asked.", "It goes on."]);
    desk.no_process_is_left();
}

/// A later daemon has the same port, and the call that waits is answered there.
#[test]
fn a_later_daemon_has_the_same_port() {
    let desk = asks_over_http("");
    desk.send("Ask");
    desk.crash_at("T2");
    let port = fs::read_to_string(desk.state().join("tools.port")).expect("it is noted");
    desk.run_once();
    assert_eq!(
        fs::read_to_string(desk.state().join("tools.port")).expect("it is noted"),
        port
    );
    assert_eq!(desk.lines("starts"), 1);
    assert_eq!(desk.json(&["asks"]).as_array().map(Vec::len), Some(1));
}

/// Where somebody else has the port by then, the agent is ended and goes on in the same conversation, and that is no try.
#[test]
fn a_port_that_is_lost_ends_its_agents_and_they_go_on_with_another() {
    let desk = asks_over_http("touch \"$out/there\"; while [ ! -e \"$out/go\" ]; do sleep 0.05; done");
    let card = desk.send("Ask");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/there"));
    daemon.kill();
    let noted = || fs::read_to_string(desk.state().join("tools.port")).expect("it is noted");
    let port: u16 = noted().trim().parse().expect("a port");
    let theirs = TcpListener::bind(("127.0.0.1", port)).expect("it is free");
    let said = desk.run_once_saying();
    assert!(said.contains(&format!("somebody else has port {port}")), "{said}");
    assert_ne!(noted().trim(), port.to_string());
    let detail = desk.card(&card);
    assert_eq!(desk.lines("starts"), 2, "{detail}");
    assert_eq!(detail["runs"][0]["tries"], 0, "{detail}");
    assert_eq!(desk.said_by(&card, "agent"), ["It goes on."], "{detail}");
    theirs.set_nonblocking(true).expect("it can be asked");
    assert!(theirs.accept().is_err(), "nobody called there");
    desk.no_process_is_left();
}

#[test]
fn an_agent_that_cannot_call_over_http_is_refused_when_it_is_set_up() {
    let desk = Desk::new();
    desk.script(&json!([]));
    let path = desk.path("home/.config/cs-panel/config.toml");
    let config = fs::read_to_string(&path).expect("an agent is configured");
    let said = |by: &str| {
        fs::write(
            &path,
            config.replacen(
                "[agents.scripted]\n",
                &format!("[agents.scripted]\ntools = {by}\n"),
                1,
            ),
        )
        .expect("written");
        desk.fails(2, &["agents"])
    };
    assert!(said("\"http\"").contains("say \"stdio\" or leave it out"));
    let other = said("\"other\"");
    assert!(other.contains("stdio") && other.contains("http"), "{other}");
}
