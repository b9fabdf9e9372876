//! Follows a running agent: its output becomes events in the transcript, and its end is awaited.

use std::future;
use std::io;
use std::path::Path;
use std::time::Duration;

use cs_harness::{Event, Harness, LINE_MAX_BYTES, Line, Seen};
use cs_supervise::{
    Closed, ExecutionDir, FollowError, Followed, Follower, Puncher, SpoolOffsets, SpoolWindow, StopError,
    StopRequest, Stopper, SurveyError, Transcript, TranscriptError, TranscriptReader,
};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

use super::batch::Batch;
use super::errors::{ERRORS_EVERY, Errors};
use super::keepers::Kept;
use super::kept::{Bound, Unknowns, push};
use super::session_file::SessionFile;
use super::watch::Watch;
use super::{AttemptFile, ExecutionEnd, Patience, StopLevel, StopSwitch};

/// Why an agent could not be followed to its end. It may still run.
#[derive(Debug, thiserror::Error)]
pub enum LostSight {
    /// Its output cannot be read.
    #[error("the output of the agent cannot be read")]
    Follow(#[from] FollowError),
    /// Its output cannot be kept.
    #[error("the transcript of the agent cannot be kept")]
    Transcript(#[from] TranscriptError),
    /// Whether it has ended is not known.
    #[error("the end of the agent cannot be established")]
    Survey(#[from] SurveyError),
    /// It was to be ended and was not.
    #[error("the agent cannot be stopped")]
    Stop(#[from] StopError),
    /// Somebody else in this process follows it now.
    #[error("somebody else follows the agent now")]
    Replaced,
    /// What keeps its output ended.
    #[error("the transcript's thread ended")]
    Thread(#[source] io::Error),
}

/// The output of an agent on its way into the transcript.
struct Output<'a> {
    dir: &'a ExecutionDir,
    harness: &'a dyn Harness,
    follower: Follower,
    transcript: Option<Transcript>,
    bound: Bound,
    unknowns: Unknowns,
    /// Gives back the disk of what the transcript holds; nothing where that cannot be done.
    puncher: Option<Puncher>,
    errors: Errors,
    seen: Seen,
    watch: Watch,
    /// How far the transcript goes.
    reached: SpoolOffsets,
    /// The agent's own file of its conversation, where it has one and nobody reads it now.
    session_file: Option<SessionFile>,
}

/// What an agent is followed with.
pub(super) struct Following<'a> {
    pub(super) harness: &'a dyn Harness,
    pub(super) patience: Patience,
    pub(super) stop: &'a StopSwitch,
    /// Whether the agent cannot say anything now: it is paused, or its tree is made ready.
    pub(super) rests: &'a (dyn Fn() -> bool + Send + Sync),
}

/// Follows an agent until its tree is closed. When `stop` asks for it, its tree is closed by the ladder, and so it is, with a note of why,
/// when the agent is better ended; when it has said what it wanted it gets a grace first.
pub(super) async fn follow(
    dir: &ExecutionDir,
    running: &mut Kept,
    following: Following<'_>,
) -> Result<ExecutionEnd, LostSight> {
    let Following {
        harness,
        patience,
        stop,
        rests,
    } = following;
    let stopper = running.stopper();
    let mut output = Output::open(dir, harness).await?;
    let mut looks = looks();
    let mut give_up_at: Option<Instant> = None;
    let mut is_done = false;
    let mut has_word = false;
    let closed = loop {
        if !super::is_done(&output.seen) {
            if let Some(why) = output.watch.verdict(&output.seen) {
                tracing::info!(dir = %dir.path().display(), ?why, "the agent is ended");
                why.write(dir);
                break close(&stopper, running, &mut output, patience, stop).await?;
            }
        } else if !is_done {
            is_done = true;
            give_up_at = Some(earlier(give_up_at, patience.when_done));
        }
        tokio::select! {
            biased;
            closed = running.closed() => break closed?,
            () = stop.asked(StopLevel::Redirect) => break close(&stopper, running, &mut output, patience, stop).await?,
            () = at(give_up_at) => break close(&stopper, running, &mut output, patience, stop).await?,
            () = stop.asked(StopLevel::WhenDone), if !has_word => {
                has_word = true;
                give_up_at = Some(earlier(give_up_at, patience.after_word));
            }
            _ = looks.tick() => output.look(rests).await?,
            followed = output.follower.next() => output.take(followed?).await?,
        }
    };
    output.drain().await?;
    Ok(ExecutionEnd {
        closed,
        seen: output.seen,
    })
}

/// Reads what an agent that is already closed said, from where the transcript ends.
pub(super) async fn read_to_end(dir: &ExecutionDir, harness: &dyn Harness) -> Result<Seen, LostSight> {
    if !dir.stdout_spool().exists() {
        return Ok(Seen::default());
    }
    let mut output = Output::open(dir, harness).await?;
    output.drain().await?;
    Ok(output.seen)
}

/// Stops an agent and goes on reading while it ends. When `stop` says so it is ended at once.
async fn close(
    stopper: &Stopper,
    running: &mut Kept,
    output: &mut Output<'_>,
    patience: Patience,
    stop: &StopSwitch,
) -> Result<Closed, LostSight> {
    let stopping = stopper.stop(patience.stop());
    tokio::pin!(stopping);
    let forcing = async {
        stop.asked(StopLevel::Force).await;
        stopper.stop(StopRequest::FORCE).await
    };
    tokio::pin!(forcing);
    let mut looks = looks();
    loop {
        tokio::select! {
            biased;
            closed = running.closed() => return closed,
            stopped = &mut stopping => return Ok(stopped?),
            stopped = &mut forcing => return Ok(stopped?),
            _ = looks.tick() => output.errors.give_back().await,
            followed = output.follower.next() => output.take(followed?).await?,
        }
    }
}

/// When to look at what nobody reads.
fn looks() -> Interval {
    let mut looks = interval(ERRORS_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    looks
}

/// A moment so long from now, or the one before it.
fn earlier(moment: Option<Instant>, from_now: Duration) -> Instant {
    let then = Instant::now() + from_now;
    moment.map_or(then, |moment| moment.min(then))
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => future::pending().await,
    }
}

impl<'a> Output<'a> {
    async fn open(dir: &'a ExecutionDir, harness: &'a dyn Harness) -> Result<Self, LostSight> {
        let path = dir.transcript();
        // A transcript is as long as its agent was talkative.
        let file = AttemptFile::read(dir);
        let most_output_bytes = file.as_ref().and_then(|file| file.allowance.most_output_bytes());
        let watch = Watch::of(file.as_ref(), harness.kind());
        let opened = tokio::task::spawn_blocking(move || read_transcript(&path, watch)).await;
        let Opened {
            transcript,
            reached,
            seen,
            watch,
            unknowns,
        } = opened.map_err(|error| LostSight::Thread(error.into()))??;
        let follower = Follower::open(&dir.stdout_spool(), reached.stdout, LINE_MAX_BYTES)?
            .giving_back(SpoolWindow::default());
        Ok(Self {
            dir,
            harness,
            follower,
            transcript: Some(transcript),
            bound: Bound::new(most_output_bytes),
            unknowns,
            puncher: open_puncher(&dir.stdout_spool()),
            errors: Errors::of(dir),
            seen,
            watch,
            reached,
            session_file: file.as_ref().and_then(|file| {
                let place = file.sessions.as_ref()?;
                Some(SessionFile::of(harness.kind(), place, file.session.as_deref()))
            }),
        })
    }

    /// Looks at what nobody reads, and at whether the agent could say anything.
    async fn look(&mut self, rests: &(dyn Fn() -> bool + Send + Sync)) -> Result<(), LostSight> {
        self.errors.give_back().await;
        if self.watch.minds_silence() && rests() {
            self.watch.rests();
        }
        self.look_into_session_file().await
    }

    /// Looks at how far the agent's own file of its conversation is, and keeps what it tells.
    async fn look_into_session_file(&mut self) -> Result<(), LostSight> {
        let Some(session) = self.seen.session().map(str::to_owned) else {
            return Ok(());
        };
        let Some(mut file) = self.session_file.take() else {
            return Ok(());
        };
        let looked = tokio::task::spawn_blocking(move || (file.look(&session), file)).await;
        let (looked, file) = looked.map_err(|error| LostSight::Thread(error.into()))?;
        self.session_file = Some(file);
        if looked.grew {
            self.watch.sees_it_write();
        }
        let events = looked.reports.into_iter().map(Event::Usage).collect();
        self.append(events, self.reached.stdout).await
    }

    /// Takes in what was read, together with what else is there already, and makes it durable.
    async fn take(&mut self, first: Followed) -> Result<(), LostSight> {
        let mut batch = Batch::default();
        batch.push(first);
        while !batch.is_full() {
            tokio::select! {
                biased;
                next = self.follower.next() => batch.push(next?),
                () = future::ready(()) => break,
            }
        }
        self.keep(batch).await
    }

    async fn drain(&mut self) -> Result<(), LostSight> {
        loop {
            let batch = self.rest().await?;
            if batch.is_empty() {
                return self.look_into_session_file().await;
            }
            self.keep(batch).await?;
        }
    }

    /// Reads the next batch of what an agent has left that says nothing more; an empty one at the end.
    async fn rest(&mut self) -> Result<Batch, LostSight> {
        let mut batch = Batch::default();
        while !batch.is_full() {
            match self.follower.drain().await? {
                Some(followed) => batch.push(followed),
                None => break,
            }
        }
        Ok(batch)
    }

    /// Appends the events of a batch to the transcript, together with the offset that they reach; only then are they seen.
    async fn keep(&mut self, batch: Batch) -> Result<(), LostSight> {
        let mut events = Vec::new();
        let mut reached = None;
        for followed in batch.into_parts() {
            match followed {
                Followed::Truncated { offset } => {
                    let text = format!("[the agent cut its own output at byte {offset}; it is read again]\n");
                    tracing::warn!(dir = %self.dir.path().display(), offset, "the agent cut its own output");
                    push(&mut events, Event::Text { text });
                    reached = Some(0);
                }
                Followed::Record(record) => {
                    reached = Some(record.end_offset);
                    let line = Line {
                        dropped_bytes: record.dropped_bytes,
                        bytes: &with_its_end(record),
                    };
                    let told = self.harness.events(&line);
                    self.watch.hears(&told);
                    for event in told {
                        push(&mut events, self.unknowns.keep(event));
                    }
                }
            }
        }
        match reached {
            Some(stdout) => self.append(events, stdout).await,
            None => Ok(()),
        }
    }

    /// Appends events to the transcript, which then holds the output up to `stdout`.
    async fn append(&mut self, events: Vec<Event>, stdout: u64) -> Result<(), LostSight> {
        if events.is_empty() && stdout == self.reached.stdout {
            return Ok(());
        }
        let Some(mut transcript) = self.transcript.take() else {
            return Ok(());
        };
        let offsets = SpoolOffsets { stdout, stderr: 0 };
        let mut puncher = self.puncher.take();
        let cut = self.bound.cut(&events, transcript.length_bytes());
        let appended = tokio::task::spawn_blocking(move || {
            let kept = cut.as_deref().unwrap_or(&events);
            let result = transcript.append(kept, offsets);
            // Without an event no offset was kept.
            if result.is_ok() && !kept.is_empty() {
                puncher = puncher.and_then(|puncher| punch(puncher, stdout));
            }
            (transcript, puncher, events, result)
        });
        let (transcript, puncher, events, result) =
            appended.await.map_err(|error| LostSight::Thread(error.into()))?;
        self.transcript = Some(transcript);
        self.puncher = puncher;
        result?;
        self.reached = offsets;
        for event in &events {
            self.seen.observe(event);
            self.watch.observe(event);
        }
        Ok(())
    }
}

pub(super) fn open_puncher(spool: &Path) -> Option<Puncher> {
    Puncher::open(spool, SpoolWindow::default())
        .inspect_err(|error| tracing::debug!(%error, "the disk of the output is not given back"))
        .ok()
}

/// Punches out what was kept. One that cannot is not tried again.
pub(super) fn punch(mut puncher: Puncher, kept: u64) -> Option<Puncher> {
    puncher
        .kept(kept)
        .inspect_err(|error| tracing::debug!(%error, "the disk of the output is not given back"))
        .ok()?;
    Some(puncher)
}

/// How long a follower of the daemon before this one may take to end its last append, in one process with it.
const HANDOVER_LIMIT: Duration = Duration::from_secs(5);

/// A transcript that is gone on with, and what it holds.
struct Opened {
    transcript: Transcript,
    reached: SpoolOffsets,
    seen: Seen,
    watch: Watch,
    unknowns: Unknowns,
}

/// Opens a transcript to append to, and folds what it holds.
fn read_transcript(path: &Path, mut watch: Watch) -> Result<Opened, LostSight> {
    let (transcript, resumed) = Transcript::open_within(path, HANDOVER_LIMIT)?;
    let mut seen = Seen::default();
    let mut unknowns = Unknowns::default();
    let mut reader = TranscriptReader::<Event>::open(path)?;
    while let Some(line) = reader.next_ready()? {
        seen.observe(&line.event);
        watch.observe(&line.event);
        unknowns.observe(&line.event);
    }
    Ok(Opened {
        transcript,
        reached: resumed.reached,
        seen,
        watch,
        unknowns,
    })
}

/// The bytes of a line with its line feed, as a harness reads them.
fn with_its_end(record: cs_supervise::Record) -> Vec<u8> {
    let mut bytes = record.bytes;
    if record.terminated {
        bytes.push(b'\n');
    }
    bytes
}

#[cfg(test)]
mod tests;
