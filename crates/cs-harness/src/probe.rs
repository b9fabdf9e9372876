use crate::HarnessKind;
use crate::version::{numbers, word};

/// Whether an agent is signed in at its provider, as far as that can be told without asking the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignIn {
    /// It has a sign-in or a key. Whether the provider still takes it is told by the next run only.
    SignedIn,
    /// It has neither.
    NotSignedIn,
    /// It does not tell, or keeps it where nobody else can look.
    CannotBeTold,
}

impl SignIn {
    /// The word in `--json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SignedIn => "signed_in",
            Self::NotSignedIn => "not_signed_in",
            Self::CannotBeTold => "cannot_be_told",
        }
    }
}

/// Where an agent keeps its sign-in, and how it is asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignInMeans {
    /// The variable that names another place for its files than the home has.
    pub home_variable: Option<&'static str>,
    /// Its directory in the home, where no variable names another.
    pub dir: &'static str,
    /// The file in there that a sign-in makes.
    pub file: &'static str,
    /// Variables each of which stands for a sign-in.
    pub keys: &'static [&'static str],
    /// A file in there, and words in it or among the agent's arguments, by which it may use a provider that wants no sign-in: then
    /// nothing is known.
    pub other: Option<(&'static str, &'static [&'static str])>,
    /// What is said to the agent to be told; nothing where this version does not tell.
    pub ask: Option<&'static [&'static str]>,
    /// What a person does to sign in.
    pub cure: &'static str,
}

/// What is said to an agent to be told its version; nothing for an agent that may be anything, which could take it for its work.
pub const fn version_question(kind: HarnessKind) -> Option<&'static str> {
    match kind {
        HarnessKind::Plain | HarnessKind::JsonLines | HarnessKind::Acp => None,
        HarnessKind::Claude | HarnessKind::Codex | HarnessKind::Opencode | HarnessKind::Pi => {
            Some("--version")
        }
    }
}

/// Reads the version out of what an agent answered: `2.1.332 (Claude Code)`, `codex-cli 0.171.0`. Nothing where it said anything else.
pub fn version_in(answer: &str) -> Option<String> {
    let lines = answer.lines().take(20);
    lines.filter_map(word).next().map(str::to_owned)
}

/// The least version of an agent that can be driven. Older ones do not know what they are started with, or print other things.
pub const fn least_version(kind: HarnessKind) -> Option<&'static str> {
    match kind {
        HarnessKind::Plain | HarnessKind::JsonLines | HarnessKind::Acp => None,
        // `--setting-sources`.
        HarnessKind::Claude => Some("2.0.0"),
        // The events of `exec --json` as they are now, and `resume` with them.
        HarnessKind::Codex => Some("0.46.0"),
        HarnessKind::Opencode => Some("1.0.0"),
        // The oldest one that was looked at.
        HarnessKind::Pi => Some("0.73.0"),
    }
}

/// Says that an agent of this version is too old to be driven. One whose version cannot be understood is not.
pub fn is_too_old(kind: HarnessKind, version: &str) -> bool {
    match (least_version(kind).and_then(numbers), numbers(version)) {
        (Some(least), Some(version)) => version < least,
        (None, _) | (_, None) => false,
    }
}

/// Says where an agent of this version keeps its sign-in; nothing where that is not known.
pub fn sign_in_means(kind: HarnessKind, version: Option<&str>) -> Option<SignInMeans> {
    let means = match kind {
        HarnessKind::Plain | HarnessKind::JsonLines | HarnessKind::Acp => return None,
        HarnessKind::Claude => SignInMeans {
            home_variable: Some("CLAUDE_CONFIG_DIR"),
            dir: ".claude",
            file: ".credentials.json",
            keys: &[
                "ANTHROPIC_API_KEY",
                "ANTHROPIC_AUTH_TOKEN",
                "CLAUDE_CODE_OAUTH_TOKEN",
                "CLAUDE_CODE_USE_BEDROCK",
                "CLAUDE_CODE_USE_FOUNDRY",
                "CLAUDE_CODE_USE_VERTEX",
            ],
            other: None,
            // A version that does not know these words may take them for a prompt.
            ask: version
                .and_then(numbers)
                .filter(|version| *version >= [2, 1, 332])
                .map(|_| ["auth", "status"].as_slice()),
            cure: "claude auth login",
        },
        HarnessKind::Codex => SignInMeans {
            home_variable: Some("CODEX_HOME"),
            dir: ".codex",
            file: "auth.json",
            keys: &["CODEX_API_KEY"],
            other: Some(("config.toml", &["model_provider", "--oss"])),
            ask: Some(&["login", "status"]),
            cure: "codex login",
        },
        HarnessKind::Opencode => SignInMeans {
            home_variable: None,
            dir: ".local/share/opencode",
            file: "auth.json",
            keys: &[],
            other: None,
            ask: None,
            cure: "opencode auth login",
        },
        HarnessKind::Pi => SignInMeans {
            home_variable: Some("PI_CODING_AGENT_DIR"),
            dir: ".pi/agent",
            file: "auth.json",
            keys: &[],
            other: None,
            ask: None,
            cure: "pi, then /login",
        },
    };
    Some(means)
}

