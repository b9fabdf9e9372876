//! The programs that the tasks start, and what they print: everything of xtask that touches the outside.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// A cargo command in the root of the workspace.
#[derive(Debug)]
pub(crate) struct Tool {
    line: String,
    command: Command,
}

impl Tool {
    #[expect(
        clippy::disallowed_methods,
        reason = "xtask runs cargo and reads what cargo tells it"
    )]
    pub(crate) fn cargo(args: &[&str]) -> Self {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(args).current_dir(root()).stdin(Stdio::null());
        Self {
            line: format!("cargo {}", args.join(" ")),
            command,
        }
    }

    /// An npm command in this directory.
    #[expect(
        clippy::disallowed_methods,
        reason = "xtask installs the agents that it drives"
    )]
    pub(crate) fn npm(dir: &Path, args: &[&str]) -> Self {
        let mut command = Command::new("npm");
        command.args(args).current_dir(dir).stdin(Stdio::null());
        Self {
            line: format!("npm {}", args.join(" ")),
            command,
        }
    }

    /// A program by its path, without arguments.
    #[expect(clippy::disallowed_methods, reason = "xtask runs what cargo has built")]
    pub(crate) fn program(path: &Path) -> Self {
        let mut command = Command::new(path);
        command.current_dir(root()).stdin(Stdio::null());
        Self {
            line: path.display().to_string(),
            command,
        }
    }

    pub(crate) fn args(mut self, args: &[&str]) -> Self {
        self.line = format!("{} {}", self.line, args.join(" "));
        self.command.args(args);
        self
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Runs it in the foreground and fails unless it ends well.
    pub(crate) fn run(mut self) -> Result<()> {
        say(&format!("\n$ {}", self.line));
        let status = self
            .command
            .status()
            .with_context(|| format!("cannot start `{}`", self.line))?;
        if !status.success() {
            bail!("`{}` ended with {status}", self.line);
        }
        Ok(())
    }

    /// Runs it in the foreground, reads its standard output line by line, and fails unless it ends well.
    pub(crate) fn read_lines(mut self, mut read: impl FnMut(&str) -> Result<()>) -> Result<()> {
        say(&format!("\n$ {}", self.line));
        let cannot = |what: &str| format!("cannot {what} `{}`", self.line);
        let mut running = self
            .command
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| cannot("start"))?;
        let output = running.stdout.take();
        let mut lines = output
            .into_iter()
            .flat_map(|output| BufReader::new(output).lines());
        let outcome = lines.try_for_each(|line| read(&line.with_context(|| cannot("read what comes from"))?));
        // Whoever writes on after an error finds nobody, and ends.
        drop(lines);
        let status = running.wait().with_context(|| cannot("wait for"))?;
        outcome?;
        if !status.success() {
            bail!("`{}` ended with {status}", self.line);
        }
        Ok(())
    }

    /// Whether it runs and ends well; prints nothing.
    pub(crate) fn works(mut self) -> bool {
        let quiet = self.command.stdout(Stdio::null()).stderr(Stdio::null());
        quiet.status().is_ok_and(|status| status.success())
    }
}

/// The root of the workspace: where cargo runs this program from. Where it was built is another checkout when several of them share, or
/// have copied, a target directory.
#[expect(clippy::disallowed_methods, reason = "cargo says it by the environment only")]
pub(crate) fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let package = here.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    package
        .parent()
        .expect("xtask lies in the root of the workspace")
        .to_owned()
}

/// Whether files can be made in a directory.
pub(crate) fn is_writable(dir: &Path) -> bool {
    let probe = dir.join(format!("xtask-probe-{}", std::process::id()));
    let written = fs::write(&probe, "").is_ok();
    written && fs::remove_file(&probe).is_ok()
}

pub(crate) fn say(text: &str) {
    // A closed standard output must not stop a check: the exit code still says how it went.
    let _ = writeln!(io::stdout().lock(), "{text}");
}
