//! The agent's own conversation of a run, from one attempt to the next.
//!
//! It is the run's alone, and the harness's alone (OW-2, OW-3). What it had used when an attempt ended is noted beside that attempt's
//! execution, before anybody is told of the end: the next attempt takes it off.

use cs_harness::{HarnessKind, Seen, UsageTotals};
use cs_journal::ClaimedRun;
use cs_model::{Epoch, RunId};
use cs_supervise::ExecutionDir;
use serde::{Deserialize, Serialize};

use super::{Trouble, unlisted};
use crate::context::Context;
use crate::executions::{AttemptFile, Meter, beside};
use crate::outcome::UsedRow;

/// The file of an execution that says what its conversation had used when the attempt was counted.
const COUNTED: &str = "counted.json";
/// The file of an execution whose agent did not go on with the conversation that it was asked to go on with.
pub const FELL_BACK: &str = "fell-back.json";

/// An agent of a run that has lost its conversation so often is not asked to go on with one again: each start tells it all that was
/// said. Some name each process anew, and each of their answers would be done twice.
const LOSSES_MAX: u32 = 2;

/// What a conversation had used.
#[derive(Debug, Serialize, Deserialize)]
struct Counted {
    session: String,
    totals: UsageTotals,
}

/// A conversation that was not gone on with.
#[derive(Debug, Serialize, Deserialize)]
struct FellBack {
    asked: String,
    /// The one that its agent began in its place; nothing where it only did not know it.
    got: Option<String>,
}

/// The conversation with which an attempt begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Conversation {
    /// The one to go on with; nothing begins a new one.
    pub(crate) session: Option<String>,
    /// What it has used, as far as that was counted.
    pub(crate) before: UsageTotals,
    /// Whether it lacks what was said before: then the agent is told all of it.
    pub(crate) is_lacking: bool,
    /// How often the agents of this run had lost one.
    pub(crate) losses: u32,
}

/// What is known of the execution before an attempt.
struct Former {
    file: AttemptFile,
    fell_back: Option<FellBack>,
}

impl Former {
    /// How often the agents of the run had lost their conversation by its end.
    fn losses(&self) -> u32 {
        self.file.losses + u32::from(self.fell_back.is_some())
    }
}

/// Finds the conversation that an attempt goes on with.
pub(super) async fn conversation(
    cx: &Context,
    row: &ClaimedRun,
    kind: HarnessKind,
) -> Result<Conversation, Trouble> {
    let former = former(cx, row).await?;
    let new = Conversation {
        losses: former.as_ref().map_or(0, Former::losses),
        ..Conversation::default()
    };
    let Some(session) = cx.journal.session(row.run).filter(|_| !row.fresh) else {
        return Ok(new);
    };
    if !cx.journal.is_session_of(row.run, &session) {
        tracing::warn!(run = %row.run, "another run goes on with the conversation of this one: a new one begins");
        return Ok(new);
    }
    if !kind.resumes(&session) {
        tracing::warn!(run = %row.run, %kind, "its conversation has a name that cannot be handed back: a new one begins");
        return Ok(new);
    }
    if new.losses >= LOSSES_MAX {
        tracing::warn!(run = %row.run, losses = new.losses, "its agents lose their conversations: a new one begins");
        return Ok(new);
    }
    if former
        .as_ref()
        .is_some_and(|former| former.file.harness != kind.as_str())
    {
        return Ok(new);
    }
    let fell_back = former.and_then(|former| former.fell_back);
    Ok(Conversation {
        is_lacking: fell_back.is_some_and(|fell_back| fell_back.got.as_ref() == Some(&session)),
        before: counted(cx, row, &session).await?,
        session: Some(session),
        ..new
    })
}

/// Finds the execution before an attempt, as far as one is there still.
async fn former(cx: &Context, row: &ClaimedRun) -> Result<Option<Former>, Trouble> {
    let mut earlier = Earlier::of(row);
    while let Some(name) = earlier.next(cx).await? {
        if let Some(file) = cx.deps.executions.attempt(&name).await {
            let dir = ExecutionDir::at(cx.state.execution(&name));
            let fell_back = beside::read(&dir, FELL_BACK);
            return Ok(Some(Former { file, fell_back }));
        }
    }
    Ok(None)
}

