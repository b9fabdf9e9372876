//! The command line: what can be said, and who carries it out. `docs/cli.md` describes every command.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};

use crate::app::App;
use crate::commands::{
    self, agent, answer, attachments, card, cards, codebase, demo, diff, execution, gc, history, land, limit,
    mcp, open, pause, ps, rule, run, salvage, secret, send, show, stop, tail,
};
use crate::env::{self, Env};
use crate::failure::Failure;
use crate::os;
use crate::out::Out;
use crate::text;

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

/// So much of a bad value is said to whoever gave it.
const ECHOED_CHARS: usize = 80;

/// How long what a command has begun in the background may take once the command is over.
const END_LIMIT: Duration = Duration::from_secs(5);

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Send a message to a new or an existing card.
    Send(send::SendArgs),
    /// Attach files to a card, for its agent's next start.
    Attach(attachments::AttachArgs),
    /// List the files of a card, read one, or take one away.
    Attachments(attachments::AttachmentsArgs),
    /// Run the daemon: start agents, settle what they did, land what was accepted.
    Run(run::RunArgs),
    /// List cards.
    Cards(cards::CardsArgs),
    /// Show a card: its state, runs, questions and landings.
    Show(show::ShowArgs),
    /// Tell what happened to a card, with times.
    History(history::HistoryArgs),
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
    /// Keep rules that agents are told at each of their starts.
    #[command(subcommand)]
    Rule(rule::RuleCommand),
    /// Keep values that agents of a codebase may ask for and that never reach the record.
    #[command(subcommand)]
    Secret(secret::SecretCommand),
    /// Show the whole way from a message to a landed commit, in a scratch folder.
    Demo(demo::DemoArgs),
    /// Lead an agent that speaks the Agent Client Protocol, in its place in an execution (for the daemon).
    #[command(hide = true)]
    Acp {
        /// The agent: a program and its arguments.
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// Carry an agent's calls of the panel's tools to the daemon, over standard input and output (for agents).
    #[command(hide = true)]
    Mcp(mcp::McpArgs),
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
    let args: Vec<OsString> = std::env::args_os().collect();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error, &args),
    };
    if let Command::AgentScript { args } = cli.command {
        return cs_agent_script::main(args);
    }
    if let Command::Acp { command } = cli.command {
        return lead(command);
    }
    if let Command::Mcp(args) = cli.command {
        return mcp::mcp(&args);
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

/// Says what is wrong with the command line, or shows what it asks for.
fn refuse(error: &clap::Error, args: &[OsString]) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        _ => Out::new(None).said(complaint(error, args).trim_end()),
    }
    os::exit_code(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// What is wrong with the command line. It names values as they were given, which may be long, or hold anything: what a terminal would
/// take for its own is written out first, since the parser leaves it away.
fn complaint(error: &clap::Error, args: &[OsString]) -> String {
    let args: Vec<OsString> = args.iter().map(|arg| written_out(arg)).collect();
    let written_out = Cli::try_parse_from(&args).err();
    let mut text = written_out.as_ref().unwrap_or(error).to_string();
    for arg in &args {
        let arg = arg.to_string_lossy();
        let value = arg.split_once('=').filter(|_| arg.starts_with('-'));
        for given in [value.map_or("", |(_, value)| value), &*arg] {
            if given.chars().count() > ECHOED_CHARS {
                text = text.replace(given, &text::one_line(given, ECHOED_CHARS));
            }
        }
    }
    text
}

fn written_out(arg: &OsStr) -> OsString {
    arg.to_str()
        .map_or_else(|| arg.to_owned(), |text| text::harmless(text).into_owned().into())
}

/// Leads an agent, as the daemon asked for it.
fn lead(command: Vec<String>) -> ExitCode {
    let out = Out::new(None);
    let led = runtime().and_then(|runtime| {
        let spec = cs_acp::Spec {
            variable: env::variable,
            ..cs_acp::Spec::new(command)
        };
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

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
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

    #[test]
    fn a_bad_value_is_said_short_with_what_is_wrong_with_it() {
        let long = "x".repeat(100_000);
        let flag = format!("--at={long}");
        for args in [
            &["cs-panel", "send", "--at", &long, "Do it"][..],
            &["cs-panel", "send", &flag, "Do it"],
            &["cs-panel", "show", "beef", &long],
            &["cs-panel", &long],
            &["cs-panel", "send", "--title", "a", "--title", &long],
            &["cs-panel", "send", "--card", &long, "--title", &long],
        ] {
            let args: Vec<OsString> = args.iter().map(OsString::from).collect();
            let said = complaint(&Cli::try_parse_from(&args).expect_err("it is bad"), &args);
            assert!(said.starts_with("error: ") && said.len() < 1000, "{said}");
        }
        let args = ["cs-panel", "send", "--at", &long, "Do it"].map(OsString::from);
        let said = complaint(&Cli::try_parse_from(&args).expect_err("it is bad"), &args);
        assert!(said.contains("…' for '--at <TIME>': expected a date"), "{said}");
    }
}
