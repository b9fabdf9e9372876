use crate::native::cost_total;
use crate::text::Tail;
use crate::{Event, ToolServer, Trouble, TurnMark, UsageReport, UsageSpan, UsageTotals};

/// What an attempt has said so far, in bounded space: a fold over its events.
///
/// Folding the same events again, from the transcript or from the output, gives the same value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    text: Tail,
    waiting: Option<Waiting>,
    final_text: Option<String>,
    session: Option<String>,
    usage: Used,
    unknown: u64,
    version: Option<String>,
    servers: Vec<ToolServer>,
    said: Option<String>,
    denied: Vec<String>,
    retrying: Option<Trouble>,
    failed: Option<Trouble>,
    end: Option<bool>,
    at_rest: bool,
    has_spoken: bool,
    inside_line: bool,
    stderr: Option<String>,
}

/// What was used, by how it was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Used {
    process: UsageTotals,
    steps: UsageTotals,
    session: UsageTotals,
    so_far: UsageTotals,
}

impl Used {
    fn take(&mut self, report: &UsageReport, version: Option<&str>) {
        match report.span {
            UsageSpan::Process => self.process.update(&report.totals),
            UsageSpan::Step => self.steps.add(&report.totals),
            UsageSpan::Session => self.session.update(&report.totals),
            UsageSpan::Total => {
                let span = cost_total(version);
                self.take(&UsageReport { span, ..*report }, None);
            }
            UsageSpan::SoFar => self.so_far.update(&report.totals),
        }
    }
}

/// Of what was denied at most this many are kept.
const DENIED_MAX: usize = 20;

/// A question that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The question.
    pub question: String,
    /// Answers to choose from; empty means free text.
    pub choices: Vec<String>,
}

/// An offer to land that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// What was done.
    pub summary: String,
    /// The commit message it wants.
    pub message: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Waiting {
    Question(Question),
    Offer(Offer),
}

impl Seen {
    /// Takes in the next event.
    pub fn observe(&mut self, event: &Event) {
        self.inside_line = false;
        self.has_spoken = true;
        match event {
            Event::Text { text } => {
                self.inside_line = !text.ends_with('\n');
                self.text.push(text);
            }
            Event::Progress { .. } => {}
            Event::Ask { question, choices } => {
                let question = Question {
                    question: question.clone(),
                    choices: choices.clone(),
                };
                self.waiting = Some(Waiting::Question(question));
            }
            Event::OfferLanding { summary, message } => {
                let offer = Offer {
                    summary: summary.clone(),
                    message: message.clone(),
                };
                self.waiting = Some(Waiting::Offer(offer));
            }
            Event::Started { version, servers } => {
                self.version = version.clone().or_else(|| self.version.take());
                self.servers.clone_from(servers);
            }
            Event::Said { text } => {
                self.said = Some(text.clone());
                self.goes_on();
            }
            Event::ToolStart { .. } | Event::ToolEnd { .. } => self.goes_on(),
            Event::Turn { mark } => self.turn(*mark),
            Event::Denied { what } => self.deny(what),
            Event::Retry(trouble) => {
                // What it tries again has not failed for good.
                self.goes_on();
                self.retrying = Some(trouble.clone());
            }
            Event::Failed(trouble) => {
                self.at_rest = false;
                self.failed = Some(trouble.clone());
            }
            Event::End { ok } => self.end = Some(*ok),
            Event::Usage(report) => self.usage.take(report, self.version.as_deref()),
            Event::Session { id } => self.session = Some(id.clone()),
            Event::Final { text } => self.final_text = Some(text.clone()),
            Event::Unknown { .. } => self.unknown = self.unknown.saturating_add(1),
            Event::NotKept { messages } => self.unknown = self.unknown.saturating_add(*messages),
        }
    }

    /// Takes in the end of what the process wrote on standard error. It is looked at only where the agent itself said nothing of
    /// how its task ended, and tells then why it did not begin.
    pub fn observe_stderr(&mut self, tail: &str) {
        self.stderr = Some(crate::text::tail_said(tail).to_owned());
    }