/// Reads what an agent answered when it was asked whether it is signed in, with this exit code.
pub fn sign_in_told(kind: HarnessKind, exit_code: i32, answer: &str) -> SignIn {
    match kind {
        HarnessKind::Claude => {
            let field = serde_json::from_str::<Status>(answer).ok();
            match field.map(|status| status.logged_in) {
                Some(true) => SignIn::SignedIn,
                Some(false) => SignIn::NotSignedIn,
                None => SignIn::CannotBeTold,
            }
        }
        HarnessKind::Codex => match exit_code {
            0 => SignIn::SignedIn,
            1 => SignIn::NotSignedIn,
            _ => SignIn::CannotBeTold,
        },
        HarnessKind::Plain
        | HarnessKind::JsonLines
        | HarnessKind::Opencode
        | HarnessKind::Pi
        | HarnessKind::Acp => SignIn::CannotBeTold,
    }
}

/// What `claude auth status` prints.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    logged_in: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_found_in_what_an_agent_answers_and_nowhere_else() {
        let table = [
            ("2.1.332 (Claude Code)\n", Some("2.1.332")),
            ("codex-cli 0.171.0", Some("0.171.0")),
            ("v1.6.0", Some("1.6.0")),
            (
                "WARNING: no such thing\ncodex-cli 0.171.0-alpha.3",
                Some("0.171.0-alpha.3"),
            ),
            ("", None),
            ("Usage: agent [OPTIONS]", None),
            ("at 12:30 it was 7 o'clock", None),
            ("\u{1b}[31m1.2.3\u{1b}[0m", None),
            ("1.2.3\u{1b}]0;x\u{7}", None),
        ];
        for (answer, version) in table {
            assert_eq!(version_in(answer).as_deref(), version, "{answer:?}");
        }
    }

    #[test]
    fn an_agent_is_too_old_only_where_that_is_known() {
        let table = [
            (HarnessKind::Claude, "1.0.128", true),
            (HarnessKind::Claude, "2.1.197", false),
            (HarnessKind::Codex, "0.9.3", true),
            (HarnessKind::Codex, "0.171.0", false),
            (HarnessKind::Opencode, "0.15.2", true),
            (HarnessKind::Pi, "0.73.1", false),
            (HarnessKind::Pi, "odd", false),
            (HarnessKind::Acp, "0.0.1", false),
            (HarnessKind::Plain, "0.0.1", false),
        ];
        for (kind, version, too_old) in table {
            assert_eq!(is_too_old(kind, version), too_old, "{kind} {version}");
        }
    }

    #[test]
    fn a_version_that_may_take_a_question_for_a_prompt_is_not_asked() {
        let ask = |version| sign_in_means(HarnessKind::Claude, version).and_then(|means| means.ask);
        assert_eq!(ask(None), None);
        assert_eq!(ask(Some("2.1.197")), None);
        assert!(ask(Some("2.1.332")).is_some());
    }

    #[test]
    fn what_an_agent_says_of_its_sign_in_is_understood_or_told_by_nobody() {
        use SignIn::{CannotBeTold, NotSignedIn, SignedIn};
        let table = [
            (
                HarnessKind::Claude,
                0,
                "{\"loggedIn\": true, \"authMethod\": \"api_key\"}",
                SignedIn,
            ),
            (HarnessKind::Claude, 1, "{\"loggedIn\": false}", NotSignedIn),
            (HarnessKind::Claude, 0, "Hello! How can I help?", CannotBeTold),
            (HarnessKind::Codex, 0, "", SignedIn),
            (HarnessKind::Codex, 1, "", NotSignedIn),
            (
                HarnessKind::Codex,
                2,
                "error: unrecognized subcommand",
                CannotBeTold,
            ),
            (HarnessKind::Pi, 0, "", CannotBeTold),
        ];
        for (kind, code, answer, told) in table {
            assert_eq!(sign_in_told(kind, code, answer), told, "{kind} {code} {answer}");
        }
    }
}
