//! The verify of a merge: setup and verify command of the codebase, in a throw-away clone that holds the very commit that is to land.
//!
//! It runs what an agent wrote, so it is an execution under a shim like an agent's, and outlives the daemon like one: the next daemon
//! finds it by the name that the ledger keeps, follows it, or reads what came of it. Both commands run in one execution, so one limit
//! holds for both, and whatever they leave behind is closed with it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cs_fence::LandingAttempt;
use cs_harness::{AgentConfig, Harness, HarnessKind, Seen, adapter, is_from_outside};
use cs_journal::ClaimedLanding;
use cs_model::{Epoch, LandingId, RunId};
use cs_record::{Evidence, VerifyExit};
use cs_supervise::{AgentExit, Closed, ExecutionSpec, Limit, Limits, StopRequest};
use cs_worktree::{How, Move, RunKey};

use super::LandingTrouble;
use super::ledger::Job;
use crate::attempt::{Trouble, end_removed, environment, still_there, unlisted};
use crate::borders::Border;
use crate::context::Context;
use crate::executions::{
    ExecutionNote, Found, Launch, Patience, RunningExecution, StopLevel, StopSwitch, VerifyFile,
    execution_name,
};
use crate::places::Places;

/// How much disk the output of a verify may take.
const OUTPUT_MAX_BYTES: u64 = 256 << 20;
/// So many verifies of one life of a landing may be begun and ended by a signal of somebody else until that counts as their end.
const SIGNALS_MAX: usize = 3;
/// How much of the end of its output an agent gets.
const SAID_MAX_BYTES: usize = 4096;
/// The file of an execution that says how its setup command ended.
const STATUS: &str = "setup";

/// `$1` is the file of the status, `$2` the setup command or nothing, `$3` the verify command. All that they say goes into one file, in
/// its order.
const SCRIPT: &str = r#"exec </dev/null 2>&1
if [ -n "$2" ]; then
    /bin/sh -c "$2"
    code=$?
    printf %s "$code" >"$1"
    [ "$code" = 0 ] || exit "$code"
fi
exec /bin/sh -c "$3""#;

/// What is verified.
pub(super) struct Verify<'a> {
    pub(super) row: &'a ClaimedLanding,
    pub(super) plan: &'a Move,
    pub(super) execution: &'a str,
    pub(super) job: &'a Job,
}

/// What came of a verify.
#[derive(Debug)]
pub(super) enum Verdict {
    /// The command ended.
    Said {
        /// How.
        evidence: Evidence,
        /// The end of its output.
        said: String,
    },
    /// Nobody saw its end, or it never ran: it is to be run anew, under another name.
    Again,
    /// A person wants its end.
    Stop,
}

/// Says what is to be run before a landing on a codebase; nothing where nothing is to be.
pub(super) fn job(cx: &Context, row: &ClaimedLanding) -> Result<Option<Job>, LandingTrouble> {
    let policy = cx.deps.checkouts.landing(row.codebase)?;
    let limit = policy.verify_limit;
    Ok(policy.verify.map(|verify| Job {
        verify,
        setup: cx.deps.checkouts.preparation(row.codebase).setup,
        limit_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
    }))
}

/// A name that no execution of this life of the landing has had.
pub(super) async fn new_name(cx: &Context, attempt: LandingAttempt) -> Result<String, LandingTrouble> {
    let names = names(cx, attempt.landing, attempt.epoch).await?;
    Ok(execution_name(
        run_of(attempt.landing),
        attempt.epoch,
        names.len() + 1,
    ))
}

/// How often a verify of this life of the landing was begun.
pub(super) async fn begun(cx: &Context, attempt: LandingAttempt) -> Result<usize, LandingTrouble> {
    Ok(names(cx, attempt.landing, attempt.epoch).await?.len())
}

async fn names(cx: &Context, landing: LandingId, epoch: Epoch) -> Result<Vec<String>, LandingTrouble> {
    let names = cx.deps.executions.names(run_of(landing), epoch).await;
    Ok(names.map_err(unlisted)?)
}

/// Executions are named by ids that nothing else has: that of a landing is that of no run.
fn run_of(landing: LandingId) -> RunId {
    RunId::from_uuid(landing.as_uuid())
}

