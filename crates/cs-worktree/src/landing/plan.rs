//! What a landing comes to, and its commits, made in the store.

use super::look::{self, Base};
use super::make::{Made, Merge};
use super::quarantine::Quarantine;
use super::{
    How, LandMethod, LandingPlan, LandingSpec, Move, Refusal, already, conflict, make, preflight, rebase,
};
use crate::Worktrees;
use crate::borders::Border;
use crate::error::WorktreeError;
use crate::keys::{BranchName, Oid};
use crate::repository::Repository;
use crate::store::{self, RefMove, Store};

impl Worktrees {
    /// Says what a landing comes to, and makes its commits in the store. Nothing of the user's is touched.
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
        store.make_ready(repository).await?;
        let quarantine = Quarantine::new(&store)?;
        let making = Making {
            quarantine: &quarantine,
            is_kept: true,
        };
        plan(&store, repository, spec, making).await
    }
}

/// Where what a plan makes goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Making<'a> {
    /// It is made here, apart from the store.
    pub(super) quarantine: &'a Quarantine,
    /// Whether it comes to the store, for a landing; otherwise it goes with the quarantine.
    pub(super) is_kept: bool,
}

/// Plans in a store that is ready and ours.
pub(super) async fn plan(
    store: &Store,
    repository: &Repository,
    spec: &LandingSpec,
    making: Making<'_>,
) -> Result<LandingPlan, WorktreeError> {
    let apart = &making.quarantine.apart();
    if let Some(refusal) = protected(spec) {
        return Ok(LandingPlan::Refused(refusal));
    }
    // The base is mostly what the store has: what a merge with that comes to is found while the user's is looked at.
    let known = store.own_ref(&store::base_ref(&spec.base)).await?;
    let early = async {
        match &known {
            Some(known) => make::merge(apart, known, &spec.head).await.map(Some),
            None => Ok(None),
        }
    };
    let head = store::head_ref(&spec.tree.card);
    let looked = look::look(&store.git, repository, &spec.base, Some(&head));
    let (looked, early) = tokio::join!(looked, early);
    let Some(base) = fetched(store, repository, &spec.base, looked?).await? else {
        return Ok(LandingPlan::Refused(Refusal::BaseMissing));
    };
    let merge = match early? {
        Some(merge) if known.as_ref() == Some(&base.tip) => merge,
        _ => make::merge(apart, &base.tip, &spec.head).await?,
    };
    let landing = Landing {
        store: apart,
        spec,
        earlier: store.own_ref(&store::land_ref(&spec.landing)).await?,
        base,
    };
    let new = match landing.commits(merge).await? {
        Ok(new) => new,
        Err(plan) => return Ok(plan),
    };
    let holds_it = if making.is_kept {
        keep(store, making.quarantine, &landing, &new).await?;
        store
    } else {
        apart
    };
    let Landing { base, .. } = landing;
    let held = base.beside.filter(|held| held.commit == spec.head);
    let how = match base.way {
        Ok(how) => how,
        Err(refusal) => return Ok(LandingPlan::Refused(refusal)),
    };
    let planned = Move {
        landing: spec.landing.clone(),
        codebase: spec.tree.codebase.clone(),
        repository: repository.clone(),
        base_branch: spec.base.clone(),
        old: base.tip,
        new,
        how,
        held: held.map(Box::new),
    };
    if let How::CheckedOut { worktree, git_dir } = &planned.how {
        let place = preflight::Place::new(worktree, git_dir);
        if let Some(refusal) = preflight::overlap(holds_it, &planned, place).await? {
            return Ok(LandingPlan::Refused(refusal));
        }
    }
    Ok(LandingPlan::Ready(planned))
}

fn protected(spec: &LandingSpec) -> Option<Refusal> {
    let pattern = spec.protected.iter().find(|p| p.matches(&spec.base))?;
    Some(Refusal::Protected {
        branch: spec.base.clone(),
        pattern: pattern.as_str().to_owned(),
    })
}

/// A base of the user's, and its commit in the store. The branches are fetched only where this one is not what the store has.
pub(crate) async fn base_in_store(
    store: &Store,
    repository: &Repository,
    branch: &BranchName,
) -> Result<Option<Base>, WorktreeError> {
    let looked = look::look(&store.git, repository, branch, None).await?;
    fetched(store, repository, branch, looked).await
}

