//! The configuration file of this machine: agents and persons. It never leaves the machine, so it may hold local paths.

mod agents;
mod budget;
mod edit;
mod exposed;
mod place;
mod reread;
mod unpriced;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cs_daemon::AgentSetup;
use cs_harness::AgentConfig;
use cs_model::{AgentName, Person};
use cs_supervise::Containment;
use serde::Deserialize;

use agents::Agent;
pub(crate) use agents::{May, Own, Word, no_shut_out};
use budget::Budgets;
pub(crate) use edit::{NewAgent, add_agent, default_agent, permit_agent, remove_agent};
use place::explain;
pub(crate) use reread::RereadAgents;

use crate::disk;
use crate::env::Env;
use crate::failure::Failure;

/// What helps where there is no agent, or none of that name.
pub(crate) const ADD_AN_AGENT: &str =
    "add one, such as with `cs-panel agent add claude --harness claude -- claude`";

/// How many agents may run at once, when the file does not say it.
const DEFAULT_SLOTS: u32 = 2;
/// More agents than this at once are taken for a slip of the finger.
const SLOTS_MAX: u32 = 256;

/// What the configuration file says. A file that is not there says nothing.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// The file.
    pub(crate) path: PathBuf,
    /// Who writes, answers and accepts here.
    pub(crate) person: Option<Person>,
    /// The agent of a card that names none.
    pub(crate) default_agent: Option<AgentName>,
    /// How many agents may run at once on this machine.
    pub(crate) slots: u32,
    /// Whose cards this machine takes.
    pub(crate) serve: Serve,
    /// Variables of the environment that agents get beside the usual ones, such as keys of providers.
    pub(crate) pass_env: Vec<String>,
    /// Where the values of secrets go; nothing leaves it to what works.
    pub(crate) secrets: Option<SecretsIn>,
    /// The agents, by name.
    pub(crate) agents: BTreeMap<AgentName, AgentSetup>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    person: Option<Text<Person>>,
    default_agent: Option<Text<AgentName>>,
    slots: Option<Slots>,
    #[serde(default)]
    serve: Serve,
    #[serde(default)]
    pass_env: Vec<String>,
    secrets: Option<SecretsIn>,
    #[serde(default)]
    containment: Means,
    #[serde(default)]
    limits: Budgets,
    #[serde(default)]
    agents: BTreeMap<Text<AgentName>, Agent>,
}

/// Whose cards this machine takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Serve {
    /// Those of its person; all of a record that is a file of this machine.
    #[default]
    Own,
    /// Those of everybody.
    Everyone,
}

/// Where the values of secrets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SecretsIn {
    /// Into the keyring of this system.
    Keyring,
    /// Into a file of the state directory.
    File,
}

/// How the processes of an agent are held together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Means {
    /// By the best means that take nothing away from the agent: a control group where one can be made, and the shim.
    #[default]
    Best,
    /// In a PID namespace of its own, or not at all.
    Namespace,
}

impl From<Means> for Containment {
    fn from(means: Means) -> Self {
        match means {
            Means::Best => Self::Best,
            Means::Namespace => Self::Namespace,
        }
    }
}

/// A value that is written as text and checked where it stands, so that an error points at it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Text<T>(T);

impl<'de, T> Deserialize<'de> for Text<T>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "u32")]
struct Slots(u32);

impl TryFrom<u32> for Slots {
    type Error = String;
    fn try_from(slots: u32) -> Result<Self, String> {
        if (1..=SLOTS_MAX).contains(&slots) {
            return Ok(Self(slots));
        }
        Err(format!(
            "`{slots}` cannot be a number of slots, expected 1 to {SLOTS_MAX}"
        ))
    }
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "Vec<String>")]
struct Argv(Vec<String>);

impl TryFrom<Vec<String>> for Argv {
    type Error = String;
    fn try_from(argv: Vec<String>) -> Result<Self, String> {
        if argv.first().is_none_or(String::is_empty) {
            return Err(
                "the command is empty, expected a list such as [\"program\", \"argument\"]".to_owned(),
            );
        }
        Ok(Self(argv))
    }
}

impl Config {
    /// Returns where the file is, as the flag or the directories of the user say.
    pub(crate) fn path(env: &Env, given: Option<&Path>) -> PathBuf {
        match given {
            Some(path) => env.absolute(path),
            None => env.config_home.join("cs-panel/config.toml"),
        }
    }

    /// Reads the file.
    ///
    /// # Errors
    /// It is broken (file, line, column and what was expected), or a file that was named is not there.
    pub(crate) fn read(env: &Env, given: Option<&Path>) -> Result<Self, Failure> {
        let path = Self::path(env, given);
        match disk::read_if_there(&path)? {
            Some(bytes) => Self::parse(path, bytes),
            None if given.is_some() => Err(Failure::Usage(format!(
                "there is no configuration file {}; make it, or leave out --config",
                path.display()
            ))),
            None => Self::parse(path, Vec::new()),
        }
    }

