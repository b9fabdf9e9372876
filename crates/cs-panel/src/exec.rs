//! This process becomes another program: a pager or a shell. There is no child to look after, and signals go where they should.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::env::Env;
use crate::failure::Failure;

/// The pager of a person who names none; it leaves what it showed on the screen, and ends at once where all fits.
const PAGER: &str = "less -FRX";

/// The pager for output at a terminal, as a line for the shell; nothing where there is none to be used.
pub(crate) fn pager(env: &Env) -> Option<&OsStr> {
    if !io::stdout().is_terminal() {
        return None;
    }
    match env.pager.as_deref() {
        Some(given) if given.is_empty() || given == "cat" => None,
        Some(given) => Some(given),
        None => std::env::split_paths(&env.path)
            .any(|dir: PathBuf| dir.join("less").is_file())
            .then_some(OsStr::new(PAGER)),
    }
}

/// Becomes a pager that reads `text`. It only comes back when it cannot.
#[expect(
    clippy::disallowed_methods,
    reason = "no child is started: this process becomes the pager"
)]
pub(crate) fn become_pager(env: &Env, pager: &OsStr, text: &[u8]) -> Failure {
    let failed = |error| Failure::failed(error, "the pager cannot be started; use --no-pager");
    match unnamed(&env.temp_dir, text) {
        Ok(stdin) => failed(Command::new("/bin/sh").arg("-c").arg(pager).stdin(stdin).exec()),
        Err(error) => failed(error),
    }
}

/// A file without a name that holds `text`, to be read from its beginning.
fn unnamed(dir: &Path, text: &[u8]) -> io::Result<Stdio> {
    let name = dir.join(format!(".cs-panel-page-{}", std::process::id()));
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&name)?;
    fs::remove_file(&name)?;
    file.write_all(text)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file.into())
}

/// Becomes the person's shell in a directory, with these variables beside its own. It only comes back when it cannot.
#[expect(
    clippy::disallowed_methods,
    reason = "no child is started: this process becomes the shell"
)]
pub(crate) fn become_shell(env: &Env, dir: &Path, variables: &[(&str, String)]) -> Failure {
    let shell = env.shell.as_deref().unwrap_or(Path::new("/bin/sh"));
    let mut command = Command::new(shell);
    command.current_dir(dir).env("PWD", dir);
    for (name, value) in variables {
        command.env(name, value);
    }
    let shown = shell.display();
    Failure::failed(
        command.exec(),
        format!(
            "the shell {shown} cannot be started in {}; set SHELL",
            dir.display()
        ),
    )
}
