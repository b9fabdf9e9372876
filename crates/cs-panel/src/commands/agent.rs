//! `agent add` and `agent list`: the programs that do the work, in the configuration file of this machine.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use cs_harness::{AgentConfig, CommandMode};
use cs_model::AgentName;
use rustix::fs::Access;

use crate::app::App;
use crate::config;
use crate::env::Env;
use crate::failure::Failure;
use crate::wire::AgentWire;

#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Add an agent to the configuration file.
    Add(AddArgs),
    /// List the agents of this machine.
    List,
}

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// What people call it: a-z, 0-9, `-`, `_`, `.`.
    name: String,
    /// It speaks the JSON-lines protocol; otherwise the prompt is its standard input and its standard output the answer.
    #[arg(long)]
    json_lines: bool,
    /// The program and its arguments. A path is noted as an absolute one; a name is looked up in PATH at each start.
    #[arg(last = true, required = true, num_args = 1.., value_name = "COMMAND")]
    command: Vec<String>,
}

/// Carries out `agent ...`.
pub(crate) fn agent(app: &App, command: AgentCommand) -> Result<(), Failure> {
    match command {
        AgentCommand::Add(args) => add(app, args),
        AgentCommand::List => list(app),
    }
}

fn add(app: &App, args: AddArgs) -> Result<(), Failure> {
    let name: AgentName = args
        .name
        .parse()
        .map_err(|error: cs_model::InvalidName| Failure::Usage(error.to_string()))?;
    let mut argv = args.command;
    if let Some(program) = argv.first_mut() {
        *program = usable_program(&app.env, program)?;
    }
    let mode = if args.json_lines {
        CommandMode::JsonLines
    } else {
        CommandMode::Plain
    };
    let agent =
        AgentConfig::new(name.as_str(), argv, mode).map_err(|error| Failure::Usage(error.to_string()))?;
    let config = config::add_agent(&app.env, app.global.config.as_deref(), &agent)?;
    if app.global.json {
        return app
            .out
            .json(&AgentWire::new(&name, &agent, config.default_agent.as_ref()));
    }
    app.out
        .line(&format!("added agent {name} to {}", config.path.display()))
}

fn list(app: &App) -> Result<(), Failure> {
    let config = app.config()?;
    let default = config.choose_agent(None).ok();
    let agents = config
        .agents
        .iter()
        .map(|(name, agent)| AgentWire::new(name, agent, default.as_ref()));
    let agents: Vec<AgentWire> = agents.collect();
    if app.global.json {
        return app.out.json(&agents);
    }
    if agents.is_empty() {
        app.out.said(&format!(
            "no agent is configured in {}; add one with `cs-panel agent add`",
            config.path.display()
        ));
        return Ok(());
    }
    let row = |agent: AgentWire| {
        let default = if agent.default { "default" } else { "" };
        let command = shell_words::join(&agent.command);
        vec![agent.name, agent.mode, default.to_owned(), command]
    };
    app.out.table(
        &["AGENT", "MODE", "", "COMMAND"],
        agents.into_iter().map(row).collect(),
    )
}

/// Finds the program of a new agent, and returns it as it is to be noted.
fn usable_program(env: &Env, program: &str) -> Result<String, Failure> {
    if program.contains('/') {
        let path = env.absolute(Path::new(program));
        if !path.is_file() {
            return Err(Failure::Usage(format!(
                "there is no program {}; name one that exists",
                path.display()
            )));
        }
        if !is_executable(&path) {
            let path = path.display();
            return Err(Failure::Usage(format!(
                "{path} is not executable; make it so with `chmod +x`, or name its interpreter"
            )));
        }
        return path.into_os_string().into_string().map_err(|path| {
            Failure::Usage(format!(
                "the path {} cannot be noted, expected a path in UTF-8",
                path.display()
            ))
        });
    }
    let candidates = || {
        std::env::split_paths(&env.path)
            .map(|dir: PathBuf| dir.join(program))
            .filter(|path| path.is_file())
    };
    if candidates().any(|path| is_executable(&path)) {
        return Ok(program.to_owned());
    }
    match candidates().next() {
        Some(path) => {
            let path = path.display();
            Err(Failure::Usage(format!(
                "{path} is not executable; make it so with `chmod +x`, or name its interpreter"
            )))
        }
        None => Err(Failure::Usage(format!(
            "there is no program `{program}` in PATH; install it, or give its path"
        ))),
    }
}

fn is_executable(path: &Path) -> bool {
    rustix::fs::access(path, Access::EXEC_OK).is_ok()
}
