//! `tail`: the turns of a card, and what its agent says while it works.

mod ended;

use std::path::PathBuf;

use clap::Args;
use cs_harness::Event;
use cs_model::{Author, CardId, Ending, Epoch, RunId, RunState, Time, TurnSeq, TurnState};
use cs_record::{CardReads, RecordError, Run, Turn};
use cs_supervise::{ExecutionDir, TranscriptError, TranscriptReader};
use serde::Serialize;

use crate::app::{App, Desk};
use crate::failure::Failure;
use crate::text;
use crate::watch::RecordWatch;
use crate::wire::TurnWire;

/// How many turns are read at once.
const PAGE: u32 = 200;

#[derive(Debug, Args)]
pub(crate) struct TailArgs {
    /// The card: its id, or the first or last of the digits that are shown.
    card: String,
    /// Go on until interrupted.
    #[arg(short, long)]
    follow: bool,
    /// All that a stopped or failed attempt said, not only its last 200 lines.
    #[arg(long)]
    all: bool,
}

/// One line of `tail --json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum TailWire<'a> {
    /// A turn of the card.
    Turn(TurnWire),
    /// The attempt that ended without an answer, whose last words follow.
    Ended {
        run: RunId,
        epoch: u32,
        state: &'static str,
        /// How many of its lines are left out.
        left_out: u64,
        /// The file that holds all of them.
        file: PathBuf,
    },
    /// Something that the agent of the running attempt, or of the one that ended, said.
    Event {
        run: RunId,
        epoch: u32,
        index: u64,
        said: &'a Event,
    },
}

/// Carries out `tail`.
pub(crate) async fn tail(app: &App, args: &TailArgs) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let card = desk.ports.reads.find_card(&args.card).await?;
    let mut watch = RecordWatch::on(&desk.record);
    let mut printer = Printer {
        app,
        desk: &desk,
        card,
        seq: TurnSeq::START,
        shown: if args.all { usize::MAX } else { ended::LINES_SHOWN },
        live: None,
        done: None,
    };
    loop {
        printer.catch_up().await?;
        if !args.follow {
            return Ok(());
        }
        printer.until_changed(&mut watch).await?;
    }
}

/// The transcript of a running attempt.
#[derive(Debug)]
struct Live {
    attempt: (RunId, Epoch),
    reader: TranscriptReader<Event>,
}

/// What has been printed so far.
#[derive(Debug)]
struct Printer<'a> {
    app: &'a App,
    desk: &'a Desk,
    card: CardId,
    seq: TurnSeq,
    /// How many lines of an attempt that is over are printed.
    shown: usize,
    live: Option<Live>,
    /// The attempt whose transcript was printed to its end.
    done: Option<(RunId, Epoch)>,
}

