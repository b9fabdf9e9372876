//! Changes the configuration file and keeps what people wrote in it: comments, order, blanks.

use std::fs;
use std::path::Path;

use cs_harness::AgentConfig;
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
    let path = Config::path(env, given);
    let dir = path.parent().unwrap_or(&path);
    fs::create_dir_all(dir)
        .map_err(|error| Failure::failed(error, format!("{} cannot be made", dir.display())))?;
    let _lock = disk::lock_dir(dir)?;
    let bytes = disk::read_if_there(&path)?.unwrap_or_default();
    let present = Config::parse(path.clone(), bytes.clone())?;
    if present.agents.keys().any(|name| name.as_str() == agent.name()) {
        let name = agent.name();
        return Err(Failure::Usage(format!(
            "there is an agent `{name}` already in {}; choose another name, or change it there",
            path.display()
        )));
    }
    let text = with_agent(&String::from_utf8_lossy(&bytes), agent)
        .map_err(|error| Failure::failed(error, format!("{} cannot be changed", path.display())))?;
    let changed = Config::parse(path.clone(), text.clone().into_bytes())?;
    disk::replace(&path, text.as_bytes())?;
    Ok(changed)
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
    entry.insert("mode", value(agent.mode().as_str()));
    if let Some(inline) = agents.as_inline_table_mut() {
        inline.insert(agent.name(), Value::InlineTable(entry.into_inline_table()));
    } else if let Some(table) = agents.as_table_mut() {
        table.insert(agent.name(), Item::Table(entry));
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use cs_harness::CommandMode;

    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str) {
        let argv = vec!["cat".to_owned(), "a \"b\"".to_owned()];
        let agent = AgentConfig::new("x", argv, CommandMode::Plain).expect("it is right");
        let changed = with_agent(before, &agent).expect("it is TOML");
        assert_eq!(changed, after);
        assert!(Config::parse("c.toml".into(), changed.into_bytes()).is_ok());
    }

    const NEW: &str = "[agents.x]\ncommand = [\"cat\", 'a \"b\"']\nmode = \"plain\"\n";

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
    fn an_inline_table_takes_the_agent_too() {
        check(
            "agents = { y = { command = [\"z\"] } }\n",
            "agents = { y = { command = [\"z\"] } , x = { command = [\"cat\", 'a \"b\"'], mode = \"plain\" } }\n",
        );
    }
}
