//! Shims of other versions. What a shim of version 1.0 said is kept in `wire/1.0.jsonl`, recorded from one that was built then; what is said
//! here are these lines with the values of this execution. A shim of version 1.1 reads and says what the types of then (`wire_1_1.rs`) hold.
//!
//! A daemon drives shims of the two minor versions before its own, and any later one of its major version.

use std::fs;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cs_supervise::{
    AgentExit, Containment, ExecutionDir, Feature, GoError, Held, HoldError, Lack, LeaseEnd, PauseError,
    Proof, Protocol, ShimProgram, StopError, StopRequest, SurveyError, Tier, Verdict, hold, survey,
};
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::raw;
use crate::support::{Scratch, adopt, crash, shim_of, spec_of, trial, until, words};
use crate::wire_1_1;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "a_shim_of_version_1_0_is_driven_from_its_hold_to_its_end",
            older_runs,
        ),
        trial(
            "a_shim_of_version_1_1_is_driven_from_its_hold_to_its_end",
            before_namespaces_runs,
        ),
        trial("a_shim_of_version_1_0_is_adopted_and_stopped", older_adopted),
        trial("a_shim_of_version_1_0_that_waits_can_be_ended", older_waits),
        trial(
            "a_pause_of_a_shim_of_version_1_0_is_refused_and_harms_nothing",
            older_pause,
        ),
        trial(
            "limits_are_refused_where_the_shim_is_of_version_1_0",
            older_limits,
        ),
        trial(
            "a_namespace_is_refused_where_the_shim_is_of_version_1_0",
            async |scratch| older_namespace(scratch, 0).await,
        ),
        trial(
            "a_namespace_is_refused_where_the_shim_is_of_version_1_1",
            async |scratch| older_namespace(scratch, 1).await,
        ),
        trial("what_a_dead_shim_of_version_1_0_left_is_swept", older_lost),
        trial("a_later_minor_version_is_driven_whatever_it_adds", newer_runs),
        trial(
            "a_later_shim_that_says_a_value_which_nobody_knows_here_is_named_and_lives_on",
            newer_value,
        ),
        trial(
            "a_spec_with_a_value_which_nobody_knows_here_is_named_and_its_shim_lives_on",
            newer_spec,
        ),
        trial("another_major_version_is_refused_and_nothing_runs", other_major),
    ]
}

