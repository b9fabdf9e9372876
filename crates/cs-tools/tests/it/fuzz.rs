//! Anything at all, to the bridge, to both doors and to each tool: nothing panics, everybody is answered or let go, and the next good
//! call is done. `cargo xtask fuzz tools --minutes 10` plays it for longer.

#![expect(
    clippy::print_stdout,
    reason = "whoever asked for a long time wants to know what was played"
)]

use std::time::{Duration, Instant};

use cs_tools::*;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use crate::agent::{Agent, say};
use crate::host::{Gate, Place, TOKEN};
use crate::web::{Web, request};

const SHORT_CASES: u32 = 32;
const LONG: Duration = Duration::from_secs(20);
const SOON: Duration = Duration::from_millis(50);

/// Plays a few cases, or as many as fit into the time that was asked for.
fn play<S: Strategy>(strategy: &S, check: impl Fn(S::Value)) {
    let seconds = std::env::var("CS_PANEL_FUZZ_SECONDS");
    let until = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds.parse().unwrap()));
    let mut played = 0;
    loop {
        let config = Config {
            cases: SHORT_CASES,
            failure_persistence: None,
            ..Config::default()
        };
        TestRunner::new(config)
            .run(strategy, |value| {
                check(value);
                Ok(())
            })
            .unwrap();
        played += SHORT_CASES;
        match until {
            Ok(until) if Instant::now() < until => {}
            Ok(_) => {
                println!("{played} cases");
                return;
            }
            Err(_) => return,
        }
    }
}

fn block_on(future: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async { timeout(LONG, future).await.expect("nobody answers") });
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        Just(Value::from("x".repeat(20_000))),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            object(inner).prop_map(Value::from)
        ]
    })
}

/// Names that mean something come often.
fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    let name = prop_oneof![
        3 => prop::sample::select(vec![
            "question", "choices", "summary", "evidence", "text", "what", "name", "id", "method", "params", "jsonrpc", "arguments",
            "_meta", "progressToken", "requestId", "token", "call", "tool", "protocolVersion", "capabilities", "clientInfo",
        ]).prop_map(str::to_owned),
        1 => ".{0,10}",
    ];
    vec((name, inner), 0..6).prop_map(|entries| entries.into_iter().collect())
}

fn message() -> impl Strategy<Value = Value> {
    let method = prop::sample::select(vec![
        "initialize",
        "ping",
        "tools/list",
        "tools/call",
        "server/discover",
        "notifications/cancelled",
        "notifications/initialized",
        "resources/list",
        "subscriptions/listen",
        "x",
    ]);
    let id = prop_oneof![Just(json!(1)), Just(json!("1")), Just(Value::Null), value()];
    let tool = prop_oneof![
        Just("ask"),
        Just("show"),
        Just("report_progress"),
        Just("unheard_of")
    ];
    let call = (tool, value()).prop_map(|(tool, arguments)| json!({"name": tool, "arguments": arguments}));
    (method, id, prop_oneof![call, value()], any::<bool>()).prop_map(|(method, id, params, is_request)| {
        let mut message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        if is_request {
            message["id"] = id;
        }
        message
    })
}

/// A line: anything, or a message, whole or with some bytes of it changed.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let spoilt =
        (message(), vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)).prop_map(|(message, faults)| {
            let mut bytes = message.to_string().into_bytes();
            for (at, byte) in faults {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes
        });
    prop_oneof![
        vec(any::<u8>(), 0..200),
        value().prop_map(|value| value.to_string().into_bytes()),
        message().prop_map(|message| message.to_string().into_bytes()),
        spoilt,
    ]
}

#[test]
fn any_lines_to_the_bridge() {
    play(&vec(line(), 0..12), |lines| {
        block_on(async {
            let place = Place::new();
            let daemon = place.daemon();
            let mut agent = Agent::start(&place, "a", SOON);
            for line in &lines {
                agent.send_line(line).await;
            }
            agent.send_line(b"").await;
            let answer = agent.request_as("the last", "ping", json!({})).await;
            assert_eq!(answer["result"], json!({}), "{answer}");
            agent.leave().await;
            daemon.abort();
        });
    });
}

#[test]
fn any_lines_to_the_socket() {
    let request = (value(), value()).prop_map(|(id, arguments)| {
        let call = json!({"id": id, "tool": "ask", "arguments": arguments});
        json!({"token": TOKEN, "call": call}).to_string().into_bytes()
    });
    play(&vec(prop_oneof![line(), request], 0..6), |lines| {
        block_on(async {
            let place = Place::new();
            let daemon = place.daemon();
            for line in &lines {
                say(&place, &[line, &b"\n"[..]].concat()).await;
            }
            let call = json!({"id": "x", "tool": "show", "arguments": {"what": "run"}});
            let good = format!("{}\n", json!({"token": TOKEN, "call": call}));
            let said = say(&place, good.as_bytes()).await;
            assert!(said.contains("Run"), "{said}");
            daemon.abort();
        });
    });
}

#[test]
fn any_requests_over_http() {
    let header = ("[A-Za-z-]{1,20}", "[ -~]{0,40}");
    let head = ("[A-Z]{1,8}", "/[!-~]{0,60}", vec(header, 0..4));
    let raw = vec(any::<u8>(), 0..300);
    let requests = (head, line(), any::<bool>(), raw, any::<bool>());
    play(&vec(requests, 0..4), |requests| {
        block_on(async {
            let place = Place::new();
            let web = Web::open(&place, Gate::Us, SOON).await;
            for ((method, path, more), body, is_ours, raw, is_raw) in requests {
                let mut headers = web.headers();
                headers.extend(more);
                let bytes = match (is_raw, is_ours) {
                    (true, _) => raw,
                    (false, true) => request("POST", &web.path(), &headers, &body),
                    (false, false) => request(&method, &path, &headers, &body),
                };
                web.leave(&bytes).await;
            }
            let told = web.call(7, "show", json!({"what": "run"})).await;
            assert_eq!(told, ("Run".to_owned(), false));
            web.close();
        });
    });
}

#[test]
fn any_arguments_to_each_tool() {
    play(&(0..catalog().len(), object(value())), |(tool, arguments)| {
        block_on(async {
            let place = Place::new();
            let call = Call {
                id: CallId::new("x").unwrap(),
                tool: catalog()[tool].name.to_owned(),
                arguments,
            };
            let said = Tools::new(place.host.clone()).call(&Place::caller(), call).await;
            let Outcome::Answer(answer) = said else {
                panic!("{said:?}")
            };
            assert!(
                !answer.text.is_empty() && !answer.text.contains("Something went wrong"),
                "{answer:?}"
            );
        });
    });
}
