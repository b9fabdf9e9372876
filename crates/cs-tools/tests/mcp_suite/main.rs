//! The official conformance suite of the Model Context Protocol against both doors of the tools.
//!
//! `cargo xtask conformance` installs the suite and starts this program. The suite speaks HTTP and knows no token, so it talks to a
//! gate: one adds the token for the HTTP door, the other hands each message to a real bridge as a line.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "it says how it went")]
#![expect(clippy::disallowed_methods, reason = "it starts the suite and the bridge")]

mod gate;
#[expect(dead_code, reason = "other tests do more with a place")]
#[path = "../it/host.rs"]
mod host;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use cs_tools::{Caller, Connection, Door, HttpDoor, Peer, Peers, Sockets, Tools};
use tokio::net::UnixListener;

use host::{Place, TOKEN};

/// What a server of nothing but tools is asked.
const PLAYED: [&str; 5] = [
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-error",
    "server-sse-multiple-streams",
];

/// The others, and why they are not played.
const NOT_PLAYED: [(&str, &[&str]); 8] = [
    (
        "calls a tool that only the suite's own server has",
        &[
            "tools-call-simple-text",
            "tools-call-image",
            "tools-call-audio",
            "tools-call-embedded-resource",
            "tools-call-mixed-content",
            "tools-call-with-logging",
            "tools-call-with-progress",
            "json-schema-2020-12",
        ],
    ),
    (
        "the server asks the agent's model, which none of our tools does",
        &["tools-call-sampling"],
    ),
    (
        "the server asks the agent's user, which none of our tools does: `ask` goes to the panel",
        &[
            "tools-call-elicitation",
            "elicitation-sep1034-defaults",
            "elicitation-sep1330-enums",
        ],
    ),
    (
        "there are no resources",
        &[
            "resources-list",
            "resources-read-text",
            "resources-read-binary",
            "resources-templates-read",
            "resources-subscribe",
            "resources-unsubscribe",
        ],
    ),
    (
        "there are no prompts",
        &[
            "prompts-list",
            "prompts-get-simple",
            "prompts-get-with-args",
            "prompts-get-embedded-resource",
            "prompts-get-with-image",
        ],
    ),
    (
        "nothing is completed and no log is sent",
        &["completion-complete", "logging-set-level"],
    ),
    (
        "there are no sessions, so no stream is taken up again",
        &["server-sse-polling"],
    ),
    (
        "it wants a page of this machine to be heard; here every request with an Origin is refused (tests/it/refused.rs)",
        &["dns-rebinding-protection"],
    ),
];

/// Everybody passes: it is the protocol that is looked at.
#[derive(Debug)]
struct Everybody;

impl Peers for Everybody {
    fn belongs(&self, _: &Caller, _: Peer) -> bool {
        true
    }
}

impl Sockets for Everybody {
    fn belongs(&self, _: &Caller, _: Connection) -> bool {
        true
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [node, suite, bridge] = args.as_slice() else {
        println!(
            "give node, the suite and the program whose `mcp` is the bridge: `cargo xtask conformance` does"
        );
        return ExitCode::from(2);
    };
    let suite = Suite {
        node: node.into(),
        script: suite.into(),
    };
    let unknown = suite.unknown();
    if !unknown.is_empty() {
        println!(
            "nobody has judged whether these are for us: {}",
            unknown.join(", ")
        );
        return ExitCode::FAILURE;
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let doors = runtime.block_on(open(bridge));
    let mut failed = 0;
    for (door, port) in doors {
        for scenario in PLAYED {
            let (is_passed, said) = suite.play(scenario, port);
            let word = if is_passed { "passed" } else { "FAILED" };
            println!("{word}  {door:<5}  {scenario}");
            if !is_passed {
                println!("{said}");
                failed += 1;
            }
        }
    }
    for (reason, scenarios) in NOT_PLAYED {
        println!("not played, {reason}: {}", scenarios.join(", "));
    }
    println!("{} played, {failed} failed", PLAYED.len() * 2);
    runtime.shutdown_background();
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Opens both doors and a gate before each, and gives the ports of the gates.
async fn open(bridge: &str) -> [(&'static str, u16); 2] {
    let place = Place::new();
    std::fs::write(place.path("tools.token"), TOKEN).unwrap();
    let listener = UnixListener::bind(place.path("tools.sock")).unwrap();
    let tools = || Tools::new(place.host.clone());
    let door = Door::new(listener, Place::attempted(), tools(), Arc::new(Everybody));
    tokio::spawn(async move { door.serve().await });
    let http = HttpDoor::bind(0, Duration::from_secs(50)).await.unwrap();
    let registered = http.register(Place::attempted(), tools(), Arc::new(Everybody));
    let with_token = gate::with_token(registered.url(), TOKEN).await;
    tokio::spawn(async move {
        let _registered = registered;
        http.serve().await
    });
    let lines = gate::lines(Path::new(bridge), place).await;
    [("HTTP", with_token), ("stdio", lines)]
}

struct Suite {
    node: PathBuf,
    script: PathBuf,
}

impl Suite {
    fn run(&self, args: &[&str]) -> (bool, String) {
        let out = Command::new(&self.node)
            .arg(&self.script)
            .args(args)
            .output()
            .unwrap();
        let said = [out.stdout, out.stderr].concat();
        (out.status.success(), String::from_utf8_lossy(&said).into_owned())
    }

    fn play(&self, scenario: &str, port: u16) -> (bool, String) {
        let url = format!("http://127.0.0.1:{port}/mcp");
        self.run(&["server", "--url", &url, "--scenario", scenario])
    }

    /// What it has that is neither played nor judged.
    fn unknown(&self) -> Vec<String> {
        let (_, list) = self.run(&["list", "--server"]);
        let known = |name: &&str| {
            PLAYED.contains(name) || NOT_PLAYED.iter().any(|(_, scenarios)| scenarios.contains(name))
        };
        let names: Vec<&str> = list
            .lines()
            .filter_map(|line| line.trim().strip_prefix("- ")?.split(' ').next())
            .collect();
        assert!(names.len() > PLAYED.len(), "it lists nothing: {list}");
        names
            .into_iter()
            .filter(|name| !known(name))
            .map(str::to_owned)
            .collect()
    }
}
