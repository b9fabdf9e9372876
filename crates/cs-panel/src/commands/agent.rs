//! `agent add`, `agent remove` and `agent list`: the programs that do the work, in the configuration file of this machine.

mod explain;
mod list;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use cs_daemon::{AgentChoices, ToolsBy};
use cs_harness::{AgentConfig, HarnessKind};
use cs_model::{AgentName, CardId};
use cs_record::{CardFilter, Route};
use rustix::fs::Access;

use crate::app::App;
use crate::config::{self, May, NewAgent, Own, Word, no_shut_out};
use crate::env::Env;
use crate::failure::Failure;
use crate::wire::AgentWire;

#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Add an agent to the configuration file.
    Add(AddArgs),
    /// Take an agent out of the configuration file.
    Remove(RemoveArgs),
    /// Make an agent the default: that of a card which names none.
    Default(DefaultArgs),
    /// List the agents of this machine: version, sign-in, and which take no work for now, until when and why.
    List,
    /// Say that the cause is mended for which an agent takes no work on this machine.
    Unpark(UnparkArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// The agent.
    name: String,
}

#[derive(Debug, Args)]
pub(crate) struct DefaultArgs {
    /// The agent.
    name: String,
}

#[derive(Debug, Args)]
pub(crate) struct UnparkArgs {
    /// The agent.
    name: String,
}

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// What people call it: a-z, 0-9, `-`, `_`, `.`.
    name: String,
    /// It speaks the JSON-lines protocol; otherwise the prompt is its standard input and its standard output the answer.
    #[arg(long, conflicts_with = "harness")]
    json_lines: bool,
    /// Which agent it is and so how it is talked to: `claude`, `codex`, `opencode`, `pi`; `acp` for any that speaks the Agent Client
    /// Protocol; `plain` and `json-lines` for any command.
    #[arg(long, value_name = "HARNESS")]
    harness: Option<HarnessKind>,
    /// The model, as the agent names it [default: what its own settings say].
    #[arg(long)]
    model: Option<Word>,
    /// How much the model is to think, as the agent names it [default: what its own settings say].
    #[arg(long)]
    effort: Option<Word>,
    /// What it may do without being asked; nobody is there to be asked.
    #[arg(long, value_enum)]
    permissions: Option<May>,
    /// Whether your own settings of the agent hold: instructions, tool servers, hooks.
    #[arg(long, value_enum, default_value_t)]
    settings: Own,
    /// The program and its arguments. A path is noted as an absolute one; a name is looked up in PATH at each start.
    #[arg(last = true, num_args = 1.., value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// Say what a recorded stream of an agent means, for bug reports.
    Explain(explain::ExplainArgs),
}

/// Carries out `agents ...`.
pub(crate) async fn agents(app: &App, command: Option<AgentsCommand>) -> Result<(), Failure> {
    match command {
        None => list::list(app).await,
        Some(AgentsCommand::Explain(args)) => explain::explain(app, &args),
    }
}

/// Carries out `agent ...`.
pub(crate) async fn agent(app: &App, command: AgentCommand) -> Result<(), Failure> {
    match command {
        AgentCommand::Add(args) => add(app, args),
        AgentCommand::Remove(args) => remove(app, &args).await,
        AgentCommand::Default(args) => default(app, &args),
        AgentCommand::List => list::list(app).await,
        AgentCommand::Unpark(args) => unpark(app, &args).await,
    }
}

async fn unpark(app: &App, args: &UnparkArgs) -> Result<(), Failure> {
    let agent: AgentName = parse_name(&args.name)?;
    app.config()?.choose_agent(Some(&agent))?;
    let desk = app.desk().await?;
    let route = Route {
        machine: desk.machine,
        agent,
    };
    let was_parked = desk.ports.machines.unpark(&route).await?;
    cs_daemon::control::poke(&desk.state).await;
    let name = &route.agent;
    if app.global.json {
        return app
            .out
            .json(&serde_json::json!({ "agent": name.as_str(), "was_parked": was_parked }));
    }
    app.out.line(&if was_parked {
        format!("agent {name} takes work again")
    } else {
        format!("agent {name} was not parked")
    })
}

/// Reads the name of an agent as it was given.
///
/// # Errors
/// It cannot be a name.
pub(crate) fn parse_name(name: &str) -> Result<AgentName, Failure> {
    name.parse()
        .map_err(|error: cs_model::InvalidName| Failure::Usage(error.to_string()))
}

