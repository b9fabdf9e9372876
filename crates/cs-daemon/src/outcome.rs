//! The durable outcome of an attempt: what the ledger keeps from the end of the agent to the acknowledgement.
//!
//! It is written before the record is told (ST-2) and holds everything that a replay needs (ST-11).

use cs_fence::ProcessFact;
use std::time::Duration;

use cs_harness::{AskAgain, Outcome, ProcessEnd, TaskEnd, UsageTotals, is_from_outside};
use cs_model::{AskId, AskTo, Cap, FailureClass, Time};
use cs_settle::{Answer, Capped, GiveUp, NewAsk, Offer, Usage, Used};
use cs_supervise::{AgentExit, Closed};
use serde::{Deserialize, Serialize};

use crate::secrets::Words;

/// The outcome of an attempt, as the ledger keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AttemptOutcome {
    /// What came of the task.
    pub(crate) task: Task,
    /// What the attempt used up.
    pub(crate) usage: UsageRow,
    /// In which conversation of its agent, where that told it.
    #[serde(default)]
    pub(crate) session: Option<String>,
    /// With which model, where that is known.
    #[serde(default)]
    pub(crate) model: Option<String>,
    /// The process that carried it, which is proven gone.
    pub(crate) process: Option<ProcessFact>,
}

/// What came of the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub(crate) enum Task {
    /// The agent answered.
    Answered {
        /// Its words; empty says nothing.
        text: String,
    },
    /// The agent asked, and waits.
    Asked {
        /// The id of the question, made once.
        ask: AskId,
        /// The question.
        question: String,
        /// Answers to choose from.
        choices: Vec<String>,
        /// Its words beside the question.
        #[serde(default)]
        text: Option<String>,
    },
    /// The agent offered its work for landing.
    Offered {
        /// The id of the offer, made once.
        ask: AskId,
        /// What was done.
        summary: String,
        /// The message of the merge.
        message: Option<String>,
        /// Its words beside the offer.
        text: Option<String>,
    },
    /// The attempt failed.
    Failed {
        /// The class that decides about another try.
        class: FailureClass,
        /// The reason for people.
        reason: String,
        /// From when the provider takes work again, where it said so.
        #[serde(default)]
        until: Option<Time>,
    },
    /// A budget ended the attempt.
    Capped {
        /// Which.
        budget: Budget,
        /// The reason for people.
        reason: String,
    },
}

impl Task {
    /// A failure after which nothing is known of a time.
    pub(crate) fn failed(class: FailureClass, reason: String) -> Self {
        Self::Failed {
            class,
            reason,
            until: None,
        }
    }

    /// A failure of which the agent said when its provider takes work again, or did not.
    pub(crate) fn refused(class: FailureClass, reason: String, again: Option<AskAgain>, now: Time) -> Self {
        let is_unknown = class == FailureClass::RateLimit && again.is_none();
        let reason = if is_unknown {
            format!("{reason}; until when was not stated")
        } else {
            reason
        };
        Self::Failed {
            class,
            reason,
            until: again.map(|again| until(again, now)),
        }
    }
}

impl Task {
    /// The same without the secrets of its attempt.
    fn freed(&self, words: &Words) -> Self {
        match self {
            Self::Answered { text } => Self::Answered {
                text: words.free(text),
            },
            Self::Asked {
                ask,
                question,
                choices,
                text,
            } => Self::Asked {
                ask: *ask,
                question: words.free(question),
                choices: words.free_all(choices),
                text: words.free_or_none(text.as_deref()),
            },
            Self::Offered {
                ask,
                summary,
                message,
                text,
            } => Self::Offered {
                ask: *ask,
                summary: words.free(summary),
                message: words.free_or_none(message.as_deref()),
                text: words.free_or_none(text.as_deref()),
            },
            Self::Failed { class, reason, until } => Self::Failed {
                class: *class,
                reason: words.free(reason),
                until: *until,
            },
            Self::Capped { budget, reason } => Self::Capped {
                budget: *budget,
                reason: words.free_name(reason),
            },
        }
    }
}

