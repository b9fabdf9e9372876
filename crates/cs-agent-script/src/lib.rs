//! A scripted agent: it does what a JSON file says, the way a real agent would. The test bed and the demo.
//!
//! It speaks the JSON-lines protocol of the harness `command`, changes files, commits, asks, offers to land, and misbehaves on
//! request: grandchildren that leave the session, ignored signals, bad bytes, odd exits. It *is* the agent, not part of what
//! drives agents: it may start git and read its arguments, and it knows nothing of the other crates.
//!
//! A script is a list of branches; the first whose `when` (and `contains`, when given) fits the start line is carried out:
//!
//! ```json
//! [
//!   {"when": "first", "steps": [
//!     {"write_file": {"path": "hello.txt", "text": "hello\n"}},
//!     {"commit": "Add a greeting"},
//!     {"ask": {"question": "Formal?", "choices": ["yes", "no"]}}]},
//!   {"when": "answer", "steps": [
//!     {"append_file": {"path": "hello.txt", "text": "{answer}\n"}},
//!     {"commit": "Follow the answer"},
//!     {"offer_landing": {"summary": "A greeting", "message": "Add a greeting"}},
//!     {"final": "Done."}]}
//! ]
//! ```
//!
//! [`Step`] lists every step. `{prompt}`, `{answer}` and `{session}` are replaced in the texts of `say`, `final`, `write_file` and
//! `append_file`. Exit codes: 0 at the end of the steps, 1 when a step failed, 2 when the script cannot be used.

mod children;
mod run;
mod script;
mod start;
mod tools;

pub use script::{
    Branch, Bytes, FileText, Offer, Question, Script, ScriptError, Spawn, SpawnKind, Step, ToolCall, Usage,
    Wait, When,
};

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use children::Relaunch;
use run::Ended;
use start::Start;

/// Carries out the script named by the only argument. To be called with the arguments after the subcommand.
///
/// Reads standard input to its end, acts in the current directory, and starts this same program again for the children that a
/// script asks for; so the arguments given must be the last ones of the process's own command line.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let relaunch = Relaunch::of_this_process(args.len());
    match dispatch(&args, &relaunch) {
        Ok(code) => code,
        Err(Refused { code, text }) => {
            // Nobody is left to tell when standard error is gone.
            let _ = writeln!(io::stderr(), "scripted agent: {text}");
            ExitCode::from(code)
        }
    }
}

struct Refused {
    code: u8,
    text: String,
}

fn dispatch(args: &[OsString], relaunch: &Relaunch) -> Result<ExitCode, Refused> {
    let usage = |text: String| Refused { code: 2, text };
    let failed = |text: String| Refused { code: 1, text };
    if let Some(role) = children::role(args).map_err(usage)? {
        children::live(role, relaunch).map_err(failed)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (path, already_ignoring) = match args {
        [path] => (path, false),
        [flag, path] if flag == children::SIGNALS_IGNORED => (path, true),
        _ => return Err(usage("give one argument, the script's file".to_owned())),
    };
    let script = Script::load(path.as_ref()).map_err(|error| usage(error.to_string()))?;
    if script.ignores_signals() && !already_ignoring {
        return Err(failed(relaunch.ignoring_signals(path)));
    }
    let start =
        Start::read(io::stdin().lock()).map_err(|error| failed(format!("standard input: {error}")))?;
    let branch = script.branch(&start).ok_or_else(|| {
        usage(format!(
            "no branch of the script is for a start with wake `{}`",
            start.wake.as_str()
        ))
    })?;
    match run::run(&branch.steps, &start, relaunch, &mut io::stdout().lock()) {
        Ok(Ended::AllSteps) => Ok(ExitCode::SUCCESS),
        Ok(Ended::Exit(code)) => Ok(ExitCode::from(code)),
        Err(error) => Err(failed(error.to_string())),
    }
}
