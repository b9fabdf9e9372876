//! Dialogues with real agents are led again as they were recorded: `> ` is what the bridge said and has to say again, `< ` what the
//! agent said. Each comes to its row of a table.
//!
//! A row: case | exit code of the bridge | conversation | what was used | what came of the task.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use cs_harness::{
    AgentConfig, AskAgain, FailureCause, HarnessKind, Permissions, ProcessEnd, Seen, TaskEnd, UsageTotals,
    adapter,
};
use serde_json::Value;

use crate::dialogue::{Dialogue, FAILED, Step};
use crate::start::Start;

struct Recording {
    case: String,
    lines: Vec<(Who, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    Bridge,
    Agent,
}

/// What came of a dialogue that was led again.
struct Came {
    code: u8,
    seen: Seen,
    task: TaskEnd,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures")
}

fn recordings(agent: &str) -> Vec<Recording> {
    let files = fs::read_dir(folder().join(agent)).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| recording(file)).collect()
}

fn recording(file: &Path) -> Recording {
    let text = fs::read_to_string(file).unwrap();
    let line = |line: &str| match line.split_at(2) {
        ("> ", said) => (Who::Bridge, said.to_owned()),
        ("< ", said) => (Who::Agent, said.to_owned()),
        _ => panic!("{}: {line}", file.display()),
    };
    Recording {
        case: file.file_stem().unwrap().to_str().unwrap().to_owned(),
        lines: text.lines().map(line).collect(),
    }
}

impl Recording {
    /// What the bridge said under this name, the last time.
    fn asked(&self, method: &str) -> Option<Value> {
        let said = self.lines.iter().rev().filter(|(who, _)| *who == Who::Bridge);
        let mut said = said.map(|(_, line)| parse(line));
        said.find(|message| message["method"] == method)
            .map(|mut message| message["params"].take())
    }

    /// What the bridge was told to do.
    fn start(&self) -> Start {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let old = self
            .asked("session/load")
            .or_else(|| self.asked("session/resume"));
        let new = self.asked("session/new");
        let mut prompt = text(&self.asked("session/prompt").unwrap()["prompt"][0]["text"]).unwrap();
        let mut history = None;
        if let (true, Some((before, rest))) = (old.is_some() && new.is_some(), prompt.split_once("\n\n")) {
            (history, prompt) = (Some(before.to_owned()), rest.to_owned());
        }
        let permissions = match self.case.as_str() {
            "edit" => Permissions::Edit,
            _ => Permissions::Full,
        };
        Start {
            prompt,
            history,
            session: old.as_ref().and_then(|old| text(&old["sessionId"])),
            cwd: text(&old.or(new).unwrap()["cwd"]).unwrap(),
            permissions,
            model: None,
            effort: None,
            tools: None,
        }
    }

    /// Leads the first of its lines again. Returns what came of it, and what the bridge has to say beyond them.
    fn lead(&self, lines: usize) -> (Came, VecDeque<Value>) {
        let mut dialogue = Dialogue::new(self.start());
        let mut play = Play::default();
        play.carry_out(dialogue.greet());
        for (who, line) in &self.lines[..lines] {
            match who {
                Who::Agent => play.carry_out(dialogue.line(line.as_bytes())),
                Who::Bridge => {
                    let expected = parse(line);
                    if expected["method"] == "session/cancel" {
                        play.carry_out(dialogue.stop());
                    }
                    assert_eq!(play.unsaid.pop_front(), Some(expected), "{}", self.case);
                }
            }
        }
        play.carry_out(dialogue.gone());
        let code = play.code.unwrap_or(FAILED);
        let agent = AgentConfig::new("recorded", vec!["agent".to_owned()], HarnessKind::Acp).unwrap();
        let outcome = adapter(&agent).outcome(&ProcessEnd::Exited(code.into()), &play.seen);
        let came = Came {
            code,
            seen: play.seen,
            task: outcome.task,
        };
        (came, play.unsaid)
    }

