//! `agents explain`: what a recorded stream of an agent means, for bug reports.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use cs_harness::{
    AgentConfig, AskAgain, Event, Harness, HarnessKind, LINE_MAX_BYTES, Line, ProcessEnd, Seen, TaskEnd,
    ToolServer, UsageTotals, adapter,
};
use cs_model::Time;
use cs_worktree::plain;
use serde::Serialize;

use crate::app::App;
use crate::failure::Failure;
use crate::text;

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The harness that the agent has: `plain`, `json-lines`, `claude`, `codex`, `opencode`, `pi` or `acp`.
    #[arg(long, value_name = "HARNESS")]
    harness: HarnessKind,
    /// The code with which its process exited, 0 to 255 [default: 0].
    #[arg(long, value_name = "N", conflicts_with = "signal", allow_negative_numbers = true, value_parser = exit_code)]
    exit_code: Option<i32>,
    /// The signal that ended its process, 1 to 64.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = signal)]
    signal: Option<i32>,
    /// What its process wrote to standard error.
    #[arg(long, value_name = "FILE")]
    stderr: Option<PathBuf>,
    /// What its process wrote to standard output.
    file: PathBuf,
}

fn exit_code(text: &str) -> Result<i32, String> {
    let code: Option<u8> = text.parse().ok();
    code.map(i32::from).ok_or_else(|| {
        "a process exits with a code from 0 to 255; of one that a signal ended give `--signal`".to_owned()
    })
}

fn signal(text: &str) -> Result<i32, String> {
    let signal = text.parse().ok().filter(|signal| (1..=64).contains(signal));
    signal.ok_or_else(|| {
        "signals have the numbers 1 to 64 (`kill -l` lists them); of a process that exited give `--exit-code`"
            .to_owned()
    })
}

/// What a recorded stream means.
#[derive(Debug, Serialize)]
struct Explained {
    version: Option<String>,
    session_id: Option<String>,
    final_text: Option<String>,
    process: String,
    task: &'static str,
    class: Option<&'static str>,
    /// What everybody may read of a failure; null where there is none.
    reason: Option<String>,
    /// After how many seconds the provider wants to be asked again; null where it does not say so, or names a time of day.
    retry_after_s: Option<u64>,
    /// At which time it does, in seconds since 1970 (UTC).
    retry_at_unix: Option<i64>,
    usage: UsageTotals,
    mcp: Vec<ToolServer>,
    /// How many events of each kind there were.
    events: BTreeMap<String, u64>,
}

/// Carries out `agents explain`.
pub(crate) fn explain(app: &App, args: &ExplainArgs) -> Result<(), Failure> {
    let name = args.harness.as_str();
    let agent = AgentConfig::new(name, vec![name.to_owned()], args.harness)
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let harness = adapter(&agent);
    let path = app.env.absolute(&args.file);
    let unread = |error: io::Error| Failure::failed(error, format!("{} cannot be read", path.display()));
    let file = open(&path, "what the agent wrote to standard output")?;
    let (mut seen, events) = read(&mut BufReader::new(file), harness.as_ref()).map_err(unread)?;
    if let Some(stderr) = &args.stderr {
        let path = app.env.absolute(stderr);
        open(&path, "what the agent wrote to standard error")?;
        let tail = cs_daemon::last_words(&path)
            .map_err(|error| Failure::failed(error, format!("{} cannot be read", path.display())))?;
        seen.observe_stderr(&tail);
    }
    let end = match args.signal {
        Some(signal) => ProcessEnd::Signalled(signal),
        None => ProcessEnd::Exited(args.exit_code.unwrap_or(0)),
    };
    let explained = explained(harness.as_ref(), &end, &seen, events);
    if app.global.json {
        return app.out.json(&explained);
    }
    app.out.line(page(&explained).trim_end())
}

/// Shows what was found, and leaves out what was not.
fn page(explained: &Explained) -> String {
    let line = |text: &str| text::one_line(text, 1_000);
    let counted = |(number, what): (Option<u64>, &str)| number.map(|number| format!("{number} {what}"));
    let usage = &explained.usage;
    let used = [
        (usage.turns, "turns"),
        (usage.input_tokens, "tokens in"),
        (usage.cached_tokens, "of them kept"),
        (usage.output_tokens, "tokens out"),
        (usage.reasoning_tokens, "of them of reasoning"),
        (usage.cost_micro_usd, "millionths of a US dollar"),
    ];
    let used: Vec<String> = used.into_iter().filter_map(counted).collect();
    let servers = explained.mcp.iter().map(|server| {
        let how = if server.connected {
            "reached"
        } else {
            "not reached"
        };
        format!("{} ({how})", line(&server.name))
    });
    let events = explained
        .events
        .iter()
        .map(|(kind, count)| format!("{kind} {count}"));
    let again = explained
        .retry_after_s
        .map(|after| format!("in {after} s"))
        .or_else(|| {
            let at = explained.retry_at_unix?;
            Some(Time::from_unix_micros(at.saturating_mul(1_000_000)).to_the_second())
        });
    let joined = |parts: Vec<String>| (!parts.is_empty()).then(|| parts.join(", "));
    let rows = [
        ("task", Some(explained.task.to_owned())),
        ("process", Some(explained.process.clone())),
        ("failure", explained.class.map(str::to_owned)),
        ("reason", explained.reason.as_deref().map(line)),
        ("asked again", again),
        ("version", explained.version.as_deref().map(line)),
        ("conversation", explained.session_id.as_deref().map(line)),
        ("used", joined(used)),
        ("tool servers", joined(servers.collect())),
        ("events", joined(events.collect())),
        ("words", explained.final_text.as_deref().map(line)),
    ];
    let rows = rows.into_iter().filter_map(|(name, said)| Some((name, said?)));
    rows.map(|(name, said)| format!("{name:13} {said}\n")).collect()
}

