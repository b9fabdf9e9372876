//! What came of an attempt, from the end of its agent to the ledger.

use std::sync::Arc;

use cs_fence::ProcessFact;
use cs_harness::{FailureCause, Harness, HarnessKind, Outcome, ProcessEnd, TaskEnd, public_reason};
use cs_journal::{ClaimedRun, Settling, Started};
use cs_model::{AskId, Cap, FailureClass};
use cs_supervise::{AgentExit, ExecutionDir, Limit};

use super::setup::{SetupStatus, setup_failed, setup_status};
use super::{Trouble, session, used};
use crate::context::Context;
use crate::executions::{Allowance, AttemptFile, EndedFor, ExecutionEnd, last_words};
use crate::outcome::{AttemptOutcome, Budget, Spent, Task, UsedRow, process_end};

/// The end of an attempt, on its way to the ledger.
pub(super) struct End {
    name: String,
    harness: Arc<dyn Harness>,
    allowance: Allowance,
    used: UsedRow,
    ended_for: Option<EndedFor>,
    /// Whether its agent knew nothing of what was said before, and should have.
    fell_back: bool,
    /// The conversation that its agent was asked to go on with.
    asked: Option<String>,
    /// The id of what it wants of people, where it has said so through its tools.
    word: Option<AskId>,
    /// Whether it was ended for what a person has said since it began.
    is_redirected: bool,
    ended: ExecutionEnd,
}

impl End {
    /// Looks at how the agent of an execution ended, and counts what it has used.
    pub(super) fn of(
        cx: &Context,
        row: &ClaimedRun,
        (name, harness, file): (String, Arc<dyn Harness>, Option<AttemptFile>),
        (mut ended, word, is_redirected): (ExecutionEnd, Option<AskId>, bool),
    ) -> Result<Self, Trouble> {
        let execution = cx.state.execution(&name);
        let ended_for = EndedFor::read(&execution);
        let errors = ExecutionDir::at(execution).stderr_spool();
        ended
            .seen
            .observe_stderr(&last_words(&errors).unwrap_or_default());
        let which = (name.as_str(), harness.kind(), file.as_ref());
        let fell_back = session::look_at(cx, row, which, &ended.seen)?;
        let mut end = Self {
            used: UsedRow::default(),
            ended_for,
            fell_back,
            asked: file.as_ref().and_then(|file| file.session.clone()),
            allowance: file.as_ref().map(|file| file.allowance).unwrap_or_default(),
            name,
            harness,
            word,
            is_redirected,
            ended,
        };
        let used = session::count(cx, &end.name, file.as_ref(), &end.ended.seen)?;
        end.used = used.freed(&cx.words_of(row));
        if end.was_cut_short() {
            used::note(cx, &end.name, &end.used)?;
        }
        Ok(end)
    }

    /// Says whether it was cut short through no fault of its own: by nobody's wish, or for what a person has said since.
    pub(super) fn was_cut_short(&self) -> bool {
        let by_nobody = self.ended.was_cut_short() && !self.ended.was_stopped();
        self.ended_for.is_none() && (by_nobody || self.is_redirected)
    }

    /// Names the conversation that its agent had.
    pub(super) fn session(&self) -> Option<&str> {
        self.ended.seen.session()
    }

    /// Makes durable what came of it.
    pub(super) fn keep(mut self, cx: &Context, started: Started) -> Result<Settling, Trouble> {
        match (self.ended.limit(), self.ended_for.take()) {
            (Some(limit), _) => keep_limited(cx, started, limit, self),
            (None, Some(why)) => keep_ended_for(cx, started, why, self),
            (None, None) if self.ended.was_stopped() => {
                let outcome = AttemptOutcome::stopped(self.spent(&started));
                keep(cx, started, &outcome, &self.ended)
            }
            (None, None) => {
                let outcome = self.outcome();
                keep_outcome(cx, started, outcome, self)
            }
        }
    }

    fn spent(&self, started: &Started) -> Spent {
        Spent {
            used: self.used.clone(),
            process: process_of(started),
        }
    }

    /// How it ended, by what its agent said and how its process ended.
    fn outcome(&self) -> Outcome {
        let end = process_end(&self.ended.closed);
        self.harness.outcome(&end, &self.ended.seen)
    }

