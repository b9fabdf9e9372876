//! The password of the record from a command, such as one that asks a password manager.

use std::path::PathBuf;
use std::time::Duration;

use cs_supervise::command::{self, CommandSpec, Exit};

use crate::env::Env;
use crate::failure::Failure;

/// A person may have to unlock something.
const TIMEOUT: Duration = Duration::from_secs(60);
const CAP_BYTES: usize = 4096;

/// Runs the command of `CS_PANEL_DATABASE_PASSWORD_COMMAND`, if there is one; the first line that it prints is the password. It gets
/// the whole environment of this process, and what it prints is never repeated.
///
/// # Errors
/// The command cannot be run, fails, or prints nothing.
pub(crate) async fn from_command(env: &Env) -> Result<Option<String>, Failure> {
    const NAME: &str = "CS_PANEL_DATABASE_PASSWORD_COMMAND";
    let Some(line) = env.database_password_command.as_deref() else {
        return Ok(None);
    };
    let bad = |why: &str| Failure::Usage(format!("{NAME} {why}, expected a program and its arguments"));
    let words = shell_words::split(line).map_err(|_| bad("has a quote that does not end"))?;
    let Some((program, args)) = words.split_first() else {
        return Err(bad("is empty"));
    };
    let spec = CommandSpec {
        program: PathBuf::from(program),
        args: args.iter().map(Into::into).collect(),
        env: env.all.clone(),
        cwd: env.cwd.clone(),
        stdin: Vec::new(),
        timeout: TIMEOUT,
        stdout_cap_bytes: CAP_BYTES,
        stderr_cap_bytes: CAP_BYTES,
    };
    let done = command::run(&spec)
        .await
        .map_err(|error| Failure::failed(error, format!("the command of {NAME} cannot be run")))?;
    let text = String::from_utf8_lossy(&done.stdout);
    let password = text.lines().next().unwrap_or_default();
    match done.exit {
        Exit::Code(0) if !password.is_empty() => Ok(Some(password.to_owned())),
        Exit::Code(0) => Err(Failure::plain(format!(
            "the command of {NAME} printed no password"
        ))),
        Exit::Code(_) | Exit::Signalled(_) | Exit::TimedOut | Exit::OutputOverCap => Err(Failure::plain(
            format!("the command of {NAME} failed, so that the password of the record is not known"),
        )),
    }
}