/// A program whose shims are of another version.
fn program(scratch: &Scratch, version: &str) -> ShimProgram {
    let script = scratch.path(&format!("shim-{version}"));
    // What was started ends at once, as a shim's first process does, and the shim goes on with its connection.
    let this = std::env::current_exe().unwrap();
    let text = format!(
        "#!/bin/sh\nexec 3<&0\n'{}' other-shim {version} \"$2\" <&3 3<&- >/dev/null &\n",
        this.display()
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    ShimProgram::at(script)
}

async fn held(scratch: &Scratch, version: &str, words: &[String]) -> Result<Held, HoldError> {
    let dir = ExecutionDir::create(scratch.dir.path()).unwrap();
    hold(&program(scratch, version), &dir, &spec_of(words)).await
}

async fn older_runs(scratch: Scratch) {
    let agent = words(&["count-stdin", "print=hello", "exit=7"]);
    let held = held(&scratch, "1.0", &agent).await.unwrap();
    assert_eq!(held.identity().protocol, Protocol { major: 1, minor: 0 });
    let mut running = held.go(b"the prompt").await.unwrap();
    assert_eq!((running.tier(), running.paused()), (Tier::Subreaper, None));
    let closed = running.closed().await.unwrap();
    assert_eq!(
        (&closed.exit, closed.proof, closed.stopped_by_us),
        (&AgentExit::Exited(7), Some(Proof::SubreaperEmpty), false)
    );
    assert_eq!(
        (closed.limit, closed.worked, closed.dismissed_at_unix_micros),
        (None, None, None)
    );
    assert_eq!(scratch.stdout(), "10\nhello\n");
    assert!(matches!(scratch.survey().await, Verdict::Finished(found) if found == closed));
}

async fn older_adopted(scratch: Scratch) {
    let held = held(&scratch, "1.0", &words(&["sleep"])).await.unwrap();
    let mut running = held.go(b"").await.unwrap();
    let adopted = adopt(&scratch).await;
    assert_eq!(adopted.agent(), running.agent());
    assert_eq!((adopted.tier(), adopted.paused()), (Tier::Subreaper, None));
    let (told, stopped) = tokio::join!(running.closed(), adopted.stop(StopRequest::FORCE));
    let closed = stopped.unwrap();
    assert_eq!(told.unwrap(), closed);
    assert_eq!(
        (closed.exit, closed.stopped_by_us),
        (AgentExit::Signalled(Signal::KILL.as_raw()), true)
    );
}

async fn older_waits(scratch: Scratch) {
    let once = format!("once={}", scratch.text("ran"));
    let held = held(&scratch, "1.0", &[once]).await.unwrap();
    let Verdict::Waiting(waiting) = scratch.survey().await else {
        panic!("it waits for its GO")
    };
    let closed = waiting.stopper().stop(StopRequest::default()).await.unwrap();
    assert_eq!(closed.exit, AgentExit::NeverStarted);
    let error = held.go(b"too late").await.unwrap_err();
    assert!(matches!(error, GoError::ShimEnded { .. }), "{error:?}");
    assert!(!scratch.path("ran").exists());
}

async fn older_pause(scratch: Scratch) {
    let held = held(&scratch, "1.0", &words(&["sleep"])).await.unwrap();
    let error = held.pauser().pause().await.unwrap_err();
    assert!(matches!(error, PauseError::TooOld { .. }), "{error:?}");
    let running = held.go(b"").await.unwrap();
    for asked in [running.pauser().pause().await, running.pauser().resume().await] {
        assert!(matches!(asked, Err(PauseError::TooOld { .. })), "{asked:?}");
    }
    assert!(running.agent().is_alive());
    running.stop(StopRequest::FORCE).await.unwrap();
}

async fn older_limits(scratch: Scratch) {
    let once = format!("once={}", scratch.text("ran"));
    let mut spec = spec_of(&[once]);
    spec.limits.lease.at_end = LeaseEnd::Pause;
    let dir = ExecutionDir::create(scratch.dir.path()).unwrap();
    let error = hold(&program(&scratch, "1.0"), &dir, &spec).await.unwrap_err();
    assert!(
        matches!(
            error,
            HoldError::Unsupported {
                feature: Feature::Limits,
                source: Lack::TooOld(Protocol { major: 1, minor: 0 })
            }
        ),
        "{error:?}"
    );
    let shim = shim_of(&scratch);
    until("the shim has ended", || !shim.is_alive()).await;
    assert!(matches!(scratch.survey().await, Verdict::NeverStarted(_)));
    assert!(!scratch.path("ran").exists());
}

async fn before_namespaces_runs(scratch: Scratch) {
    let mut spec = spec_of(&words(&["sleep"]));
    spec.limits.lease.at_end = LeaseEnd::Pause;
    let dir = ExecutionDir::create(scratch.dir.path()).unwrap();
    let held = hold(&program(&scratch, "1.1"), &dir, &spec).await.unwrap();
    assert_eq!(held.identity().protocol, Protocol { major: 1, minor: 1 });
    let mut running = held.go(b"").await.unwrap();
    running.pauser().pause().await.unwrap();
    let adopted = adopt(&scratch).await;
    assert_eq!((adopted.tier(), adopted.paused()), (Tier::Subreaper, None));
    let (told, stopped) = tokio::join!(running.closed(), adopted.stop(StopRequest::FORCE));
    assert_eq!(told.unwrap(), stopped.unwrap());
}

/// A shim of then would run the agent without one, and say nothing.
async fn older_namespace(scratch: Scratch, minor: u32) {
    let once = format!("once={}", scratch.text("ran"));
    let mut spec = spec_of(&[once]);
    spec.containment = Containment::Namespace;
    let dir = ExecutionDir::create(scratch.dir.path()).unwrap();
    let program = program(&scratch, &format!("1.{minor}"));
    let error = hold(&program, &dir, &spec).await.unwrap_err();
    assert!(
        matches!(
            error,
            HoldError::Unsupported {
                feature: Feature::Namespace,
                source: Lack::TooOld(protocol)
            } if protocol == Protocol { major: 1, minor }
        ),
        "{error:?}"
    );
    let shim = shim_of(&scratch);
    until("the shim has ended", || !shim.is_alive()).await;
    assert!(matches!(scratch.survey().await, Verdict::NeverStarted(_)));
    assert!(!scratch.path("ran").exists());
}

async fn older_lost(scratch: Scratch) {
    let agent = [scratch.of_kinds(&["setsid"]), words(&["sleep"])].concat();
    let held = held(&scratch, "1.0", &agent).await.unwrap();
    drop(held.go(b"").await.unwrap());
    let descendants = scratch.descendants_of(&["setsid"]).await;
    crash(&shim_of(&scratch));
    let Verdict::ShimLost(closed) = scratch.survey().await else {
        panic!("the shim was killed")
    };
    assert_eq!(
        (closed.exit, closed.proof),
        (AgentExit::Unknown, Some(Proof::SweepClean))
    );
    assert!(!descendants[0].is_alive());
}

async fn newer_runs(scratch: Scratch) {
    let held = held(&scratch, "1.9", &words(&["sleep"])).await.unwrap();
    assert_eq!(held.identity().protocol, Protocol { major: 1, minor: 9 });
    let mut running = held.go(b"").await.unwrap();
    running.pauser().pause().await.unwrap();
    let adopted = adopt(&scratch).await;
    let (told, stopped) = tokio::join!(running.closed(), adopted.stop(StopRequest::FORCE));
    assert_eq!(told.unwrap(), stopped.unwrap());
    assert!(matches!(scratch.survey().await, Verdict::Finished(_)));
}

/// A budget that a shim which answers does not need.
const SHORT: Duration = Duration::from_secs(2);

/// It must be clear what is not understood and what helps, and nothing may be signalled.
async fn assert_not_understood(scratch: &Scratch, what: &str) {
    let verdict = survey(&scratch.dir, SHORT).await;
    let Err(error @ SurveyError::NotUnderstood { .. }) = verdict else {
        panic!("{verdict:?}")
    };
    let source = std::error::Error::source(&error).unwrap().to_string();
    let said = format!("{error}: {source}");
    assert!(said.contains(what), "{said}");
    assert!(said.contains("use that version or a later one"), "{said}");
    assert!(shim_of(scratch).is_alive(), "nothing was signalled");
}

async fn newer_value(scratch: Scratch) {
    let held = held(&scratch, "1.9-strange", &words(&["sleep"])).await.unwrap();
    let running = held.go(b"").await.unwrap();
    assert_not_understood(&scratch, "`orbit`").await;
    let error = running.stop(StopRequest::FORCE).await.unwrap_err();
    assert!(matches!(error, StopError::Refused { .. }), "{error:?}");
    assert!(running.agent().is_alive() && shim_of(&scratch).is_alive());
    crash(&shim_of(&scratch));
    assert!(matches!(scratch.survey().await, Verdict::ShimLost(_)));
}

async fn newer_spec(scratch: Scratch) {
    let held = held(&scratch, "1.9", &words(&["sleep"])).await.unwrap();
    let running = held.go(b"").await.unwrap();
    let file = scratch.dir.path().join("spec.json");
    let spec = raw::read(&file);
    let mut strange = spec.clone();
    strange["containment"] = "orbit".into();
    write(scratch.dir.path(), "spec.json", &strange);
    assert_not_understood(&scratch, "`orbit`").await;
    write(scratch.dir.path(), "spec.json", &spec);
    running.stop(StopRequest::FORCE).await.unwrap();
}

async fn other_major(scratch: Scratch) {
    let once = format!("once={}", scratch.text("ran"));
    let error = held(&scratch, "2.0", &[once]).await.unwrap_err();
    assert!(matches!(error, HoldError::Shim { .. }), "{error:?}");
    let shim = shim_of(&scratch);
    until("the shim has ended", || !shim.is_alive()).await;
    assert!(!scratch.path("ran").exists());
    // Nor is one that runs driven.
    let running = scratch.below("running");
    let lone = running.path("lone");
    fs::create_dir(&lone).unwrap();
    let (_ours, theirs) = UnixStream::pair().unwrap();
    fs::copy(scratch.dir.path().join("spec.json"), lone.join("spec.json")).unwrap();
    #[expect(clippy::disallowed_methods, reason = "a shim of another version")]
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["other-shim", "2.0"]).arg(&lone);
    let mut shim = command.stdin(std::os::fd::OwnedFd::from(theirs)).spawn().unwrap();
    until("it listens", || lone.join("ident.json").exists()).await;
    let verdict = cs_supervise::survey(&ExecutionDir::at(&lone), Duration::from_secs(20)).await;
    assert!(
        matches!(verdict, Err(SurveyError::NotUnderstood { .. })),
        "{verdict:?}"
    );
    assert!(shim.try_wait().unwrap().is_none(), "nothing was signalled");
    shim.kill().unwrap();
    shim.wait().unwrap();
}