    /// What holds where the file says nothing.
    pub(crate) fn defaults(env: &Env, given: Option<&Path>) -> Self {
        Self {
            path: Self::path(env, given),
            person: None,
            default_agent: None,
            slots: DEFAULT_SLOTS,
            serve: Serve::default(),
            pass_env: Vec::new(),
            secrets: None,
            agents: BTreeMap::new(),
        }
    }

    fn parse(path: PathBuf, bytes: Vec<u8>) -> Result<Self, Failure> {
        let text = String::from_utf8(bytes).map_err(|_| {
            Failure::Usage(format!(
                "{}: this is no UTF-8 text, expected TOML",
                path.display()
            ))
        })?;
        let file: File = toml_edit::de::from_str(&text).map_err(|error| explain(&path, &text, &error))?;
        let (usual, means) = (file.limits, file.containment);
        let agents = file.agents.into_iter().map(|(Text(name), agent)| {
            let config = AgentConfig::new(name.as_str(), agent.argv, agent.kind)
                .map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
            let limits = agent.limits.over(usual);
            let setup = AgentSetup {
                config,
                limits: limits.limits(),
                bounds: limits.bounds(agent.kind),
                containment: agent.containment.unwrap_or(means).into(),
                choices: agent.choices,
            };
            Ok((name, setup))
        });
        Ok(Self {
            person: file.person.map(|Text(person)| person),
            default_agent: file.default_agent.map(|Text(name)| name),
            slots: file.slots.map_or(DEFAULT_SLOTS, |Slots(slots)| slots),
            pass_env: file.pass_env,
            secrets: file.secrets,
            serve: file.serve,
            agents: agents.collect::<Result<_, Failure>>()?,
            path,
        })
    }

    /// Chooses the agent of a new card: the one that was named, else the default, else the only one.
    ///
    /// # Errors
    /// None fits; the text lists them and shows how to add one.
    pub(crate) fn choose_agent(&self, named: Option<&AgentName>) -> Result<AgentName, Failure> {
        let wanted = named.or(self.default_agent.as_ref());
        if let Some(name) = wanted {
            if self.agents.contains_key(name) {
                return Ok(name.clone());
            }
            return Err(Failure::Usage(format!(
                "there is no agent `{name}` {}",
                self.agents_and_cure()
            )));
        }
        let mut names = self.agents.keys();
        match (names.next(), names.next()) {
            (Some(only), None) => Ok(only.clone()),
            (None, _) => Err(Failure::Usage(format!(
                "no agent is configured {}",
                self.agents_and_cure()
            ))),
            (Some(_), Some(_)) => {
                let list = self.agent_list();
                Err(Failure::Usage(format!(
                    "several agents are configured ({list}); name one with --agent, or say which is the default with `cs-panel agent \
                     default NAME`"
                )))
            }
        }
    }

    fn agents_and_cure(&self) -> String {
        let path = self.path.display();
        if self.agents.is_empty() {
            return format!("in {path}; {ADD_AN_AGENT}");
        }
        format!(
            "in {path}, expected one of: {}; {ADD_AN_AGENT}",
            self.agent_list()
        )
    }

    fn agent_list(&self) -> String {
        let names: Vec<&str> = self.agents.keys().map(AgentName::as_str).collect();
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use cs_daemon::AgentChoices;
    use cs_harness::{HarnessKind, OwnSettings, Permissions};

    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        let parsed = Config::parse(PathBuf::from("c.toml"), text.as_bytes().to_vec());
        parsed.map_err(|failure| failure.text().unwrap_or_default())
    }

    #[test]
    fn a_whole_file_is_read() {
        let text = "person = \"Ada\"\ndefault_agent = \"b\"\nslots = 3\n[agents.a]\ncommand = [\"cat\"]\n\
                    [agents.b]\ncommand = [\"x\", \"y z\"]\nharness = \"json-lines\"\n";
        let config = parse(text).expect("it is right");
        assert_eq!(config.person.as_ref().map(Person::as_str), Some("Ada"));
        assert_eq!(config.slots, 3);
        assert_eq!(config.choose_agent(None).expect("the default").as_str(), "b");
        let b = &config.agents[&"b".parse::<AgentName>().expect("a name")].config;
        assert_eq!(
            (b.argv(), b.kind()),
            (&["x".to_owned(), "y z".to_owned()][..], HarnessKind::JsonLines)
        );
    }

