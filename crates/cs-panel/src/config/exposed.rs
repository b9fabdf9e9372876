//! Keys that stand in the configuration file, where they do not belong.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use cs_harness::names_a_secret;

use super::Config;

impl Config {
    /// Says which variables of agents look like secrets, while others on this machine can read the file.
    pub(crate) fn exposed(&self) -> Option<String> {
        let mode = fs::metadata(&self.path).ok()?.permissions().mode();
        if mode & 0o044 == 0 {
            return None;
        }
        let named = self.agents.iter().flat_map(|(agent, setup)| {
            let names = setup.choices.env.keys().filter(|name| names_a_secret(name));
            names.map(move |name| format!("{name} of agent {agent}"))
        });
        let named: Vec<String> = named.collect();
        let path = self.path.display();
        (!named.is_empty()).then(|| {
            format!(
                "{path} can be read by others on this machine and holds what looks like a secret: {}; take it away from them with \
                 `chmod 600 {}`, or name the variable in `pass_env` and set it where `cs-panel run` is started",
                named.join(", "),
                crate::text::shell_word(&self.path.to_string_lossy())
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_a_file_that_others_can_read_is_told_and_no_other_variable() {
        let temp = tempfile::tempdir().expect("a directory");
        let path = temp.path().join("config.toml");
        let text =
            "[agents.c]\nharness = \"claude\"\nenv = { ANTHROPIC_API_KEY = \"x\", MAX_TOKENS = \"5\" }\n";
        fs::write(&path, text).expect("written");
        let config = Config::parse(path.clone(), text.as_bytes().to_vec()).expect("it is right");
        let told = |mode| {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
            config.exposed()
        };
        let said = told(0o644).expect("others can read it");
        assert!(
            said.contains("ANTHROPIC_API_KEY of agent c;") && said.contains("chmod 600"),
            "{said}"
        );
        assert!(told(0o640).is_some());
        assert_eq!(told(0o600), None);
    }
}
