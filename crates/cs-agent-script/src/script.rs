use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::start::{Start, Wake};

/// A whole script: branches, the first that fits is carried out.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Script {
    branches: Vec<Branch>,
}

/// What to do for one kind of start.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// For which starts.
    pub when: When,
    /// Only when the prompt contains this text.
    #[serde(default)]
    pub contains: Option<String>,
    /// What to do, in order.
    pub steps: Vec<Step>,
}

/// For which starts a branch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// The first start of a run, and a retry where no branch is for `retry`.
    First,
    /// The start line has an answer.
    Answer,
    /// A new prompt for a run that has spoken before.
    Turn,
    /// The start before this one failed or was interrupted.
    Retry,
    /// The work does not merge, or did not pass its verification.
    Conflict,
    /// Any start that no other branch is for.
    Any,
}

/// One step of a script.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Prints the text and a line feed, as plain output.
    Say(String),
    /// Writes a file anew, with its directories.
    WriteFile(FileText),
    /// Appends to a file, with its directories.
    AppendFile(FileText),
    /// Removes a file.
    DeleteFile(PathBuf),
    /// Makes an empty file, or leaves an existing one as it is.
    Touch(PathBuf),
    /// Runs `git add -A` and `git commit` with this message, under a name of its own.
    Commit(String),
    /// Runs a command and fails unless it exits with 0.
    Run(Vec<String>),
    /// Sends `ask`.
    Ask(Question),
    /// Sends `offer_landing`.
    OfferLanding(Offer),
    /// Calls one of the panel's tools, and prints what it answered.
    CallTool(ToolCall),
    /// Sends `progress`.
    Progress(String),
    /// Sends `usage`.
    Usage(Usage),
    /// Sends `session`.
    Session(String),
    /// Sends `final`.
    Final(String),
    /// Waits for a time or a file.
    Wait(Wait),
    /// Starts a process that lives on for a while.
    Spawn(Spawn),
    /// Ignores INT, TERM and HUP. Holds from the start of the process, wherever in the script it stands.
    IgnoreSignals,
    /// Prints many bytes.
    PrintBytes(Bytes),
    /// Prints a line that is not UTF-8.
    PrintBadUtf8,
    /// Exits at once with this code.
    Exit(u8),
}

/// A file and a text for it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileText {
    /// Relative to the current directory.
    pub path: PathBuf,
    /// The text.
    pub text: String,
}

/// The fields of an `ask` message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The question.
    pub question: String,
    /// Answers to choose from.
    #[serde(default)]
    pub choices: Vec<String>,
}

/// The fields of an `offer_landing` message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// What was done.
    pub summary: String,
    /// The commit message.
    #[serde(default)]
    pub message: Option<String>,
}

/// A call of one of the panel's tools.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The tool.
    pub tool: String,
    /// What it is to be told.
    #[serde(default)]
    pub arguments: serde_json::Value,
    /// The agent's own name of the call.
    #[serde(default)]
    pub id: Option<String>,
    /// A file to write the answer to; a refusal begins with `refused: `.
    #[serde(default)]
    pub into: Option<PathBuf>,
}

/// The fields of a `usage` message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Turns of the model.
    #[serde(default)]
    pub turns: u64,
    /// Tokens that went in.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens that came out.
    #[serde(default)]
    pub output_tokens: u64,
}

/// What to wait for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Wait {
    /// So many milliseconds.
    Ms(u64),
    /// Until this path exists; fails after 120 seconds.
    UntilFile(PathBuf),
}

/// A process to start.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spawn {
    /// How it leaves its parent.
    pub kind: SpawnKind,
    /// How long it lives.
    pub seconds: u64,
    /// Where to write its process id, as a decimal number and a line feed.
    #[serde(default)]
    pub pid_file: Option<PathBuf>,
}

/// How a started process leaves its parent. The step ends when the process has done so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpawnKind {
    /// It stays a child in the same session.
    Plain,
    /// It stays a child, in a session of its own.
    Setsid,
    /// A session of its own, and its parent has exited.
    DoubleFork,
    /// As `double_fork`, with an empty environment, in the root directory.
    DoubleForkClean,
}

