use cs_model::FailureClass;
use serde::Deserialize;

use super::super::classify::{ErrorFacts, known_code};
use super::super::read::{Flag, List, Number, Object, Table, Words};
use super::super::wire::{sum, tool_phrase};
use super::lines::Input;
use crate::text::cap_answer;
use crate::{Event, Matter, Trouble, UsageReport, UsageSpan, UsageTotals, read_json};

/// The line with which the agent ends its task, whatever its process does after it.
///
/// Its subtype is "success" for an error of the provider too, and the exit code is 1 for everything: whether it is a success is told
/// by three other fields together.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Outcome {
    subtype: Words,
    is_error: Flag,
    terminal_reason: Words,
    api_error: Words,
    api_error_type: Words,
    api_error_status: Number,
    result: Words,
    errors: List<Words>,
    session_id: Words,
    permission_denials: List<Object<Denial>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Denial {
    tool_name: Words,
    tool_input: Object<Input>,
}

pub(super) fn events(line: &[u8]) -> Option<Vec<Event>> {
    let outcome: Outcome = read_json(line).ok()?;
    let usage = read_json::<Used>(line).unwrap_or_default();
    let mut events: Vec<Event> = Event::session(outcome.session_id.or_empty())
        .into_iter()
        .collect();
    events.extend(
        outcome
            .permission_denials
            .0
            .iter()
            .map(|denial| denied(&denial.0)),
    );
    events.extend(reports(&usage).into_iter().map(Event::Usage));
    let trouble = outcome.trouble();
    let ok = trouble.is_none();
    match (trouble, outcome.result.0) {
        (Some(trouble), _) => events.push(Event::Failed(trouble)),
        (None, Some(text)) => events.push(Event::Final {
            text: cap_answer(&text),
        }),
        (None, None) => {}
    }
    events.push(Event::End { ok });
    Some(events)
}

fn denied(denial: &Denial) -> Event {
    let tool = denial.tool_name.as_deref().unwrap_or("a tool");
    let what = tool_phrase(tool, &denial.tool_input.0.about());
    Event::Denied { what }
}

impl Outcome {
    fn trouble(&self) -> Option<Trouble> {
        let reason = self.terminal_reason.or_empty();
        // A success says so twice: the word is that of every error of the provider, too.
        let is_success = self.is_error.0 == Some(false)
            && self.subtype.or_empty() == "success"
            && self.api_error_status.0.is_none()
            && !matches!(
                reason,
                "api_error" | "prompt_too_long" | "max_turns" | "budget_exhausted"
            )
            && !is_aborted(reason);
        (!is_success).then(|| self.named(reason))
    }

    fn named(&self, reason: &str) -> Trouble {
        let errors = self.errors.0.iter().filter_map(Words::as_deref);
        let errors = errors.collect::<Vec<_>>().join("\n");
        // That the reason is an error of the provider is no more than that it failed.
        let exact = (reason != "api_error").then_some(reason);
        let codes = [exact, self.api_error.as_deref(), self.api_error_type.as_deref()];
        let trouble = ErrorFacts {
            status: self.api_error_status.status(),
            word: known_code(&codes),
            message: self.result.as_deref().unwrap_or(&errors),
            retry_after_ms: None,
        }
        .trouble();
        let (class, matter) = match (reason, self.subtype.or_empty()) {
            ("max_turns", _) | (_, "error_max_turns") => (FailureClass::InvalidRequest, Matter::TurnCap),
            ("budget_exhausted", _) | (_, "error_max_budget_usd") => {
                (FailureClass::InvalidRequest, Matter::MoneyCap)
            }
            _ if is_aborted(reason) => (FailureClass::Interrupted, Matter::Provider),
            _ if errors.starts_with("No conversation found") => (FailureClass::Agent, Matter::NoSuchSession),
            _ => (trouble.class, Matter::Provider),
        };
        Trouble {
            class,
            matter,
            ..trouble
        }
    }
}

