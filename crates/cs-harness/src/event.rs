use cs_model::FailureClass;
use serde::{Deserialize, Serialize};

use crate::text::beginning;

/// What an agent said, in the same words for every harness. This is also the wire type of the transcript.
///
/// Texts are capped when the event is made ([`crate::TEXT_MAX_BYTES`], [`crate::ANSWER_MAX_BYTES`]) and say so themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// Plain output. Keeps its line terminator: text without one goes on in the next event, or was never ended.
    Text {
        /// The text, with what was not UTF-8 replaced.
        text: String,
    },
    /// What the agent is doing, for people who watch.
    Progress {
        /// One sentence.
        text: String,
    },
    /// A question that the agent cannot go on without. The run ends after it and starts again with the answer.
    Ask {
        /// The question.
        question: String,
        /// Answers to choose from; empty means free text.
        choices: Vec<String>,
    },
    /// The agent says that its work can be merged into the base branch.
    OfferLanding {
        /// What was done, for the person who decides.
        summary: String,
        /// The commit message it wants.
        message: Option<String>,
    },
    /// The agent is up. Says which version it is and what became of the tool servers that it was given, where it tells.
    Started {
        /// Its version.
        version: Option<String>,
        /// The tool servers.
        servers: Vec<ToolServer>,
    },
    /// Words of the agent on its way, which are its answer where it gives no other.
    Said {
        /// The text, whole.
        text: String,
    },
    /// Where the model stands in its turns, from agents that give no end mark, or not in every version.
    Turn {
        /// Where it stands.
        mark: TurnMark,
    },
    /// A tool of the agent began.
    ToolStart {
        /// The agent's own name of this call, with which [`Event::ToolEnd`] comes.
        call: String,
        /// The tool.
        tool: String,
        /// What it is about, for people who watch: a command, a file. May be empty.
        about: String,
    },
    /// A tool of the agent ended.
    ToolEnd {
        /// The agent's own name of this call.
        call: String,
        /// Whether it did what it should.
        ok: bool,
    },
    /// A tool call was refused by the rules under which the agent runs: nobody could be asked.
    Denied {
        /// The tool, and what it was to do.
        what: String,
    },
    /// The agent has met something and tries again by itself. This is no progress.
    Retry(Trouble),
    /// The agent says why its task failed. What follows may still mend it.
    Failed(Trouble),
    /// The agent's own end mark: whatever its process does from here on, its task is over.
    End {
        /// Whether the agent calls it a success.
        ok: bool,
    },
    /// What the agent has used.
    Usage(UsageReport),
    /// The agent's own name for the conversation, given back to it when it is started again.
    Session {
        /// At most 512 bytes; meaningless to us.
        id: String,
    },
    /// The agent's answer.
    Final {
        /// The text.
        text: String,
    },
    /// A message that this version does not know, or a known one whose fields are missing or wrong.
    Unknown {
        /// The message's type, as it was given.
        kind: String,
        /// The message as it was written.
        body: String,
    },
    /// More such messages than anybody keeps: they are only counted.
    NotKept {
        /// How many.
        messages: u64,
    },
}

/// The longest name of a conversation, in bytes.
const SESSION_MAX_BYTES: usize = 512;

impl Event {
    /// The event that names a conversation; nothing for a name that cannot be handed back.
    pub fn session(id: &str) -> Option<Self> {
        let is_good = !id.is_empty() && id.len() <= SESSION_MAX_BYTES;
        is_good.then(|| Self::Session { id: id.to_owned() })
    }

    /// A message that was not understood: its kind and its beginning, at most 64 bytes and 4 KiB.
    pub fn unknown(kind: &str, message: &[u8]) -> Self {
        Self::Unknown {
            kind: kind[..kind.floor_char_boundary(64)].to_owned(),
            body: beginning(message.trim_ascii_end()),
        }
    }
}

/// Where a model stands in its turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnMark {
    /// It is asked. It may be the same question again, so this is no progress.
    Asked,
    /// It has answered, and wants to use tools.
    Goes,
    /// It has answered, and wants nothing more. The agent may still go on by itself, with a summary of the conversation, say:
    /// where nothing follows, its task is over.
    Rests,
}

