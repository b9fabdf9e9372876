//! The password of the record from a command, such as one that asks a password manager.

use std::path::PathBuf;
use std::time::Duration;

use cs_supervise::command::{self, CommandSpec, Exit};

use crate::env::Env;
use crate::failure::Failure;

const NAME: &str = "CS_PANEL_DATABASE_PASSWORD_COMMAND";
/// A person may have to unlock something.
const TIMEOUT: Duration = Duration::from_secs(60);
const CAP_BYTES: usize = 4096;

/// Runs the command of `CS_PANEL_DATABASE_PASSWORD_COMMAND`, if there is one; the first line that it prints is the password. It gets
/// the whole environment of this process, and what it prints is never repeated.
///
/// # Errors
/// The command cannot be run, fails, or prints nothing.
pub(crate) async fn from_command(env: &Env) -> Result<Option<String>, Failure> {
    match env.database_password_command.as_deref() {
        Some(line) => run(line, env, TIMEOUT).await.map(Some),
        None => Ok(None),
    }
}

async fn run(line: &str, env: &Env, timeout: Duration) -> Result<String, Failure> {
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
        timeout,
        stdout_cap_bytes: CAP_BYTES,
        stderr_cap_bytes: CAP_BYTES,
    };
    let done = command::run(&spec)
        .await
        .map_err(|error| Failure::failed(error, format!("the command of {NAME} cannot be run")))?;
    let why = match done.exit {
        Exit::Code(0) => {
            let text = String::from_utf8_lossy(&done.stdout);
            match text.lines().next() {
                Some(password) if !password.is_empty() => return Ok(password.to_owned()),
                Some(_) | None => "printed no password".to_owned(),
            }
        }
        Exit::Code(code) => format!("ended with exit code {code}"),
        Exit::Signalled(signal) => format!("was ended by signal {signal}"),
        Exit::TimedOut => format!("did not end within {} s", timeout.as_secs()),
        Exit::OutputOverCap => format!("printed more than {CAP_BYTES} bytes"),
    };
    Err(Failure::plain(format!(
        "the command of {NAME} {why}, so that the password of the record is not known; expected the password as its first line"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_command_that_waits_for_ever_is_ended_and_told() {
        let env = Env::read().expect("there is a home directory");
        let failure = run("sleep 3600", &env, Duration::from_millis(1)).await;
        let said = failure.expect_err("it does not end").text().unwrap_or_default();
        assert!(said.contains("did not end within 0 s"), "{said}");
    }
}
