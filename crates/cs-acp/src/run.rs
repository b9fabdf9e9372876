//! The bridge: the one place here that touches processes.

use std::io::{self, Read as _, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use cs_harness::{ANSWER_WITHIN, UNREAD_MAX_BYTES};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

use crate::dialogue::{Dialogue, FAILED, Step};
use crate::lines::{Lines, Read};
use crate::start::Start;

/// Which agent is led, and how patiently.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The agent: a program and its arguments. It gets the environment and the directory of the bridge, and its standard error.
    pub argv: Vec<String>,
    /// How long each answer before the prompt may take.
    pub answer_within: Duration,
    /// How long an agent may take to end when nothing more is said, and a prompt that was called off.
    pub end_within: Duration,
    /// Finds a variable of the bridge's environment: the server of tools that the agent starts needs some.
    pub variable: fn(&str) -> Option<String>,
}

impl Spec {
    /// An agent that is led as patiently as real ones need.
    pub fn new(argv: Vec<String>) -> Self {
        Self {
            argv,
            answer_within: ANSWER_WITHIN,
            end_within: Duration::from_secs(3),
            variable: |_| None,
        }
    }
}

/// Why the bridge could not do its work. What becomes of the agent's task is no error: that is told in events.
#[derive(Debug, thiserror::Error)]
pub enum AcpError {
    /// The start line could not be read, or is none.
    #[error("standard input holds no start line: a line of JSON with `prompt`, `cwd` and `permissions`")]
    Start(#[source] io::Error),
    /// No agent was named.
    #[error("no agent is named: give its command after `--`")]
    NoAgent,
    /// The bridge could not say what happened, or not listen for signals.
    #[error("cannot {op}")]
    Io {
        /// What it was about to do.
        op: &'static str,
        /// Why it could not.
        #[source]
        source: io::Error,
    },
}

/// More than this is no start line.
const START_MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Reads the start line, leads the agent through it, and prints its events, one per line. Output is awaited: it is a file.
///
/// Returns the exit code for the bridge: 0 when the agent answered, 1 when it failed and said so, 143 when SIGTERM or SIGINT
/// called the prompt off, else the code of an agent that ended too early (128 and the signal, where one ended it).
///
/// An agent that does not end when nothing more is said is left to whoever holds the process tree.
///
/// # Errors
/// [`AcpError`].
pub async fn run<R, W>(stdin: R, stdout: W, spec: &Spec) -> Result<u8, AcpError>
where
    R: io::Read,
    W: Write,
{
    let mut start = read_start(stdin)?;
    if let Some(tools) = &mut start.tools {
        tools.take_over(spec.variable);
    }
    let [program, arguments @ ..] = spec.argv.as_slice() else {
        return Err(AcpError::NoAgent);
    };
    let signals = Signals::listen()?;
    let mut printer = Printer(stdout);
    let mut dialogue = Dialogue::new(start);
    let mut child = match spawn(program, arguments) {
        Ok(child) => child,
        Err(error) => {
            let steps = dialogue.not_started(&format!("cannot start {program}: {error}"));
            let mut unsaid = Unsaid::default();
            return Ok(printer.carry_out(steps, &mut unsaid)?.unwrap_or(FAILED));
        }
    };
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(AcpError::NoAgent);
    };
    let talk = Talk {
        dialogue,
        to: Some(stdin),
        from: Lines::new(BufReader::new(stdout)),
        signals,
        spec,
    };
    let code = talk.lead(&mut printer).await?;
    // Both ends of the talk are closed now, which is how agents are told to end.
    let ended = tokio::time::timeout(spec.end_within, child.wait()).await;
    Ok(code.unwrap_or_else(|| ended.ok().and_then(Result::ok).map_or(FAILED, code_of)))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the bridge stands in the agent's place: its child belongs to the execution, whose tree is closed as a whole"
)]
fn spawn(program: &str, arguments: &[String]) -> io::Result<Child> {
    tokio::process::Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
}

fn read_start<R: io::Read>(stdin: R) -> Result<Start, AcpError> {
    let mut all = Vec::new();
    let read = stdin.take(START_MAX_BYTES).read_to_end(&mut all);
    read.map_err(AcpError::Start)?;
    let line = all.split(|byte| *byte == b'\n').next().unwrap_or_default();
    serde_json::from_slice(line).map_err(|error| AcpError::Start(error.into()))
}

fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|number| 128 + number));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED)
}

