//! The commands, one file each.

pub(crate) mod agent;
pub(crate) mod answer;
pub(crate) mod asks;
pub(crate) mod attachments;
pub(crate) mod card;
pub(crate) mod cards;
pub(crate) mod codebase;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod execution;
pub(crate) mod gc;
pub(crate) mod history;
pub(crate) mod land;
pub(crate) mod limit;
mod listed;
pub(crate) mod mcp;
mod media_type;
pub(crate) mod migrate;
mod one_of;
pub(crate) mod open;
pub(crate) mod pause;
mod place;
pub(crate) mod ps;
pub(crate) mod rule;
pub(crate) mod run;
pub(crate) mod salvage;
pub(crate) mod secret;
pub(crate) mod send;
pub(crate) mod show;
pub(crate) mod stop;
pub(crate) mod tail;

use crate::app::App;
use crate::cli::Command;
use crate::failure::Failure;
use execution::ExecutionCommand;
use rule::RuleCommand;

/// What is a person's to decide.
fn for_people(command: &Command) -> Option<&'static str> {
    match command {
        Command::Answer(_) => Some("answer"),
        Command::Land(args) if !args.is_dry_run() => Some("land"),
        Command::Stop(_) => Some("stop"),
        Command::Close(_) => Some("close"),
        Command::Attachments(args) if args.takes_away() => Some("attachments rm"),
        Command::Rule(RuleCommand::Add(_)) => Some("rule add"),
        Command::Rule(RuleCommand::Edit(_)) => Some("rule edit"),
        Command::Rule(RuleCommand::Rm(_)) => Some("rule rm"),
        Command::Execution(ExecutionCommand::Dismiss(_)) => Some("execution dismiss"),
        _ => None,
    }
}

/// Keeps an agent from deciding by accident what is a person's to decide.
fn refuse_agents(name: &str) -> Result<(), Failure> {
    if !cs_supervise::is_in_execution() {
        return Ok(());
    }
    Err(Failure::Refused(format!(
        "`cs-panel {name}` is for a person to decide, and this process was started by an agent that cs-panel runs ({} is set here or in a \
         process above): an agent asks with its tool `ask` or ends its turn; a person does it in a terminal that no agent has started",
        cs_supervise::EXECUTION_VARIABLE
    )))
}

/// Carries out one command. What stops, slows or shows something works whatever is wrong with the configuration file.
pub(crate) async fn carry_out(app: &App, command: Command) -> Result<(), Failure> {
    for_people(&command).map_or(Ok(()), refuse_agents)?;
    match command {
        Command::Send(args) => send::send(app, args).await,
        Command::Run(args) => run::run(app, &args).await,
        Command::Cards(args) => cards::cards(&app.forgiving(), &args).await,
        Command::Show(args) => show::show(&app.forgiving(), &args).await,
        Command::History(args) => history::history(app, &args).await,
        Command::Tail(args) => tail::tail(app, &args).await,
        Command::Diff(args) => diff::diff(app, &args).await,
        Command::Open(args) => open::open(app, &args).await,
        Command::Salvage(command) => salvage::salvage(app, &command).await,
        Command::Asks => asks::asks(app).await,
        Command::Attach(args) => attachments::attach(app, &args).await,
        Command::Attachments(args) => attachments::attachments(app, &args).await,
        Command::Answer(args) => answer::answer(app, args).await,
        Command::Land(args) => land::land(app, &args).await,
        Command::Stop(args) => stop::stop(&app.forgiving(), &args).await,
        Command::Retry(args) => card::retry(app, &args).await,
        Command::Close(args) => card::close(&app.forgiving(), &args).await,
        Command::HandBack(args) => card::hand_back(app, &args).await,
        Command::Limit(args) => limit::limit(&app.forgiving(), &args).await,
        Command::Ps(args) => ps::ps(app, &args).await,
        Command::Execution(command) => execution::execution(app, &command).await,
        Command::Gc(args) => gc::gc(app, &args).await,
        Command::Pause(args) => pause::pause(&app.forgiving(), &args).await,
        Command::Resume(args) => pause::resume(&app.forgiving(), &args).await,
        Command::Migrate => migrate::migrate(app).await,
        Command::Agent(command) => agent::agent(app, command).await,
        Command::Agents { command } => agent::agents(app, command).await,
        Command::Secret(command) => secret::secret(app, command).await,
        Command::Rule(command) => rule::rule(app, command).await,
        Command::Codebase(command) => codebase::codebase(app, command).await,
        Command::Demo(args) => demo::demo(app, &args).await,
        Command::AgentScript { .. } | Command::Acp { .. } | Command::Mcp(_) => Err(Failure::plain(
            "what an agent starts is started before anything else",
        )),
    }
}