/// A server of tools that the agent was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolServer {
    /// Its name.
    pub name: String,
    /// Whether the agent reached it.
    pub connected: bool,
}

/// What stands in the way of a task, from fields of the agent's messages that are made for it and never from its prose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// The class that decides about another try.
    pub class: FailureClass,
    /// The status of the provider's answer (an HTTP status), where one is told.
    pub status: Option<u16>,
    /// When the provider wants to be asked again, where it says so.
    pub again: Option<AskAgain>,
    /// What the agent said of it; at most 4 KiB. For the person at this machine: it may hold anything.
    pub said: String,
    /// What it is about, where the class does not say it.
    #[serde(default)]
    pub matter: Matter,
}

impl Trouble {
    /// What an error tells of itself: the status of the provider's answer, a code or a name of the error, its message for people.
    /// Words of the model and output of its tools do not belong here.
    pub fn of_error(status: Option<u16>, code: Option<&str>, message: &str) -> Self {
        crate::native::trouble(status, code, message)
    }
}

/// What a trouble is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Matter {
    /// The provider, or the way to it.
    #[default]
    Provider,
    /// The agent was told to ask the model at most so often, and has.
    TurnCap,
    /// The agent was told to spend at most so much money, and has.
    MoneyCap,
    /// The agent does not know the conversation that it was to go on with.
    NoSuchSession,
    /// The agent was led by a dialogue and did not answer in time what comes before its prompt.
    NoAnswer,
    /// The agent was led by a dialogue, asked on and on, and did not read the answers.
    NotListening,
}

/// When a provider wants to be asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskAgain {
    /// So many milliseconds after it said so.
    AfterMs(u64),
    /// At this time, in seconds since 1970 (UTC).
    AtUnix(i64),
}

/// A report of what was used, and since when it counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageReport {
    /// Since when it counts.
    pub span: UsageSpan,
    /// The numbers.
    pub totals: UsageTotals,
}

/// Since when a report of usage counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageSpan {
    /// Since this process began: the last report of a field counts.
    #[default]
    Process,
    /// Since the report before it: reports are added up.
    Step,
    /// Since the conversation began, in whatever processes: the last report of a field counts, less what was used before.
    Session,
    /// The total of the cost as Claude Code tells it: since the process or since the conversation began, which differs between its
    /// versions.
    Total,
    /// Since this process began, as the agent's own file of the conversation has it by now: the last report of a field counts, and
    /// only where the agent tells nothing of it itself.
    SoFar,
}

/// Numbers of what was used. A field that was never reported is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageTotals {
    /// Turns of the model.
    pub turns: Option<u64>,
    /// Tokens that went in, those that the provider had kept included.
    pub input_tokens: Option<u64>,
    /// Those of them that the provider had kept from before.
    #[serde(default)]
    pub cached_tokens: Option<u64>,
    /// Tokens that came out, those of reasoning included.
    pub output_tokens: Option<u64>,
    /// Those of them that went into reasoning.
    #[serde(default)]
    pub reasoning_tokens: Option<u64>,
    /// Money, in millionths of a US dollar.
    pub cost_micro_usd: Option<u64>,
}

impl UsageTotals {
    /// Takes over every field that the newer report has.
    pub fn update(&mut self, newer: &Self) {
        self.turns = newer.turns.or(self.turns);
        self.input_tokens = newer.input_tokens.or(self.input_tokens);
        self.cached_tokens = newer.cached_tokens.or(self.cached_tokens);
        self.output_tokens = newer.output_tokens.or(self.output_tokens);
        self.reasoning_tokens = newer.reasoning_tokens.or(self.reasoning_tokens);
        self.cost_micro_usd = newer.cost_micro_usd.or(self.cost_micro_usd);
    }

