use crate::HarnessKind;

/// One agent that a person has configured: a name, a command line and how to talk to it.
///
/// ```
/// use cs_harness::{AgentConfig, HarnessKind};
///
/// let agent = AgentConfig::from_command_line("mine", "./agent --name 'my own'", HarnessKind::JsonLines)?;
/// assert_eq!(agent.argv(), ["./agent", "--name", "my own"]);
/// # Ok::<(), cs_harness::AgentConfigError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentConfig {
    name: String,
    argv: Vec<String>,
    kind: HarnessKind,
}

/// Why an agent's configuration was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentConfigError {
    /// The name is empty, longer than 64 bytes, or holds something else than letters, digits, `-`, `_` and `.`.
    #[error(
        "{name:?} is not a name for an agent: use 1 to 64 of the characters a-z, A-Z, 0-9, `-`, `_`, `.`"
    )]
    Name {
        /// The name as it was given.
        name: String,
    },
    /// The command line has no program.
    #[error("the command of agent `{name}` is empty: give a program and its arguments")]
    EmptyCommand {
        /// The agent's name.
        name: String,
    },
    /// An argument holds a NUL byte, which no program can be given.
    #[error("argument {index} of agent `{name}` holds a NUL byte")]
    NulByte {
        /// The agent's name.
        name: String,
        /// Which argument, counted from 0 (the program).
        index: usize,
    },
    /// The command line ends inside a quotation.
    #[error("the command of agent `{name}` ends inside a quotation: close the quote")]
    OpenQuote {
        /// The agent's name.
        name: String,
    },
}

impl AgentConfig {
    /// Checks and keeps an agent's configuration. Whether the program exists is seen when it is started.
    ///
    /// # Errors
    /// [`AgentConfigError::Name`], [`AgentConfigError::EmptyCommand`], [`AgentConfigError::NulByte`].
    pub fn new(name: &str, argv: Vec<String>, kind: HarnessKind) -> Result<Self, AgentConfigError> {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if name.is_empty() || name.len() > 64 || !name.bytes().all(legal) {
            return Err(AgentConfigError::Name {
                name: name.to_owned(),
            });
        }
        if argv.first().is_none_or(String::is_empty) {
            return Err(AgentConfigError::EmptyCommand {
                name: name.to_owned(),
            });
        }
        if let Some(index) = argv.iter().position(|argument| argument.contains('\0')) {
            return Err(AgentConfigError::NulByte {
                name: name.to_owned(),
                index,
            });
        }
        Ok(Self {
            name: name.to_owned(),
            argv,
            kind,
        })
    }

    /// Splits a command line as a shell would (quotes and backslashes; nothing is expanded), then checks as [`Self::new`].
    ///
    /// # Errors
    /// Those of [`Self::new`], and [`AgentConfigError::OpenQuote`].
    pub fn from_command_line(name: &str, line: &str, kind: HarnessKind) -> Result<Self, AgentConfigError> {
        let argv = shell_words::split(line).map_err(|_| AgentConfigError::OpenQuote {
            name: name.to_owned(),
        })?;
        Self::new(name, argv, kind)
    }

    /// The name that people use for this agent.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The program and its arguments; never empty.
    pub fn argv(&self) -> &[String] {
        &self.argv
    }

    /// How to talk to the program.
    pub fn kind(&self) -> HarnessKind {
        self.kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_split_as_a_shell_would() {
        let agent =
            AgentConfig::from_command_line("a", r#"sh -c 'echo "hi there"' x\ y"#, HarnessKind::Plain);
        assert_eq!(agent.unwrap().argv(), ["sh", "-c", "echo \"hi there\"", "x y"]);
    }

    #[test]
    fn bad_configurations_are_refused_with_their_reason() {
        let new = |name: &str, argv: &[&str]| {
            AgentConfig::new(
                name,
                argv.iter().map(|a| (*a).to_owned()).collect(),
                HarnessKind::Plain,
            )
        };
        assert!(matches!(new("", &["x"]), Err(AgentConfigError::Name { .. })));
        assert!(matches!(new("a/b", &["x"]), Err(AgentConfigError::Name { .. })));
        assert!(matches!(
            new(&"a".repeat(65), &["x"]),
            Err(AgentConfigError::Name { .. })
        ));
        assert!(matches!(
            new("a", &[]),
            Err(AgentConfigError::EmptyCommand { .. })
        ));
        assert!(matches!(
            new("a", &[""]),
            Err(AgentConfigError::EmptyCommand { .. })
        ));
        assert!(matches!(
            new("a", &["x", "y\0"]),
            Err(AgentConfigError::NulByte { index: 1, .. })
        ));
        let open = AgentConfig::from_command_line("a", "sh -c 'x", HarnessKind::Plain);
        assert!(matches!(open, Err(AgentConfigError::OpenQuote { .. })));
    }
}
