//! The folder of the demo, and the commands that it types.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cs_daemon::StateDir;
use cs_supervise::command::{self, CommandSpec, Exit, Finished};
use serde::Serialize;
use serde_json::Value;

use crate::app::App;
use crate::failure::Failure;
use crate::text;

const SETUP_SCRIPT: &str = include_str!("setup.json");
const AGENT_SCRIPT: &str = include_str!("agent.json");
/// Longer than this no command of the demo takes.
const COMMAND_LIMIT: Duration = Duration::from_secs(50);
const OUTPUT_CAP_BYTES: usize = 4 * 1024 * 1024;

/// A folder with a repository, a state directory, a configuration and a home of its own.
#[derive(Debug)]
pub(super) struct Stage<'a> {
    app: &'a App,
    dir: PathBuf,
    program: PathBuf,
}

impl<'a> Stage<'a> {
    /// Makes the folder and what the demo begins with.
    pub(super) async fn build(app: &'a App, dir: &Path) -> Result<Self, Failure> {
        super::make_folder(dir)?;
        let program = std::env::current_exe()
            .map_err(|error| Failure::failed(error, "the path of this program is not known"))?;
        let dir = fs::canonicalize(dir)
            .map_err(|error| Failure::failed(error, format!("{} cannot be resolved", dir.display())))?;
        let stage = Self { app, dir, program };
        for name in ["repo", "home"] {
            let path = stage.dir.join(name);
            fs::create_dir(&path)
                .map_err(|error| Failure::failed(error, format!("{} cannot be made", path.display())))?;
        }
        stage.write("setup.json", SETUP_SCRIPT)?;
        stage.write("agent.json", AGENT_SCRIPT)?;
        stage.write("config.toml", "person = \"you\"\n")?;
        // A machine without git gets the reason, not the trouble that follows from it.
        app.git(&StateDir::open(&stage.state())?).await?;
        let setup = stage.dir.join("setup.json");
        let made = stage
            .carry_out(vec!["__agent-script".into(), setup.into()])
            .await?;
        stage.must_succeed("the scratch repository is made", &made)?;
        stage.add_agent().await?;
        Ok(stage)
    }

    /// Configures the scripted agent, as a person would.
    async fn add_agent(&self) -> Result<(), Failure> {
        let mut args = self.flags();
        args.extend(["agent", "add", "scripted", "--json-lines", "--"].map(OsString::from));
        args.extend([
            self.program.clone().into(),
            "__agent-script".into(),
            self.dir.join("agent.json").into(),
        ]);
        let added = self.carry_out(args).await?;
        self.must_succeed("the scripted agent is configured", &added)
    }

    fn write(&self, name: &str, content: &str) -> Result<(), Failure> {
        let path = self.dir.join(name);
        fs::write(&path, content)
            .map_err(|error| Failure::failed(error, format!("{} cannot be written", path.display())))
    }

    /// The folder.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The scratch repository.
    pub(super) fn repository(&self) -> PathBuf {
        self.dir.join("repo")
    }

    /// The state directory.
    pub(super) fn state(&self) -> PathBuf {
        self.dir.join("state")
    }

    /// What the command is given.
    pub(super) fn app(&self) -> &App {
        self.app
    }

    /// The beginning of the commands with which a person looks closer.
    pub(super) fn command_line(&self) -> String {
        let (program, state) = (self.program.to_string_lossy(), self.state());
        format!(
            "{} --state-dir {}",
            text::shell_word(&program),
            text::shell_word(&state.to_string_lossy())
        )
    }

    /// Prints a line of the story; nothing when the result is asked for as JSON.
    pub(super) fn tell(&self, line: &str) -> Result<(), Failure> {
        if self.app.global.json {
            Ok(())
        } else {
            self.app.out.line(line)
        }
    }

    /// Prints the result for programs.
    pub(super) fn finish(&self, result: &impl Serialize) -> Result<(), Failure> {
        if self.app.global.json {
            self.app.out.json(result)
        } else {
            Ok(())
        }
    }

    /// Fails the demo unless a step has happened.
    pub(super) fn expect(&self, happened: bool, what: &str) -> Result<(), Failure> {
        if happened {
            return Ok(());
        }
        Err(Failure::plain(format!(
            "a step of the demo did not happen: {what}; what it made is in {}, the log in {}",
            self.dir.display(),
            self.state().join("log").display()
        )))
    }

    /// Types a command, shows it with what it prints, and returns that.
    pub(super) async fn shown(&self, words: &[&str]) -> Result<String, Failure> {
        let typed: Vec<String> = words.iter().map(|word| text::shell_word(word)).collect();
        self.tell(&format!("   $ cs-panel {}", typed.join(" ")))?;
        let finished = self.type_in(words, &[]).await?;
        let both = [finished.stdout.as_slice(), finished.stderr.as_slice()].concat();
        let both = String::from_utf8_lossy(&both).into_owned();
        self.tell(&text::indented(&both, "   | "))?;
        self.must_succeed(&format!("`cs-panel {}` succeeds", typed.join(" ")), &finished)?;
        Ok(both)
    }

    /// Types a command with `--json` and returns what it prints.
    pub(super) async fn json(&self, words: &[&str]) -> Result<Value, Failure> {
        let finished = self.type_in(words, &["--json"]).await?;
        self.must_succeed(
            &format!("`cs-panel {} --json` succeeds", words.join(" ")),
            &finished,
        )?;
        serde_json::from_slice(&finished.stdout).map_err(|error| {
            Failure::failed(
                error,
                format!("`cs-panel {} --json` printed no JSON", words.join(" ")),
            )
        })
    }

    fn flags(&self) -> Vec<OsString> {
        vec![
            "--state-dir".into(),
            self.state().into(),
            "--config".into(),
            self.dir.join("config.toml").into(),
        ]
    }

    async fn type_in(&self, words: &[&str], more: &[&str]) -> Result<Finished, Failure> {
        let mut args = self.flags();
        args.extend(words.iter().chain(more).map(OsString::from));
        self.carry_out(args).await
    }

    /// Starts this program with arguments, in the scratch repository and with a home of its own.
    async fn carry_out(&self, args: Vec<OsString>) -> Result<Finished, Failure> {
        let env: [(OsString, OsString); 4] = [
            ("PATH".into(), self.app.env.path.clone()),
            ("HOME".into(), self.dir.join("home").into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
            (
                "CS_PANEL_LOG".into(),
                self.app
                    .env
                    .log
                    .clone()
                    .unwrap_or_else(|| "info".to_owned())
                    .into(),
            ),
        ];
        let spec = CommandSpec {
            program: self.program.clone(),
            args,
            env: env.into(),
            cwd: self.repository(),
            stdin: Vec::new(),
            timeout: COMMAND_LIMIT,
            stdout_cap_bytes: OUTPUT_CAP_BYTES,
            stderr_cap_bytes: OUTPUT_CAP_BYTES,
        };
        command::run(&spec)
            .await
            .map_err(|error| Failure::failed(error, "a command of the demo cannot be started"))
    }

    fn must_succeed(&self, what: &str, finished: &Finished) -> Result<(), Failure> {
        if finished.exit == Exit::Code(0) {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&finished.stderr);
        self.expect(
            false,
            &format!(
                "{what} (it ended with {:?} and said: {})",
                finished.exit,
                text::one_line(&said, 500)
            ),
        )
    }
}
