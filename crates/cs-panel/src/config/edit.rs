//! Changes the configuration file and keeps what people wrote in it: comments, order, blanks.

use std::fs;
use std::path::Path;

use cs_daemon::AgentChoices;
use cs_harness::{AgentConfig, OwnSettings, Permissions};
use cs_model::AgentName;
use toml_edit::{Array, DocumentMut, Item, Table, Value, value};

use super::Config;
use crate::disk;
use crate::env::Env;
use crate::failure::Failure;

/// An agent that is to be added.
#[derive(Debug)]
pub(crate) struct NewAgent {
    /// Its name, its command and how it is talked to.
    pub(crate) agent: AgentConfig,
    /// What was chosen for it.
    pub(crate) choices: AgentChoices,
}

/// Adds an agent to the file, which is made if it is not there.
///
/// # Errors
/// The file is broken, has an agent of this name already, or cannot be written; it is then untouched.
pub(crate) fn add_agent(env: &Env, given: Option<&Path>, new: &NewAgent) -> Result<Config, Failure> {
    change(env, given, |present, text| {
        let name = new.agent.name();
        if present.agents.keys().any(|known| known.as_str() == name) {
            return Err(Failure::Usage(format!(
                "there is an agent `{name}` already in {}; choose another name, or change it there",
                present.path.display()
            )));
        }
        with_agent(text, new).map_err(|error| unchanged(&present.path, error))
    })
}

/// Takes an agent out of the file; where it is the default there is none afterwards.
///
/// # Errors
/// The file is broken, has no such agent, or cannot be written; it is then untouched.
pub(crate) fn remove_agent(env: &Env, given: Option<&Path>, name: &AgentName) -> Result<Config, Failure> {
    change(env, given, |present, text| {
        present.choose_agent(Some(name))?;
        let is_default = present.default_agent.as_ref() == Some(name);
        without_agent(text, name.as_str(), is_default).map_err(|error| unchanged(&present.path, error))
    })
}

/// Makes an agent the default in the file.
///
/// # Errors
/// The file is broken, has no such agent, or cannot be written; it is then untouched.
pub(crate) fn default_agent(env: &Env, given: Option<&Path>, name: &AgentName) -> Result<Config, Failure> {
    change(env, given, |present, text| {
        present.choose_agent(Some(name))?;
        with_default(text, name.as_str()).map_err(|error| unchanged(&present.path, error))
    })
}

/// Says in the file what an agent may do.
///
/// # Errors
/// The file is broken, has no such agent, or cannot be written; it is then untouched.
pub(crate) fn permit_agent(
    env: &Env,
    given: Option<&Path>,
    (name, may): (&AgentName, Permissions),
) -> Result<Config, Failure> {
    change(env, given, |present, text| {
        present.choose_agent(Some(name))?;
        permitted(text, name.as_str(), may).map_err(|error| unchanged(&present.path, error))
    })
}

/// Reads the file, changes its text and writes it, under a lock against other commands.
fn change(
    env: &Env,
    given: Option<&Path>,
    make: impl FnOnce(&Config, &str) -> Result<String, Failure>,
) -> Result<Config, Failure> {
    let path = Config::path(env, given);
    let dir = path.parent().unwrap_or(&path);
    fs::create_dir_all(dir)
        .map_err(|error| Failure::failed(error, format!("{} cannot be made", dir.display())))?;
    let _lock = disk::lock_dir(dir)?;
    let bytes = disk::read_if_there(&path)?.unwrap_or_default();
    let present = Config::parse(path.clone(), bytes.clone())?;
    let text = make(&present, &String::from_utf8_lossy(&bytes))?;
    let changed = Config::parse(path.clone(), text.clone().into_bytes())?;
    disk::replace(&path, text.as_bytes())?;
    Ok(changed)
}

fn unchanged(path: &Path, error: toml_edit::TomlError) -> Failure {
    Failure::failed(error, format!("{} cannot be changed", path.display()))
}

fn without_agent(text: &str, name: &str, is_default: bool) -> Result<String, toml_edit::TomlError> {
    let mut document: DocumentMut = text.parse()?;
    if let Some(agents) = document.get_mut("agents").and_then(Item::as_table_like_mut) {
        agents.remove(name);
    }
    if is_default {
        document.remove("default_agent");
    }
    Ok(document.to_string())
}

fn with_default(text: &str, name: &str) -> Result<String, toml_edit::TomlError> {
    let mut document: DocumentMut = text.parse()?;
    document["default_agent"] = value(name);
    Ok(document.to_string())
}

fn permitted(text: &str, name: &str, may: Permissions) -> Result<String, toml_edit::TomlError> {
    let mut document: DocumentMut = text.parse()?;
    let agents = document.get_mut("agents").and_then(Item::as_table_like_mut);
    let agent = agents
        .and_then(|agents| agents.get_mut(name))
        .and_then(Item::as_table_like_mut);
    if let Some(agent) = agent {
        agent.insert("permissions", value(may.as_str()));
    }
    Ok(document.to_string())
}

fn with_agent(text: &str, new: &NewAgent) -> Result<String, toml_edit::TomlError> {
    let mut document: DocumentMut = text.parse()?;
    let agents = document.entry("agents").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let agent = &new.agent;
    let entry = entry(new);
    if let Some(inline) = agents.as_inline_table_mut() {
        inline.insert(agent.name(), Value::InlineTable(entry.into_inline_table()));
    } else if let Some(table) = agents.as_table_mut() {
        table.insert(agent.name(), Item::Table(entry));
    }
    Ok(document.to_string())
}

