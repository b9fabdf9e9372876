//! What an agent may do: nobody is there to be asked while it works, so a person says it once, before the first message.

use std::io::{self, BufRead};

use cs_harness::{AgentConfig, Permissions};
use cs_model::AgentName;

use crate::app::App;
use crate::config::{self, Config, May};
use crate::failure::Failure;
use crate::out;

/// Makes sure that a person has said what an agent may do: now, by the flag, or by an answer at a terminal.
///
/// # Errors
/// Nobody has, and nobody can be asked; or another thing was said before.
pub(super) fn make_sure(
    app: &App,
    config: &Config,
    name: &AgentName,
    given: Option<May>,
) -> Result<(), Failure> {
    let Some(agent) = config.agents.get(name) else {
        return Ok(());
    };
    let choices = config.choices.get(name).cloned().unwrap_or_default();
    let given = given.map(Permissions::from);
    let path = config.path.display();
    if let Some(unknown) = given.filter(|given| !agent.kind().knows(*given)) {
        return Err(cannot_hold(agent, unknown));
    }
    match (choices.permissions_of(agent.kind()), given) {
        (Some(known), Some(given)) if known != given => Err(Failure::Usage(format!(
            "agent {name} has the permissions \"{}\", nothing was sent; leave out --permissions, or change them in {path}",
            known.as_str()
        ))),
        (Some(_), _) => Ok(()),
        (None, Some(given)) => note(app, name, given),
        (None, None) => {
            let may = ask(agent)?;
            if !agent.kind().knows(may) {
                return Err(cannot_hold(agent, may));
            }
            note(app, name, may)
        }
    }
}

fn cannot_hold(agent: &AgentConfig, may: Permissions) -> Failure {
    Failure::Usage(format!(
        "agent {} ({}) cannot be held to the permissions \"{}\", nothing was sent; give it \"full\", or send it to another agent",
        agent.name(),
        agent.kind().label(),
        may.as_str()
    ))
}

fn note(app: &App, name: &AgentName, may: Permissions) -> Result<(), Failure> {
    let config = config::permit_agent(&app.env, app.global.config.as_deref(), (name, may))?;
    app.out.said(&format!(
        "noted in {}: agent {name} has the permissions \"{}\"; a daemon that runs learns it when it is started again",
        config.path.display(),
        may.as_str()
    ));
    Ok(())
}

fn ask(agent: &AgentConfig) -> Result<Permissions, Failure> {
    let (name, label) = (agent.name(), agent.kind().label());
    if !out::stdin_is_terminal() {
        return Err(Failure::Usage(format!(
            "nobody has said yet what agent {name} ({label}) may do, nothing was sent; say it once with `--permissions edit` (change files \
             of its tree, and run what its own settings allow) or `--permissions full` (everything that you may do)"
        )));
    }
    out::ask(&format!(
        "What may agent {name} ({label}) do without being asked?\n  edit  change files of its tree, and run what its own settings allow\n  \
         full  everything that you may do\nedit or full? "
    ));
    let mut line = String::new();
    io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|error| Failure::failed(error, "standard input cannot be read"))?;
    match line.trim() {
        "edit" => Ok(Permissions::Edit),
        "full" => Ok(Permissions::Full),
        other => Err(Failure::Usage(format!(
            "`{}` is neither edit nor full, nothing was sent",
            other.escape_debug()
        ))),
    }
}