/// What an attempt used up, and the process that did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// What it used up.
    pub(crate) used: UsedRow,
    /// The process, which is proven gone.
    pub(crate) process: Option<ProcessFact>,
}

/// The longest that a provider is waited for because it says so: longer than any limit that is counted by the week.
const LONGEST_PARK: Duration = Duration::from_secs(8 * 24 * 3600);

/// From when a provider takes work again. What it says may be wrong by any amount.
pub(crate) fn until(again: AskAgain, now: Time) -> Time {
    let stated = match again {
        AskAgain::AfterMs(ms) => now.plus(Duration::from_millis(ms)),
        AskAgain::AtUnix(seconds) => Time::from_unix_micros(seconds.saturating_mul(1_000_000)),
    };
    stated.clamp(now, now.plus(LONGEST_PARK))
}

/// A budget that can end an attempt, as the ledger keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Budget {
    Turns,
    Wall,
    Spend,
    Output,
}

impl From<Cap> for Budget {
    fn from(cap: Cap) -> Self {
        match cap {
            Cap::Turns => Self::Turns,
            Cap::Wall => Self::Wall,
            Cap::Spend => Self::Spend,
            Cap::Output => Self::Output,
        }
    }
}

impl From<Budget> for Cap {
    fn from(budget: Budget) -> Self {
        match budget {
            Budget::Turns => Self::Turns,
            Budget::Wall => Self::Wall,
            Budget::Spend => Self::Spend,
            Budget::Output => Self::Output,
        }
    }
}

/// What an attempt used up, as the ledger keeps it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UsageRow {
    turns: Option<u64>,
    input_tokens: Option<u64>,
    #[serde(default)]
    cached_tokens: Option<u64>,
    output_tokens: Option<u64>,
    #[serde(default)]
    reasoning_tokens: Option<u64>,
    cost_microusd: Option<u64>,
}

impl From<UsageTotals> for UsageRow {
    fn from(totals: UsageTotals) -> Self {
        Self {
            turns: totals.turns,
            input_tokens: totals.input_tokens,
            cached_tokens: totals.cached_tokens,
            output_tokens: totals.output_tokens,
            reasoning_tokens: totals.reasoning_tokens,
            cost_microusd: totals.cost_micro_usd,
        }
    }
}

impl From<UsageRow> for Usage {
    fn from(row: UsageRow) -> Self {
        Self {
            turns: row.turns,
            input_tokens: row.input_tokens,
            cached_tokens: row.cached_tokens,
            output_tokens: row.output_tokens,
            reasoning_tokens: row.reasoning_tokens,
            cost_microusd: row.cost_microusd,
        }
    }
}

/// What an attempt used up and with what, as it is noted beside its execution.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UsedRow {
    usage: UsageRow,
    session: Option<String>,
    model: Option<String>,
}

/// The longest name of a conversation that goes onto the record, in bytes.
const SESSION_MAX_BYTES: usize = 200;

impl UsedRow {
    /// What an attempt used up. A conversation whose name may be a place on this machine stays unnamed: that is nobody else's.
    pub(crate) fn new(totals: UsageTotals, session: Option<&str>, model: Option<&str>) -> Self {
        let is_name = |session: &&str| session.len() <= SESSION_MAX_BYTES && !session.contains(['/', '\\']);
        Self {
            usage: totals.into(),
            session: session.filter(is_name).map(str::to_owned),
            model: model.map(str::to_owned),
        }
    }

    /// The same without the secrets of its attempt.
    pub(crate) fn freed(self, words: &Words) -> Self {
        Self {
            session: words.free_or_none(self.session.as_deref()),
            model: self.model.map(|model| words.free_name(&model)),
            ..self
        }
    }

    /// Says whether nothing is known to be used up.
    pub(crate) fn is_nothing(&self) -> bool {
        self.usage == UsageRow::default()
    }
}

impl From<UsedRow> for Used {
    fn from(row: UsedRow) -> Self {
        Self {
            usage: row.usage.into(),
            session: row.session,
            model: row.model,
        }
    }
}

/// How an outcome is told to the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Telling {
    /// As an answer.
    Answer(Answer),
    /// As a failure.
    GiveUp(GiveUp),
    /// As the end of a budget.
    Capped(Capped),
}