    fn lead_all(&self) -> Came {
        let (came, unsaid) = self.lead(self.lines.len());
        assert_eq!(unsaid, [] as [Value; 0], "{}", self.case);
        came
    }
}

/// Reads a message; the version of this program is whatever it is now.
fn parse(line: &str) -> Value {
    let mut message: Value = serde_json::from_str(line).unwrap();
    if let Some(version) = message.pointer_mut("/params/clientInfo/version") {
        *version = env!("CARGO_PKG_VERSION").into();
    }
    message
}

#[derive(Default)]
struct Play {
    unsaid: VecDeque<Value>,
    seen: Seen,
    code: Option<u8>,
}

impl Play {
    fn carry_out(&mut self, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Send(message) => self.unsaid.push_back(message),
                Step::Tell(event) => self.seen.observe(&event),
                Step::Over(code) => self.code = Some(code),
            }
        }
    }
}

fn row(case: &str, came: &Came) -> String {
    let Came { code, seen, task } = came;
    assert_eq!(seen.unknown_count(), 0, "{case}: not understood");
    let session = seen.session().unwrap_or("none");
    let used = used(&seen.usage(&UsageTotals::default()));
    let came = came_of_it(task, seen);
    format!("{case} | exit {code} | {session} | {used} | {came}\n")
}

fn used(totals: &UsageTotals) -> String {
    if *totals == UsageTotals::default() {
        return "nothing used".to_owned();
    }
    let number = |of: Option<u64>| of.map_or_else(|| "-".to_owned(), |number| number.to_string());
    format!(
        "turns {} in {} cached {} out {} reasoning {}",
        number(totals.turns),
        number(totals.input_tokens),
        number(totals.cached_tokens),
        number(totals.output_tokens),
        number(totals.reasoning_tokens)
    )
}

fn came_of_it(task: &TaskEnd, seen: &Seen) -> String {
    match task {
        TaskEnd::Answered { text } => format!("answered: {text}"),
        TaskEnd::Asked { .. } => format!("asked about: {}", seen.denied().join("; ")),
        TaskEnd::OfferedLanding { .. } => "offered".to_owned(),
        TaskEnd::Failed {
            class, cause, again, ..
        } => {
            let status = match cause {
                FailureCause::Told(Some(status)) => format!(" {status}"),
                _ => String::new(),
            };
            let again = match again {
                None => String::new(),
                Some(AskAgain::AfterMs(ms)) => format!(", again in {ms} ms"),
                Some(AskAgain::AtUnix(at)) => format!(", again at {at}"),
            };
            format!("failed: {class}{status}{again}")
        }
    }
}

#[track_caller]
fn check(agent: &str) {
    let rows: String = recordings(agent)
        .iter()
        .map(|recording| row(&recording.case, &recording.lead_all()))
        .collect();
    let expected = fs::read_to_string(folder().join(format!("{agent}.table"))).unwrap();
    assert_eq!(rows, expected, "is:\n{rows}\nwas:\n{expected}");
}

#[test]
fn every_recorded_dialogue_with_gemini_comes_to_what_it_was() {
    check("gemini");
}

#[test]
fn every_recorded_dialogue_with_qwen_comes_to_what_it_was() {
    check("qwen");
}

#[test]
fn a_dialogue_that_ends_before_the_prompt_is_answered_is_no_success() {
    for recording in ["gemini", "qwen"].into_iter().flat_map(recordings) {
        let answers = |(who, line): &(Who, String)| {
            *who == Who::Agent && parse(line)["result"]["stopReason"].is_string()
        };
        let whole = recording.lines.iter().position(answers).unwrap_or(0);
        for lines in 0..whole {
            let (came, _) = recording.lead(lines);
            let is_answered = matches!(came.task, TaskEnd::Answered { .. });
            assert!(!is_answered, "{} after {lines} lines", recording.case);
        }
    }
}
