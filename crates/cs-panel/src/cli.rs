//! The command line: what can be said, and who carries it out. `docs/cli.md` describes every command.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::app::App;
use crate::commands::{
    self, agent, answer, card, cards, codebase, demo, diff, execution, gc, land, limit, open, pause, ps, run,
    salvage, send, show, stop, tail,
};
use crate::env::Env;
use crate::failure::Failure;
use crate::os;
use crate::out::Out;

/// Runs coding agents on your own machines: exactly once, fenced, supervised, never losing work.
#[derive(Debug, Parser)]
#[command(
    name = "cs-panel",
    version,
    about,
    max_term_width = 100,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The heading of the flags that every command takes, apart from a command's own.
const EVERYWHERE: &str = "Options of every command";

/// Flags that every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Directory of this machine's state [env: CS_PANEL_STATE_DIR] [default: ~/.local/state/cs-panel].
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Where the record is: sqlite:PATH or postgres://... [env: CS_PANEL_DATABASE_URL] [default: a file in the state directory].
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "URL")]
    pub(crate) database_url: Option<String>,
    /// Configuration file [default: ~/.config/cs-panel/config.toml].
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON for programs instead of text for people.
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(crate) json: bool,
}

/// How long what a command has begun in the background may take once the command is over.
const END_LIMIT: Duration = Duration::from_secs(5);

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Send a message to a new or an existing card.
    Send(send::SendArgs),
    /// Run the daemon: start agents, settle what they did, land what was accepted.
    Run(run::RunArgs),
    /// List cards.
    Cards(cards::CardsArgs),
    /// Show a card: its state, runs, questions and landings.
    Show(show::ShowArgs),
    /// Print the turns of a card and what its agent says.
    Tail(tail::TailArgs),
    /// Show what the agent of a card changed.
    Diff(diff::DiffArgs),
    /// Go to the files of a card: its tree, a shell there, or a worktree of your own.
    Open(open::OpenArgs),
    /// List what was saved or put away, and bring it back.
    #[command(subcommand)]
    Salvage(salvage::SalvageCommand),
    /// List open questions.
    Asks,
    /// Answer an open question.
    Answer(answer::AnswerArgs),
    /// Accept the landing of a card's work on its base branch.
    Land(land::LandArgs),
    /// Stop a card and prove that nothing of it runs any more.
    Stop(stop::StopArgs),
    /// Try a card again: one that failed or was stopped, or that waits for a retry, its time, other cards or a parked agent.
    Retry(card::CardArgs),
    /// Close a card for good.
    Close(card::CardArgs),
    /// Give the work of a card to another agent, or free for another machine.
    HandBack(card::HandBackArgs),
    /// Start no new work, on this machine, on a codebase or everywhere.
    Pause(pause::PauseArgs),
    /// End a pause.
    Resume(pause::ResumeArgs),
    /// Limit how many runs are live at once on this machine or on a codebase.
    Limit(limit::LimitArgs),
    /// List executions: the agents that run on this machine, and what is left of others.
    Ps(ps::PsArgs),
    /// Look after single executions.
    #[command(subcommand)]
    Execution(execution::ExecutionCommand),
    /// Forget what nobody can need any more.
    Gc(gc::GcArgs),
    /// Bring a record on a Postgres server to the version of this program, or make it.
    Migrate,
    /// Configure agents: the programs that do the work.
    #[command(subcommand)]
    Agent(agent::AgentCommand),
    /// List agents, as `agent list` does; or say what a recorded stream of one means.
    Agents {
        #[command(subcommand)]
        command: Option<agent::AgentsCommand>,
    },
    /// Register codebases: the git repositories that agents work on.
    #[command(subcommand)]
    Codebase(codebase::CodebaseCommand),
    /// Show the whole way from a message to a landed commit, in a scratch folder.
    Demo(demo::DemoArgs),
    /// Lead an agent that speaks the Agent Client Protocol, in its place in an execution (for the daemon).
    #[command(hide = true)]
    Acp {
        /// The agent: a program and its arguments.
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// Carry out an agent script (for the demo and tests).
    #[command(name = "__agent-script", hide = true)]
    AgentScript {
        /// The arguments of the scripted agent.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

/// Reads the command line and carries it out.
pub(crate) fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Command::AgentScript { args } = cli.command {
        return cs_agent_script::main(args);
    }
    if let Command::Acp { command } = cli.command {
        return lead(command);
    }
    let env = Env::read();
    let out = Out::new(env.as_ref().ok().and_then(|env| env.columns));
    match env.and_then(|env| start(App::new(env, out, cli.global), cli.command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(text) = failure.text() {
                out.said(&format!("cs-panel: {text}"));
            }
            os::exit_code(failure.exit_code())
        }
    }
}

/// Leads an agent, as the daemon asked for it.
fn lead(command: Vec<String>) -> ExitCode {
    let out = Out::new(None);
    let led = runtime().and_then(|runtime| {
        let spec = cs_acp::Spec::new(command);
        let led = runtime.block_on(cs_acp::run(std::io::stdin(), std::io::stdout(), &spec));
        led.map_err(|error| Failure::failed(error, "the agent cannot be led"))
    });
    match led {
        Ok(code) => os::exit_code(code),
        Err(failure) => {
            out.said(&format!("cs-panel: {}", failure.text().unwrap_or_default()));
            os::exit_code(failure.exit_code())
        }
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(2)
        .build()
        .map_err(|error| Failure::failed(error, "cannot start the runtime"))
}

fn start(app: App, command: Command) -> Result<(), Failure> {
    let runtime = runtime()?;
    let carried_out = runtime.block_on(Box::pin(commands::carry_out(&app, command)));
    // What hangs on a file system must not keep a person from their prompt.
    runtime.shutdown_timeout(END_LIMIT);
    carried_out
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
