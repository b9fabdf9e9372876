//! What is written to an execution's directory and said on its socket. Private: other versions of this crate read it,
//! nobody else. Fields are only added, and an unknown one is ignored.
//!
//! On the socket a message is a big-endian `u32` length and as many bytes of JSON. A `go` is followed by the prompt's
//! bytes, raw. Each connection says `hello` first; it is answered with `welcome` or `refused`, and later, unasked, with
//! `closed`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cgroup::Tier;
use crate::closed::{AgentExit, Closed, Proof, SpawnFailure};
use crate::hold::{Containment, Feature};
use crate::identity::{BootId, NamedProcess, ProcessIdentity, Protocol};
use crate::limits::{Lease, LeaseEnd, Limit, Limits};
use crate::pause::PausedBy;

/// No JSON message may be longer.
pub(crate) const MAX_MESSAGE_BYTES: u32 = 1 << 20;

/// The variable in the environment of every process of an execution, unless it was cleared: another value in each execution.
pub const COOKIE_VARIABLE: &str = "CS_PANEL_EXECUTION";

/// `spec.json`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Spec {
    pub(crate) protocol: Protocol,
    /// Tells this execution's shim from one that answers at the same place.
    pub(crate) nonce: String,
    pub(crate) cookie: String,
    pub(crate) argv: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) cwd: PathBuf,
    pub(crate) leak_grace_ms: u64,
    #[serde(default)]
    pub(crate) limits: LimitsRecord,
    #[serde(default)]
    pub(crate) containment: Containment,
}

/// The limits in `spec.json`.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct LimitsRecord {
    #[serde(default)]
    pub(crate) spool_bytes: Option<u64>,
    #[serde(default)]
    pub(crate) awake_ms: Option<u64>,
    #[serde(default)]
    pub(crate) lease_ms: Option<u64>,
    #[serde(default)]
    pub(crate) at_lease_end: LeaseEnd,
}

impl From<Limits> for LimitsRecord {
    fn from(limits: Limits) -> Self {
        Self {
            spool_bytes: limits.spool_bytes,
            awake_ms: limits.awake.map(millis),
            lease_ms: Some(millis(limits.lease.length)),
            at_lease_end: limits.lease.at_end,
        }
    }
}

impl From<LimitsRecord> for Limits {
    fn from(record: LimitsRecord) -> Self {
        Self {
            spool_bytes: record.spool_bytes,
            awake: record.awake_ms.map(Duration::from_millis),
            lease: Lease {
                length: record
                    .lease_ms
                    .map_or(Lease::default().length, Duration::from_millis),
                at_end: record.at_lease_end,
            },
        }
    }
}

/// A span as it is written; what does not fit is for ever.
pub(crate) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

impl Spec {
    /// What the control group of the execution is called.
    pub(crate) fn cgroup_name(&self) -> String {
        cgroup_name(&self.cookie)
    }

    /// The environment entry that every process of the execution carries, unless it cleared its environment.
    pub(crate) fn cookie_assignment(&self) -> Vec<u8> {
        cookie_assignment(&self.cookie)
    }
}

/// What the control group of an execution with this cookie is called.
pub(crate) fn cgroup_name(cookie: &str) -> String {
    format!("cs-panel-{cookie}")
}

/// The environment entry of an execution with this cookie.
pub(crate) fn cookie_assignment(cookie: &str) -> Vec<u8> {
    format!("{COOKIE_VARIABLE}={cookie}").into_bytes()
}

/// `ident.json`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Ident {
    pub(crate) protocol: Protocol,
    pub(crate) boot_id: BootId,
    pub(crate) shim: ProcessIdentity,
    pub(crate) nonce: String,
    pub(crate) cookie: String,
}

/// `keeper.json`. Not a field of `ident.json`: whoever knows only that would take the process for a shim, and end it if it does not answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Keeper {
    pub(crate) protocol: Protocol,
    /// The process that supervises the execution without a shim.
    pub(crate) process: ProcessIdentity,
}

