//! The merge, made in the store.

use bstr::ByteSlice;

use super::{How, LandingPlan, LandingSpec, Move, Refusal, preflight};
use crate::Worktrees;
use crate::borders::Border;
use crate::error::WorktreeError;
use crate::keys::{LandingKey, Oid};
use crate::parse;
use crate::repository::Repository;
use crate::store::{self, RefMove, Store};

impl Worktrees {
    /// Says what a landing comes to, and makes the merge commit in the store. Nothing of the user's is touched.
    ///
    /// Repeated for an unmoved base it plans the same commit.
    ///
    /// # Errors
    /// [`WorktreeError::NoCard`]: the head is not in the store. [`WorktreeError::CodebaseBusy`], or git failed.
    pub async fn plan_landing(
        &self,
        repository: &Repository,
        spec: &LandingSpec,
    ) -> Result<LandingPlan, WorktreeError> {
        let _lock = self.lock(&spec.tree.codebase).await?;
        let store = self.store(&spec.tree.codebase);
        store.refresh(repository).await?;
        let head = store
            .commit(spec.head.as_str())
            .await?
            .ok_or(WorktreeError::NoCard)?;
        let Some(old) = store.commit(&store::base_ref(&spec.tree.base_branch)).await? else {
            return Ok(LandingPlan::Refused(Refusal::BaseMissing));
        };
        if store.is_ancestor(&head, &old).await? {
            return already(&store, spec, &head, &old).await;
        }
        if store.merge_base(&old, &head).await?.is_none() {
            return Ok(LandingPlan::Refused(Refusal::UnrelatedHistories));
        }
        let new = match merge(&store, spec, &old, &head).await? {
            Merged::Commit(new) => new,
            Merged::Conflict(plan) => return Ok(plan),
        };
        let how = match preflight::way(self.git(), repository, &spec.tree.base_branch).await? {
            Ok(how) => how,
            Err(refusal) => return Ok(LandingPlan::Refused(refusal)),
        };
        let landing = Move {
            landing: spec.landing.clone(),
            codebase: spec.tree.codebase.clone(),
            repository: repository.clone(),
            base_branch: spec.tree.base_branch.clone(),
            old,
            new,
            how,
        };
        if let How::CheckedOut { worktree, git_dir } = &landing.how {
            let place = preflight::Place { worktree, git_dir };
            if let Some(refusal) = preflight::overlap(&store, &landing, place).await? {
                return Ok(LandingPlan::Refused(refusal));
            }
        }
        Ok(LandingPlan::Ready(landing))
    }
}

enum Merged {
    Commit(Oid),
    Conflict(LandingPlan),
}

async fn already(
    store: &Store,
    spec: &LandingSpec,
    head: &Oid,
    base: &Oid,
) -> Result<LandingPlan, WorktreeError> {
    if let Some(commit) = merge_of(store, &spec.landing, head, base).await? {
        return Ok(LandingPlan::AlreadyLanded { commit });
    }
    let began = store.commit(&store::card_base_ref(&spec.tree.card)).await?;
    if began.as_ref() == Some(head) {
        return Ok(LandingPlan::NothingToLand);
    }
    Ok(LandingPlan::AlreadyLanded { commit: head.clone() })
}

/// The merge commit of this landing, found by its trailer.
async fn merge_of(
    store: &Store,
    landing: &LandingKey,
    head: &Oid,
    base: &Oid,
) -> Result<Option<Oid>, WorktreeError> {
    let format = "--format=%H%n%(trailers:key=Cs-Panel-Landing,valueonly)";
    let log = store.call("log").args([
        "log",
        "-z",
        "--no-color",
        "--merges",
        "--grep=Cs-Panel-Landing:",
        format,
    ]);
    let out = store.git.ok(log.arg(format!("{head}..{base}")).arg("--")).await?;
    for entry in parse::z_fields(&out) {
        let mut lines = entry.lines().map(<[u8]>::trim_ascii);
        let commit = lines.next().unwrap_or_default();
        if lines.any(|line| line == landing.as_str().as_bytes()) {
            return Ok(Some(parse::oid("log", commit)?));
        }
    }
    Ok(None)
}

async fn merge(store: &Store, spec: &LandingSpec, old: &Oid, head: &Oid) -> Result<Merged, WorktreeError> {
    let name = store::land_ref(&spec.landing);
    let earlier = store.commit(&name).await?;
    if let Some(earlier) = &earlier {
        let first = store.commit(&format!("{earlier}^1")).await?;
        let second = store.commit(&format!("{earlier}^2")).await?;
        if first.as_ref() == Some(old) && second.as_ref() == Some(head) {
            return Ok(Merged::Commit(earlier.clone()));
        }
    }
    let call = store
        .call("merge-tree")
        .args(["merge-tree", "--write-tree", "-z", "--messages"]);
    let answer = store.git.run(call.args([old.as_str(), head.as_str()])).await?;
    if answer.code > 1 {
        return Err(answer.into_error("merge-tree").into());
    }
    let merged = parse::merge_tree(&answer.stdout)?;
    if answer.code == 1 {
        let plan = LandingPlan::Conflict {
            files: merged.conflicted,
            messages: merged.messages,
        };
        return Ok(Merged::Conflict(plan));
    }
    let message = format!(
        "{}\n\nCs-Panel-Card: {}\nCs-Panel-Landing: {}\n",
        spec.message.trim(),
        spec.tree.card,
        spec.landing
    );
    let commit = store
        .call("commit-tree")
        .author(&spec.author)
        .args(["commit-tree", merged.tree.as_str()]);
    let commit = commit
        .args(["-p", old.as_str(), "-p", head.as_str()])
        .stdin(message);
    let new = parse::oid("commit-tree", &store.git.ok(commit).await?)?;
    store.borders.reach(Border::MergeMade);
    let moved = store.move_ref(&name, &new, earlier.as_ref()).await?;
    store.borders.reach(Border::MergeKept);
    match moved {
        RefMove::Moved => Ok(Merged::Commit(new)),
        RefMove::Stale => Err(WorktreeError::Corrupt {
            what: format!("{name} moved under our lock"),
        }),
    }
}