/// What a shim of another version says, with the values of this execution.
struct Dialect {
    version: String,
    spec: Value,
    messages: Vec<Value>,
}

impl Dialect {
    fn new(version: &str, spec: Value) -> Self {
        let lines = include_str!("wire/1.0.jsonl").lines();
        Self {
            version: version.to_owned(),
            spec,
            messages: lines.map(|line| serde_json::from_str(line).unwrap()).collect(),
        }
    }

    fn is_later(&self) -> bool {
        !matches!(self.version.as_str(), "1.0" | "1.1")
    }

    /// Whether it says a value that nobody knows here.
    fn is_strange(&self) -> bool {
        self.version.ends_with("-strange")
    }

    fn knows_pause(&self) -> bool {
        self.version != "1.0"
    }

    /// What is sent: all of it, or what the types of then hold.
    fn said(&self, message: Value) -> Value {
        match self.version.as_str() {
            "1.1" => wire_1_1::said(&message),
            _ => message,
        }
    }

    fn heard(&self, request: Value) -> Value {
        match self.version.as_str() {
            "1.1" => wire_1_1::heard(&request),
            _ => request,
        }
    }

    fn protocol(&self) -> Value {
        let (version, _) = self.version.split_once('-').unwrap_or((&self.version, ""));
        let (major, minor) = version.split_once('.').unwrap();
        json!({"major": major.parse::<u16>().unwrap(), "minor": minor.parse::<u16>().unwrap()})
    }