/// Opens a file that holds `what`, and says what to give in the place of anything else.
fn open(path: &Path, what: &str) -> Result<File, Failure> {
    let name = path.display().to_string();
    plain::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::IsADirectory => Failure::Usage(format!(
            "{name} is a directory: give the file in it that holds {what}"
        )),
        io::ErrorKind::InvalidInput => Failure::Usage(format!(
            "{name} is no plain file: copy {what} into one and give that"
        )),
        io::ErrorKind::NotFound => {
            Failure::Usage(format!("there is no file {name}: give one that holds {what}"))
        }
        _ => Failure::failed(error, format!("{name} cannot be read")),
    })
}

fn explained(
    harness: &dyn Harness,
    end: &ProcessEnd,
    seen: &Seen,
    events: BTreeMap<String, u64>,
) -> Explained {
    let outcome = harness.outcome(end, seen);
    let mut explained = Explained {
        version: seen.version().map(str::to_owned),
        session_id: seen.session().map(str::to_owned),
        final_text: seen.final_text().map(str::to_owned),
        process: match outcome.process {
            ProcessEnd::Exited(code) => format!("exited {code}"),
            ProcessEnd::Signalled(signal) => format!("signalled {signal}"),
            ProcessEnd::SpawnFailed { .. } => "not started".to_owned(),
            ProcessEnd::Unknown => "unknown".to_owned(),
        },
        task: "",
        class: None,
        reason: None,
        retry_after_s: None,
        retry_at_unix: None,
        usage: seen.usage(&UsageTotals::default()),
        mcp: seen.servers().to_vec(),
        events,
    };
    explained.task = match outcome.task {
        TaskEnd::Answered { text } => {
            explained.final_text = Some(text);
            "answered"
        }
        TaskEnd::Asked { question, .. } => {
            explained.final_text = Some(question);
            "asked"
        }
        TaskEnd::OfferedLanding { summary, .. } => {
            explained.final_text = Some(summary);
            "offered_landing"
        }
        TaskEnd::Failed {
            class, again, public, ..
        } => {
            explained.class = Some(class.as_str());
            explained.reason = Some(public);
            match again {
                Some(AskAgain::AfterMs(ms)) => explained.retry_after_s = Some(ms.div_ceil(1_000)),
                Some(AskAgain::AtUnix(at)) => explained.retry_at_unix = Some(at),
                None => {}
            }
            "failed"
        }
    };
    explained
}

/// Reads a stream line by line, and holds no more of it than one line.
fn read(from: &mut impl BufRead, harness: &dyn Harness) -> io::Result<(Seen, BTreeMap<String, u64>)> {
    let most = u64::try_from(LINE_MAX_BYTES).unwrap_or(u64::MAX);
    let (mut seen, mut events) = (Seen::default(), BTreeMap::new());
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        if from.by_ref().take(most).read_until(b'\n', &mut bytes)? == 0 {
            return Ok((seen, events));
        }
        let is_cut = bytes.len() >= LINE_MAX_BYTES && bytes.last() != Some(&b'\n');
        let skipped = if is_cut {
            skip_line(from)?
        } else {
            Skipped::default()
        };
        if skipped.has_end {
            bytes.push(b'\n');
        }
        let line = Line {
            bytes: &bytes,
            dropped_bytes: skipped.bytes,
        };
        for event in harness.events(&line) {
            *events.entry(kind_of(&event)).or_insert(0) += 1;
            seen.observe(&event);
        }
    }
}

/// The rest of a line that nobody holds.
#[derive(Debug, Default)]
struct Skipped {
    bytes: u64,
    has_end: bool,
}

fn skip_line(from: &mut impl BufRead) -> io::Result<Skipped> {
    let mut skipped = Skipped::default();
    loop {
        let some = from.fill_buf()?;
        if some.is_empty() {
            return Ok(skipped);
        }
        let end = some.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(some.len(), |at| at + 1);
        from.consume(taken);
        skipped.bytes += u64::try_from(taken).unwrap_or(u64::MAX);
        skipped.has_end = end.is_some();
        if skipped.has_end {
            return Ok(skipped);
        }
    }
}

/// The word of the transcript for an event.
fn kind_of(event: &Event) -> String {
    let value = serde_json::to_value(event).unwrap_or_default();
    value["type"].as_str().unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_skipped_to_its_end() {
        let agent = AgentConfig::new("a", vec!["a".to_owned()], HarnessKind::JsonLines).expect("an agent");
        let long = LINE_MAX_BYTES + 1_000;
        let mut stream =
            io::Cursor::new(vec![b'x'; long]).chain(&b"\n{\"type\":\"final\",\"text\":\"Done.\"}\n"[..]);
        let harness = adapter(&agent);
        let (seen, events) = read(&mut BufReader::new(&mut stream), harness.as_ref()).expect("it is read");
        assert_eq!(seen.final_text(), Some("Done."));
        assert_eq!((events["final"], seen.unknown_count()), (1, 1));
    }
}