fn add(app: &App, args: AddArgs) -> Result<(), Failure> {
    let name = parse_name(&args.name)?;
    let kind = match args.harness {
        Some(kind) => kind,
        None if args.json_lines => HarnessKind::JsonLines,
        None => HarnessKind::Plain,
    };
    if args.settings == Own::ShutOut && !kind.shuts_out() {
        return Err(Failure::Usage(no_shut_out(kind)));
    }
    let mut argv = args.command;
    if let (true, Some(program)) = (argv.is_empty(), kind.program()) {
        argv.push(program.to_owned());
    }
    if argv.is_empty() {
        return Err(Failure::Usage(no_program(&name, kind)));
    }
    if let Some(program) = argv.first_mut() {
        *program = usable_program(&app.env, program)?;
    }
    let choices = AgentChoices {
        model: args.model.map(|Word(word)| word),
        effort: args.effort.map(|Word(word)| word),
        permissions: args.permissions.map(Into::into),
        settings: args.settings.into(),
        tools: ToolsBy::default(),
        env: BTreeMap::new(),
    };
    let agent =
        AgentConfig::new(name.as_str(), argv, kind).map_err(|error| Failure::Usage(error.to_string()))?;
    let new = NewAgent { agent, choices };
    let config = config::add_agent(&app.env, app.global.config.as_deref(), &new)?;
    if app.global.json {
        return app
            .out
            .json(&AgentWire::new(&name, &new.agent, config.default_agent.as_ref()).choosing(&new.choices));
    }
    app.out
        .line(&format!("added agent {name} to {}", config.path.display()))?;
    if let (Err(_), Some(other)) = (
        config.choose_agent(None),
        config.agents.keys().find(|it| **it != name),
    ) {
        app.out.said(&format!(
            "there is no default among several agents: `cs-panel agent default {other}` or `cs-panel agent default {name}` says which a \
             card gets that names none"
        ));
    }
    Ok(())
}

fn default(app: &App, args: &DefaultArgs) -> Result<(), Failure> {
    let name = parse_name(&args.name)?;
    let config = config::default_agent(&app.env, app.global.config.as_deref(), &name)?;
    if app.global.json {
        return app
            .out
            .json(&serde_json::json!({ "default_agent": name.as_str() }));
    }
    app.out.line(&format!(
        "agent {name} is the default in {}: cards that name none get it",
        config.path.display()
    ))
}

/// Says how an agent is added that has no program of its own.
fn no_program(name: &AgentName, kind: HarnessKind) -> String {
    let (flags, or) = match kind {
        HarnessKind::Plain => (
            String::new(),
            "; or name an agent with `--harness`, such as `--harness claude`",
        ),
        HarnessKind::JsonLines
        | HarnessKind::Acp
        | HarnessKind::Claude
        | HarnessKind::Codex
        | HarnessKind::Opencode
        | HarnessKind::Pi => (format!(" --harness {kind}"), ""),
    };
    format!(
        "the harness `{kind}` drives any program, so say which: `cs-panel agent add {name}{flags} -- PROGRAM ARGUMENTS...`{or}"
    )
}

async fn remove(app: &App, args: &RemoveArgs) -> Result<(), Failure> {
    let name = parse_name(&args.name)?;
    let was_default = app.config()?.default_agent.as_ref() == Some(&name);
    let config = config::remove_agent(&app.env, app.global.config.as_deref(), &name)?;
    let cards = match cards_of(app, &name).await {
        Ok(cards) => cards,
        Err(failure) => {
            let why = failure.text().unwrap_or_default();
            app.out
                .said(&format!("which cards are of agent {name} is not known: {why}"));
            Vec::new()
        }
    };
    if app.global.json {
        return app.out.json(
            &serde_json::json!({ "agent": name.as_str(), "was_default": was_default, "cards": cards }),
        );
    }
    app.out
        .line(&format!("removed agent {name} from {}", config.path.display()))?;
    if was_default {
        app.out
            .said("it was the default agent; there is none now: `cs-panel agent default NAME` makes another one the default");
    }
    if let Some(first) = cards.first() {
        let all: Vec<String> = cards.iter().map(|card| card.short()).collect();
        app.out.said(&format!(
            "these cards are of agent {name} and wait for one: {}; give them to another with `cs-panel hand-back {} --agent NAME`",
            all.join(", "),
            first.short()
        ));
    }
    app.out
        .said("no card is started with it any more; agents that run go on");
    Ok(())
}

/// The cards that are not over and that an agent is to go on with.
async fn cards_of(app: &App, name: &AgentName) -> Result<Vec<CardId>, Failure> {
    let desk = app.desk().await?;
    let cards = desk.ports.reads.cards(CardFilter::Current).await?.rows;
    let theirs = cards.into_iter().map(|summary| summary.card);
    let theirs =
        theirs.filter(|card| card.agent == *name && card.machine.is_none_or(|it| it == desk.machine));
    Ok(theirs.map(|card| card.id).collect())
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