    /// Says whether its agent was to go on with a conversation, failed through its own fault and did nothing before: then it may be the
    /// conversation that it cannot read, which would fail again as often as it is asked for.
    fn may_have_a_damaged_session(&self, task: &TaskEnd) -> bool {
        let TaskEnd::Failed { class, .. } = task else {
            return false;
        };
        let seen = &self.ended.seen;
        let is_silent = match self.harness.kind() {
            HarnessKind::Plain | HarnessKind::JsonLines => !seen.has_spoken(),
            // They name their conversation before they do anything in it.
            HarnessKind::Claude
            | HarnessKind::Codex
            | HarnessKind::Opencode
            | HarnessKind::Pi
            | HarnessKind::Acp => seen.session().is_none() && seen.said().is_none(),
        };
        self.asked.is_some()
            && matches!(class, FailureClass::Agent | FailureClass::Unknown)
            && is_silent
            && self.used.is_nothing()
    }
}

/// Makes the outcome durable.
fn keep_outcome(cx: &Context, started: Started, outcome: Outcome, end: End) -> Result<Settling, Trouble> {
    let cause = match &outcome.task {
        TaskEnd::Failed { cause, .. } => Some(*cause),
        TaskEnd::Answered { .. } | TaskEnd::Asked { .. } | TaskEnd::OfferedLanding { .. } => None,
    };
    if end.fell_back && cause.is_none() {
        return keep_fallen_back(cx, started, &end);
    }
    let execution = cx.state.execution(&end.name);
    let setup = setup_status(&execution);
    let was_started = matches!(setup, None | Some(SetupStatus::Exited(0)));
    if let (Some(FailureCause::NoSuchSession), Some(asked), true) = (cause, &end.asked, was_started) {
        session::is_unknown(cx, started.row(), (&end.name, asked))?;
        return keep_without_what_was_said(cx, started, &end, "does not know its conversation any more");
    }
    let ask = end.word.unwrap_or_else(|| cx.new_ask());
    let begins_anew = was_started && end.may_have_a_damaged_session(&outcome.task);
    let mut outcome = AttemptOutcome::new(outcome, (ask, cx.deps.clock.now()), end.spent(&started));
    let said = || last_words(&ExecutionDir::at(execution.clone()).stderr_spool()).unwrap_or_default();
    if let Some(failed) = setup_failed(setup, said) {
        outcome.task = failed;
    }
    let kind = end.harness.kind();
    match cause {
        Some(FailureCause::TurnCap) => outcome.task = own_cap(kind, Budget::Turns),
        Some(FailureCause::MoneyCap) => outcome.task = own_cap(kind, Budget::Spend),
        Some(_) | None => {}
    }
    if begins_anew {
        say_begins_anew(cx, started.row());
        return keep_without_session(cx, started, &outcome);
    }
    keep(cx, started, &outcome, &end.ended)
}

fn say_begins_anew(cx: &Context, row: &ClaimedRun) {
    cx.said(&format!(
        "run {} attempt {} of card {}: its agent failed before it went on with its conversation; its next start begins a new one and \
         gives it all that was said",
        row.run.short(),
        row.epoch,
        row.card.short()
    ));
}

fn keep_fallen_back(cx: &Context, started: Started, end: &End) -> Result<Settling, Trouble> {
    let how = "did not go on with its conversation and began a new one, without what was said before: what it answered does not count";
    keep_without_what_was_said(cx, started, end, how)
}

/// Makes the outcome durable of an attempt whose agent knew nothing of what was said before: whatever it came to, it does not count. The
/// next one begins a new conversation and is told all of it; asked for the old one again, the agent would do the same again.
fn keep_without_what_was_said(
    cx: &Context,
    started: Started,
    end: &End,
    how: &str,
) -> Result<Settling, Trouble> {
    let label = end.harness.kind().label();
    let reason = format!("{label} {how}; it starts again and is told all that was said");
    let outcome = AttemptOutcome::of(
        Task::failed(FailureClass::Interrupted, reason),
        end.spent(&started),
    );
    keep_without_session(cx, started, &outcome)
}

fn keep_without_session(
    cx: &Context,
    started: Started,
    outcome: &AttemptOutcome,
) -> Result<Settling, Trouble> {
    let run = started.row().run;
    let payload = freed(cx, &started, outcome)?;
    let settling = started.outcome(&payload)?;
    cx.journal.forget_session(run)?;
    Ok(settling)
}

