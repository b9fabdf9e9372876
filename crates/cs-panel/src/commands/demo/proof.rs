//! What the demo checks before it says that it worked.

use std::fs;
use std::time::Duration;

use cs_daemon::StateDir;
use cs_model::{Epoch, RunId};
use cs_supervise::{ExecutionDir, Verdict, survey};
use cs_worktree::Repository;
use serde_json::Value;

use super::stage::Stage;
use crate::failure::Failure;

/// How long a live shim may take to answer.
const SURVEY_BUDGET: Duration = Duration::from_secs(5);

/// Checks that the work is in the base branch and in the user's files, and returns the commit that the base points at.
pub(super) async fn landed(stage: &Stage<'_>, shown: &Value) -> Result<String, Failure> {
    stage.expect(shown["card"]["state"] == "landed", "the card is landed")?;
    let landing = shown["landings"].as_array().and_then(|landings| landings.last());
    let commit = landing
        .and_then(|landing| landing["commit"].as_str())
        .unwrap_or_default();
    let state = StateDir::open(&stage.state())?;
    let git = stage.app().git(&state).await?;
    let seen = Repository::inspect(&git, &stage.repository()).await?;
    stage.expect(
        seen.base_commit.as_str() == commit,
        "main points at the landed commit",
    )?;
    let file = stage.repository().join("greeting.txt");
    let greeting = fs::read_to_string(file).unwrap_or_default();
    stage.expect(
        greeting == format!("Hello, {}.\n", super::ANSWER),
        "greeting.txt holds the answer",
    )?;
    Ok(commit.to_owned())
}

/// Checks that every attempt of every run is closed, with proof.
pub(super) async fn nothing_runs(stage: &Stage<'_>, shown: &Value) -> Result<(), Failure> {
    let state = StateDir::open(&stage.state())?;
    let runs = shown["runs"].as_array().cloned().unwrap_or_default();
    stage.expect(!runs.is_empty(), "the card has a run")?;
    for run in runs {
        let id: RunId = run["id"]
            .as_str()
            .unwrap_or_default()
            .parse()
            .map_err(|error| Failure::failed(error, "the id of a run cannot be read"))?;
        let last = run["epoch"]
            .as_u64()
            .and_then(|epoch| u32::try_from(epoch).ok())
            .unwrap_or_default();
        for epoch in 1..=last {
            let names = state
                .executions_of(id, Epoch::new(epoch))
                .map_err(|error| Failure::failed(error, "the executions of the demo cannot be listed"))?;
            let what = format!("attempt {epoch} of run {} has an execution", id.short());
            stage.expect(!names.is_empty(), &what)?;
            for name in names {
                closed(stage, ExecutionDir::at(state.execution(&name)), id).await?;
            }
        }
    }
    Ok(())
}

async fn closed(stage: &Stage<'_>, dir: ExecutionDir, run: RunId) -> Result<(), Failure> {
    let verdict = survey(&dir, SURVEY_BUDGET)
        .await
        .map_err(|error| Failure::failed(error, "an execution of the demo cannot be judged"))?;
    let what = format!("an execution of run {} is closed with proof", run.short());
    stage.expect(is_proven(&verdict), &what)
}

fn is_proven(verdict: &Verdict) -> bool {
    match verdict {
        Verdict::NeverStarted(closed)
        | Verdict::Finished(closed)
        | Verdict::ShimDiedClosing(closed)
        | Verdict::ShimLost(closed)
        | Verdict::HostRebooted(closed) => closed.proof.is_some(),
        Verdict::Waiting(_)
        | Verdict::Adopted(_)
        | Verdict::InProcess(_)
        | Verdict::ShimHung(_)
        | Verdict::ForeignShim => false,
    }
}