/// `agent.json`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Agent {
    pub(crate) agent: ProcessIdentity,
}

/// `descendants.json`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Descendants {
    pub(crate) processes: Vec<NamedProcess>,
}

/// `cgroup.json`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CgroupRecord {
    pub(crate) path: PathBuf,
}

/// `namespace.json`, from version 1.2 on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NamespaceRecord {
    /// The first process of the namespace, as it is numbered outside.
    pub(crate) init: ProcessIdentity,
}

/// `spent.json`
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Spent {
    pub(crate) worked_ms: u64,
}

impl Spent {
    pub(crate) fn new(worked: Duration) -> Self {
        Self {
            worked_ms: millis(worked),
        }
    }
}

/// `exit.json`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ExitRecord {
    pub(crate) exit: AgentExit,
    pub(crate) stopped_by_us: bool,
    pub(crate) ended_at_unix_micros: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<Limit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) worked_ms: Option<u64>,
    /// For people who read the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
}

/// `closed.json`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ClosedRecord {
    pub(crate) protocol: Protocol,
    pub(crate) exit: AgentExit,
    pub(crate) stopped_by_us: bool,
    pub(crate) proof: Option<Proof>,
    pub(crate) leaked: Vec<NamedProcess>,
    pub(crate) survivors: Vec<NamedProcess>,
    pub(crate) rounds: u32,
    pub(crate) ended_at_unix_micros: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<Limit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) worked_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dismissed_at_unix_micros: Option<i64>,
}

impl From<ClosedRecord> for Closed {
    fn from(record: ClosedRecord) -> Self {
        Self {
            exit: record.exit,
            stopped_by_us: record.stopped_by_us,
            proof: record.proof,
            leaked: record.leaked,
            survivors: record.survivors,
            rounds: record.rounds,
            ended_at_unix_micros: record.ended_at_unix_micros,
            limit: record.limit,
            worked: record.worked_ms.map(Duration::from_millis),
            dismissed_at_unix_micros: record.dismissed_at_unix_micros,
        }
    }
}

impl From<&Closed> for ClosedRecord {
    fn from(closed: &Closed) -> Self {
        Self {
            protocol: Protocol::CURRENT,
            exit: closed.exit.clone(),
            stopped_by_us: closed.stopped_by_us,
            proof: closed.proof,
            leaked: closed.leaked.clone(),
            survivors: closed.survivors.clone(),
            rounds: closed.rounds,
            ended_at_unix_micros: closed.ended_at_unix_micros,
            limit: closed.limit,
            worked_ms: closed.worked.map(millis),
            dismissed_at_unix_micros: closed.dismissed_at_unix_micros,
        }
    }
}

/// What a client says.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Request {
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
    /// From version 1.1 on, and so are the two below.
    Pause,
    Resume,
    /// Somebody follows the execution.
    Renew,
}

/// What the shim says.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Reply {
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
        #[serde(default)]
        tier: Tier,
    },
    SpawnFailed {
        failure: SpawnFailure,
    },
    Stopping,
    /// Whether it is paused now, or will be at its start.
    PauseIs {
        paused: Option<PausedBy>,
    },
    Renewed,
    /// The directory could not be written or the lock not be had, and the shim ends; or some process cannot be paused.
    Broken {
        op: String,
        errno: i32,
        text: String,
        /// From version 1.2 on: what was asked for and cannot be had here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lacks: Option<Feature>,
    },
    Closed {
        closed: ClosedRecord,
    },
    /// Something that a later version may say besides. Nobody says it.
    #[serde(other)]
    Unknown,
}

/// Where an execution is in its life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub(crate) enum Phase {
    /// Waits for its GO.
    Held,
    /// The agent runs.
    Running {
        agent: ProcessIdentity,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        paused: Option<PausedBy>,
        #[serde(default)]
        tier: Tier,
    },
    /// The agent has ended, the tree is being closed. `None`: it never ran.
    Closing { agent: Option<ProcessIdentity> },
}