impl Verify<'_> {
    /// Starts it, and waits for its end.
    pub(super) async fn run(&self, cx: &Context, stop: &StopSwitch) -> Result<Verdict, LandingTrouble> {
        self.end_former(cx).await?;
        let running = self.start(cx).await?;
        self.follow(cx, running, stop).await
    }

    /// Takes up what a daemon before this one began.
    pub(super) async fn take_up(&self, cx: &Context, stop: &StopSwitch) -> Result<Verdict, LandingTrouble> {
        match self.survey(cx).await? {
            Found::NeverStarted | Found::Foreign => Ok(Verdict::Again),
            Found::NoTrace => {
                end_removed(cx, self.execution).await?;
                Ok(Verdict::Again)
            }
            Found::Running(running) => {
                cx.out(&format!(
                    "landing {} of card {}: its verify still runs",
                    self.row.landing.short(),
                    self.row.card.short()
                ));
                self.follow(cx, running, stop).await
            }
            Found::Closed(closed) => {
                let heard = cx.deps.executions.heard(self.execution, &*harness()?).await;
                self.judge(cx, &closed, &heard.map_err(Trouble::from)?).await
            }
        }
    }

    async fn survey(&self, cx: &Context) -> Result<Found, LandingTrouble> {
        let found = cx.deps.executions.survey(self.execution).await;
        Ok(found.map_err(Trouble::from)?)
    }

    async fn start(&self, cx: &Context) -> Result<Box<dyn RunningExecution>, LandingTrouble> {
        self.remove_former_clones(cx).await?;
        let note = ExecutionNote::Verify(VerifyFile {
            landing: self.row.landing,
            epoch: self.row.epoch,
            card: self.row.card,
            codebase: self.row.codebase,
            commit: self.plan.new.as_str().to_owned(),
            command: self.job.verify.clone(),
        });
        let made = cx.deps.executions.create(self.execution, &note).await;
        made.map_err(|source| Trouble::Local {
            what: "the directory of the verify cannot be made",
            source,
        })?;
        let name = clone_name(self.execution)?;
        let bring = cx.deps.checkouts.preparation(self.row.codebase).bring;
        let clone = cx.deps.landings.make_throwaway(self.plan, &name, &bring).await?;
        let status = cx.state.execution(self.execution).join(STATUS);
        let argv = self.argv(&status);
        let mut spec = ExecutionSpec::new(argv, environment(cx, self.row.card, &BTreeMap::new()), clone.path);
        spec.limits = Limits {
            spool_bytes: Some(OUTPUT_MAX_BYTES),
            awake: Some(Duration::from_millis(self.job.limit_ms)),
            ..Limits::default()
        };
        let launch = Launch {
            spec: &spec,
            files: &[],
        };
        let held = cx.deps.executions.hold(self.execution, &launch).await;
        let held = held.map_err(LandingTrouble::NotHeld)?;
        cx.deps.borders.reach(Border::V2);
        let running = held.go(b"").await.map_err(Trouble::Go)?;
        cx.out(&format!(
            "verify card {}: {} of its merge with {} runs, pid {}",
            self.row.card.short(),
            self.plan.new.short(),
            self.plan.base_branch.as_str(),
            running.agent().pid
        ));
        cx.deps.borders.reach(Border::V3);
        Ok(running)
    }

    fn argv(&self, status: &Path) -> Vec<OsString> {
        let mut argv: Vec<OsString> = ["/bin/sh", "-c", SCRIPT, "cs-panel-verify"]
            .map(OsString::from)
            .into();
        argv.push(status.into());
        argv.push(self.job.setup.clone().unwrap_or_default().into());
        argv.push(self.job.verify.clone().into());
        argv
    }

    async fn follow(
        &self,
        cx: &Context,
        mut running: Box<dyn RunningExecution>,
        stop: &StopSwitch,
    ) -> Result<Verdict, LandingTrouble> {
        let patience = Patience {
            when_done: cx.deps.settings.grace_when_done,
            after_word: cx.deps.settings.grace_after_word,
            stop_step: cx.deps.settings.stop_grace,
        };
        // A person's stop is written down before it is carried out, so that what it ends is never taken for a verdict.
        let nobody = StopSwitch::new();
        let harness = harness()?;
        let ended = tokio::select! {
            biased;
            () = stop.asked(StopLevel::Ladder) => return Ok(Verdict::Stop),
            ended = running.follow(&*harness, patience, &nobody) => ended.map_err(Trouble::from)?,
        };
        self.judge(cx, &ended.closed, &ended.seen).await
    }

    /// Says what an execution that is over came to.
    async fn judge(&self, cx: &Context, closed: &Closed, seen: &Seen) -> Result<Verdict, LandingTrouble> {
        over(closed, self.execution)?;
        let exit = match exit_of(closed) {
            Some(exit) => exit,
            None if closed.stopped_by_us && closed.limit.is_none() => return Ok(Verdict::Stop),
            None => return Ok(Verdict::Again),
        };
        if let VerifyExit::Signal(signal) = exit
            && is_from_outside(signal)
            && names(cx, self.row.landing, self.row.epoch).await?.len() < SIGNALS_MAX
        {
            cx.said(&format!(
                "the verify of card {} was ended by signal {signal}, which nobody here sent: it runs again",
                self.row.card.short()
            ));
            return Ok(Verdict::Again);
        }
        let execution = cx.state.execution(self.execution);
        let setup_failed = self.job.setup.is_some() && has_failed(&execution.join(STATUS));
        let command = self.job.setup.as_ref().filter(|_| setup_failed);
        let worked = closed.worked.unwrap_or_default();
        Ok(Verdict::Said {
            evidence: Evidence {
                command: command.unwrap_or(&self.job.verify).clone(),
                commit: self.plan.new.as_str().to_owned(),
                exit,
                duration_ms: u64::try_from(worked.as_millis()).unwrap_or(u64::MAX),
            },
            said: last_lines(&seen.text(), &local_paths(cx, self.plan)),
        })
    }

    /// Removes the clones of the verifies before this one, which are over: a landing takes the room of one.
    async fn remove_former_clones(&self, cx: &Context) -> Result<(), LandingTrouble> {
        let own = clone_name(self.execution)?;
        for clone in cx.deps.landings.throwaways().await? {
            if clone != own && landing_of(&clone) == Some(self.row.landing) {
                cx.deps.landings.remove_throwaway(&clone).await?;
            }
        }
        Ok(())
    }

    /// Ends what still runs of a life of the landing before this one, whose ledger was lost.
    async fn end_former(&self, cx: &Context) -> Result<(), LandingTrouble> {
        for number in (1..self.row.epoch.get()).rev() {
            for name in names(cx, self.row.landing, Epoch::new(number)).await? {
                close(cx, &name, StopLevel::Ladder).await?;
            }
        }
        Ok(())
    }
}

