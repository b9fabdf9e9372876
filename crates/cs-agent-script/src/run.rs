use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::children::{self, Relaunch};
use crate::script::{FileText, Step, Wait};
use crate::start::Start;
use crate::tools;

const FILE_WAIT_MAX: Duration = Duration::from_secs(120);
const FILE_LOOK_EVERY: Duration = Duration::from_millis(5);

/// How the steps ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    AllSteps,
    Exit(u8),
}

/// Carries out the steps in order, up to the first that fails.
pub(crate) fn run(
    steps: &[Step],
    start: &Start,
    relaunch: &Relaunch,
    out: &mut impl Write,
) -> io::Result<Ended> {
    for step in steps {
        if let Step::Exit(code) = step {
            return Ok(Ended::Exit(*code));
        }
        step_once(step, start, relaunch, out)
            .map_err(|error| io::Error::new(error.kind(), format!("{step:?}: {error}")))?;
        out.flush()?;
    }
    Ok(Ended::AllSteps)
}

fn step_once(step: &Step, start: &Start, relaunch: &Relaunch, out: &mut impl Write) -> io::Result<()> {
    match step {
        Step::Say(text) => writeln!(out, "{}", start.expand(text)),
        Step::WriteFile(FileText { path, text }) => {
            make_parent(path)?;
            fs::write(path, start.expand(text))
        }
        Step::AppendFile(FileText { path, text }) => {
            make_parent(path)?;
            let mut file = OpenOptions::new().create(true).append(true).open(path)?;
            file.write_all(start.expand(text).as_bytes())
        }
        Step::DeleteFile(path) => fs::remove_file(path),
        Step::Touch(path) => OpenOptions::new().create(true).append(true).open(path).map(drop),
        Step::Commit(message) => commit(message),
        Step::Run(argv) => succeed(argv),
        Step::Ask(ask) => {
            writeln!(
                out,
                "{}",
                json!({"type": "ask", "question": ask.question, "choices": ask.choices})
            )
        }
        Step::OfferLanding(offer) => {
            let line = json!({"type": "offer_landing", "summary": offer.summary, "message": offer.message});
            writeln!(out, "{line}")
        }
        Step::CallTool(call) => tools::call(call, out),
        Step::Progress(text) => writeln!(out, "{}", json!({"type": "progress", "text": text})),
        Step::Usage(used) => {
            let (turns, input, output) = (used.turns, used.input_tokens, used.output_tokens);
            let line =
                json!({"type": "usage", "turns": turns, "input_tokens": input, "output_tokens": output});
            writeln!(out, "{line}")
        }
        Step::Session(id) => writeln!(out, "{}", json!({"type": "session", "id": id})),
        Step::Final(text) => writeln!(out, "{}", json!({"type": "final", "text": start.expand(text)})),
        Step::Wait(Wait::Ms(ms)) => {
            pause(Duration::from_millis(*ms));
            Ok(())
        }
        Step::Wait(Wait::UntilFile(path)) => wait_for_file(path),
        Step::Spawn(spawn) => children::spawn(spawn, relaunch),
        Step::IgnoreSignals => Ok(()), // done before the script began
        Step::PrintBytes(bytes) => {
            io::copy(&mut io::Read::take(io::repeat(b'x'), bytes.count), out)?;
            if bytes.newline { writeln!(out) } else { Ok(()) }
        }
        Step::PrintBadUtf8 => out.write_all(b"bad \xff\xfe\xc3( bytes\n"),
        Step::Exit(_) => Ok(()), // ends the loop before it comes here
    }
}

fn make_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

fn commit(message: &str) -> io::Result<()> {
    let own = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    succeed(&own(&["git", "add", "-A"]))?;
    let (name, email) = ("user.name=Scripted agent", "user.email=agent@example.invalid");
    succeed(&own(&[
        "git", "-c", name, "-c", email, "commit", "--quiet", "-m", message,
    ]))
}

fn succeed(argv: &[String]) -> io::Result<()> {
    let [program, args @ ..] = argv else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program is named"));
    };
    let status = children::command(program)
        .args(args)
        .stdin(Stdio::null())
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("`{program}` ended with {status}")))
    }
}

fn wait_for_file(path: &Path) -> io::Result<()> {
    let begun = Instant::now();
    while !path.try_exists()? {
        if begun.elapsed() > FILE_WAIT_MAX {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the file did not appear"));
        }
        pause(FILE_LOOK_EVERY);
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "an agent that takes its time is what a script asks for"
)]
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}
