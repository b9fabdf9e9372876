//! Changes the configuration file and keeps what people wrote in it: comments, order, blanks.

use std::fs;
use std::path::Path;

use cs_harness::AgentConfig;
use cs_model::AgentName;
use toml_edit::{Array, DocumentMut, Item, Table, Value, value};

use super::Config;
use crate::disk;
use crate::env::Env;
use crate::failure::Failure;

/// Adds an agent to the file, which is made if it is not there.
///
/// # Errors
/// The file is broken, has an agent of this name already, or cannot be written; it is then untouched.
pub(crate) fn add_agent(env: &Env, given: Option<&Path>, agent: &AgentConfig) -> Result<Config, Failure> {
    change(env, given, |present, text| {
        let name = agent.name();
        if present.agents.keys().any(|known| known.as_str() == name) {
            return Err(Failure::Usage(format!(
                "there is an agent `{name}` already in {}; choose another name, or change it there",
                present.path.display()
            )));
        }
        with_agent(text, agent).map_err(|error| unchanged(&present.path, error))
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

fn with_agent(text: &str, agent: &AgentConfig) -> Result<String, toml_edit::TomlError> {
    let mut document: DocumentMut = text.parse()?;
    let agents = document.entry("agents").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let mut entry = Table::new();
    entry.insert(
        "command",
        value(agent.argv().iter().map(String::as_str).collect::<Array>()),
    );
    entry.insert("harness", value(agent.kind().as_str()));
    if let Some(inline) = agents.as_inline_table_mut() {
        inline.insert(agent.name(), Value::InlineTable(entry.into_inline_table()));
    } else if let Some(table) = agents.as_table_mut() {
        table.insert(agent.name(), Item::Table(entry));
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use cs_harness::HarnessKind;

    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str) {
        let argv = vec!["cat".to_owned(), "a \"b\"".to_owned()];
        let agent = AgentConfig::new("x", argv, HarnessKind::Plain).expect("it is right");
        let changed = with_agent(before, &agent).expect("it is TOML");
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
    fn an_inline_table_takes_the_agent_too() {
        check(
            "agents = { y = { command = [\"z\"] } }\n",
            "agents = { y = { command = [\"z\"] } , x = { command = [\"cat\", 'a \"b\"'], harness = \"plain\" } }\n",
        );
    }
}
