//! The file in which an agent itself keeps a conversation. It tells while the agent works what its output tells only at its end,
//! or, where it was killed, never.

mod claude;
mod codex;

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::kind::is_uuid;
use crate::{HarnessKind, UsageReport, UsageSpan, UsageTotals};

/// Where an agent keeps its conversations: each in a file of its own, to which it appends as it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFiles {
    kind: HarnessKind,
    root: PathBuf,
}

impl SessionFiles {
    /// Finds the place from the environment of the agent, of which `var` gives a variable. Nothing for an agent that keeps all its
    /// conversations in one file, or where its home is not known.
    pub fn of(kind: HarnessKind, var: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let (own, usual, below) = match kind {
            HarnessKind::Claude => ("CLAUDE_CONFIG_DIR", ".claude", "projects"),
            HarnessKind::Codex => ("CODEX_HOME", ".codex", "sessions"),
            HarnessKind::Pi => ("PI_CODING_AGENT_DIR", ".pi/agent", "sessions"),
            HarnessKind::Plain | HarnessKind::JsonLines | HarnessKind::Acp | HarnessKind::Opencode => {
                return None;
            }
        };
        let set = |name: &str| var(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = set(own).or_else(|| Some(set("HOME")?.join(usual)))?;
        Some(Self::at(kind, home.join(below)))
    }

    /// The place that was found before.
    pub const fn at(kind: HarnessKind, root: PathBuf) -> Self {
        Self { kind, root }
    }

    /// The directory below which they lie.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// How many levels of directories lie between that one and the files.
    pub fn levels(&self) -> u8 {
        match self.kind {
            HarnessKind::Codex => 3,
            HarnessKind::Claude
            | HarnessKind::Pi
            | HarnessKind::Plain
            | HarnessKind::JsonLines
            | HarnessKind::Acp
            | HarnessKind::Opencode => 1,
        }
    }

    /// Whether a file of this name holds this conversation.
    pub fn holds(&self, name: &OsStr, session: &str) -> bool {
        let stem = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
        let before = stem.and_then(|stem| stem.strip_suffix(session));
        is_uuid(session)
            && match self.kind {
                HarnessKind::Codex => before.is_some_and(|time| time.starts_with("rollout-")),
                HarnessKind::Pi => before.is_some_and(|time| time.ends_with('_')),
                HarnessKind::Claude
                | HarnessKind::Plain
                | HarnessKind::JsonLines
                | HarnessKind::Acp
                | HarnessKind::Opencode => before == Some(""),
            }
    }

    /// Begins to read what such a file tells.
    pub fn reader(&self) -> SessionReader {
        SessionReader {
            kind: self.kind,
            before: UsageTotals::default(),
            messages: VecDeque::new(),
            conversation: None,
            requests: None,
        }
    }
}

/// One message of a model may take several lines, with others between them: so many messages back it is still known.
const MESSAGES_KNOWN: usize = 64;

/// What the lines of a conversation's file tell of what was used: a fold over the lines that an attempt has appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionReader {
    kind: HarnessKind,
    /// What the messages used that are not known one by one any more.
    before: UsageTotals,
    messages: VecDeque<(String, UsageTotals)>,
    /// What the whole conversation has used.
    conversation: Option<UsageTotals>,
    /// What its requests have used that were told one by one.
    requests: Option<UsageTotals>,
}

impl SessionReader {
    /// Takes in a whole line. One that cannot be understood tells nothing.
    pub fn read(&mut self, line: &[u8]) {
        match self.kind {
            HarnessKind::Claude => {
                if let Some((message, used)) = claude::used(line) {
                    self.message(message, used);
                }
            }
            HarnessKind::Codex => match codex::told(line) {
                Some(codex::Told::Request { used, all }) => self.request(used, all),
                Some(codex::Told::Conversation(all)) => self.conversation(all),
                None => {}
            },
            // Its output tells all of it at once.
            HarnessKind::Pi
            | HarnessKind::Plain
            | HarnessKind::JsonLines
            | HarnessKind::Acp
            | HarnessKind::Opencode => {}
        }
    }

    /// What was used by now, as reports.
    pub fn reports(&self) -> Vec<UsageReport> {
        let mut so_far = self.before;
        for (_, used) in &self.messages {
            so_far.add(used);
        }
        let so_far = (so_far != UsageTotals::default()).then_some((UsageSpan::SoFar, so_far));
        let conversation = self.conversation.map(|totals| (UsageSpan::Session, totals));
        let reports = conversation.into_iter().chain(so_far);
        reports
            .map(|(span, totals)| UsageReport { span, totals })
            .collect()
    }

    /// A message: what is told of it last counts.
    fn message(&mut self, message: String, used: UsageTotals) {
        let used = UsageTotals {
            turns: Some(1),
            ..used
        };
        if let Some((_, known)) = self.messages.iter_mut().find(|(known, _)| *known == message) {
            *known = used;
            return;
        }
        if self.messages.len() == MESSAGES_KNOWN
            && let Some((_, oldest)) = self.messages.pop_front()
        {
            self.before.add(&oldest);
        }
        self.messages.push_back((message, used));
    }

    /// A request of the model, after which all of the conversation have used so much. What is told again is no other request.
    fn request(&mut self, used: UsageTotals, all: UsageTotals) {
        if self.requests.replace(all) != Some(all) {
            self.before.add(&UsageTotals {
                turns: Some(1),
                ..used
            });
        }
    }

    /// The whole conversation has used so much: after another request, unless those are told one by one.
    fn conversation(&mut self, all: UsageTotals) {
        if self.conversation.replace(all) != Some(all) && self.requests.is_none() {
            self.before.add(&UsageTotals {
                turns: Some(1),
                ..UsageTotals::default()
            });
        }
    }
}

#[cfg(test)]
mod tests;