    /// A recorded message.
    fn message(&self, kind: &str) -> Value {
        self.in_phase(kind, &Value::Null)
    }

    /// A message that was recorded in a phase. What later versions may add is added for them.
    fn in_phase(&self, kind: &str, phase: &Value) -> Value {
        let is_it = |message: &&Value| {
            message["type"] == kind && (phase.is_null() || message["phase"]["phase"] == *phase)
        };
        let recorded = self.messages.iter().find(is_it);
        let mut message = recorded.unwrap().clone();
        if self.is_later() {
            message["later"] = json!({"anything": [1]});
        }
        message
    }

    fn ident(&self) -> Value {
        let mut ident = self.message("welcome")["ident"].clone();
        let shim = identity(std::process::id());
        ident["boot_id"] = shim["boot_id"].clone();
        ident["shim"] = shim;
        ident["protocol"] = self.protocol();
        for secret in ["nonce", "cookie"] {
            ident[secret] = self.spec[secret].clone();
        }
        ident
    }

    fn welcome(&self, agent: Option<&Value>) -> Value {
        let phase = if agent.is_some() { "running" } else { "held" };
        let mut welcome = self.in_phase("welcome", &phase.into());
        welcome["ident"] = self.ident();
        if let Some(agent) = agent {
            welcome["phase"]["agent"] = agent.clone();
            if self.is_strange() {
                welcome["phase"]["tier"] = "orbit".into();
            }
        }
        self.said(welcome)
    }

