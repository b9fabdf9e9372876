use std::fmt;
use std::str::FromStr;

/// One agent that a person has configured: a name, a command line and how to talk to it.
///
/// ```
/// use cs_harness::{AgentConfig, CommandMode};
///
/// let agent = AgentConfig::from_command_line("mine", "./agent --name 'my own'", CommandMode::JsonLines)?;
/// assert_eq!(agent.argv(), ["./agent", "--name", "my own"]);
/// # Ok::<(), cs_harness::AgentConfigError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentConfig {
    name: String,
    argv: Vec<String>,
    mode: CommandMode,
}

/// How a command is given its prompt and how its answer is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandMode {
    /// The prompt is standard input, the answer is standard output.
    Plain,
    /// One JSON object per line, in both directions.
    JsonLines,
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
    /// The mode is not one of those that exist.
    #[error("{text:?} is not a mode: use `plain` or `json-lines`")]
    Mode {
        /// The mode as it was given.
        text: String,
    },
}

impl AgentConfig {
    /// Checks and keeps an agent's configuration. Whether the program exists is seen when it is started.
    ///
    /// # Errors
    /// [`AgentConfigError::Name`], [`AgentConfigError::EmptyCommand`], [`AgentConfigError::NulByte`].
    pub fn new(name: &str, argv: Vec<String>, mode: CommandMode) -> Result<Self, AgentConfigError> {
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
            mode,
        })
    }

    /// Splits a command line as a shell would (quotes and backslashes; nothing is expanded), then checks as [`Self::new`].
    ///
    /// # Errors
    /// Those of [`Self::new`], and [`AgentConfigError::OpenQuote`].
    pub fn from_command_line(name: &str, line: &str, mode: CommandMode) -> Result<Self, AgentConfigError> {
        let argv = shell_words::split(line).map_err(|_| AgentConfigError::OpenQuote {
            name: name.to_owned(),
        })?;
        Self::new(name, argv, mode)
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
    pub fn mode(&self) -> CommandMode {
        self.mode
    }
}

impl CommandMode {
    /// The word for this mode in the configuration file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::JsonLines => "json-lines",
        }
    }
}

impl fmt::Display for CommandMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for CommandMode {
    type Err = AgentConfigError;

    fn from_str(text: &str) -> Result<Self, AgentConfigError> {
        match text {
            "plain" => Ok(Self::Plain),
            "json-lines" => Ok(Self::JsonLines),
            other => Err(AgentConfigError::Mode {
                text: other.to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_split_as_a_shell_would() {
        let agent =
            AgentConfig::from_command_line("a", r#"sh -c 'echo "hi there"' x\ y"#, CommandMode::Plain);
        assert_eq!(agent.unwrap().argv(), ["sh", "-c", "echo \"hi there\"", "x y"]);
    }

    #[test]
    fn bad_configurations_are_refused_with_their_reason() {
        let new = |name: &str, argv: &[&str]| {
            AgentConfig::new(
                name,
                argv.iter().map(|a| (*a).to_owned()).collect(),
                CommandMode::Plain,
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
        let open = AgentConfig::from_command_line("a", "sh -c 'x", CommandMode::Plain);
        assert!(matches!(open, Err(AgentConfigError::OpenQuote { .. })));
    }

    #[test]
    fn a_mode_is_read_as_it_is_written() {
        for mode in [CommandMode::Plain, CommandMode::JsonLines] {
            assert_eq!(mode.as_str().parse(), Ok(mode));
        }
        assert!(matches!(
            "jsonl".parse::<CommandMode>(),
            Err(AgentConfigError::Mode { .. })
        ));
    }
}