/// Ends a verify, if anything of it runs.
pub(super) async fn close(cx: &Context, execution: &str, level: StopLevel) -> Result<(), LandingTrouble> {
    let found = cx.deps.executions.survey(execution).await;
    let closed = match found.map_err(Trouble::from)? {
        Found::NeverStarted | Found::Foreign => return Ok(()),
        Found::NoTrace => return Ok(end_removed(cx, execution).await?),
        Found::Closed(closed) => closed,
        Found::Running(running) => {
            let grace = cx.deps.settings.stop_grace;
            let request = match level {
                StopLevel::Force => StopRequest::FORCE,
                StopLevel::No | StopLevel::WhenDone | StopLevel::Redirect | StopLevel::Ladder => {
                    StopRequest {
                        interrupt_grace: grace,
                        terminate_grace: grace,
                    }
                }
            };
            running.stop(request).await.map_err(Trouble::from)?
        }
    };
    over(&closed, execution)
}

/// What is left of a verify keeps its landing waiting: nothing is verified beside it.
fn over(closed: &Closed, execution: &str) -> Result<(), LandingTrouble> {
    if closed.is_over() {
        return Ok(());
    }
    let left: Vec<String> = closed
        .survivors
        .iter()
        .map(|left| format!("{} (pid {})", left.name, left.identity.pid()))
        .collect();
    Err(LandingTrouble::Left {
        left: still_there(&left),
        execution: execution.to_owned(),
    })
}

/// Whether anything of a landing's verify runs now.
pub(crate) async fn is_running(cx: &Context, attempt: LandingAttempt) -> bool {
    let Ok(Some(name)) = names(cx, attempt.landing, attempt.epoch)
        .await
        .map(|mut names| names.pop())
    else {
        return false;
    };
    matches!(cx.deps.executions.survey(&name).await, Ok(Found::Running(_)))
}

/// How a command ended; nothing where nobody saw that, or where it was stopped.
fn exit_of(closed: &Closed) -> Option<VerifyExit> {
    match closed.limit {
        Some(Limit::Awake) => return Some(VerifyExit::TimedOut),
        Some(Limit::SpoolBytes) => return Some(VerifyExit::TooMuchOutput),
        Some(Limit::Lease) => return None,
        None if closed.stopped_by_us => return None,
        None => {}
    }
    match closed.exit {
        AgentExit::Exited(code) => Some(VerifyExit::Code(code)),
        AgentExit::Signalled(signal) => Some(VerifyExit::Signal(signal)),
        AgentExit::NeverStarted | AgentExit::SpawnFailed(_) | AgentExit::Unknown => None,
    }
}

