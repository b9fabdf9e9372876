//! What `--json` prints. Fields are only added; ids are full; times are RFC 3339 in UTC; nothing is left out when it is unknown
//! (it is null).

mod agent;
mod attachment;
mod landing;
mod rule;

use cs_model::{
    AskId, AskState, Author, CardId, CardState, CodebaseId, LandingState, MachineId, OperationId, PauseKind,
    RunId, Time, TurnId,
};
use cs_record::{Ask, Card, CardSummary, LiveLimit, OldOperation, Pause, Run, Scope, Turn};
use cs_settle::Usage;
use serde::Serialize;

pub(crate) use agent::AgentWire;
pub(crate) use attachment::AttachmentWire;
pub(crate) use landing::{LandingWire, PolicyWire, PreviewWire};
pub(crate) use rule::RuleWire;

use crate::standstill::{Standstill, Standstills};

/// A codebase, as this machine knows it.
#[derive(Debug, Serialize)]
pub(crate) struct CodebaseWire {
    pub(crate) id: CodebaseId,
    pub(crate) name: String,
    /// Where this machine has it; null when it has not.
    pub(crate) path: Option<String>,
    /// Whether the repository is gone from there.
    pub(crate) gone: bool,
    /// Patterns of the files that its trees get on this machine.
    pub(crate) bring: Vec<String>,
    /// The command that makes its trees ready on this machine.
    pub(crate) setup: Option<String>,
    /// What agents that work on it may do on this machine; null leaves it to what is set for each agent.
    pub(crate) permissions: Option<&'static str>,
    /// What is put around them: `none`, `bwrap` or `wrapper`; null when this machine does not have it.
    pub(crate) sandbox: Option<&'static str>,
    /// The command that is put around them; null when it is none of the person's own.
    pub(crate) wrapper: Option<Vec<String>>,
    /// What a landing means on this machine; null when it does not have the codebase.
    pub(crate) landing: Option<PolicyWire>,
}

/// A secret, without its value.
#[derive(Debug, Serialize)]
pub(crate) struct SecretWire {
    pub(crate) name: String,
    pub(crate) codebase: String,
    pub(crate) set_at: Option<Time>,
    /// Where its value is: `keyring` or `file`.
    pub(crate) place: String,
}

/// A turn that was sent.
#[derive(Debug, Serialize)]
pub(crate) struct SentWire {
    pub(crate) card: CardId,
    pub(crate) turn: TurnId,
    pub(crate) seq: u32,
    pub(crate) codebase: Option<String>,
    pub(crate) open_asks: u32,
    pub(crate) attachments: Vec<AttachmentWire>,
}

/// A card.
#[derive(Debug, Serialize)]
pub(crate) struct CardWire {
    pub(crate) id: CardId,
    pub(crate) title: String,
    pub(crate) state: CardState,
    pub(crate) reason: Option<String>,
    pub(crate) person: String,
    pub(crate) codebase: Option<String>,
    pub(crate) agent: String,
    /// The model that a person chose for the card; null leaves it to the agent's settings.
    pub(crate) model: Option<String>,
    /// The effort, the same.
    pub(crate) effort: Option<String>,
    pub(crate) ready_for: &'static str,
    pub(crate) ready_from: Time,
    pub(crate) priority: i16,
    pub(crate) not_before: Option<Time>,
    pub(crate) usage: UsageWire,
    pub(crate) created_at: Time,
    pub(crate) updated_at: Time,
}

/// What was used up; null is what no agent told.
#[derive(Debug, Serialize)]
pub(crate) struct UsageWire {
    pub(crate) turns: Option<u64>,
    pub(crate) input_tokens: Option<u64>,
    /// Of those that went in: what the provider had kept from before.
    pub(crate) cached_tokens: Option<u64>,
    pub(crate) output_tokens: Option<u64>,
    /// Of those that came out: what went into reasoning.
    pub(crate) reasoning_tokens: Option<u64>,
    pub(crate) cost_microusd: Option<u64>,
}

impl From<Usage> for UsageWire {
    fn from(usage: Usage) -> Self {
        Self {
            turns: usage.turns,
            input_tokens: usage.input_tokens,
            cached_tokens: usage.cached_tokens,
            output_tokens: usage.output_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            cost_microusd: usage.cost_microusd,
        }
    }
}

/// What one attempt used up.
#[derive(Debug, Serialize)]
pub(crate) struct AttemptUsageWire {
    pub(crate) attempt: u32,
    pub(crate) usage: UsageWire,
}

