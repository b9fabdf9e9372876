use cs_model::FailureClass;

use crate::{AskAgain, FailureCause, HarnessKind, Offer, Question, Seen, public_reason};

/// How an attempt ended: its process and its task are two different things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The end of the process.
    pub process: ProcessEnd,
    /// The end of the task.
    pub task: TaskEnd,
}

/// How the agent's process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessEnd {
    /// It exited with this code.
    Exited(i32),
    /// It was ended by this signal.
    Signalled(i32),
    /// It was never started. The text is the operating system's, for the local log only.
    SpawnFailed {
        /// What the operating system said; may hold paths.
        text: String,
    },
    /// Nobody saw it: the machine or the supervisor went down with it.
    Unknown,
}

/// Says whether a signal is one by which a process is ended from elsewhere, such as by a person or a system that is short of memory. The
/// others are what a program brings on itself.
pub const fn is_from_outside(signal: i32) -> bool {
    const HUP: i32 = 1;
    const INT: i32 = 2;
    const KILL: i32 = 9;
    const TERM: i32 = 15;
    matches!(signal, HUP | INT | KILL | TERM)
}

/// What came of the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskEnd {
    /// The agent answered. The text may be empty: the work speaks for itself.
    Answered {
        /// The answer, without surrounding empty lines.
        text: String,
    },
    /// The agent asked and waits for the answer.
    Asked {
        /// The question.
        question: String,
        /// Answers to choose from; empty means free text.
        choices: Vec<String>,
        /// Its answer, when it gave one too.
        text: Option<String>,
    },
    /// The agent offered its work for landing.
    OfferedLanding {
        /// What was done, for the person who decides.
        summary: String,
        /// The commit message it wants.
        message: Option<String>,
        /// Its answer, when it gave one too.
        text: Option<String>,
    },
    /// The attempt failed.
    Failed {
        /// The class that decides about another try.
        class: FailureClass,
        /// What exactly happened, in our own words.
        cause: FailureCause,
        /// When the provider wants to be asked again, where it said so.
        again: Option<AskAgain>,
        /// The sentence that everybody may read.
        public: String,
    },
}

impl TaskEnd {
    pub(crate) fn failed(harness: HarnessKind, class: FailureClass, cause: FailureCause) -> Self {
        Self::Failed {
            class,
            cause,
            again: None,
            public: public_reason(harness, class, cause),
        }
    }

    /// What an agent that asked or offered waits for, whatever its process did afterwards (ST-4).
    pub(crate) fn waiting(seen: &Seen) -> Option<Self> {
        if let Some(Question { question, choices }) = seen.question() {
            return Some(Self::Asked {
                question: question.clone(),
                choices: choices.clone(),
                text: seen.final_text().map(str::to_owned),
            });
        }
        let Offer { summary, message } = seen.offer()?;
        Some(Self::OfferedLanding {
            summary: summary.clone(),
            message: message.clone(),
            text: seen.final_text().map(str::to_owned),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_of_somebody_else_is_told_from_what_a_program_brings_on_itself() {
        let all = (1..=31).filter(|signal| is_from_outside(*signal));
        assert_eq!(all.collect::<Vec<_>>(), [1, 2, 9, 15]);
    }
}
