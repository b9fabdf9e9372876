//! Who speaks to the card, and whether an outcome is an answer or an end.

use cs_model::{FailureClass, RunKind, RunState};

/// Why an attempt was started, as far as it decides whether its words are for the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Turns of the card are to be answered.
    Turns,
    /// Its parent gave it a job.
    Dispatch,
    /// Its own question was answered.
    OwnAnswer,
    /// All it has to do is to answer the question of a child.
    ChildQuestion,
    /// Its children have ended and it reads what they did.
    ReadBack,
    /// Its last attempt failed or was cut short; the work is the same.
    Again,
}

impl Start {
    /// Holds every value.
    pub const ALL: &'static [Self] = &[
        Self::Turns,
        Self::Dispatch,
        Self::OwnAnswer,
        Self::ChildQuestion,
        Self::ReadBack,
        Self::Again,
    ];
}

/// Whether the words of an answer become a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// They do, in the agent's own words (ST-9).
    Speaks,
    /// They do not; the run acts through its tools.
    Silent,
}

/// Decides whether a run of this kind that was started for this reason speaks to its card.
///
/// A launcher is silent also when it is started again: its task is to hand over, not to answer.
#[must_use]
pub const fn who_speaks(kind: RunKind, start: Start) -> Voice {
    match kind {
        RunKind::Launcher => Voice::Silent,
        RunKind::Owner | RunKind::Worker | RunKind::Issue => match start {
            Start::ChildQuestion => Voice::Silent,
            Start::Turns | Start::Dispatch | Start::OwnAnswer | Start::ReadBack | Start::Again => {
                Voice::Speaks
            }
        },
    }
}

/// What an outcome says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The attempt did its work.
    Success,
    /// The attempt failed.
    Failure(FailureClass),
    /// A budget ended the attempt.
    Capped,
}

/// What the settlement of an outcome looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettleFacts {
    /// What the outcome says.
    pub outcome: Kind,
    /// What job the run does.
    pub kind: RunKind,
    /// Where the run is on the record now.
    pub state: RunState,
    /// Whether the card has an owner now: a launcher's work is done then, whatever it printed (ST-5).
    pub card_has_owner: bool,
}

/// How an outcome is written on the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettleAs {
    /// As an answer, with its words where the run speaks.
    Answer,
    /// As an answer without words: the attempt's tools did the work before it failed (ST-4, ST-5).
    AnswerWithoutText,
    /// As a failure.
    GiveUp,
    /// Not at all: the run is over already, which is a fact and no error (ST-15).
    Nothing,
}

/// Decides how an outcome is written. The live settlement and its replay after a restart ask the same function (ST-11).
#[must_use]
pub const fn settle_as(facts: &SettleFacts) -> SettleAs {
    let asked = match facts.state {
        RunState::Ended(_) => return SettleAs::Nothing,
        RunState::Asked => true,
        RunState::Running => false,
    };
    match facts.outcome {
        Kind::Success => SettleAs::Answer,
        Kind::Failure(FailureClass::Authentication) => SettleAs::GiveUp,
        Kind::Failure(_) | Kind::Capped => {
            let handed_over = matches!(facts.kind, RunKind::Launcher) && facts.card_has_owner;
            if asked || handed_over {
                SettleAs::AnswerWithoutText
            } else {
                SettleAs::GiveUp
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cs_model::Ending;

    #[test]
    fn the_table_of_who_speaks() {
        let mut table = String::new();
        for kind in RunKind::ALL {
            for start in Start::ALL {
                table += &format!("{kind} {start:?}: {:?}\n", who_speaks(*kind, *start));
            }
        }
        insta::assert_snapshot!(table);
    }

    fn check(outcome: Kind, kind: RunKind, state: RunState, card_has_owner: bool, expected: SettleAs) {
        let facts = SettleFacts {
            outcome,
            kind,
            state,
            card_has_owner,
        };
        assert_eq!(settle_as(&facts), expected, "{facts:?}");
    }

    /// ST-4, ST-11: one function for the settlement and its replay, and no default. An authentication failure is always ended as one (ST-6).
    #[test]
    fn an_agent_that_fails_after_its_question_did_not_die() {
        for class in FailureClass::ALL {
            let expected = if *class == FailureClass::Authentication {
                SettleAs::GiveUp
            } else {
                SettleAs::AnswerWithoutText
            };
            check(
                Kind::Failure(*class),
                RunKind::Owner,
                RunState::Asked,
                true,
                expected,
            );
            check(
                Kind::Failure(*class),
                RunKind::Owner,
                RunState::Running,
                true,
                SettleAs::GiveUp,
            );
        }
    }

    #[test]
    fn a_cap_ends_an_attempt_unless_its_question_stands() {
        check(
            Kind::Capped,
            RunKind::Owner,
            RunState::Running,
            true,
            SettleAs::GiveUp,
        );
        check(
            Kind::Capped,
            RunKind::Owner,
            RunState::Asked,
            true,
            SettleAs::AnswerWithoutText,
        );
    }

    /// ST-5.
    #[test]
    fn a_launcher_that_handed_over_did_not_fail() {
        let failure = Kind::Failure(FailureClass::Agent);
        check(
            failure,
            RunKind::Launcher,
            RunState::Running,
            true,
            SettleAs::AnswerWithoutText,
        );
        check(
            failure,
            RunKind::Launcher,
            RunState::Running,
            false,
            SettleAs::GiveUp,
        );
        check(
            failure,
            RunKind::Worker,
            RunState::Running,
            true,
            SettleAs::GiveUp,
        );
    }

    /// ST-15.
    #[test]
    fn nothing_is_written_on_a_run_that_is_over() {
        for state in RunState::ALL.iter().filter(|state| !state.is_live()) {
            check(Kind::Success, RunKind::Owner, *state, true, SettleAs::Nothing);
            check(
                Kind::Failure(FailureClass::Agent),
                RunKind::Owner,
                *state,
                true,
                SettleAs::Nothing,
            );
        }
        check(
            Kind::Success,
            RunKind::Owner,
            RunState::Running,
            true,
            SettleAs::Answer,
        );
        check(
            Kind::Success,
            RunKind::Owner,
            RunState::Ended(Ending::Stopped),
            true,
            SettleAs::Nothing,
        );
    }
}
