use cs_model::FailureClass;

use crate::{HarnessKind, least_version, sign_in_means};

/// What keeps an agent program from any work on a machine, until a person has mended it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hindrance {
    /// There is no such program.
    NotInstalled {
        /// Its name, without a directory.
        program: String,
    },
    /// It is there and cannot be started.
    NotExecutable {
        /// Its name, without a directory.
        program: String,
    },
    /// It does not know how it would be driven.
    TooOld {
        /// Its version.
        version: String,
    },
    /// It has no sign-in and no key.
    NotSignedIn,
}

impl Hindrance {
    /// The class that decides about another try.
    pub const fn class(&self) -> FailureClass {
        match self {
            Self::NotInstalled { .. } | Self::NotExecutable { .. } | Self::TooOld { .. } => {
                FailureClass::InvalidRequest
            }
            Self::NotSignedIn => FailureClass::Authentication,
        }
    }

    /// The word in `--json`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NotInstalled { .. } => "not_installed",
            Self::NotExecutable { .. } => "not_executable",
            Self::TooOld { .. } => "too_old",
            Self::NotSignedIn => "not_signed_in",
        }
    }

    /// Says it in a few words.
    pub fn words(&self) -> String {
        match self {
            Self::NotInstalled { .. } => "not installed".to_owned(),
            Self::NotExecutable { .. } => "cannot be started".to_owned(),
            Self::TooOld { version } => format!("{version} is too old"),
            Self::NotSignedIn => "not signed in".to_owned(),
        }
    }

    /// Says for everybody what is wrong with an agent of this kind and what to do.
    pub fn public(&self, kind: HarnessKind) -> String {
        let who = kind.label();
        match self {
            Self::NotInstalled { program } => format!(
                "{who} is not installed on this machine: there is no program `{program}` where `cs-panel run` looks for it; install it, \
                 or name another one as the `command` of the agent"
            ),
            Self::NotExecutable { program } => format!(
                "{who} cannot be started on this machine: `{program}` is no program that may be executed, or its interpreter is \
                 missing; install it anew, or name another one as the `command` of the agent"
            ),
            Self::TooOld { version } => {
                let least = least_version(kind).unwrap_or(version);
                format!("{who} {version} on this machine is too old, {least} or newer is expected: update it")
            }
            Self::NotSignedIn => match sign_in_means(kind, None) {
                Some(means) => format!(
                    "{who} is not signed in on this machine: sign in with `{}`, or give it a key; where it needs neither, `cs-panel retry` \
                     starts it all the same",
                    means.cure
                ),
                None => format!("{who} is not signed in on this machine: sign in, or give it a key"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_told_with_its_cure() {
        let program = || "codex".to_owned();
        let table = [
            (
                Hindrance::NotInstalled { program: program() },
                "Codex is not installed on this machine: there is no program `codex`",
                FailureClass::InvalidRequest,
            ),
            (
                Hindrance::NotExecutable { program: program() },
                "Codex cannot be started on this machine: `codex` is no program",
                FailureClass::InvalidRequest,
            ),
            (
                Hindrance::TooOld {
                    version: "0.9.3".to_owned(),
                },
                "Codex 0.9.3 on this machine is too old, 0.46.0 or newer is expected: update it",
                FailureClass::InvalidRequest,
            ),
            (
                Hindrance::NotSignedIn,
                "Codex is not signed in on this machine: sign in with `codex login`",
                FailureClass::Authentication,
            ),
        ];
        for (hindrance, reason, class) in table {
            let said = hindrance.public(HarnessKind::Codex);
            assert!(said.starts_with(reason), "{said}");
            assert_eq!(hindrance.class(), class, "{said}");
        }
    }
}