    /// Adds what another report counted; a field that neither has stays `None`.
    pub fn add(&mut self, more: &Self) {
        *self = self.zip(more, |a, b| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        });
    }

    /// What is left of these numbers without those of an earlier moment. A number that fell says that counting began anew,
    /// and counts as it stands.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        self.zip(before, |now, before| {
            now.map(|now| now.checked_sub(before.unwrap_or(0)).unwrap_or(now))
        })
    }

    /// The larger one of each number that both tell; the others as they are here.
    #[must_use]
    pub fn at_least(&self, other: &Self) -> Self {
        self.zip(other, |told, other| told.map(|told| told.max(other.unwrap_or(0))))
    }

    fn zip(&self, other: &Self, with: impl Fn(Option<u64>, Option<u64>) -> Option<u64>) -> Self {
        Self {
            turns: with(self.turns, other.turns),
            input_tokens: with(self.input_tokens, other.input_tokens),
            cached_tokens: with(self.cached_tokens, other.cached_tokens),
            output_tokens: with(self.output_tokens, other.output_tokens),
            reasoning_tokens: with(self.reasoning_tokens, other.reasoning_tokens),
            cost_micro_usd: with(self.cost_micro_usd, other.cost_micro_usd),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trouble(again: Option<AskAgain>) -> Trouble {
        Trouble {
            class: FailureClass::RateLimit,
            status: Some(429),
            again,
            said: "slow down".to_owned(),
            matter: Matter::Provider,
        }
    }

    #[test]
    fn what_was_used_before_is_taken_off_unless_counting_began_anew() {
        let of = |input_tokens, cost_micro_usd| UsageTotals {
            input_tokens,
            cost_micro_usd,
            ..UsageTotals::default()
        };
        assert_eq!(
            of(Some(30), Some(5)).since(&of(Some(10), None)),
            of(Some(20), Some(5))
        );
        assert_eq!(of(Some(3), None).since(&of(Some(10), Some(7))), of(Some(3), None));
        let mut sum = of(Some(1), None);
        sum.add(&of(Some(2), None));
        assert_eq!(sum, of(Some(3), None));
    }

    #[test]
    fn every_event_survives_the_transcript() {
        let text = || "t\n".to_owned();
        let usage = UsageTotals {
            turns: Some(2),
            cost_micro_usd: Some(7),
            ..UsageTotals::default()
        };
        let all = [
            Event::Text { text: text() },
            Event::Progress { text: text() },
            Event::Ask {
                question: text(),
                choices: vec![text()],
            },
            Event::OfferLanding {
                summary: text(),
                message: None,
            },
            Event::Usage(UsageReport {
                span: UsageSpan::Step,
                totals: usage,
            }),
            Event::Started {
                version: Some(text()),
                servers: vec![ToolServer {
                    name: text(),
                    connected: true,
                }],
            },
            Event::Said { text: text() },
            Event::ToolStart {
                call: text(),
                tool: text(),
                about: text(),
            },
            Event::ToolEnd {
                call: text(),
                ok: true,
            },
            Event::Turn {
                mark: TurnMark::Rests,
            },
            Event::Denied { what: text() },
            Event::Retry(trouble(Some(AskAgain::AfterMs(3)))),
            Event::Failed(trouble(Some(AskAgain::AtUnix(4)))),
            Event::End { ok: false },
            Event::Session { id: text() },
            Event::Final { text: text() },
            Event::Unknown {
                kind: "x".to_owned(),
                body: text(),
            },
            Event::NotKept { messages: 7 },
        ];
        for event in all {
            let line = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event, "{line}");
        }
    }

    #[test]
    fn the_last_report_of_a_field_counts() {
        let mut totals = UsageTotals {
            turns: Some(1),
            input_tokens: Some(5),
            ..UsageTotals::default()
        };
        totals.update(&UsageTotals {
            turns: Some(2),
            output_tokens: Some(9),
            ..UsageTotals::default()
        });
        let expected = UsageTotals {
            turns: Some(2),
            input_tokens: Some(5),
            output_tokens: Some(9),
            ..UsageTotals::default()
        };
        assert_eq!(totals, expected);
    }
}