impl Telling {
    /// What the attempt used up.
    pub(crate) fn into_used(self) -> Used {
        match self {
            Self::Answer(answer) => answer.used,
            Self::GiveUp(failure) => failure.used,
            Self::Capped(capped) => capped.used,
        }
    }
}

impl AttemptOutcome {
    /// Makes the durable outcome; a question gets its id here, once.
    pub(crate) fn new(outcome: Outcome, (ask, now): (AskId, Time), by: Spent) -> Self {
        let task = match outcome.task {
            TaskEnd::Answered { text } => Task::Answered { text },
            TaskEnd::Asked {
                question,
                choices,
                text,
            } => Task::Asked {
                ask,
                question,
                choices,
                text,
            },
            TaskEnd::OfferedLanding {
                summary,
                message,
                text,
            } => Task::Offered {
                ask,
                summary,
                message,
                text,
            },
            TaskEnd::Failed {
                class, again, public, ..
            } => Task::refused(class, public, again, now),
        };
        Self::of(task, by)
    }

    /// Makes the durable outcome of an attempt that ended so.
    pub(crate) fn of(task: Task, by: Spent) -> Self {
        Self {
            task,
            usage: by.used.usage,
            session: by.used.session,
            model: by.used.model,
            process: by.process,
        }
    }

    /// The same without the secrets of its attempt.
    pub(crate) fn freed(&self, words: &Words) -> Self {
        Self {
            task: self.task.freed(words),
            usage: self.usage,
            session: words.free_or_none(self.session.as_deref()),
            model: self.model.as_deref().map(|model| words.free_name(model)),
            process: self.process.clone(),
        }
    }

    /// Makes the durable outcome of an attempt that somebody stopped.
    pub(crate) fn stopped(by: Spent) -> Self {
        Self::of(
            Task::failed(FailureClass::Cancelled, "its agent was stopped".to_owned()),
            by,
        )
    }

    /// Makes the durable outcome of an attempt that a budget ended.
    pub(crate) fn capped(budget: Budget, reason: String, by: Spent) -> Self {
        Self::of(Task::Capped { budget, reason }, by)
    }

    /// What the attempt used up, as the record takes it.
    pub(crate) fn used(&self) -> Used {
        Used {
            usage: self.usage.into(),
            session: self.session.clone(),
            model: self.model.clone(),
        }
    }

    /// Says how it is told to the record.
    pub(crate) fn telling(&self) -> Telling {
        let used = self.used();
        let ask = |id: &AskId, question: &str, choices: &[String], offer| NewAsk {
            id: *id,
            question: question.to_owned(),
            choices: choices.to_vec(),
            offer,
            to: AskTo::Person,
        };
        match &self.task {
            Task::Answered { text } => Telling::Answer(Answer {
                text: spoken(text),
                ask: None,
                used,
            }),
            Task::Asked {
                ask: id,
                question,
                choices,
                text,
            } => Telling::Answer(Answer {
                text: text.as_deref().and_then(spoken),
                ask: Some(ask(id, question, choices, None)),
                used,
            }),
            Task::Offered {
                ask: id,
                summary,
                message,
                text,
            } => {
                let offer = Offer {
                    message: message.clone(),
                };
                let text = text.as_deref().and_then(spoken);
                Telling::Answer(Answer {
                    text,
                    ask: Some(ask(id, summary, &[], Some(offer))),
                    used,
                })
            }
            Task::Failed { class, reason, until } => Telling::GiveUp(GiveUp {
                until: *until,
                used,
                ..GiveUp::new(*class, reason.clone())
            }),
            Task::Capped { budget, reason } => Telling::Capped(Capped {
                cap: (*budget).into(),
                reason: reason.clone(),
                used,
            }),
        }
    }
}

fn spoken(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| text.to_owned())
}

/// What SIGINT is called by its number; the first thing that a stop sends.
const INTERRUPT: i32 = 2;