    /// What stood in its way before is behind it.
    fn goes_on(&mut self) {
        self.retrying = None;
        self.failed = None;
        self.at_rest = false;
    }

    fn turn(&mut self, mark: TurnMark) {
        if mark != TurnMark::Asked {
            self.goes_on();
        }
        self.at_rest = mark == TurnMark::Rests;
    }

    fn deny(&mut self, what: &String) {
        if self.denied.len() < DENIED_MAX && !self.denied.contains(what) {
            self.denied.push(what.clone());
        }
    }

    /// The question the agent waits for, if that is the last thing it asked or offered.
    pub fn question(&self) -> Option<&Question> {
        match &self.waiting {
            Some(Waiting::Question(question)) => Some(question),
            Some(Waiting::Offer(_)) | None => None,
        }
    }

    /// The offer that stands, if that is the last thing it asked or offered.
    pub fn offer(&self) -> Option<&Offer> {
        match &self.waiting {
            Some(Waiting::Offer(offer)) => Some(offer),
            Some(Waiting::Question(_)) | None => None,
        }
    }

    /// The text of the last `final` message.
    pub fn final_text(&self) -> Option<&str> {
        self.final_text.as_deref()
    }

    /// The last name of the conversation that the agent gave.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// The conversation that the agent really goes on with, where that is another one than it was asked to go on with: it fell
    /// back to a new one, which knows nothing of what was said before.
    pub fn fell_back_from(&self, asked: &str) -> Option<&str> {
        self.session().filter(|session| *session != asked)
    }

    /// The end of what the process wrote on standard error, as far as it was given.
    pub(crate) fn stderr(&self) -> &str {
        self.stderr.as_deref().unwrap_or_default()
    }

    /// What this attempt used, where the conversation had used so much before it.
    pub fn usage(&self, before: &UsageTotals) -> UsageTotals {
        // The counter of a conversation may lack a request in which it was killed.
        let mut told = self.usage.session.since(before).at_least(&self.usage.so_far);
        told.update(&self.usage.process);
        told.add(&self.usage.steps);
        let mut all = self.usage.so_far;
        all.update(&told);
        all
    }

    /// What the whole conversation has used by now, where the agent counts so.
    pub fn session_usage(&self) -> UsageTotals {
        self.usage.session
    }

    /// The version of the agent, where it told it.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// The tool servers of the agent, where it told of them.
    pub fn servers(&self) -> &[ToolServer] {
        &self.servers
    }

    /// The last words of the agent, which are its answer where it gives no other.
    pub fn said(&self) -> Option<&str> {
        self.said.as_deref()
    }

    /// The tool calls that were refused, the first 20 of them.
    pub fn denied(&self) -> &[String] {
        &self.denied
    }

    /// What the agent met and tries again now.
    pub fn retrying(&self) -> Option<&Trouble> {
        self.retrying.as_ref()
    }

    /// Why the task failed, if the agent said so and did not go on.
    pub fn failure(&self) -> Option<&Trouble> {
        self.failed.as_ref()
    }

    /// The agent's end mark: whether it calls its task a success; nothing while it has given none.
    pub fn end(&self) -> Option<bool> {
        self.end
    }

    /// Whether the agent has ended its last turn well and wanted nothing more: its task is over if it stays at that.
    pub fn is_at_rest(&self) -> bool {
        self.at_rest
    }

    /// Whether the agent has said anything at all.
    pub fn has_spoken(&self) -> bool {
        self.has_spoken
    }

    /// How many messages were not understood.
    pub fn unknown_count(&self) -> u64 {
        self.unknown
    }

    /// All plain output; at most its last [`crate::ANSWER_MAX_BYTES`], with a first line that says what was cut.
    pub fn text(&self) -> String {
        self.text.render()
    }

    /// Whether the output, as far as it was seen, ends in the middle of a line that is no message.
    pub fn ends_inside_line(&self) -> bool {
        self.inside_line
    }
}