/// Why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Refusal {
    #[error("the nonce or the user is not this execution's")]
    Foreign,
    #[error("the request does not fit the execution's state")]
    WrongPhase,
    #[error("the request is not understood")]
    NotUnderstood,
    #[error("the prompt is too long")]
    PromptTooLong,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What version 1.0 writes. These lines must be read for ever; `later` stands for what a newer one may add.
    #[test]
    fn what_version_1_0_wrote_is_read_also_with_fields_that_came_later() {
        let process = r#"{"boot_id":"b","pid":7,"start_ticks":9}"#;
        let named = format!(r#"{{"identity":{process},"name":"sh","later":1}}"#);
        let protocol = r#"{"major":1,"minor":0,"later":1}"#;
        let spec: Spec = read(&format!(
            r#"{{"protocol":{protocol},"nonce":"n","cookie":"c","argv":[{{"Unix":[115,104]}}],"env":[[{{"Unix":[65]}},{{"Unix":[255]}}]],"cwd":"/","leak_grace_ms":500,"later":1}}"#
        ));
        assert_eq!(
            (spec.argv[0].to_str(), spec.env[0].1.to_str()),
            (Some("sh"), None)
        );
        let ident: Ident = read(&format!(
            r#"{{"protocol":{protocol},"boot_id":"b","shim":{process},"nonce":"n","cookie":"c","later":1}}"#
        ));
        assert_eq!((ident.shim.pid(), ident.protocol.is_understood()), (7, true));
        let exit: ExitRecord = read(
            r#"{"exit":{"spawn_failed":{"reason":"program_not_found","errno":2}},"stopped_by_us":false,"ended_at_unix_micros":5,"text":"t","later":1}"#,
        );
        assert!(matches!(
            exit.exit,
            AgentExit::SpawnFailed(SpawnFailure { errno: 2, .. })
        ));
        let closed: ClosedRecord = read(&format!(
            r#"{{"protocol":{protocol},"exit":{{"exited":3}},"stopped_by_us":true,"proof":"subreaper_empty","leaked":[{named}],"survivors":[],"rounds":2,"ended_at_unix_micros":5,"later":1}}"#
        ));
        assert_eq!(
            (closed.exit, closed.proof),
            (AgentExit::Exited(3), Some(Proof::SubreaperEmpty))
        );
    }

    #[test]
    fn what_version_1_0_said_is_understood() {
        let hello: Request =
            read(r#"{"type":"hello","protocol":{"major":1,"minor":0},"nonce":"n","later":1}"#);
        assert!(matches!(hello, Request::Hello { .. }));
        assert!(matches!(
            read(r#"{"type":"go","prompt_bytes":3}"#),
            Request::Go { prompt_bytes: 3 }
        ));
        let stop = r#"{"type":"stop","interrupt_grace_ms":1,"terminate_grace_ms":2,"later":1}"#;
        assert!(matches!(
            read(stop),
            Request::Stop {
                interrupt_grace_ms: 1,
                terminate_grace_ms: 2
            }
        ));
        assert!(matches!(
            read(r#"{"type":"refused","reason":"foreign"}"#),
            Reply::Refused { .. }
        ));
        assert!(matches!(
            read(r#"{"phase":"closing","agent":null}"#),
            Phase::Closing { agent: None }
        ));
    }

    #[test]
    fn what_version_1_1_added_is_understood() {
        let spec: LimitsRecord =
            read(r#"{"spool_bytes":1,"awake_ms":2,"lease_ms":3,"at_lease_end":"pause","later":1}"#);
        let limits = Limits::from(spec);
        assert_eq!(
            (limits.spool_bytes, limits.awake),
            (Some(1), Some(Duration::from_millis(2)))
        );
        assert_eq!(limits.lease.at_end, LeaseEnd::Pause);
        assert_eq!(Limits::from(read::<LimitsRecord>("{}")), Limits::default());
        for request in ["pause", "resume", "renew"] {
            let request: Request = read(&format!(r#"{{"type":"{request}","later":1}}"#));
            assert!(matches!(
                request,
                Request::Pause | Request::Resume | Request::Renew
            ));
        }
        let phase: Phase = read(
            r#"{"phase":"running","agent":{"boot_id":"b","pid":7,"start_ticks":9},"paused":"lease","tier":"cgroup","later":1}"#,
        );
        assert!(matches!(
            phase,
            Phase::Running {
                paused: Some(PausedBy::Lease),
                tier: Tier::Cgroup,
                ..
            }
        ));
        // A shim of version 1.0 says neither.
        let phase: Phase = read(r#"{"phase":"running","agent":{"boot_id":"b","pid":7,"start_ticks":9}}"#);
        assert!(matches!(
            phase,
            Phase::Running {
                paused: None,
                tier: Tier::Subreaper,
                ..
            }
        ));
        let closed: ClosedRecord = read(
            r#"{"protocol":{"major":1,"minor":1},"exit":"unknown","stopped_by_us":true,"proof":"cgroup_empty","leaked":[],"survivors":[],"rounds":2,"ended_at_unix_micros":5,"limit":"spool_bytes","worked_ms":6,"dismissed_at_unix_micros":7,"later":1}"#,
        );
        let closed = Closed::from(closed);
        assert_eq!(
            (closed.limit, closed.proof),
            (Some(Limit::SpoolBytes), Some(Proof::CgroupEmpty))
        );
        assert_eq!(
            (closed.worked, closed.dismissed_at_unix_micros),
            (Some(Duration::from_millis(6)), Some(7))
        );
    }

    #[test]
    fn what_version_1_2_added_is_understood() {
        let reply: Reply = read(
            r#"{"type":"broken","op":"make a PID namespace","errno":28,"text":"t","lacks":"namespace","later":1}"#,
        );
        assert!(matches!(
            reply,
            Reply::Broken {
                lacks: Some(Feature::Namespace),
                ..
            }
        ));
        let before: Reply = read(r#"{"type":"broken","op":"write","errno":28,"text":"t"}"#);
        assert!(matches!(before, Reply::Broken { lacks: None, .. }));
        let process = r#"{"boot_id":"b","pid":7,"start_ticks":9}"#;
        let namespace: NamespaceRecord = read(&format!(r#"{{"init":{process},"later":1}}"#));
        let keeper: Keeper = read(&format!(
            r#"{{"protocol":{{"major":1,"minor":2}},"process":{process},"later":1}}"#
        ));
        assert_eq!((namespace.init.pid(), keeper.process.pid()), (7, 7));
        assert_eq!(read::<Tier>(r#""namespace""#), Tier::Namespace);
        assert_eq!(read::<Proof>(r#""namespace_ended""#), Proof::NamespaceEnded);
        assert_eq!(read::<Containment>(r#""namespace""#), Containment::Namespace);
    }

    #[test]
    fn another_major_version_is_not_understood() {
        assert!(!Protocol { major: 2, minor: 0 }.is_understood());
        assert!(Protocol { major: 1, minor: 9 }.is_understood());
    }

    /// To skip what is said would be to take its shim for one that does not answer.
    #[test]
    fn another_kind_of_message_is_unknown_and_a_known_one_with_another_value_is_an_error() {
        let unknown = r#"{"type":"weather","sun":true}"#;
        assert!(matches!(read(unknown), Reply::Unknown));
        let started = r#"{"type":"started","agent":{"boot_id":"b","pid":7,"start_ticks":9},"tier":"orbit"}"#;
        assert!(serde_json::from_str::<Reply>(started).is_err());
        assert!(serde_json::from_str::<Reply>(r#"{"says":"nothing"}"#).is_err());
    }

    fn read<T: serde::de::DeserializeOwned>(text: &str) -> T {
        serde_json::from_str(text).unwrap()
    }
}
