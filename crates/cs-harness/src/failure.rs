use std::fmt;

use cs_model::FailureClass;

use crate::{ANSWER_WITHIN, HarnessKind, UNREAD_MAX_BYTES};

/// What exactly happened, in our own words: it holds nothing that the agent or the operating system said, and no path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureCause {
    /// The program could not be started.
    NotStarted,
    /// The program exited with this code, which is not zero.
    ExitCode(i32),
    /// The program was ended by this signal.
    Signal(i32),
    /// Nobody saw how the program ended.
    EndNotSeen,
    /// The program exited with zero, its last line is not whole.
    HalfLine,
    /// The program exited with zero and gave no `final` message.
    NoFinal,
    /// The agent told of it itself, with the status of the provider's answer where there was one.
    Told(Option<u16>),
    /// The program exited with zero and never said that its task is over: its output was cut, or it gave up without a word.
    NoEndMark,
    /// The agent has asked the model as often as it may.
    TurnCap,
    /// The agent has spent as much as it may.
    MoneyCap,
    /// The agent does not know the conversation that it was to go on with: only a new one can help.
    NoSuchSession,
    /// The agent did not answer the bridge in time what comes before its prompt.
    NoAnswer,
    /// The agent asked the bridge on and on, and did not read the answers.
    NotListening,
}

/// Renders the sentence about a failure that everybody may read: how the program ended where the agent itself failed, and
/// no path, no secret, no word of the agent.
pub fn public_reason(harness: HarnessKind, class: FailureClass, cause: FailureCause) -> String {
    let who = harness.label();
    if let Some(reason) = by_cause(who, cause) {
        return reason;
    }
    match class {
        FailureClass::Agent => ended(who, cause),
        FailureClass::Unknown => format!("{who} ended, and it is not known why"),
        FailureClass::Verify => "the work did not pass its verification".to_owned(),
        FailureClass::Conflict => "the work conflicts with the base branch".to_owned(),
        FailureClass::ContextOverflow => "the conversation has become too long for the model".to_owned(),
        FailureClass::RateLimit => "the provider's rate limit is reached".to_owned(),
        FailureClass::Overloaded => "the provider is overloaded".to_owned(),
        FailureClass::Infrastructure => "the network, the provider or the machine failed".to_owned(),
        FailureClass::Capacity => "the machine has no room for this work now".to_owned(),
        FailureClass::Credit => "the account with the provider has no credit left".to_owned(),
        FailureClass::Authentication => "the provider does not accept the login or the key".to_owned(),
        FailureClass::Interrupted => format!("{who} was interrupted"),
        FailureClass::InvalidRequest if matches!(cause, FailureCause::Told(_)) => {
            format!("the provider of {who} refuses the request: the model or a setting is wrong")
        }
        FailureClass::InvalidRequest if matches!(cause, FailureCause::ExitCode(_)) => {
            format!("{who} refuses how it was started: its settings or its arguments are wrong")
        }
        FailureClass::InvalidRequest => {
            format!("{who} cannot be started: the program is missing or may not be executed on this machine")
        }
        FailureClass::Cancelled => format!("{who} was stopped by a person"),
    }
}

/// What a cause says whatever its class is.
fn by_cause(who: &str, cause: FailureCause) -> Option<String> {
    match cause {
        FailureCause::TurnCap => Some(format!("{who} has asked the model as often as it may")),
        FailureCause::MoneyCap => Some(format!("{who} has spent as much as it may")),
        FailureCause::NoSuchSession => Some(format!(
            "{who} does not know the conversation that it was to go on with"
        )),
        FailureCause::NoAnswer => Some(format!(
            "{who} did not answer within {} s what it is asked before its prompt (`initialize`, `session/new`)",
            ANSWER_WITHIN.as_secs()
        )),
        FailureCause::NotListening => Some(format!(
            "{who} asks on and on and does not read the answers: more than {} KiB of them wait",
            UNREAD_MAX_BYTES / 1024
        )),
        FailureCause::NotStarted
        | FailureCause::ExitCode(_)
        | FailureCause::Signal(_)
        | FailureCause::EndNotSeen
        | FailureCause::HalfLine
        | FailureCause::NoFinal
        | FailureCause::Told(_)
        | FailureCause::NoEndMark => None,
    }
}

fn ended(who: &str, cause: FailureCause) -> String {
    match cause {
        FailureCause::NotStarted => format!("{who} could not be started"),
        FailureCause::ExitCode(code) => format!("{who} ended with exit code {code}"),
        FailureCause::Signal(number) => match signal_name(number) {
            Some(name) => format!("{who} was ended by signal {number} ({name})"),
            None => format!("{who} was ended by signal {number}"),
        },
        FailureCause::EndNotSeen => format!("{who} ended, and nobody saw how"),
        FailureCause::HalfLine => format!("{who} ended in the middle of a line"),
        FailureCause::NoFinal => format!("{who} ended without an answer"),
        FailureCause::Told(None) => format!("{who} said that it failed"),
        FailureCause::Told(Some(status)) => format!("{who} met an error of its provider (status {status})"),
        FailureCause::NoEndMark => format!("{who} ended without saying that it was done"),
        FailureCause::TurnCap
        | FailureCause::MoneyCap
        | FailureCause::NoSuchSession
        | FailureCause::NoAnswer
        | FailureCause::NotListening => format!("{who} stopped"),
    }
}