/// The table of an agent: what is usual is left out.
fn entry(NewAgent { agent, choices }: &NewAgent) -> Table {
    let mut entry = Table::new();
    let is_usual = matches!(agent.argv(), [program] if Some(program.as_str()) == agent.kind().program());
    if !is_usual {
        let command: Array = agent.argv().iter().map(String::as_str).collect();
        entry.insert("command", value(command));
    }
    entry.insert("harness", value(agent.kind().as_str()));
    let words = [
        ("model", choices.model.as_deref()),
        ("effort", choices.effort.as_deref()),
        ("permissions", choices.permissions.map(Permissions::as_str)),
        (
            "settings",
            (choices.settings != OwnSettings::default()).then(|| choices.settings.as_str()),
        ),
    ];
    for (key, word) in words {
        if let Some(word) = word {
            entry.insert(key, value(word));
        }
    }
    entry
}

#[cfg(test)]
mod tests {
    use cs_harness::HarnessKind;

    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str) {
        let argv = vec!["cat".to_owned(), "a \"b\"".to_owned()];
        let agent = AgentConfig::new("x", argv, HarnessKind::Plain).expect("it is right");
        let new = NewAgent {
            agent,
            choices: AgentChoices::default(),
        };
        let changed = with_agent(before, &new).expect("it is TOML");
        assert_eq!(changed, after);
        assert!(Config::parse("c.toml".into(), changed.into_bytes()).is_ok());
    }

    const NEW: &str = "[agents.x]\ncommand = [\"cat\", 'a \"b\"']\nharness = \"plain\"\n";

    #[test]
    fn comments_and_order_stay() {
        check("", NEW);
        check(
            "# mine\nslots = 1 # few\n",
            &format!("# mine\nslots = 1 # few\n\n{NEW}"),
        );
        let other = "[agents.y] # other\ncommand = [\"z\"]\n";
        check(other, &format!("{other}\n{NEW}"));
    }

    #[test]
    fn what_is_usual_is_left_out_and_what_was_chosen_is_written() {
        let agent =
            AgentConfig::new("c", vec!["claude".to_owned()], HarnessKind::Claude).expect("it is right");
        let choices = AgentChoices {
            model: Some("opus".to_owned()),
            permissions: Some(Permissions::Edit),
            settings: OwnSettings::ShutOut,
            ..AgentChoices::default()
        };
        let written = with_agent("", &NewAgent { agent, choices }).expect("it is TOML");
        assert_eq!(
            written,
            "[agents.c]\nharness = \"claude\"\nmodel = \"opus\"\npermissions = \"edit\"\nsettings = \"shut-out\"\n"
        );
        assert!(Config::parse("c.toml".into(), written.into_bytes()).is_ok());
    }

    #[test]
    fn what_an_agent_may_do_is_written_to_its_table_and_the_rest_stays() {
        let before =
            "# mine\n[agents.c] # other\nharness = \"claude\" # real\n\n[agents.d]\ncommand = [\"cat\"]\n";
        let after = permitted(before, "c", Permissions::Full).expect("it is TOML");
        let expected = before.replace("# real\n", "# real\npermissions = \"full\"\n");
        assert_eq!(after, expected);
        let inline = permitted(
            "agents = { c = { harness = \"claude\" } }\n",
            "c",
            Permissions::Edit,
        );
        assert_eq!(
            inline.expect("it is TOML"),
            "agents = { c = { harness = \"claude\" , permissions = \"edit\" } }\n"
        );
    }

    #[test]
    fn an_agent_is_taken_out_and_the_rest_stays() {
        let without = |text: &str, is_default| without_agent(text, "x", is_default).expect("it is TOML");
        let other = "slots = 1 # few\n\n[agents.y] # other\ncommand = [\"z\"]\n";
        assert_eq!(without(&format!("{other}\n{NEW}"), false), other);
        let default = format!("default_agent = \"x\"\n{other}\n{NEW}");
        assert_eq!(without(&default, true), other);
        assert_eq!(
            without(
                "agents = { y = { command = [\"z\"] }, x = { command = [\"cat\"] } }\n",
                false
            ),
            "agents = { y = { command = [\"z\"] }}\n"
        );
    }

    #[test]
    fn the_default_agent_is_named_once_and_the_rest_stays() {
        let made = |text: &str| with_default(text, "x").expect("it is TOML");
        assert_eq!(
            made("default_agent = \"y\"\nslots = 1 # few\n"),
            "default_agent = \"x\"\nslots = 1 # few\n"
        );
        let added = made(&format!("# mine\n{NEW}"));
        let read = Config::parse("c.toml".into(), added.clone().into_bytes()).expect("it is right");
        assert_eq!(
            read.default_agent.as_ref().map(AgentName::as_str),
            Some("x"),
            "{added}"
        );
        assert!(added.contains("# mine\n") && added.ends_with(NEW), "{added}");
    }

    #[test]
    fn an_inline_table_takes_the_agent_too() {
        check(
            "agents = { y = { command = [\"z\"] } }\n",
            "agents = { y = { command = [\"z\"] } , x = { command = [\"cat\", 'a \"b\"'], harness = \"plain\" } }\n",
        );
    }
}
