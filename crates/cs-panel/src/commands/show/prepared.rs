//! What is known of an attempt here: what was done for its tree before its agent, and how far the agent says it is.

use std::fs;
use std::io;

use cs_daemon::{
    AttemptFile, BROUGHT, FELL_BACK, RuleTold, SetupStatus, StateDir, progress_of, setup_status,
};
use cs_model::{Epoch, RunState};
use cs_record::Run;
use cs_supervise::ExecutionDir;
use cs_worktree::BroughtAlong;

use crate::text;

/// Says it of a run's newest attempt, a line each; nothing for an attempt of another machine, or with nothing to say.
///
/// # Errors
/// The directory of executions cannot be read.
pub(super) fn of(state: &StateDir, run: &Run) -> io::Result<Vec<String>> {
    let Some(name) = state.executions_of(run.id, run.epoch)?.pop() else {
        return Ok(Vec::new());
    };
    let former = run.epoch.get().checked_sub(1).map(Epoch::new);
    let former = former
        .map(|epoch| state.executions_of(run.id, epoch))
        .transpose()?;
    let former = former.and_then(|mut names| names.pop());
    let dir = state.execution(&name);
    let brought = fs::read(dir.join(BROUGHT)).ok();
    let brought = brought.and_then(|bytes| serde_json::from_slice::<BroughtAlong>(&bytes).ok());
    let mut lines = brought.map(|brought| along(&brought)).unwrap_or_default();
    let note = AttemptFile::read(&ExecutionDir::at(&dir));
    lines.extend(note.as_ref().and_then(|note| told(&note.rules)));
    if setup_status(&dir) == Some(SetupStatus::Running) && run.state == RunState::Running {
        lines.push("its setup command runs; the agent comes after it".to_owned());
    }
    if run.state.is_live()
        && let Some(progress) = progress_of(&ExecutionDir::at(&dir))
    {
        lines.push(format!("it says: {}", text::one_line(&progress, 200)));
    }
    if former.is_some_and(|name| state.execution(&name).join(FELL_BACK).exists()) {
        lines.push(
            "the agent of the attempt before this did not go on with its conversation: this one was told all that was said"
                .to_owned(),
        );
    }
    if dir.join(FELL_BACK).exists() {
        lines.push(
            "its agent did not go on with its conversation; its next start gives it all that was said"
                .to_owned(),
        );
    }
    Ok(lines)
}

/// The standing rules that its agent was told.
fn told(rules: &[RuleTold]) -> Option<String> {
    let names = rules
        .iter()
        .map(|told| format!("{} version {}", told.rule.short(), told.version));
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then(|| format!("it was told the rules {}", names.join(", ")))
}

fn along(brought: &BroughtAlong) -> Vec<String> {
    let mut lines = Vec::new();
    if brought.made > 0 {
        lines.push(format!("{} came along", text::count(brought.made, "file")));
    }
    for (path, why) in &brought.left {
        let path = text::one_line(&path.to_string(), 200);
        lines.push(format!("not brought along: {path}: {}", why.text()));
    }
    let more = brought.left_count.saturating_sub(brought.left.len());
    if more > 0 {
        lines.push(format!("not brought along: {more} more"));
    }
    lines
}