#[derive(Debug)]
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> Result<Self, AcpError> {
        let on = |kind| {
            signal(kind).map_err(|source| AcpError::Io {
                op: "listen for signals",
                source,
            })
        };
        Ok(Self {
            terminate: on(SignalKind::terminate())?,
            interrupt: on(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// One talk with an agent, from the greeting on.
struct Talk<'a> {
    dialogue: Dialogue,
    to: Option<ChildStdin>,
    from: Lines<BufReader<ChildStdout>>,
    signals: Signals,
    spec: &'a Spec,
}

/// What happened.
enum Happened {
    Stop,
    Late,
    Said(usize),
    /// The agent does not listen any more; it may still have something to say.
    Deaf,
    Heard(io::Result<Read>),
}

impl Talk<'_> {
    /// Leads the talk to its end. Nothing is returned where the agent ended it.
    async fn lead<W: Write>(mut self, printer: &mut Printer<W>) -> Result<Option<u8>, AcpError> {
        let mut unsaid = Unsaid::default();
        let mut steps = self.dialogue.greet();
        let mut awaited = None;
        let mut deadline: Option<Instant> = None;
        loop {
            if let Some(code) = printer.carry_out(steps, &mut unsaid)? {
                return Ok(Some(code));
            }
            if unsaid.is_too_much() {
                let last = self.dialogue.unheard();
                return printer.carry_out(last, &mut unsaid);
            }
            if self.dialogue.awaits() != awaited {
                awaited = self.dialogue.awaits();
                deadline = awaited.map(|_| Instant::now() + self.spec.answer_within);
            }
            steps = match self.next(&unsaid.bytes, deadline).await {
                Happened::Stop => {
                    deadline = Some(Instant::now() + self.spec.end_within);
                    self.dialogue.stop()
                }
                Happened::Late => self.dialogue.late(),
                Happened::Said(bytes) => {
                    unsaid.bytes.drain(..bytes);
                    Vec::new()
                }
                Happened::Deaf => {
                    self.to = None;
                    Vec::new()
                }
                Happened::Heard(Ok(Read::Line(line))) => self.dialogue.line(&line),
                Happened::Heard(Ok(Read::TooLong)) => self.dialogue.long_line(),
                Happened::Heard(Ok(Read::End) | Err(_)) => {
                    let last = self.dialogue.gone();
                    return printer.carry_out(last, &mut unsaid);
                }
            };
        }
    }

    /// Waits for the next thing to happen. Both directions go on at the same time: an agent that talks before it listens does
    /// not hold everything up.
    async fn next(&mut self, unsaid: &[u8], deadline: Option<Instant>) -> Happened {
        let at = deadline.unwrap_or_else(Instant::now);
        let to = &mut self.to;
        let say = async {
            match to {
                Some(to) => match to.write(unsaid).await {
                    Ok(bytes) if bytes > 0 => Happened::Said(bytes),
                    Ok(_) | Err(_) => Happened::Deaf,
                },
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.signals.next() => Happened::Stop,
            () = tokio::time::sleep_until(at), if deadline.is_some() => Happened::Late,
            said = say, if !unsaid.is_empty() => said,
            heard = self.from.next() => Happened::Heard(heard),
        }
    }
}

/// What the agent has not taken yet.
#[derive(Debug, Default)]
struct Unsaid {
    bytes: Vec<u8>,
    longest: usize,
}

impl Unsaid {
    fn push(&mut self, message: &str) {
        self.longest = self.longest.max(message.len());
        push_line(&mut self.bytes, message.as_bytes());
    }

    fn is_too_much(&self) -> bool {
        self.bytes.len() > self.longest + UNREAD_MAX_BYTES
    }
}

struct Printer<W>(W);

impl<W: Write> Printer<W> {
    /// Prints events and collects what is to be said. Returns the exit code when nothing more is.
    fn carry_out(&mut self, steps: Vec<Step>, unsaid: &mut Unsaid) -> Result<Option<u8>, AcpError> {
        let mut printed = Vec::new();
        let mut code = None;
        for step in steps {
            match step {
                Step::Send(message) => unsaid.push(&message.to_string()),
                Step::Tell(event) => {
                    let event = serde_json::to_vec(&event).expect("texts and numbers always serialize");
                    push_line(&mut printed, &event);
                }
                Step::Over(over) => code = Some(over),
            }
        }
        if !printed.is_empty() {
            let written = self.0.write_all(&printed).and_then(|()| self.0.flush());
            written.map_err(|source| AcpError::Io {
                op: "print an event",
                source,
            })?;
        }
        Ok(code)
    }
}

fn push_line(all: &mut Vec<u8>, line: &[u8]) {
    all.extend_from_slice(line);
    all.push(b'\n');
}