/// What was used.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Used {
    terminal_reason: Words,
    num_turns: Number,
    total_cost_usd: Number,
    usage: Object<Tokens>,
    model_usage_since_last_result: Table<ModelTokens>,
}

/// The tokens of a message or of a process. Those that were kept from before, and those that are kept from now on, are counted apart
/// from those that went in.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct Tokens {
    input_tokens: Number,
    cache_read_input_tokens: Number,
    cache_creation_input_tokens: Number,
    output_tokens: Number,
    output_tokens_details: Object<Details>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    thinking_tokens: Number,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ModelTokens {
    input_tokens: Number,
    cache_read_input_tokens: Number,
    cache_creation_input_tokens: Number,
    output_tokens: Number,
    thinking_tokens: Number,
    #[serde(rename = "costUSD")]
    cost_usd: Number,
}

/// What was used since the last result tells the cost exactly where it is given, and holds what agents that this one started have used;
/// else its total is taken, which counts differently in different versions.
fn reports(used: &Used) -> Vec<UsageReport> {
    let turns = UsageTotals {
        turns: used.turns(),
        ..UsageTotals::default()
    };
    let process = |totals| UsageReport {
        span: UsageSpan::Process,
        totals,
    };
    match &used.model_usage_since_last_result.0 {
        None => {
            let total = UsageTotals {
                cost_micro_usd: used.total_cost_usd.micro_usd(),
                ..UsageTotals::default()
            };
            let span = UsageSpan::Total;
            vec![
                process(UsageTotals {
                    turns: turns.turns,
                    ..used.usage.0.totals()
                }),
                UsageReport { span, totals: total },
            ]
        }
        // No model answered to the end: the tokens of what was cut stand elsewhere.
        Some(models) if models.is_empty() => vec![
            process(turns),
            UsageReport {
                span: UsageSpan::Step,
                totals: UsageTotals {
                    cost_micro_usd: Some(0),
                    ..used.usage.0.totals()
                },
            },
        ],
        Some(models) => {
            let mut totals = UsageTotals::default();
            for model in models.values() {
                totals.add(&model_tokens(&model.0));
            }
            let step = UsageReport {
                span: UsageSpan::Step,
                totals,
            };
            vec![process(turns), step]
        }
    }
}

impl Used {
    /// How often it asked its model. Where it was interrupted its number counts messages that no model has sent; those that one has sent
    /// stand in its file of the conversation.
    fn turns(&self) -> Option<u64> {
        let is_wrong = is_aborted(self.terminal_reason.or_empty());
        self.num_turns.whole().filter(|_| !is_wrong)
    }
}

/// Whether a task ended because its agent was interrupted.
fn is_aborted(terminal_reason: &str) -> bool {
    terminal_reason.starts_with("aborted")
}

impl Tokens {
    pub(in super::super) fn totals(&self) -> UsageTotals {
        UsageTotals {
            output_tokens: self.output_tokens.whole(),
            reasoning_tokens: self.output_tokens_details.0.thinking_tokens.whole(),
            ..went_in([
                self.input_tokens,
                self.cache_read_input_tokens,
                self.cache_creation_input_tokens,
            ])
        }
    }
}

fn model_tokens(of: &ModelTokens) -> UsageTotals {
    UsageTotals {
        output_tokens: of.output_tokens.whole(),
        reasoning_tokens: of.thinking_tokens.whole(),
        cost_micro_usd: of.cost_usd.micro_usd(),
        ..went_in([
            of.input_tokens,
            of.cache_read_input_tokens,
            of.cache_creation_input_tokens,
        ])
    }
}

/// What went in: tokens that are new, those that were kept from before, and those that are kept from now on.
fn went_in([new, kept, keeping]: [Number; 3]) -> UsageTotals {
    UsageTotals {
        input_tokens: sum([new.whole(), kept.whole(), keeping.whole()]),
        cached_tokens: kept.whole(),
        ..UsageTotals::default()
    }
}