impl Printer<'_> {
    /// Prints what is there and was not printed yet: first what the agent said, then the turns that came of it.
    async fn catch_up(&mut self) -> Result<(), Failure> {
        let turns = all_turns(self.desk.ports.reads.as_ref(), self.card, self.seq).await?;
        let detail = self.desk.ports.reads.card(self.card).await?;
        self.drain()?;
        for turn in &turns {
            self.turn(turn, &detail.runs)?;
            self.seq = turn.seq;
        }
        let running = detail.runs.iter().find(|run| run.state == RunState::Running);
        let attempt = running.map(|run| (run.id, run.epoch));
        if self.live.as_ref().map(|live| live.attempt) != attempt {
            self.done = self.live.take().map(|live| live.attempt).or(self.done);
        }
        if let Some(attempt) = attempt
            && self.live.is_none()
            && self.done != Some(attempt)
        {
            self.attach(attempt)?;
        }
        self.drain()?;
        self.ended(&detail.runs)
    }

    /// Prints once what an attempt said that ended without an answer, unless it was printed while it ran.
    fn ended(&mut self, runs: &[Run]) -> Result<(), Failure> {
        let failed = |error| Failure::failed(error, "the transcript cannot be found");
        let Some(ended) = ended::find(&self.desk.state, runs).map_err(failed)? else {
            return Ok(());
        };
        let (run, epoch) = ended.attempt;
        if self.done.replace(ended.attempt) == Some(ended.attempt) {
            return Ok(());
        }
        let (last, left_out) = ended::last(&ended.file, self.shown).map_err(unreadable)?;
        let file = ended.file.display().to_string();
        if self.app.global.json {
            self.app.out.json(&TailWire::Ended {
                run,
                epoch: epoch.get(),
                state: ended.state.as_str(),
                left_out,
                file: ended.file,
            })?;
        } else {
            let said = if last.is_empty() { "said nothing" } else { "said:" };
            self.app.out.line(&format!(
                "attempt {epoch} of run {} ({}) {said}",
                run.short(),
                ended.state
            ))?;
        }
        for line in &last {
            self.event(ended.attempt, line.index, &line.event)?;
        }
        if self.app.global.json || last.is_empty() {
            return Ok(());
        }
        self.app.out.line(&match usize::try_from(left_out) {
            Ok(0) => format!("  all of it is in {file}"),
            left_out => format!(
                "  {} before these: `cs-panel tail --all {}` prints all, and all are in {file}",
                text::count(left_out.unwrap_or(usize::MAX), "line"),
                self.card.short()
            ),
        })
    }

    /// Opens the transcript of an attempt's newest execution, when this machine has it and it has begun.
    fn attach(&mut self, attempt: (RunId, Epoch)) -> Result<(), Failure> {
        let failed = |error| Failure::failed(error, "the transcript cannot be found");
        let state = &self.desk.state;
        let Some(name) = state.executions_of(attempt.0, attempt.1).map_err(failed)?.pop() else {
            return Ok(());
        };
        let path = ExecutionDir::at(state.execution(&name)).transcript();
        if path.try_exists().map_err(failed)? {
            let reader = TranscriptReader::open(&path).map_err(unreadable)?;
            self.live = Some(Live { attempt, reader });
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<(), Failure> {
        let Some(mut live) = self.live.take() else {
            return Ok(());
        };
        while let Some(line) = live.reader.next_ready().map_err(unreadable)? {
            self.event(live.attempt, line.index, &line.event)?;
        }
        self.live = Some(live);
        Ok(())
    }

    /// Prints what the agent says until the record changes.
    async fn until_changed(&mut self, watch: &mut RecordWatch) -> Result<(), Failure> {
        loop {
            let Some(live) = &mut self.live else {
                watch.changed(|text| self.app.out.said(text)).await;
                return Ok(());
            };
            let attempt = live.attempt;
            tokio::select! {
                biased;
                line = live.reader.next() => {
                    let line = line.map_err(unreadable)?;
                    self.event(attempt, line.index, &line.event)?;
                }
                () = watch.changed(|text| self.app.out.said(text)) => return Ok(()),
            }
        }
    }

    fn turn(&self, turn: &Turn, runs: &[Run]) -> Result<(), Failure> {
        if self.app.global.json {
            return self.app.out.json(&TailWire::Turn(TurnWire::from(turn)));
        }
        let head = turn_head(turn, runs, self.app.now());
        self.app
            .out
            .line(&format!("{head}\n{}", text::indented(&turn.body, "  ")))
    }

    fn event(&self, (run, epoch): (RunId, Epoch), index: u64, said: &Event) -> Result<(), Failure> {
        if self.app.global.json {
            return self.app.out.json(&TailWire::Event {
                run,
                epoch: epoch.get(),
                index,
                said,
            });
        }
        match words(said) {
            Some(words) => self.app.out.line(text::indented(&words, "  | ").trim_end()),
            None => Ok(()),
        }
    }
}

fn unreadable(error: TranscriptError) -> Failure {
    Failure::failed(error, "what the agent said cannot be read")
}

/// Says who wrote a turn and when, and what it waits for by the runs of its card.
pub(crate) fn turn_head(turn: &Turn, runs: &[Run], now: Time) -> String {
    let who = match &turn.author {
        Author::Person(person) => text::one_line(person.as_str(), 60),
        Author::Agent(run) => format!("agent, run {}", run.short()),
        Author::System => "cs-panel".to_owned(),
    };
    let state = match turn.state {
        TurnState::Pending => ", waits".to_owned(),
        TurnState::Leased => {
            let run = runs.iter().find(|run| Some(run.id) == turn.run);
            format!(
                ", {}",
                run.map_or_else(|| WORKED_ON.to_owned(), |run| in_hand(run, now))
            )
        }
        TurnState::Settled => String::new(),
    };
    format!("{} {who}, {}{state}", turn.seq, text::ago(now, turn.said_at))
}

const WORKED_ON: &str = "is being worked on";

/// Says what becomes of a turn that a run holds.
fn in_hand(run: &Run, now: Time) -> String {
    match (run.state, run.again_at) {
        (RunState::Asked, _) => "waits for the answer to a question".to_owned(),
        (RunState::Ended(Ending::Failed), Some(again)) if again > now => {
            format!("waits for the retry {}", text::due(now, again))
        }
        (RunState::Ended(Ending::Failed), Some(_)) => "waits for the retry".to_owned(),
        (RunState::Ended(_), Some(_)) => "waits to go on".to_owned(),
        (RunState::Running | RunState::Ended(_), _) => WORKED_ON.to_owned(),
    }
}

/// Puts what an agent said into words for people; nothing for what only machines need.
fn words(event: &Event) -> Option<String> {
    match event {
        Event::Text { text } => Some(text.trim_end_matches('\n').to_owned()),
        Event::Progress { text } => Some(format!("({text})")),
        Event::Ask { question, choices } if choices.is_empty() => Some(format!("asks: {question}")),
        Event::Ask { question, choices } => Some(format!("asks: {question} ({})", choices.join(" | "))),
        Event::OfferLanding { summary, .. } => Some(format!("offers to land: {summary}")),
        Event::Final { text } => Some(text.clone()),
        Event::Unknown { kind, .. } => Some(format!("(a message of the unknown type `{kind}`)")),
        Event::NotKept { messages } => Some(format!("({messages} more messages of unknown types)")),
        Event::Said { text } => Some(text.clone()),
        Event::ToolStart { tool, about, .. } if about.is_empty() => Some(format!("({tool})")),
        Event::ToolStart { tool, about, .. } => Some(format!("({tool}: {about})")),
        Event::ToolEnd { ok: false, .. } => Some("(that failed)".to_owned()),
        Event::Denied { what } => Some(format!("(not allowed: {what})")),
        Event::Retry(trouble) => Some(format!("(tries again: {})", trouble.said)),
        Event::Failed(trouble) => Some(format!("(failed: {})", trouble.said)),
        Event::Usage(_)
        | Event::Session { .. }
        | Event::Started { .. }
        | Event::Turn { .. }
        | Event::ToolEnd { ok: true, .. }
        | Event::End { .. } => None,
    }
}

/// Reads all turns of a card after a place.
///
/// # Errors
/// As [`CardReads::turns`].
pub(crate) async fn all_turns(
    reads: &dyn CardReads,
    card: CardId,
    after: TurnSeq,
) -> Result<Vec<Turn>, RecordError> {
    let mut all: Vec<Turn> = Vec::new();
    loop {
        let from = all.last().map_or(after, |turn| turn.seq);
        let page = reads.turns(card, from, PAGE).await?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page);
    }
}
