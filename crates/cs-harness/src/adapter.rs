use std::fmt;
use std::sync::Arc;

use crate::command::{JsonLinesCommand, PlainCommand};
use crate::native::Native;
use crate::{AgentConfig, Event, HarnessKind, LaunchSpec, Line, Outcome, ProcessEnd, RunFacts, Seen, native};

/// Drives one agent program. Every method is a pure function of its arguments and the configuration.
pub trait Harness: fmt::Debug + Send + Sync {
    /// Names the kind of harness, for public reasons and for tables.
    fn kind(&self) -> HarnessKind;

    /// Says how to start the agent for one attempt.
    ///
    /// The working directory, the base environment and the file descriptors are the caller's.
    fn launch(&self, facts: &RunFacts) -> LaunchSpec;

    /// Turns one line of standard output into events, in order.
    ///
    /// Never fails and never panics: what is not understood is kept as [`Event::Text`] or [`Event::Unknown`]. The events
    /// of a line depend on this line alone, so a reader that starts again from the beginning of a line gets them again.
    fn events(&self, line: &Line<'_>) -> Vec<Event>;

    /// Decides how the attempt ended, from the end of its process and everything it said before.
    ///
    /// A question or an offer that was seen wins over any end of the process (ST-4). A process that the caller stopped on
    /// purpose is the caller's to name: this function reports it as a failure unless a result was seen.
    fn outcome(&self, end: &ProcessEnd, seen: &Seen) -> Outcome;
}

/// Returns the harness that drives this agent.
pub fn adapter(agent: &AgentConfig) -> Arc<dyn Harness> {
    match agent.kind() {
        HarnessKind::Plain => Arc::new(PlainCommand::new(agent.argv())),
        HarnessKind::JsonLines => Arc::new(JsonLinesCommand::new(agent.argv())),
        HarnessKind::Claude => Arc::new(Native::new(native::CLAUDE, agent.argv())),
        HarnessKind::Codex => Arc::new(Native::new(native::CODEX, agent.argv())),
        HarnessKind::Opencode => Arc::new(Native::new(native::OPENCODE, agent.argv())),
        HarnessKind::Acp => Arc::new(native::Acp::new(agent.argv())),
        HarnessKind::Pi => Arc::new(Native::new(native::PI, agent.argv())),
    }
}
