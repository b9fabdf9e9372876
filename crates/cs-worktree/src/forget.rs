//! What attempts left in the store, and how it is let go. Their objects stay in the store: only the names go, and what a
//! salvage noted of them.

use crate::Worktrees;
use crate::error::WorktreeError;
use crate::keys::{CodebaseKey, Oid, RunKey};
use crate::manifest;
use crate::saved;
use crate::store;

/// All refs that one attempt left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRefs {
    /// The attempt.
    pub run: RunKey,
    /// Its refs, by name and commit: at least one.
    pub refs: Vec<(String, Oid)>,
}

impl Worktrees {
    /// Lists what the attempts of a codebase left, by their names.
    ///
    /// # Errors
    /// Git failed.
    pub async fn run_refs(&self, codebase: &CodebaseKey) -> Result<Vec<RunRefs>, WorktreeError> {
        let refs = saved::refs_below(&self.store(codebase), store::RUNS).await?;
        let mut runs: Vec<RunRefs> = Vec::new();
        for (name, commit) in refs {
            let run = name
                .strip_prefix(store::RUNS)
                .and_then(|rest| rest.strip_prefix('/'));
            let Some(run) = run.and_then(|rest| RunKey::new(rest.split('/').next()?).ok()) else {
                continue;
            };
            match runs.last_mut().filter(|last| last.run == run) {
                Some(last) => last.refs.push((name, commit)),
                None => runs.push(RunRefs {
                    run,
                    refs: vec![(name, commit)],
                }),
            }
        }
        Ok(runs)
    }

    /// Removes the refs that an attempt left, all or none of them. A ref that has moved since it was listed keeps all.
    ///
    /// # Errors
    /// [`WorktreeError::CodebaseBusy`], or git failed, also since one of them has moved.
    pub async fn forget_run(&self, codebase: &CodebaseKey, run: &RunRefs) -> Result<(), WorktreeError> {
        let _lock = self.lock(codebase).await?;
        let store = self.store(codebase);
        let lines = run
            .refs
            .iter()
            .map(|(name, commit)| format!("delete {name}\0{commit}\0"));
        let update = store
            .call("update-ref")
            .args(["update-ref", "-z", "--no-deref", "--stdin"]);
        self.git().ok(update.stdin(lines.collect::<String>())).await?;
        manifest::forget(&store, &run.run)
    }
}