    fn closed(&self, exit: &Value, stopped_by_us: bool) -> Value {
        let mut closed = self.message("closed");
        closed["closed"]["protocol"] = self.protocol();
        closed["closed"]["exit"] = exit.clone();
        closed["closed"]["stopped_by_us"] = stopped_by_us.into();
        self.said(closed)
    }
}

fn identity(pid: u32) -> Value {
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_ascii_whitespace()
        .collect();
    let start_ticks: u64 = fields[19].parse().unwrap();
    json!({"boot_id": boot_id.trim(), "pid": pid, "start_ticks": start_ticks})
}

/// A shim of another version. It has the layout and the words of that version, and no more sense than they take.
struct Other {
    dir: PathBuf,
    dialect: Dialect,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    agent: Option<Value>,
    is_stopped: bool,
    greeted: Vec<UnixStream>,
}

/// `other-shim VERSION DIR`
pub(crate) fn run(words: &[String]) {
    let [version, dir] = words else {
        panic!("which version, and where?")
    };
    let dir = PathBuf::from(dir);
    let starter = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
    let lock = fs::File::create(dir.join("lock")).unwrap();
    lock.try_lock().unwrap();
    let spec = raw::read(&dir.join("spec.json"));
    if version == "1.1" {
        wire_1_1::read_spec(&spec);
    }
    let dialect = Dialect::new(version, spec);
    for spool in ["stdout.spool", "stderr.spool"] {
        open(&dir.join(spool));
    }
    let listener = UnixListener::bind(dir.join("sock")).unwrap();
    write(&dir, "ident.json", &dialect.ident());
    let other = Arc::new(Other {
        dir,
        dialect,
        state: Mutex::default(),
    });
    let clients = Arc::clone(&other);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (other, stream) = (Arc::clone(&clients), stream.unwrap());
            std::thread::spawn(move || other.serve(stream, Client::Other));
        }
    });
    other.serve(starter, Client::Starter);
    // Who started it is gone; the agent's end ends it.
    std::thread::park();
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Client {
    Starter,
    Other,
}

impl Other {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(self: &Arc<Self>, mut stream: UnixStream, client: Client) {
        while let Ok(request) = raw::receive(&mut stream) {
            let request = self.dialect.heard(request);
            if self.answer(&mut stream, client, &request).is_err() {
                break;
            }
        }
        if client == Client::Starter && self.state().agent.is_none() {
            self.end(&json!("never_started"));
        }
    }

