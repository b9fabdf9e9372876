//! What an agent may do: nobody is there to be asked while it works, so a person says it once, before the first message.

use std::io::{self, BufRead};

use cs_daemon::AgentSetup;
use cs_harness::{AgentConfig, Permissions};
use cs_model::AgentName;

use crate::app::App;
use crate::config::{self, Config, May};
use crate::failure::Failure;
use crate::out;

/// Of an agent's own permissions, and how they are mended.
const OWN: (&str, &str) = ("", "give it \"full\", or send it to another agent");

/// What a person has said of what agents may do, beside what is set for the agent.
#[derive(Debug)]
pub(super) struct Rules {
    /// By the flag.
    pub(super) given: Option<May>,
    /// For the codebase: it stands above what is set for an agent.
    pub(super) codebase: Option<OfCodebase>,
}

/// What a person has set for the agents of a codebase.
#[derive(Debug)]
pub(super) struct OfCodebase {
    /// Its name, as a shell reads it.
    pub(super) name: String,
    /// What they may do.
    pub(super) permissions: Permissions,
    /// Whether something is put around them.
    pub(super) has_sandbox: bool,
}

/// Makes sure that a person has said what an agent may do: now, by the flag, by an answer at a terminal, or before.
///
/// # Errors
/// Nobody has, and nobody can be asked; or another thing was said before; or the agent cannot be held to it.
pub(super) fn make_sure(app: &App, config: &Config, name: &AgentName, rules: &Rules) -> Result<(), Failure> {
    let Some(AgentSetup {
        config: agent,
        choices,
        ..
    }) = config.agents.get(name)
    else {
        return Ok(());
    };
    let given = rules.given.map(Permissions::from);
    if let Some(unknown) = given.filter(|given| !agent.kind().knows(*given)) {
        return Err(cannot_hold(agent, unknown, OWN));
    }
    if let Some(set) = &rules.codebase {
        return by_codebase(app, agent, set, given);
    }
    let path = config.path.display();
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
                return Err(cannot_hold(agent, may, OWN));
            }
            note(app, name, may)
        }
    }
}

/// What is set for the codebase holds, so nobody is asked.
fn by_codebase(
    app: &App,
    agent: &AgentConfig,
    of: &OfCodebase,
    given: Option<Permissions>,
) -> Result<(), Failure> {
    let (name, set) = (&of.name, of.permissions);
    if agent.kind().is_command() {
        if set != Permissions::Full && !of.has_sandbox {
            app.out.said(&format!(
                "agent {} is a command of your own, which does whatever you may do: the permissions \"{}\" of the codebase do not hold \
                 it, a sandbox does (`cs-panel codebase set {name} --sandbox bwrap`)",
                agent.name(),
                set.as_str()
            ));
        }
        return Ok(());
    }
    if given.is_some_and(|given| given != set) {
        return Err(Failure::Usage(format!(
            "agents have the permissions \"{}\" on this codebase, nothing was sent; leave out --permissions, or change them with \
             `cs-panel codebase set {name} --permissions ...`",
            set.as_str()
        )));
    }
    if agent.kind().knows(set) {
        return Ok(());
    }
    Err(cannot_hold(
        agent,
        set,
        (
            " of the codebase",
            "set others with `cs-panel codebase set`, or send it to another agent",
        ),
    ))
}

/// `of` says whose permissions they are, `cure` what to do.
fn cannot_hold(agent: &AgentConfig, may: Permissions, (of, cure): (&str, &str)) -> Failure {
    Failure::Usage(format!(
        "agent {} ({}) cannot be held to the permissions \"{}\"{of}, nothing was sent; {cure}",
        agent.name(),
        agent.kind().label(),
        may.as_str()
    ))
}

fn note(app: &App, name: &AgentName, may: Permissions) -> Result<(), Failure> {
    let config = config::permit_agent(&app.env, app.global.config.as_deref(), (name, may))?;
    app.out.said(&format!(
        "noted in {}: agent {name} has the permissions \"{}\"",
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