/// Bytes to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bytes {
    /// How many.
    pub count: u64,
    /// Whether a line feed follows; it is not counted.
    #[serde(default)]
    pub newline: bool,
}

/// Why a script cannot be used.
#[derive(Debug)]
pub enum ScriptError {
    /// The file cannot be read.
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is no script.
    Parse {
        /// The file.
        path: PathBuf,
        /// The cause, with line and column.
        source: serde_json::Error,
    },
}

impl Script {
    /// Reads a script from its file.
    ///
    /// # Errors
    /// [`ScriptError`]: the file cannot be read, or is no script.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let text = fs::read(path).map_err(|source| ScriptError::Read {
            path: path.to_owned(),
            source,
        })?;
        serde_json::from_slice(&text).map_err(|source| ScriptError::Parse {
            path: path.to_owned(),
            source,
        })
    }

    pub(crate) fn ignores_signals(&self) -> bool {
        self.branches
            .iter()
            .any(|branch| branch.steps.contains(&Step::IgnoreSignals))
    }

    pub(crate) fn branch(&self, start: &Start) -> Option<&Branch> {
        let wanted: &[When] = match start.wake {
            Wake::First => &[When::First, When::Any],
            Wake::Turn => &[When::Turn, When::Any],
            Wake::Answer => &[When::Answer, When::Any],
            Wake::Retry => &[When::Retry, When::First, When::Any],
            Wake::Conflict | Wake::VerifyFailed => &[When::Conflict, When::Any],
        };
        let fits = |branch: &&Branch| {
            branch
                .contains
                .as_ref()
                .is_none_or(|text| start.prompt.contains(text.as_str()))
        };
        wanted.iter().find_map(|when| {
            self.branches
                .iter()
                .filter(fits)
                .find(|branch| branch.when == *when)
        })
    }
}

impl std::fmt::Display for ScriptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Read { path, source } => write!(f, "cannot read the script {}: {source}", path.display()),
            Self::Parse { path, source } => write!(f, "{} is no script: {source}", path.display()),
        }
    }
}

impl std::error::Error for ScriptError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn branch_for(script: &str, wake: Wake, prompt: &str) -> Option<Vec<Step>> {
        let script: Script = serde_json::from_str(script).unwrap();
        let start = Start {
            wake,
            prompt: prompt.to_owned(),
            answer: None,
            session: None,
        };
        script.branch(&start).map(|branch| branch.steps.clone())
    }

    #[test]
    fn the_branch_follows_the_wake_and_the_prompt() {
        let script = r#"[
            {"when":"first","contains":"blue","steps":[{"exit":1}]},
            {"when":"first","steps":[{"exit":2}]},
            {"when":"turn","steps":[{"exit":3}]},
            {"when":"any","steps":[{"exit":9}]}]"#;
        let cases = [
            (Wake::First, "paint it blue", 1),
            (Wake::First, "red", 2),
            (Wake::Retry, "red", 2),
            (Wake::Turn, "red", 3),
            (Wake::Answer, "red", 9),
            (Wake::VerifyFailed, "red", 9),
        ];
        for (wake, prompt, code) in cases {
            assert_eq!(
                branch_for(script, wake, prompt),
                Some(vec![Step::Exit(code)]),
                "{wake:?} {prompt}"
            );
        }
        assert_eq!(
            branch_for(r#"[{"when":"turn","steps":[]}]"#, Wake::First, ""),
            None
        );
    }

    #[test]
    fn a_step_with_an_unknown_field_is_refused() {
        for bad in [
            r#"[{"when":"first","steps":[{"wait":{"ms":1,"s":2}}]}]"#,
            r#"[{"when":"first","steps":[{"dance":1}]}]"#,
            r#"[{"when":"first","steps":[],"then":[]}]"#,
        ] {
            assert!(serde_json::from_str::<Script>(bad).is_err(), "{bad}");
        }
    }
}