/// The names of the signals that end agents and have the same number on every system; the others are told by their number.
fn signal_name(number: i32) -> Option<&'static str> {
    Some(match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        _ => return None,
    })
}

impl fmt::Display for FailureCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted => f.write_str("the program could not be started"),
            Self::ExitCode(code) => write!(f, "the program exited with code {code}"),
            Self::Signal(number) => write!(f, "the program was ended by signal {number}"),
            Self::EndNotSeen => f.write_str("nobody saw how the program ended"),
            Self::HalfLine => f.write_str("the program exited with code 0 in the middle of a line"),
            Self::NoFinal => f.write_str("the program exited with code 0 and gave no final message"),
            Self::Told(None) => f.write_str("the agent said that it failed"),
            Self::Told(Some(status)) => write!(f, "the provider answered with status {status}"),
            Self::NoEndMark => {
                f.write_str("the program exited with code 0 and never said that its task is over")
            }
            Self::TurnCap => f.write_str("the agent has asked the model as often as it may"),
            Self::MoneyCap => f.write_str("the agent has spent as much as it may"),
            Self::NoSuchSession => {
                f.write_str("the agent does not know the conversation that it was to go on with")
            }
            Self::NoAnswer => f.write_str("the agent did not answer in time what comes before its prompt"),
            Self::NotListening => f.write_str("the agent asked on and on and did not read the answers"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_reasons_as_people_read_them() {
        let reason = |class| public_reason(HarnessKind::Plain, class, FailureCause::ExitCode(7));
        let table: String = FailureClass::ALL
            .iter()
            .map(|class| format!("{class}: {}\n", reason(*class)))
            .collect();
        insta::assert_snapshot!(table, @r"
        agent: the agent's command ended with exit code 7
        unknown: the agent's command ended, and it is not known why
        verify: the work did not pass its verification
        conflict: the work conflicts with the base branch
        context_overflow: the conversation has become too long for the model
        rate_limit: the provider's rate limit is reached
        overloaded: the provider is overloaded
        infrastructure: the network, the provider or the machine failed
        capacity: the machine has no room for this work now
        credit: the account with the provider has no credit left
        authentication: the provider does not accept the login or the key
        interrupted: the agent's command was interrupted
        invalid_request: the agent's command refuses how it was started: its settings or its arguments are wrong
        cancelled: the agent's command was stopped by a person
        ");
    }
    #[test]
    fn an_agent_that_failed_is_told_by_how_it_ended() {
        let causes = [
            FailureCause::NotStarted,
            FailureCause::ExitCode(-1),
            FailureCause::Signal(9),
            FailureCause::Signal(64),
            FailureCause::EndNotSeen,
            FailureCause::HalfLine,
            FailureCause::NoFinal,
            FailureCause::Told(None),
            FailureCause::Told(Some(500)),
            FailureCause::NoEndMark,
            FailureCause::TurnCap,
            FailureCause::MoneyCap,
            FailureCause::NoSuchSession,
            FailureCause::NoAnswer,
            FailureCause::NotListening,
        ];
        let reason = |cause| public_reason(HarnessKind::Plain, FailureClass::Agent, cause) + "\n";
        let table: String = causes.into_iter().map(reason).collect();
        insta::assert_snapshot!(table, @r"
        the agent's command could not be started
        the agent's command ended with exit code -1
        the agent's command was ended by signal 9 (SIGKILL)
        the agent's command was ended by signal 64
        the agent's command ended, and nobody saw how
        the agent's command ended in the middle of a line
        the agent's command ended without an answer
        the agent's command said that it failed
        the agent's command met an error of its provider (status 500)
        the agent's command ended without saying that it was done
        the agent's command has asked the model as often as it may
        the agent's command has spent as much as it may
        the agent's command does not know the conversation that it was to go on with
        the agent's command did not answer within 80 s what it is asked before its prompt (`initialize`, `session/new`)
        the agent's command asks on and on and does not read the answers: more than 1024 KiB of them wait
        ");
    }

    #[test]
    fn a_request_that_was_refused_is_told_from_a_program_that_cannot_be_started() {
        let reason = |cause| public_reason(HarnessKind::Codex, FailureClass::InvalidRequest, cause);
        assert_eq!(
            reason(FailureCause::Told(Some(404))),
            "the provider of Codex refuses the request: the model or a setting is wrong"
        );
        assert_eq!(
            reason(FailureCause::NotStarted),
            "Codex cannot be started: the program is missing or may not be executed on this machine"
        );
    }
}
