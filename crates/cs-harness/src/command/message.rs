use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::text::{cap_answer, cap_text};
use crate::{Event, PanelTools, Permissions, RunFacts, UsageReport, UsageSpan, UsageTotals, read_json};

const CHOICES_MAX: usize = 32;

/// The one line that a JSON-lines agent reads, and a bridge that leads an agent by a dialogue.
#[derive(Serialize)]
struct Start<'a> {
    r#type: &'static str,
    protocol: u32,
    card: &'a str,
    run: &'a str,
    epoch: u64,
    wake: &'static str,
    prompt: &'a str,
    session: Option<&'a str>,
    answer: Option<StartAnswer<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permissions: Option<Permissions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<StartTools<'a>>,
}

/// How an agent reaches the server of tools that it is given.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum StartTools<'a> {
    Command { argv: &'a [String], keep: &'a [String] },
    Http { url: &'a str, bearer: &'a str },
}

#[derive(Serialize)]
struct StartAnswer<'a> {
    question: &'a str,
    text: &'a str,
}

#[derive(Deserialize)]
struct AskMessage {
    question: String,
    #[serde(default)]
    choices: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct OfferMessage {
    summary: String,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Deserialize)]
struct TextMessage {
    text: String,
}

#[derive(Deserialize)]
struct SessionMessage {
    id: String,
}

#[derive(Deserialize)]
struct UsageMessage {
    #[serde(default)]
    turns: Option<u64>,
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
    #[serde(default)]
    cost_usd: Option<f64>,
}

pub(crate) fn start_line(facts: &RunFacts) -> Vec<u8> {
    line(&start(facts))
}

/// The start line of a bridge, with what a dialogue needs besides.
pub(crate) fn start_line_of_a_dialogue(facts: &RunFacts) -> Vec<u8> {
    line(&Start {
        cwd: Some(&facts.cwd),
        permissions: Some(facts.permissions),
        model: facts.model.as_deref(),
        effort: facts.effort.as_deref(),
        history: facts.history.as_deref(),
        tools: facts.tools.as_ref().map(start_tools),
        ..start(facts)
    })
}

fn start(facts: &RunFacts) -> Start<'_> {
    let answer = facts.answer.as_ref().map(|given| StartAnswer {
        question: &given.question,
        text: &given.text,
    });
    Start {
        r#type: "start",
        protocol: 1,
        card: &facts.card,
        run: &facts.run,
        epoch: facts.epoch,
        wake: facts.wake.as_str(),
        prompt: &facts.prompt,
        session: facts.session.as_deref(),
        answer,
        cwd: None,
        permissions: None,
        model: None,
        effort: None,
        history: None,
        tools: None,
    }
}

fn start_tools(tools: &PanelTools) -> StartTools<'_> {
    match tools {
        PanelTools::Command { argv, keep } => StartTools::Command { argv, keep },
        PanelTools::Http { url, bearer } => StartTools::Http { url, bearer },
    }
}

fn line(start: &Start<'_>) -> Vec<u8> {
    let mut line = serde_json::to_vec(start).expect("strings and numbers always serialize");
    line.push(b'\n');
    line
}

/// Reads one line as a message. `None`: it is no JSON object with a `type`, so it is text.
pub(super) fn parse_message(line: &[u8]) -> Option<Event> {
    let value: Value = read_json(line).ok()?;
    let kind = value.as_object()?.get("type")?.as_str()?.to_owned();
    let known = known_message(&kind, value);
    Some(known.unwrap_or_else(|| Event::unknown(&kind, line)))
}

/// `None`: a type we do not know, or fields that are missing or wrong.
fn known_message(kind: &str, value: Value) -> Option<Event> {
    match kind {
        "ask" => ask(read(value)?),
        "offer_landing" => {
            let OfferMessage { summary, message } = read(value)?;
            let message = message.as_deref().map(cap_text);
            Some(Event::OfferLanding {
                summary: cap_text(&summary),
                message,
            })
        }
        "progress" => read(value).map(|TextMessage { text }| Event::Progress {
            text: cap_text(&text),
        }),
        "usage" => usage(&read(value)?),
        "session" => read(value).and_then(|SessionMessage { id }| Event::session(&id)),
        "final" => read(value).map(|TextMessage { text }| Event::Final {
            text: cap_answer(&text),
        }),
        _ => None,
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}

fn ask(message: AskMessage) -> Option<Event> {
    if message.question.trim().is_empty() {
        return None;
    }
    let choices = message.choices.unwrap_or_default();
    let choices = choices
        .iter()
        .take(CHOICES_MAX)
        .map(|choice| cap_text(choice))
        .collect();
    Some(Event::Ask {
        question: cap_text(&message.question),
        choices,
    })
}

fn usage(message: &UsageMessage) -> Option<Event> {
    let cost_micro_usd = match message.cost_usd {
        None => None,
        Some(dollars) if (0.0..1e12).contains(&dollars) => Some((dollars * 1e6).round() as u64),
        Some(_) => return None,
    };
    let UsageMessage {
        turns,
        input_tokens,
        output_tokens,
        cost_usd: _,
    } = *message;
    let totals = UsageTotals {
        turns,
        input_tokens,
        output_tokens,
        cost_micro_usd,
        ..UsageTotals::default()
    };
    Some(Event::Usage(UsageReport {
        span: UsageSpan::Process,
        totals,
    }))
}
