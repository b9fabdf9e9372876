//! What the first shims of version 1.1 read and said: their types, copied from what was built then. They knew no containment.
#![expect(dead_code, reason = "what a shim of then read and did not need here")]

use std::ffi::OsString;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Deserialize)]
struct Spec {
    protocol: Protocol,
    nonce: String,
    cookie: String,
    argv: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    cwd: PathBuf,
    leak_grace_ms: u64,
    #[serde(default)]
    limits: LimitsRecord,
}

#[derive(Default, Deserialize)]
struct LimitsRecord {
    #[serde(default)]
    spool_bytes: Option<u64>,
    #[serde(default)]
    awake_ms: Option<u64>,
    #[serde(default)]
    lease_ms: Option<u64>,
    #[serde(default)]
    at_lease_end: LeaseEnd,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LeaseEnd {
    #[default]
    Continue,
    Pause,
    Stop,
}

#[derive(Serialize, Deserialize)]
struct Protocol {
    major: u32,
    minor: u32,
}

#[derive(Serialize, Deserialize)]
struct BootId(String);

#[derive(Serialize, Deserialize)]
struct ProcessIdentity {
    boot_id: BootId,
    pid: i32,
    start_ticks: u64,
}

#[derive(Serialize, Deserialize)]
struct NamedProcess {
    identity: ProcessIdentity,
    name: String,
}

#[derive(Serialize, Deserialize)]
struct Ident {
    protocol: Protocol,
    boot_id: BootId,
    shim: ProcessIdentity,
    nonce: String,
    cookie: String,
}

#[derive(Serialize, Deserialize)]
struct ClosedRecord {
    protocol: Protocol,
    exit: AgentExit,
    stopped_by_us: bool,
    proof: Option<Proof>,
    leaked: Vec<NamedProcess>,
    survivors: Vec<NamedProcess>,
    rounds: u32,
    ended_at_unix_micros: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<Limit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    worked_ms: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AgentExit {
    NeverStarted,
    Exited(i32),
    Signalled(i32),
    Unknown,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Proof {
    HostRebooted,
    SubreaperEmpty,
    SweepClean,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Limit {
    SpoolBytes,
    Awake,
    Lease,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Request {
    Hello {
        protocol: Protocol,
        nonce: String,
    },
    Go {
        prompt_bytes: u64,
    },
    Stop {
        interrupt_grace_ms: u64,
        terminate_grace_ms: u64,
    },
    Pause,
    Resume,
    Renew,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Reply {
    Welcome {
        ident: Ident,
        phase: Phase,
    },
    Refused {
        reason: Refusal,
    },
    Started {
        agent: ProcessIdentity,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        paused: Option<PausedBy>,
    },
    Stopping,
    PauseIs {
        paused: Option<PausedBy>,
    },
    Renewed,
    Broken {
        op: String,
        errno: i32,
        text: String,
    },
    Closed {
        closed: ClosedRecord,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
enum Phase {
    Held,
    Running {
        agent: ProcessIdentity,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        paused: Option<PausedBy>,
    },
    Closing {
        agent: Option<ProcessIdentity>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PausedBy {
    Request,
    Lease,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Refusal {
    Foreign,
    WrongPhase,
    NotUnderstood,
    PromptTooLong,
}

/// Reads a spec as a shim of then did.
pub(crate) fn read_spec(spec: &Value) {
    let _: Spec = as_then(spec);
}

/// A request as a shim of then understood it.
pub(crate) fn heard(request: &Value) -> Value {
    serde_json::to_value(as_then::<Request>(request)).unwrap()
}

/// A reply with what a shim of then said of it.
pub(crate) fn said(reply: &Value) -> Value {
    serde_json::to_value(as_then::<Reply>(reply)).unwrap()
}

fn as_then<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}