impl CardWire {
    /// Describes a card.
    pub(crate) fn new(card: &Card, codebase: Option<&str>) -> Self {
        Self {
            id: card.id,
            title: card.title.clone(),
            state: card.state,
            reason: card.reason.clone(),
            person: card.person.to_string(),
            codebase: codebase.map(str::to_owned),
            agent: card.agent.to_string(),
            model: card.model.clone(),
            effort: card.effort.clone(),
            ready_for: card.ready.what.as_str(),
            ready_from: card.ready.from,
            priority: card.priority.get(),
            not_before: card.not_before,
            usage: card.usage.into(),
            created_at: card.created_at,
            updated_at: card.updated_at,
        }
    }
}

/// A card in a list.
#[derive(Debug, Serialize)]
pub(crate) struct SummaryWire {
    pub(crate) card: CardWire,
    pub(crate) live: Option<RunWire>,
    pub(crate) open_asks: Vec<AskWire>,
    pub(crate) waiting_turns: u32,
    pub(crate) landing: Option<LandingWire>,
    /// How the landing stands that was accepted last, over or not.
    pub(crate) last_landing: Option<&'static str>,
}

impl SummaryWire {
    /// What a list says of a card, as seen from this machine.
    pub(crate) fn of(summary: &CardSummary, still: &Standstills) -> Self {
        Self {
            card: CardWire::new(&summary.card, summary.codebase.as_deref()),
            live: summary.live.as_ref().map(|run| RunWire::of(run, still)),
            open_asks: summary.open_asks.iter().map(AskWire::from).collect(),
            waiting_turns: summary.waiting_turns,
            landing: summary.landing.as_ref().map(LandingWire::from),
            last_landing: summary.last_landing.map(LandingState::as_str),
        }
    }
}

/// A card with all that belongs to it.
#[derive(Debug, Serialize)]
pub(crate) struct DetailWire {
    pub(crate) card: CardWire,
    /// How many commits the base has, as this machine last fetched it, that the card has not; null where no tree was here yet.
    pub(crate) behind_base: Option<usize>,
    pub(crate) runs: Vec<RunWire>,
    pub(crate) asks: Vec<AskWire>,
    pub(crate) landings: Vec<LandingWire>,
    pub(crate) turns: Vec<TurnWire>,
}

/// A run.
#[derive(Debug, Serialize)]
pub(crate) struct RunWire {
    pub(crate) id: RunId,
    pub(crate) kind: &'static str,
    pub(crate) state: &'static str,
    pub(crate) epoch: u32,
    pub(crate) agent: String,
    /// What was chosen for its present or last attempt; null left it to the agent's settings.
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<String>,
    /// What all its attempts used up, as far as they told.
    pub(crate) usage: UsageWire,
    /// The last of its attempts that is counted there; null while none is.
    pub(crate) last_used: Option<AttemptUsageWire>,
    /// The agent's own name of its conversation; null where it told none.
    pub(crate) session: Option<String>,
    /// The model that it last worked with; null where that is not known.
    pub(crate) session_model: Option<String>,
    pub(crate) started_at: Time,
    pub(crate) resumed_at: Option<Time>,
    pub(crate) ended_at: Option<Time>,
    pub(crate) again_at: Option<Time>,
    pub(crate) failure: Option<&'static str>,
    pub(crate) failed_because: Option<String>,
    pub(crate) tries: u32,
    pub(crate) starts: u32,
    pub(crate) parent: Option<RunId>,
    pub(crate) stop_incomplete: Option<LeftWire>,
    /// Why its agent stands still, as far as this machine knows.
    pub(crate) paused: Option<Standstill>,
}

/// What of a run could not be ended.
#[derive(Debug, Serialize)]
pub(crate) struct LeftWire {
    pub(crate) left: String,
    pub(crate) since: Time,
}

impl RunWire {
    /// What is said of a run, as seen from this machine.
    pub(crate) fn of(run: &Run, still: &Standstills) -> Self {
        let used = run.used.as_ref();
        Self {
            id: run.id,
            kind: run.kind.as_str(),
            state: run.state.as_str(),
            epoch: run.epoch.get(),
            agent: run.agent.to_string(),
            model: run.model.clone(),
            effort: run.effort.clone(),
            usage: used.map(|used| used.all).unwrap_or_default().into(),
            last_used: used.map(|used| AttemptUsageWire {
                attempt: used.counted.get(),
                usage: used.last.into(),
            }),
            session: used.and_then(|used| used.session.clone()),
            session_model: used.and_then(|used| used.model.clone()),
            started_at: run.started_at,
            resumed_at: run.resumed_at,
            ended_at: run.ended_at,
            again_at: run.again_at,
            failure: run.failure.map(cs_model::FailureClass::as_str),
            failed_because: run.failed_because.clone(),
            tries: run.tries,
            starts: run.starts,
            parent: run.parent,
            stop_incomplete: run.left_behind.as_ref().map(|left| LeftWire {
                left: left.what.clone(),
                since: left.since,
            }),
            paused: still.get(run.id).cloned(),
        }
    }
}

