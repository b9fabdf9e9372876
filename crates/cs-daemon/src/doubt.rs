//! Agents whose route was parked since a look at them said that they are not signed in, as it is noted in the state directory.
//!
//! A look may be wrong: an agent may need no sign-in, or have it where nobody looks. Nothing begins on a parked route before a person
//! has opened it, so whatever begins after the note was made is wanted all the same: the agent itself says then whether it can work.

use std::fs;
use std::io;

use cs_harness::{AgentConfig, Hindrance, SignIn};

use crate::probe::Probed;
use crate::state::StateDir;

/// Whether the route of an agent was parked by a look before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// It was not, or it was signed in since.
    None,
    /// It was, and somebody has opened it.
    Opened,
}

impl Doubt {
    /// Reads what is noted of an agent. It is read before the agent is looked at: what another attempt notes meanwhile is no word of a
    /// person.
    pub(crate) fn of(state: &StateDir, agent: &AgentConfig) -> Self {
        if state.doubts().join(agent.name()).exists() {
            Self::Opened
        } else {
            Self::None
        }
    }

    /// Says what keeps the agent from its work, and notes what the next attempt has to know.
    pub(crate) fn weigh(self, state: &StateDir, agent: &AgentConfig, probed: Probed) -> Option<Hindrance> {
        let note = state.doubts().join(agent.name());
        let noted = match (self, probed.sign_in) {
            (Self::None, SignIn::NotSignedIn) => fs::write(&note, ""),
            (Self::Opened, SignIn::SignedIn) => fs::remove_file(&note),
            (Self::None, SignIn::SignedIn | SignIn::CannotBeTold)
            | (Self::Opened, SignIn::NotSignedIn | SignIn::CannotBeTold) => Ok(()),
        };
        // Without the note its route is parked once more.
        noted.unwrap_or_else(|error: io::Error| {
            tracing::warn!(agent = agent.name(), %error, "whether it was signed in cannot be noted");
        });
        let hindrance = probed.hindrance?;
        let is_opened = self == Self::Opened && hindrance == Hindrance::NotSignedIn;
        (!is_opened).then_some(hindrance)
    }
}

#[cfg(test)]
mod tests {
    use cs_harness::HarnessKind;

    use super::*;

    fn told(sign_in: SignIn) -> Probed {
        Probed {
            sign_in,
            hindrance: (sign_in == SignIn::NotSignedIn).then_some(Hindrance::NotSignedIn),
            ..Probed::default()
        }
    }

    #[test]
    fn an_agent_is_held_back_for_its_sign_in_once_and_again_when_it_had_one() {
        let temp = tempfile::tempdir().expect("a directory");
        let state = StateDir::open(temp.path()).expect("it can be made");
        let agent =
            |name| AgentConfig::new(name, vec!["codex".to_owned()], HarnessKind::Codex).expect("it is right");
        let look = |name, probed| Doubt::of(&state, &agent(name)).weigh(&state, &agent(name), probed);
        let held = Some(Hindrance::NotSignedIn);
        for (sign_in, hindrance) in [
            (SignIn::CannotBeTold, &None),
            (SignIn::NotSignedIn, &held),
            (SignIn::NotSignedIn, &None),
            (SignIn::CannotBeTold, &None),
            (SignIn::NotSignedIn, &None),
            (SignIn::SignedIn, &None),
            (SignIn::NotSignedIn, &held),
        ] {
            assert_eq!(look("a", told(sign_in)), *hindrance, "{sign_in:?}");
        }
        assert_eq!(look("b", told(SignIn::NotSignedIn)), held, "another agent");
    }

    #[test]
    fn two_attempts_that_look_at_once_are_both_held_back_and_nothing_else_is_let_through() {
        let temp = tempfile::tempdir().expect("a directory");
        let state = StateDir::open(temp.path()).expect("it can be made");
        let agent = AgentConfig::new("a", vec!["codex".to_owned()], HarnessKind::Codex).expect("it is right");
        let both = [Doubt::of(&state, &agent), Doubt::of(&state, &agent)];
        for doubt in both {
            let hindrance = doubt.weigh(&state, &agent, told(SignIn::NotSignedIn));
            assert_eq!(hindrance, Some(Hindrance::NotSignedIn));
        }
        let gone = Hindrance::NotInstalled {
            program: "codex".to_owned(),
        };
        let hindrance = Doubt::of(&state, &agent).weigh(&state, &agent, gone.clone().into());
        assert_eq!(hindrance, Some(gone));
    }
}