/// Says how the agent's process ended in the words of the harness. How it took our request to end says nothing of its task.
pub(crate) fn process_end(closed: &Closed) -> ProcessEnd {
    match &closed.exit {
        AgentExit::Exited(_) if closed.stopped_by_us => ProcessEnd::Signalled(INTERRUPT),
        AgentExit::Signalled(signal) if closed.stopped_by_us && !is_from_outside(*signal) => {
            ProcessEnd::Signalled(INTERRUPT)
        }
        AgentExit::Exited(code) => ProcessEnd::Exited(*code),
        AgentExit::Signalled(signal) => ProcessEnd::Signalled(*signal),
        AgentExit::SpawnFailed(failure) => ProcessEnd::SpawnFailed {
            text: failure.to_string(),
        },
        AgentExit::NeverStarted | AgentExit::Unknown => ProcessEnd::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_we_end_has_not_crashed_however_it_takes_it() {
        let end = |exit, stopped_by_us| {
            process_end(&Closed {
                exit,
                stopped_by_us,
                proof: None,
                leaked: Vec::new(),
                survivors: Vec::new(),
                rounds: 1,
                ended_at_unix_micros: 1,
                limit: None,
                worked: None,
                dismissed_at_unix_micros: None,
            })
        };
        assert_eq!(end(AgentExit::Signalled(6), false), ProcessEnd::Signalled(6));
        assert_eq!(
            end(AgentExit::Signalled(6), true),
            ProcessEnd::Signalled(INTERRUPT)
        );
        assert_eq!(end(AgentExit::Signalled(9), true), ProcessEnd::Signalled(9));
        assert_eq!(end(AgentExit::Exited(0), true), ProcessEnd::Signalled(INTERRUPT));
    }

    #[test]
    fn what_a_provider_says_of_its_return_is_taken_within_bounds() {
        let now = Time::from_unix_micros(1_800_000_000_000_000);
        assert_eq!(
            until(AskAgain::AfterMs(1_500), now),
            now.plus(Duration::from_millis(1_500))
        );
        let in_an_hour = now.plus(Duration::from_secs(3600));
        assert_eq!(until(AskAgain::AtUnix(1_800_003_600), now), in_an_hour);
        assert_eq!(until(AskAgain::AtUnix(5), now), now);
        for never in [AskAgain::AtUnix(i64::MAX), AskAgain::AfterMs(u64::MAX)] {
            assert_eq!(until(never, now), now.plus(LONGEST_PARK));
        }
    }

    #[test]
    fn a_limit_whose_end_was_not_stated_says_so() {
        let now = Time::from_unix_micros(1_800_000_000_000_000);
        let reason = |class, again| {
            let Task::Failed { reason, .. } = Task::refused(class, "refused".to_owned(), again, now) else {
                panic!("it is a failure");
            };
            reason
        };
        assert_eq!(
            reason(FailureClass::RateLimit, None),
            "refused; until when was not stated"
        );
        assert_eq!(
            reason(FailureClass::RateLimit, Some(AskAgain::AfterMs(1))),
            "refused"
        );
        assert_eq!(reason(FailureClass::Overloaded, None), "refused");
    }

    #[test]
    fn an_outcome_from_before_there_was_a_time_is_read() {
        let kept = r#"{"task":{"task":"failed","class":"agent","reason":"x"},"usage":{"turns":1,"input_tokens":2,"output_tokens":3,"cost_microusd":4},"process":null}"#;
        let outcome: AttemptOutcome = serde_json::from_str(kept).expect("it is read");
        assert_eq!(outcome.task, Task::failed(FailureClass::Agent, "x".to_owned()));
        let used = outcome.used();
        assert_eq!(
            (used.usage.turns, used.usage.cached_tokens, used.session),
            (Some(1), None, None)
        );
    }

    #[test]
    fn a_conversation_that_may_be_a_place_on_this_machine_is_not_named() {
        let named = |session| Used::from(UsedRow::new(UsageTotals::default(), Some(session), None)).session;
        assert_eq!(named("0199-ab"), Some("0199-ab".to_owned()));
        for place in ["/home/ada/.agent/session", "C:\\sessions", &"x".repeat(201)] {
            assert_eq!(named(place), None, "{place}");
        }
    }
}
