//! One agent, as the configuration file says it.

use std::collections::BTreeMap;

use cs_daemon::{AgentChoices, ToolsBy};
use cs_harness::{HarnessKind, OwnSettings, Permissions};
use serde::Deserialize;

use super::budget::Budgets;
use super::{Argv, Means, Text};

/// The longest name of a model or an effort.
const WORD_MAX_BYTES: usize = 200;

/// The table of an agent.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Keys")]
pub(super) struct Agent {
    pub(super) argv: Vec<String>,
    pub(super) kind: HarnessKind,
    pub(super) choices: AgentChoices,
    pub(super) containment: Option<Means>,
    pub(super) limits: Budgets,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    command: Option<Argv>,
    harness: Option<Text<HarnessKind>>,
    model: Option<Word>,
    effort: Option<Word>,
    permissions: Option<May>,
    #[serde(default)]
    settings: Own,
    #[serde(default)]
    tools: By,
    #[serde(default)]
    env: Variables,
    containment: Option<Means>,
    #[serde(default)]
    limits: Budgets,
}

impl TryFrom<Keys> for Agent {
    type Error = String;
    fn try_from(keys: Keys) -> Result<Self, String> {
        let kind = keys.harness.map_or(HarnessKind::Plain, |Text(kind)| kind);
        let argv = match (keys.command, kind.program()) {
            (Some(Argv(argv)), _) => argv,
            (None, Some(program)) => vec![program.to_owned()],
            (None, None) => {
                return Err(format!(
                    "missing field `command`: the harness `{kind}` drives any program, so say which, such as [\"program\", \"argument\"]"
                ));
            }
        };
        if let Some(may) = keys.permissions.filter(|may| !kind.knows((*may).into())) {
            let may = Permissions::from(may).as_str();
            return Err(format!(
                "`permissions = \"{may}\"` does not fit: {} cannot be held to that, so say \"full\"",
                kind.label()
            ));
        }
        if keys.settings == Own::ShutOut && !kind.shuts_out() {
            return Err(no_shut_out(kind));
        }
        if keys.tools == By::Http && !kind.takes_tools_over_http() {
            return Err(format!(
                "`tools = \"http\"` does not fit: an agent with the harness `{kind}` cannot be given its tools that way, so say \"stdio\" or \
                 leave it out"
            ));
        }
        Ok(Self {
            argv,
            kind,
            choices: AgentChoices {
                model: keys.model.map(|Word(word)| word),
                effort: keys.effort.map(|Word(word)| word),
                permissions: keys.permissions.map(Permissions::from),
                settings: keys.settings.into(),
                tools: keys.tools.into(),
                env: keys.env.0,
            },
            containment: keys.containment,
            limits: keys.limits,
        })
    }
}

/// Why the settings of such an agent are not shut out.
pub(crate) fn no_shut_out(kind: HarnessKind) -> String {
    format!(
        "`settings = \"shut-out\"` does not fit: there is no way to shut out the settings of an agent with the harness `{kind}`; leave it \
         out, and give the agent a configuration of its own by its command or `env`"
    )
}

/// What an agent may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum May {
    /// Change files of its tree, and run the commands that its own settings allow.
    Edit,
    /// Everything that you may do.
    Full,
}

impl From<May> for Permissions {
    fn from(may: May) -> Self {
        match may {
            May::Edit => Self::Edit,
            May::Full => Self::Full,
        }
    }
}

/// Whether the person's own settings of an agent hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Own {
    /// They hold.
    #[default]
    Use,
    /// They are shut out as far as the agent can do that.
    ShutOut,
}

impl From<Own> for OwnSettings {
    fn from(own: Own) -> Self {
        match own {
            Own::Use => Self::Use,
            Own::ShutOut => Self::ShutOut,
        }
    }
}

/// How an agent reaches the panel's tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum By {
    #[default]
    Stdio,
    Http,
    None,
}

impl From<By> for ToolsBy {
    fn from(by: By) -> Self {
        match by {
            By::Stdio => Self::Stdio,
            By::Http => Self::Http,
            By::None => Self::None,
        }
    }
}

/// The name of a model or an effort, which becomes an argument of a program.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Word(pub(crate) String);

impl TryFrom<String> for Word {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let fits = (1..=WORD_MAX_BYTES).contains(&text.len());
        if fits && !text.starts_with('-') && !text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Ok(Self(text));
        }
        Err(format!(
            "`{}` is no name of a model or an effort, expected one word of at most {WORD_MAX_BYTES} bytes that does not begin with `-`",
            text.chars().take(80).collect::<String>().escape_debug()
        ))
    }
}

impl std::str::FromStr for Word {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        text.to_owned().try_into()
    }
}

/// Variables of an environment.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>")]
struct Variables(BTreeMap<String, String>);

impl TryFrom<BTreeMap<String, String>> for Variables {
    type Error = String;
    fn try_from(variables: BTreeMap<String, String>) -> Result<Self, String> {
        for (name, value) in &variables {
            let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(legal) || name.starts_with(|c: char| c.is_ascii_digit()) {
                return Err(format!(
                    "`{}` is no name of a variable, expected letters, digits and `_`",
                    name.escape_debug()
                ));
            }
            if name.starts_with("CS_PANEL_") {
                return Err(format!(
                    "`{name}` is set by cs-panel itself; take it out of `env`"
                ));
            }
            if value.contains('\0') {
                return Err(format!(
                    "the value of `{name}` holds a NUL byte, which no program can be given"
                ));
            }
        }
        Ok(Self(variables))
    }
}