async fn fetched(
    store: &Store,
    repository: &Repository,
    branch: &BranchName,
    looked: Option<Base>,
) -> Result<Option<Base>, WorktreeError> {
    let name = store::base_ref(branch);
    let Some(base) = looked else {
        return Ok(None);
    };
    if store.own_ref(&name).await?.as_ref() == Some(&base.tip) {
        return Ok(Some(base));
    }
    store.fetch_branches(repository).await?;
    // The user may have gone on meanwhile: what was fetched counts, and the move finds out.
    let Some(tip) = store.own_ref(&name).await? else {
        return Ok(None);
    };
    if tip == base.tip {
        return Ok(Some(base));
    }
    let tree = store.tree_of(&tip).await?;
    Ok(Some(Base { tip, tree, ..base }))
}

/// A landing that is being planned.
pub(super) struct Landing<'a> {
    /// Its new objects go into quarantine.
    pub(super) store: &'a Store,
    pub(super) spec: &'a LandingSpec,
    /// The commit that an earlier plan of this landing made.
    pub(super) earlier: Option<Oid>,
    pub(super) base: Base,
}

impl Landing<'_> {
    /// The last commit that lands, made; or what the landing comes to without one.
    async fn commits(
        &self,
        merge: Result<Merge, WorktreeError>,
    ) -> Result<Result<Oid, LandingPlan>, WorktreeError> {
        let (store, head, old) = (self.store, &self.spec.head, &self.base.tip);
        let merge = match merge {
            Ok(merge) => merge,
            Err(failed) => return self.explain(failed).await.map(Err),
        };
        // A merge that adds something, of a landing that never got this far, has nothing to look for in the base.
        let is_new = self.earlier.is_none() && merge.adds_to(&self.base.tree);
        if !is_new {
            let question = already::Question {
                store,
                card: &self.spec.tree.card,
                head,
                base: old,
                landing: Some(&self.spec.landing),
            };
            if let Some(found) = already::find(question, &merge, &self.base.tree).await? {
                return Ok(Err(found.into()));
            }
        }
        let made = match (self.spec.method, merge) {
            (LandMethod::Rebase, merge) => rebase::replay(self, &merge).await?,
            (_, Merge::Conflict(merged)) => {
                let names = [(old, self.spec.base.as_str()), (head, "the card")];
                Made::Not(LandingPlan::Conflict(
                    conflict::show(store, merged, &names).await?,
                ))
            }
            (LandMethod::Merge | LandMethod::Squash, Merge::Clean(tree)) => match &self.base.way {
                // No commit is made for a base that is not moved.
                Err(refusal) => Made::Not(LandingPlan::Refused(refusal.clone())),
                Ok(_) => Made::Commit(make::commit(self, &tree).await?),
            },
        };
        Ok(match made {
            Made::Commit(new) => Ok(new),
            Made::Not(plan) => Err(plan),
        })
    }

    /// Why there is no merge at all.
    async fn explain(&self, failed: WorktreeError) -> Result<LandingPlan, WorktreeError> {
        let (store, head) = (self.store, &self.spec.head);
        if store.commit(head.as_str()).await?.is_none() {
            return Err(WorktreeError::NoCard);
        }
        match store.merge_base(&self.base.tip, head).await? {
            None => Ok(LandingPlan::Refused(Refusal::UnrelatedHistories)),
            Some(_) => Err(failed),
        }
    }
}

/// Takes the commits into the store, and names the last of them.
async fn keep(
    store: &Store,
    quarantine: &Quarantine,
    landing: &Landing<'_>,
    new: &Oid,
) -> Result<(), WorktreeError> {
    store.borders.reach(Border::MergeMade);
    // What an earlier plan made came into the store whole.
    if landing.earlier.as_ref() != Some(new) {
        let but = [&landing.base.tip, &landing.spec.head];
        quarantine.release(new, &but).await?;
        let name = store::land_ref(&landing.spec.landing);
        let moved = store.move_ref(&name, new, landing.earlier.as_ref()).await?;
        if moved == RefMove::Stale {
            return Err(WorktreeError::Corrupt {
                what: format!("{name} moved under our lock"),
            });
        }
    }
    store.borders.reach(Border::MergeKept);
    Ok(())
}
