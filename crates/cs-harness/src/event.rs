use serde::{Deserialize, Serialize};

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
    /// What the agent has used so far in this process.
    Usage(UsageTotals),
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
}

/// Totals since the agent's process began. A field that was never reported is `None`; the last report of a field counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageTotals {
    /// Turns of the model.
    pub turns: Option<u64>,
    /// Tokens that went in.
    pub input_tokens: Option<u64>,
    /// Tokens that came out.
    pub output_tokens: Option<u64>,
    /// Money, in millionths of a US dollar.
    pub cost_micro_usd: Option<u64>,
}

impl UsageTotals {
    /// Takes over every field that the newer report has.
    pub fn update(&mut self, newer: &Self) {
        self.turns = newer.turns.or(self.turns);
        self.input_tokens = newer.input_tokens.or(self.input_tokens);
        self.output_tokens = newer.output_tokens.or(self.output_tokens);
        self.cost_micro_usd = newer.cost_micro_usd.or(self.cost_micro_usd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            Event::Usage(usage),
            Event::Session { id: text() },
            Event::Final { text: text() },
            Event::Unknown {
                kind: "x".to_owned(),
                body: text(),
            },
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
            cost_micro_usd: None,
        };
        assert_eq!(totals, expected);
    }
}
