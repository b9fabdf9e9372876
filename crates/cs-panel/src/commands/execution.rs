//! `execution`: what a person can do about a single execution.

use clap::{Args, Subcommand};
use cs_daemon::control::Poked;
use cs_supervise::{DismissError, ExecutionDir, dismiss};

use super::ps;
use crate::app::App;
use crate::failure::Failure;

#[derive(Debug, Subcommand)]
pub(crate) enum ExecutionCommand {
    /// Say that you have looked after what is left of an execution that could not be ended: it counts as over then.
    Dismiss(DismissArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DismissArgs {
    /// The execution, as `cs-panel ps` names it, or a part of its name that no other has.
    execution: String,
}

/// Carries out a command about one execution.
pub(crate) async fn execution(app: &App, command: &ExecutionCommand) -> Result<(), Failure> {
    match command {
        ExecutionCommand::Dismiss(args) => dismissed(app, args).await,
    }
}

async fn dismissed(app: &App, args: &DismissArgs) -> Result<(), Failure> {
    let state = app.state()?;
    let name = find(&ps::names(&state)?, &args.execution)?;
    let dir = ExecutionDir::at(state.execution(&name));
    match dismiss(&dir).await {
        Ok(_) => {}
        Err(DismissError::Alive { .. }) => {
            return Err(Failure::Refused(format!(
                "execution {name} is not over: stop its card first, see `cs-panel ps`"
            )));
        }
        Err(error) => {
            return Err(Failure::failed(
                error,
                format!("execution {name} was not dismissed"),
            ));
        }
    }
    let daemon = cs_daemon::control::poke(&state).await;
    let unread = |error| Failure::failed(error, format!("execution {name} cannot be read"));
    let now = ps::look(&name, &dir).map_err(unread)?;
    if app.global.json {
        return app.out.json(&now);
    }
    let left: Vec<String> = now.survivors.iter().map(ps::ProcessWire::words).collect();
    app.out.line(&match now.proof {
        Some(proof) => format!(
            "execution {name} is over, and nothing of it is left ({})",
            proof.replace('_', " ")
        ),
        None => {
            let left = if left.is_empty() {
                "what is still there cannot be named".to_owned()
            } else {
                format!("still there when it was: {}", left.join(", "))
            };
            let who = match daemon {
                Poked::Told => "the daemon takes it for over now",
                Poked::NoDaemon => "the next daemon takes it for over",
            };
            format!("execution {name} is dismissed; {left}; {who}")
        }
    })
}

/// Finds the one execution whose name is or contains this.
fn find(names: &[String], wanted: &str) -> Result<String, Failure> {
    if let Some(name) = names.iter().find(|name| *name == wanted) {
        return Ok(name.clone());
    }
    let like: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| !wanted.is_empty() && name.contains(wanted))
        .collect();
    match like.as_slice() {
        [name] => Ok((*name).to_owned()),
        [] => Err(Failure::plain(format!(
            "there is no execution {wanted}; `cs-panel ps --all` lists them"
        ))),
        several => Err(Failure::Usage(format!(
            "several executions are named like {wanted}; give more of the name of one of these:\n  {}",
            several.join("\n  ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_execution_is_found_by_a_part_of_its_name_that_no_other_has() {
        let names = ["aa11.1", "aa11.1-2", "bb22.1"].map(str::to_owned);
        let found = |wanted: &str| find(&names, wanted).map_err(|failure| failure.exit_code());
        assert_eq!(found("aa11.1"), Ok("aa11.1".to_owned()), "a whole name");
        assert_eq!(found("bb"), Ok("bb22.1".to_owned()));
        assert_eq!(found("aa"), Err(2));
        assert_eq!(found("cc"), Err(1));
        assert_eq!(found(""), Err(1));
        let said = find(&names, "aa").expect_err("two").text().unwrap_or_default();
        assert!(said.ends_with("of one of these:\n  aa11.1\n  aa11.1-2"), "{said}");
    }
}
