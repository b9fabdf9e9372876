use crate::text::Tail;
use crate::{Event, UsageTotals};

/// What an attempt has said so far, in bounded space: a fold over its events.
///
/// Folding the same events again, from the transcript or from the output, gives the same value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    text: Tail,
    waiting: Option<Waiting>,
    final_text: Option<String>,
    session: Option<String>,
    usage: UsageTotals,
    unknown: u64,
    inside_line: bool,
}

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
            Event::Usage(usage) => self.usage.update(usage),
            Event::Session { id } => self.session = Some(id.clone()),
            Event::Final { text } => self.final_text = Some(text.clone()),
            Event::Unknown { .. } => self.unknown = self.unknown.saturating_add(1),
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

    /// What the agent said that it used.
    pub fn usage(&self) -> UsageTotals {
        self.usage
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
