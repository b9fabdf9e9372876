//! Keys that stand in the configuration file, where they do not belong. They are named, and never shown.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use cs_harness::names_a_secret;

use super::Config;

impl Config {
    /// Says which variables of agents look like secrets, and whether others on this machine can read them.
    pub(super) fn exposed(&self) -> Option<String> {
        let named = self.agents.iter().flat_map(|(agent, setup)| {
            let names = setup.choices.env.keys().filter(|name| names_a_secret(name));
            names.map(move |name| format!("{name} of agent {agent}"))
        });
        let named: Vec<String> = named.collect();
        if named.is_empty() {
            return None;
        }
        let (path, named) = (self.path.display(), named.join(", "));
        let instead = "name the variable in `pass_env` instead and set it where `cs-panel run` is started";
        Some(if self.is_read_by_others() {
            format!(
                "{path} can be read by others on this machine and holds what looks like a secret in `env`: {named}; take it away from \
                 them with `chmod 600 {}`, and {instead}",
                crate::text::shell_word(&self.path.to_string_lossy())
            )
        } else {
            format!("{path} holds what looks like a secret in `env`: {named}; {instead}")
        })
    }

    fn is_read_by_others(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|seen| seen.permissions().mode() & 0o044 != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_the_file_is_named_and_never_shown_and_no_other_variable_is() {
        let temp = tempfile::tempdir().expect("a directory");
        let path = temp.path().join("config.toml");
        let text = "[agents.c]\nharness = \"claude\"\nenv = { ANTHROPIC_API_KEY = \"hunter2\", MAX_TOKENS = \"5\" }\n";
        fs::write(&path, text).expect("written");
        let config = Config::parse(path.clone(), text.as_bytes().to_vec()).expect("it is right");
        let told = |mode| {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
            config.exposed()
        };
        for (mode, is_read) in [(0o644, true), (0o640, true), (0o600, false)] {
            let said = told(mode).expect("it holds a key");
            assert!(said.contains("ANTHROPIC_API_KEY of agent c;"), "{said}");
            assert!(
                !said.contains("hunter2") && !said.contains("MAX_TOKENS"),
                "{said}"
            );
            assert_eq!(said.contains("chmod 600"), is_read, "{said}");
        }
        let none = text.replace("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL");
        let config = Config::parse(path.clone(), none.into_bytes()).expect("it is right");
        assert_eq!(config.exposed(), None);
    }
}