/// A question.
#[derive(Debug, Serialize)]
pub(crate) struct AskWire {
    pub(crate) id: AskId,
    pub(crate) card: CardId,
    pub(crate) run: RunId,
    pub(crate) question: String,
    pub(crate) choices: Vec<String>,
    pub(crate) offers_landing: bool,
    pub(crate) landing_message: Option<String>,
    pub(crate) state: AskState,
    pub(crate) answer: Option<String>,
    pub(crate) answered_by: Option<AuthorWire>,
    pub(crate) asked_at: Time,
    pub(crate) answered_at: Option<Time>,
}

impl From<&Ask> for AskWire {
    fn from(ask: &Ask) -> Self {
        Self {
            id: ask.id,
            card: ask.card,
            run: ask.run,
            question: ask.question.clone(),
            choices: ask.choices.clone(),
            offers_landing: ask.offer.is_some(),
            landing_message: ask.offer.as_ref().and_then(|offer| offer.message.clone()),
            state: ask.state,
            answer: ask.answer.clone(),
            answered_by: ask.answered_by.as_ref().map(AuthorWire::from),
            asked_at: ask.asked_at,
            answered_at: ask.answered_at,
        }
    }
}

/// Who wrote something.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum AuthorWire {
    Person { name: String },
    Agent { run: RunId },
    System,
}

impl From<&Author> for AuthorWire {
    fn from(author: &Author) -> Self {
        match author {
            Author::Person(person) => Self::Person {
                name: person.to_string(),
            },
            Author::Agent(run) => Self::Agent { run: *run },
            Author::System => Self::System,
        }
    }
}

/// A turn.
#[derive(Debug, Serialize)]
pub(crate) struct TurnWire {
    pub(crate) id: TurnId,
    pub(crate) card: CardId,
    pub(crate) seq: u32,
    pub(crate) author: AuthorWire,
    pub(crate) body: String,
    pub(crate) state: &'static str,
    pub(crate) run: Option<RunId>,
    pub(crate) said_at: Time,
}

impl From<&Turn> for TurnWire {
    fn from(turn: &Turn) -> Self {
        Self {
            id: turn.id,
            card: turn.card,
            seq: turn.seq.get(),
            author: AuthorWire::from(&turn.author),
            body: turn.body.clone(),
            state: turn.state.as_str(),
            run: turn.run,
            said_at: turn.said_at,
        }
    }
}

/// A pause.
#[derive(Debug, Serialize)]
pub(crate) struct PauseWire {
    /// The machine that it covers; null when it covers a codebase or everything.
    pub(crate) machine: Option<MachineId>,
    /// The codebase that it covers; null when it covers a machine or everything.
    pub(crate) codebase: Option<CodebaseId>,
    pub(crate) kind: PauseKind,
    pub(crate) reason: Option<String>,
    pub(crate) by: String,
    pub(crate) at: Time,
}

impl From<&Pause> for PauseWire {
    fn from(pause: &Pause) -> Self {
        let (machine, codebase) = parts(pause.scope);
        Self {
            machine,
            codebase,
            kind: pause.kind,
            reason: pause.reason.clone(),
            by: pause.by.to_string(),
            at: pause.at,
        }
    }
}

/// What a scope covers: a machine, a codebase, or neither, which is everything.
const fn parts(scope: Scope) -> (Option<MachineId>, Option<CodebaseId>) {
    match scope {
        Scope::Everything => (None, None),
        Scope::Machine(machine) => (Some(machine), None),
        Scope::Codebase(codebase) => (None, Some(codebase)),
    }
}

/// A limit of live runs.
#[derive(Debug, Serialize)]
pub(crate) struct LimitWire {
    pub(crate) machine: Option<MachineId>,
    pub(crate) codebase: Option<CodebaseId>,
    pub(crate) most: u32,
    pub(crate) by: String,
    pub(crate) at: Time,
}

impl From<&LiveLimit> for LimitWire {
    fn from(limit: &LiveLimit) -> Self {
        let (machine, codebase) = parts(limit.scope);
        Self {
            machine,
            codebase,
            most: limit.most,
            by: limit.by.to_string(),
            at: limit.at,
        }
    }
}

/// A journal row that nobody can need any more.
#[derive(Debug, Serialize)]
pub(crate) struct OldOperationWire {
    pub(crate) operation: OperationId,
    pub(crate) machine: MachineId,
    pub(crate) kind: String,
    pub(crate) at: Time,
}

impl From<&OldOperation> for OldOperationWire {
    fn from(old: &OldOperation) -> Self {
        Self {
            operation: old.operation,
            machine: old.machine,
            kind: old.kind.clone(),
            at: old.at,
        }
    }
}