    fn answer(
        self: &Arc<Self>,
        stream: &mut UnixStream,
        client: Client,
        request: &Value,
    ) -> std::io::Result<()> {
        let reply = match request["type"].as_str().unwrap() {
            "hello" => {
                assert_eq!(request["nonce"], self.dialect.spec["nonce"]);
                let mut state = self.state();
                raw::send(stream, &self.dialect.welcome(state.agent.as_ref()))?;
                state.greeted.push(stream.try_clone()?);
                if self.dialect.is_later() {
                    raw::send(stream, &json!({"type": "weather", "sun": true}))?;
                }
                return Ok(());
            }
            "go" => {
                assert!(client == Client::Starter);
                let mut prompt = vec![0; request["prompt_bytes"].as_u64().unwrap() as usize];
                stream.read_exact(&mut prompt)?;
                // The word that it runs is said before the word that it has ended.
                let mut state = self.state();
                let started = self.start(&mut state, &prompt);
                return raw::send(stream, &started);
            }
            "stop" => {
                raw::send(stream, &self.dialect.message("stopping"))?;
                let mut state = self.state();
                state.is_stopped = true;
                let pid = state.agent.as_ref().and_then(|agent| agent["pid"].as_i64());
                drop(state);
                match pid {
                    Some(pid) => kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL)?,
                    None => self.end(&json!("never_started")),
                }
                return Ok(());
            }
            "renew" if self.dialect.knows_pause() => json!({"type": "renewed"}),
            "pause" if self.dialect.knows_pause() => {
                json!({"type": "pause_is", "paused": "request", "later": 1})
            }
            _ => {
                raw::send(stream, &self.dialect.message("refused"))?;
                return Err(std::io::ErrorKind::Unsupported.into());
            }
        };
        raw::send(stream, &self.dialect.said(reply))
    }

    fn start(self: &Arc<Self>, state: &mut State, prompt: &[u8]) -> Value {
        fs::write(self.dir.join("stdin"), prompt).unwrap();
        let child = self.spawn();
        let agent = identity(child.id());
        write(&self.dir, "agent.json", &json!({"agent": agent}));
        state.agent = Some(agent.clone());
        let other = Arc::clone(self);
        std::thread::spawn(move || other.await_end(child));
        let mut started = self.dialect.message("started");
        started["agent"] = agent;
        self.dialect.said(started)
    }

    fn spawn(&self) -> Child {
        let spec = &self.dialect.spec;
        let argv: Vec<_> = spec["argv"].as_array().unwrap().iter().map(os).collect();
        #[expect(clippy::disallowed_methods, reason = "this is what a shim is for")]
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).env_clear();
        for pair in spec["env"].as_array().unwrap() {
            command.env(os(&pair[0]), os(&pair[1]));
        }
        command.env("CS_PANEL_EXECUTION", spec["cookie"].as_str().unwrap());
        command.current_dir(spec["cwd"].as_str().unwrap());
        command
            .stdin(fs::File::open(self.dir.join("stdin")).unwrap())
            .stdout(open(&self.dir.join("stdout.spool")))
            .stderr(open(&self.dir.join("stderr.spool")));
        command.spawn().unwrap()
    }

    fn await_end(&self, mut child: Child) {
        use std::os::unix::process::ExitStatusExt;
        let status = child.wait().unwrap();
        let exit = match (status.code(), status.signal()) {
            (Some(code), _) => json!({"exited": code}),
            (None, Some(signal)) => json!({"signalled": signal}),
            (None, None) => json!("unknown"),
        };
        self.end(&exit);
    }

    /// Writes the end, tells it, and ends this process.
    fn end(&self, exit: &Value) {
        let mut state = self.state();
        let closed = self.dialect.closed(exit, state.is_stopped);
        let record = json!({"exit": exit, "stopped_by_us": state.is_stopped, "ended_at_unix_micros": 5});
        write(&self.dir, "exit.json", &record);
        write(&self.dir, "closed.json", &closed["closed"]);
        for stream in &mut state.greeted {
            // Who is gone is not told.
            raw::send(stream, &closed).unwrap_or_default();
        }
        std::process::exit(0);
    }
}

fn open(path: &Path) -> fs::File {
    fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .unwrap()
}

fn write(dir: &Path, name: &str, value: &Value) {
    let aside = dir.join(format!("{name}.new"));
    fs::write(&aside, value.to_string()).unwrap();
    fs::rename(aside, dir.join(name)).unwrap();
}

/// Text of the system as version 1.0 writes it.
fn os(value: &Value) -> std::ffi::OsString {
    let bytes = value["Unix"].as_array().unwrap().iter();
    std::ffi::OsString::from_vec(bytes.map(|byte| byte.as_u64().unwrap() as u8).collect())
}