/// An agent that ended by itself when it had used up what it was told that it may.
fn own_cap(kind: HarnessKind, budget: Budget) -> Task {
    let (what, key) = match budget {
        Budget::Turns => ("asked its model as often", "`turns`"),
        Budget::Spend | Budget::Wall | Budget::Output => ("spent as much", "`usd` or `card_usd`"),
    };
    Task::Capped {
        budget,
        reason: format!(
            "{} {what} as one attempt may ({key} in the configuration)",
            kind.label()
        ),
    }
}

/// Makes the outcome durable of an attempt whose agent was ended by the one who followed it: that is why it failed, whatever it said on
/// its way out; but where it has done its task by then, that counts.
fn keep_ended_for(cx: &Context, started: Started, why: EndedFor, end: End) -> Result<Settling, Trouble> {
    let outcome = end.outcome();
    if !matches!(outcome.task, TaskEnd::Failed { .. }) {
        return keep_outcome(cx, started, outcome, end);
    }
    let task = match why {
        EndedFor::FellBack => return keep_fallen_back(cx, started, &end),
        EndedFor::ToolsLost => Task::failed(
            FailureClass::Interrupted,
            "the port at which it called its tools was lost; it goes on with another".to_owned(),
        ),
        EndedFor::Silent { class, reason } => Task::failed(class, reason),
        EndedFor::UsedUp { budget, reason } => Task::Capped { budget, reason },
        EndedFor::Trouble { trouble } => {
            let cause = FailureCause::Told(trouble.status);
            let reason = public_reason(end.harness.kind(), trouble.class, cause);
            Task::refused(trouble.class, reason, trouble.again, cx.deps.clock.now())
        }
    };
    let outcome = AttemptOutcome::of(task, end.spent(&started));
    keep(cx, started, &outcome, &end.ended)
}

/// Makes the outcome durable of an attempt that has used up a budget: that, or the answer with which its agent ended in order.
fn keep_limited(cx: &Context, started: Started, limit: Limit, end: End) -> Result<Settling, Trouble> {
    let (cap, reason) = end
        .allowance
        .used_up(limit)
        .unwrap_or((Cap::Wall, limit.to_string()));
    let in_order = answer_in_order(end.harness.as_ref(), &end.ended).filter(|_| !end.fell_back);
    if let Some(outcome) = in_order {
        let row = started.row();
        cx.said(&format!(
            "run {} attempt {} of card {} was interrupted: {reason}; it ended in order, so what it said is its answer",
            row.run.short(),
            row.epoch,
            row.card.short(),
        ));
        return keep_outcome(cx, started, outcome, end);
    }
    let outcome = AttemptOutcome::capped(cap.into(), reason, end.spent(&started));
    keep(cx, started, &outcome, &end.ended)
}

/// The answer of an agent that was interrupted and ended in order all the same. An agent whose answer is all that it prints has no
/// other way to say that it is done; one that prints nothing was only cut short.
fn answer_in_order(harness: &dyn Harness, ended: &ExecutionEnd) -> Option<Outcome> {
    let AgentExit::Exited(0) = ended.closed.exit else {
        return None;
    };
    let outcome = harness.outcome(&ProcessEnd::Exited(0), &ended.seen);
    let has_words = matches!(&outcome.task, TaskEnd::Answered { text } if !text.trim().is_empty());
    has_words.then_some(outcome)
}

fn keep(
    cx: &Context,
    started: Started,
    outcome: &AttemptOutcome,
    ended: &ExecutionEnd,
) -> Result<Settling, Trouble> {
    let payload = freed(cx, &started, outcome)?;
    Ok(match ended.seen.session() {
        Some(session) => started.outcome_in_session(&payload, session)?,
        None => started.outcome(&payload)?,
    })
}

/// The outcome as it becomes durable: without what the attempt was given, since nobody could take it out later.
fn freed(cx: &Context, started: &Started, outcome: &AttemptOutcome) -> Result<String, Trouble> {
    let row = started.row();
    let words = cx.words_of(row);
    if let Some(why) = words.why_held_back() {
        cx.said(&format!("run {} attempt {}: {why}", row.run.short(), row.epoch));
    }
    Ok(serde_json::to_string(&outcome.freed(&words))?)
}

/// Says which process the record may hold for an attempt.
pub(super) fn process_of(started: &Started) -> Option<ProcessFact> {
    serde_json::from_str(started.agent()).ok()
}