fn has_failed(status: &Path) -> bool {
    fs::read_to_string(status).is_ok_and(|code| code.trim() != "0")
}

/// The clone of a verify has the name of its execution, in letters that a directory of git may have.
fn clone_name(execution: &str) -> Result<RunKey, LandingTrouble> {
    Ok(RunKey::new(execution.replace('.', "-")).map_err(crate::trees::TreeError::from)?)
}

/// Says of which landing a clone is.
pub(crate) fn landing_of(clone: &RunKey) -> Option<LandingId> {
    clone.as_str().get(..36)?.parse().ok()
}

fn harness() -> Result<Arc<dyn Harness>, LandingTrouble> {
    let config = AgentConfig::new("verify", vec!["verify".to_owned()], HarnessKind::Plain);
    let config = config.map_err(|error| Trouble::Local {
        what: "the output of a verify cannot be read",
        source: std::io::Error::other(error),
    })?;
    Ok(adapter(&config))
}

/// The paths of this machine that an output may name, and what stands for each.
fn local_paths(cx: &Context, plan: &Move) -> Places {
    let mut known = Places::of(cx);
    known.extend([
        (plan.repository.toplevel.clone(), "."),
        (plan.repository.common_dir.clone(), "."),
    ]);
    if let How::CheckedOut { worktree, git_dir } = &plan.how {
        known.extend([(worktree.clone(), "."), (git_dir.clone(), ".")]);
    }
    Places::new(known)
}

/// The end of an output in whole lines, without paths of this machine (WT-4).
fn last_lines(text: &str, local: &Places) -> String {
    let text = local.hide(text);
    let mut from = text.len().saturating_sub(SAID_MAX_BYTES);
    if from == 0 {
        return text;
    }
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let end = &text[from..];
    let end = end.split_once('\n').map_or(end, |(_, rest)| rest);
    format!("[...]\n{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(exit: AgentExit, stopped_by_us: bool, limit: Option<Limit>) -> Closed {
        Closed {
            exit,
            stopped_by_us,
            proof: Some(cs_supervise::Proof::SubreaperEmpty),
            leaked: Vec::new(),
            survivors: Vec::new(),
            rounds: 1,
            ended_at_unix_micros: 1,
            limit,
            worked: None,
            dismissed_at_unix_micros: None,
        }
    }

    #[test]
    fn only_an_end_that_was_seen_is_a_verdict() {
        for (exit, by_us, limit, expected) in [
            (AgentExit::Exited(0), false, None, Some(VerifyExit::Code(0))),
            (AgentExit::Exited(2), false, None, Some(VerifyExit::Code(2))),
            (AgentExit::Signalled(9), false, None, Some(VerifyExit::Signal(9))),
            (AgentExit::Signalled(15), true, None, None),
            (
                AgentExit::Signalled(15),
                true,
                Some(Limit::Awake),
                Some(VerifyExit::TimedOut),
            ),
            (
                AgentExit::Signalled(9),
                true,
                Some(Limit::SpoolBytes),
                Some(VerifyExit::TooMuchOutput),
            ),
            (AgentExit::Signalled(9), true, Some(Limit::Lease), None),
            (AgentExit::Unknown, false, None, None),
            (AgentExit::NeverStarted, false, None, None),
        ] {
            let closed = closed(exit, by_us, limit);
            assert_eq!(exit_of(&closed), expected, "{closed:?}");
        }
    }

    #[test]
    fn the_end_of_an_output_has_whole_lines_and_no_local_path() {
        assert_eq!(
            last_lines(
                "at /state/x/work/a.rs\n",
                &Places::new(vec![("/state".into(), "")])
            ),
            "at /x/work/a.rs\n"
        );
        let long = "é".repeat(SAID_MAX_BYTES) + "\nlast\n";
        assert_eq!(last_lines(&long, &Places::default()), "[...]\nlast\n");
    }

    #[test]
    fn a_clone_is_found_by_its_landing() {
        let landing = "0197f3c2-7f4e-7a31-9c55-3d1f4f2a9c1b";
        for name in [format!("{landing}.1"), format!("{landing}.1-2")] {
            let clone = clone_name(&name).expect("a name");
            assert_eq!(
                landing_of(&clone).map(|id| id.to_string()).as_deref(),
                Some(landing)
            );
        }
    }
}