/// Finds what a conversation of a run had used when it was last counted.
async fn counted(cx: &Context, row: &ClaimedRun, session: &str) -> Result<UsageTotals, Trouble> {
    let mut earlier = Earlier::of(row);
    while let Some(name) = earlier.next(cx).await? {
        let counted: Option<Counted> = beside::read(&ExecutionDir::at(cx.state.execution(&name)), COUNTED);
        if let Some(counted) = counted.filter(|counted| counted.session == session) {
            return Ok(counted.totals);
        }
    }
    Ok(UsageTotals::default())
}

/// The executions of the attempts of a run before one, as far as they are there still, the newest first.
struct Earlier {
    run: RunId,
    /// The attempt whose executions come next.
    number: u32,
    /// What is left of those of the attempt after it, the oldest first.
    names: Vec<String>,
}

impl Earlier {
    fn of(row: &ClaimedRun) -> Self {
        Self {
            run: row.run,
            number: row.epoch.get().saturating_sub(1),
            names: Vec::new(),
        }
    }

    async fn next(&mut self, cx: &Context) -> Result<Option<String>, Trouble> {
        while self.names.is_empty() && self.number > 0 {
            let names = cx.deps.executions.names(self.run, Epoch::new(self.number)).await;
            self.names = names.map_err(unlisted)?;
            self.number -= 1;
        }
        Ok(self.names.pop())
    }
}

/// Counts what an attempt has used, and notes up to where its conversation is counted now.
pub(super) fn count(
    cx: &Context,
    name: &str,
    file: Option<&AttemptFile>,
    seen: &Seen,
) -> Result<UsedRow, Trouble> {
    let asked = file.and_then(|file| file.session.as_deref());
    let before = file.map(|file| file.before).unwrap_or_default();
    let model = file.and_then(|file| file.model.as_deref());
    let used = UsedRow::new(Meter::of(file).read(seen), seen.session(), model);
    let totals = seen.session_usage();
    if let (Some(session), true) = (seen.session(), totals != UsageTotals::default()) {
        // A field that was not told this time keeps what was counted of it.
        let mut counted = if asked == Some(session) {
            before
        } else {
            UsageTotals::default()
        };
        counted.update(&totals);
        let counted = Counted {
            session: session.to_owned(),
            totals: counted,
        };
        beside_execution(cx, name, COUNTED, &counted)?;
    }
    Ok(used)
}

/// Notes and says that an agent did not go on with the conversation that it was asked to go on with. Says whether that is so: then what
/// it answered, it answered without knowing what was said before.
pub(super) fn look_at(
    cx: &Context,
    row: &ClaimedRun,
    (name, kind, file): (&str, HarnessKind, Option<&AttemptFile>),
    seen: &Seen,
) -> Result<bool, Trouble> {
    let asked = file.and_then(|file| file.session.as_deref());
    let (Some(asked), Some(got)) = (asked, Meter::of(file).fell_back(kind, seen)) else {
        return Ok(false);
    };
    let how = "did not go on with its conversation and began a new one; its next start gives it all";
    note_lost(cx, row, (name, how), (asked, Some(got)))?;
    Ok(true)
}

/// Notes and says that an agent does not know the conversation that it was asked to go on with.
pub(super) fn is_unknown(cx: &Context, row: &ClaimedRun, (name, asked): (&str, &str)) -> Result<(), Trouble> {
    let how = "does not know its conversation any more; its next start begins a new one and gives it all";
    note_lost(cx, row, (name, how), (asked, None))
}

fn note_lost(
    cx: &Context,
    row: &ClaimedRun,
    (name, how): (&str, &str),
    (asked, got): (&str, Option<&str>),
) -> Result<(), Trouble> {
    cx.said(&format!(
        "run {} attempt {} of card {}: its agent {how} that was said",
        row.run.short(),
        row.epoch,
        row.card.short()
    ));
    let lost = FellBack {
        asked: asked.to_owned(),
        got: got.map(str::to_owned),
    };
    beside_execution(cx, name, FELL_BACK, &lost)
}

/// Writes something beside an execution, durably.
pub(super) fn beside_execution(
    cx: &Context,
    name: &str,
    file: &str,
    noted: &impl Serialize,
) -> Result<(), Trouble> {
    let dir = cx.state.execution(name);
    if !dir.exists() {
        // Somebody has removed it, and what it used went with it.
        return Ok(());
    }
    beside::replace(&ExecutionDir::at(dir), file, noted).map_err(|source| Trouble::Local {
        what: "what is known of the agent's conversation cannot be kept",
        source,
    })
}
