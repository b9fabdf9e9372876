//! What is played with every agent.

mod answers;
mod ends;
mod failures;
mod tools;
mod whole;

use crate::agent::Agent;
use crate::stage::Stage;

/// A case.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Whether CI plays it.
    pub(crate) short: bool,
    /// The agents that it is not for.
    except: &'static [Agent],
    pub(crate) play: fn(&Stage<'_>),
}

const fn case(name: &'static str, play: fn(&Stage<'_>)) -> Case {
    Case {
        name,
        short: false,
        except: &[],
        play,
    }
}

impl Case {
    /// CI plays it.
    const fn short(self) -> Self {
        Self { short: true, ..self }
    }

    /// These agents cannot play it: gemini gives up at the first cut, tells what it used only at its end, and ends a turn by itself in
    /// which it asks for the same again and again.
    const fn except(self, agents: &'static [Agent]) -> Self {
        Self {
            except: agents,
            ..self
        }
    }

    pub(crate) fn is_for(&self, agent: Agent) -> bool {
        !self.except.contains(&agent)
    }
}

/// All of them.
pub(crate) const CASES: [Case; 20] = [
    case("answer", answers::plain).short(),
    case("commit", answers::commit).short(),
    case("second-turn", answers::second_turn).short(),
    case("sandbox", answers::sandbox).short(),
    case("unauthorized", failures::unauthorized).short(),
    case("rate-limit-short", failures::rate_limit_short),
    case("rate-limit-long", failures::rate_limit_long).short(),
    case("quota", failures::quota),
    case("overloaded", failures::overloaded),
    case("bad-model", failures::bad_model),
    case("context-overflow", failures::context_overflow),
    case("cut-once", failures::cut_once).except(&[Agent::Gemini]),
    case("cut-always", failures::cut_always),
    case("silent", failures::silent),
    case("budget", ends::budget).short().except(&[Agent::Gemini]),
    case("stop", ends::stop).short(),
    case("daemon-killed", ends::daemon_killed).short(),
    case("tools", tools::each_tool).short(),
    case("asked", tools::asked_answered_and_landed).short(),
    case("whole", whole::from_a_message_to_a_landed_commit),
];