    #[test]
    fn an_agent_with_a_program_of_its_own_needs_no_command() {
        let text = "[agents.c]\nharness = \"claude\"\nmodel = \"opus\"\neffort = \"high\"\npermissions = \"edit\"\n\
                    settings = \"shut-out\"\nenv = { A_B = \"c d\" }\n";
        let config = parse(text).expect("it is right");
        let name: AgentName = "c".parse().expect("a name");
        let agent = &config.agents[&name].config;
        assert_eq!(
            (agent.argv(), agent.kind()),
            (&["claude".to_owned()][..], HarnessKind::Claude)
        );
        let choices = &config.agents[&name].choices;
        assert_eq!(choices.model.as_deref(), Some("opus"));
        assert_eq!(choices.effort.as_deref(), Some("high"));
        assert_eq!(choices.permissions, Some(Permissions::Edit));
        assert_eq!(choices.settings, OwnSettings::ShutOut);
        assert_eq!(choices.env["A_B"], "c d");
        let plain = parse("[agents.c]\ncommand = [\"cat\"]\n").expect("it is right");
        assert_eq!(plain.agents[&name].choices, AgentChoices::default());
    }

    #[test]
    fn an_error_names_file_line_column_and_what_was_expected() {
        let cases = [
            (
                "slots = 0\n",
                "c.toml:1:9: `0` cannot be a number of slots, expected 1 to 256",
            ),
            ("slots 1\n", "c.toml:1:"),
            (
                "\n  agent = 1\n",
                "c.toml:2:3: unknown field `agent`, expected one of",
            ),
            ("[agents.x]\ncommand = []\n", "c.toml:2:11: the command is empty"),
            (
                "[agents.x]\nharness = \"plain\"\n",
                "c.toml:1:1: missing field `command`",
            ),
            (
                "[agents.x]\ncommand = [\"a\"]\nharness = \"json\"\n",
                "c.toml:3:11: \"json\" is no harness",
            ),
            (
                "[agents.x]\nharness = \"claude\"\nmodel = \"--bad\"\n",
                "c.toml:3:9: `--bad` is no name of a model or an effort",
            ),
            (
                "[agents.x]\nharness = \"claude\"\npermissions = \"all\"\n",
                "c.toml:3:15: unknown variant `all`, expected `edit` or `full`",
            ),
            (
                "[agents.x]\nharness = \"claude\"\nenv = { CS_PANEL_RUN = \"x\" }\n",
                "c.toml:3:7: `CS_PANEL_RUN` is set by cs-panel itself",
            ),
            (
                "[agents.x]\nharness = \"claude\"\nenv = 1\n",
                "c.toml:3:7: `env`: invalid type: integer `1`, expected a table",
            ),
            (
                "[agents.x]\nharness = \"acp\"\ncommand = [\"gemini\", \"--acp\"]\nsettings = \"shut-out\"\n",
                "c.toml:1:1: `settings = \"shut-out\"` does not fit: there is no way",
            ),
            (
                "[agents.x]\nharness = \"json-lines\"\ncommand = [\"a\"]\npermissions = \"edit\"\n",
                "c.toml:1:1: `permissions = \"edit\"` does not fit: the agent's command cannot be held to that, so say \"full\"",
            ),
            (
                "[agents.Big]\ncommand = [\"a\"]\n",
                "c.toml:1:9: `Big` cannot be a name of an agent",
            ),
            (
                "[agents.x]\ncommand = \"cat\"\n",
                "c.toml:2:11: `command`: invalid type: string \"cat\", expected a list such as [\"program\"",
            ),
            (
                "slots = \"two\"\n",
                "c.toml:1:9: `slots`: invalid type: string \"two\", expected a whole number from 1 to 256",
            ),
            (
                "slots = -1\n",
                "c.toml:1:9: `slots`: invalid value: integer `-1`, expected a whole number from 1 to 256",
            ),
            (
                "limits.wall = 24\n",
                "c.toml:1:15: `wall`: invalid type: integer `24`, expected a time in quotes such as \"24h\"",
            ),
        ];
        for (text, expected) in cases {
            let error = parse(text).expect_err(text);
            assert!(
                error.starts_with(expected),
                "{text:?}\n  gave  {error}\n  not   {expected}"
            );
        }
    }

    #[test]
    fn without_a_choice_the_only_agent_is_taken() {
        let one = parse("[agents.a]\ncommand = [\"cat\"]\n").expect("it is right");
        assert_eq!(one.choose_agent(None).expect("the only one").as_str(), "a");
        let two =
            parse("[agents.a]\ncommand = [\"cat\"]\n[agents.b]\ncommand = [\"cat\"]\n").expect("it is right");
        let error = two.choose_agent(None).expect_err("two");
        let said = error.text().unwrap_or_default();
        assert!(
            said.contains("a, b") && said.contains("cs-panel agent default NAME"),
            "{said}"
        );
        let none = parse("")
            .expect("it is right")
            .choose_agent(None)
            .expect_err("none");
        assert!(
            none.text().unwrap_or_default().contains("cs-panel agent add"),
            "{none:?}"
        );
    }
}
