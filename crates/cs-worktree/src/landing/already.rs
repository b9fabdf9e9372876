//! Whether the work of a card is in a base already, and how it came there.

use std::collections::BTreeSet;

use bstr::ByteSlice;
use serde::{Deserialize, Serialize};

use super::make::{self, Merge};
use super::quarantine::Quarantine;
use super::{LandingPlan, plan};
use crate::Worktrees;
use crate::error::{GitError, WorktreeError};
use crate::keys::{BranchName, CardKey, LandingKey, Oid};
use crate::parse;
use crate::path::RepoPath;
use crate::repository::Repository;
use crate::runner::Call;
use crate::status;
use crate::store::{self, Store};
use crate::tree::TreeSpec;

/// With more commits of a card, or of the base since it began, its single commits are not looked for.
const COMMITS_MAX: usize = 5_000;
/// Commits of the base that change a file of the card, of which so many are compared with all of the card.
const SQUASHES_MAX: usize = 200;

/// How the work of a card came to a base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LandedHow {
    /// By this landing: its name is on the commit.
    ThisLanding,
    /// The card's commit is in the history of the base.
    Ancestor,
    /// Each of the card's commits is there as another commit with the same change: rebased, or picked one by one.
    EachCommit,
    /// One commit there has the same change as all of the card: squashed.
    Squashed,
    /// In another way: a merge of the card would change nothing.
    AddsNothing,
}

/// Whether the work of a card is in a base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkInBase {
    /// The card has no commit of its own, or its commits change nothing.
    NoWork,
    /// There is no such branch.
    BaseMissing,
    /// It is not, or not all of it.
    NotYet,
    /// It is.
    There {
        /// The commit of the base that has it; the tip of the base where no single one can be named.
        commit: Oid,
        /// How it came there.
        how: LandedHow,
    },
}

/// What was found of a card in a base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    There { commit: Oid, how: LandedHow },
}

impl From<Found> for LandingPlan {
    fn from(found: Found) -> Self {
        match found {
            Found::Nothing => Self::NothingToLand,
            Found::There { commit, how } => Self::AlreadyLanded { commit, how },
        }
    }
}

/// What is looked for, and where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) store: &'a Store,
    pub(super) card: &'a CardKey,
    pub(super) head: &'a Oid,
    /// The commit of the base.
    pub(super) base: &'a Oid,
    /// A landing that may have been carried out already.
    pub(super) landing: Option<&'a LandingKey>,
}

impl Worktrees {
    /// Says whether the work of a card, as far as it is committed, is in a base already, however it came there: so that nobody is
    /// asked to land it once more. Nothing of the user's is touched.
    ///
    /// Of very long histories (5,000 commits on a side) single commits are not compared: then only a merge that would change
    /// nothing is seen.
    ///
    /// # Errors
    /// [`WorktreeError::NoCard`]: the card was never worked on here. [`WorktreeError::CodebaseBusy`], or git failed.
    pub async fn work_in_base(
        &self,
        repository: &Repository,
        spec: &TreeSpec,
        base: &BranchName,
    ) -> Result<WorkInBase, WorktreeError> {
        let _lock = self.lock(&spec.codebase).await?;
        let store = self.store(&spec.codebase);
        store.make_ready(repository).await?;
        let head = self.head_now(&store, spec).await?;
        let Some(base) = plan::base_in_store(&store, repository, base).await? else {
            return Ok(WorkInBase::BaseMissing);
        };
        // Nothing of what git writes to answer this is kept.
        let quarantine = Quarantine::new(&store)?;
        let apart = quarantine.apart();
        let question = Question {
            store: &apart,
            card: &spec.card,
            head: &head,
            base: &base.tip,
            landing: None,
        };
        let Ok(merge) = make::merge(&apart, &base.tip, &head).await? else {
            return Ok(WorkInBase::NotYet);
        };
        if merge.adds_to(&base.tree) {
            return Ok(WorkInBase::NotYet);
        }
        Ok(match find(question, &merge, &base.tree).await? {
            None => WorkInBase::NotYet,
            Some(Found::Nothing) => WorkInBase::NoWork,
            Some(Found::There { commit, how }) => WorkInBase::There { commit, how },
        })
    }
}

impl Worktrees {
    /// The commit of a card: as its tree is now, or as it was saved where the tree is not here.
    pub(super) async fn head_now(&self, store: &Store, spec: &TreeSpec) -> Result<Oid, WorktreeError> {
        let of_tree = match self.find_tree(spec)? {
            Some(tree) => status::fetch_head(store, &tree).await?,
            None => None,
        };
        match of_tree {
            Some(head) => Ok(head),
            None => store.card_head(&spec.card).await,
        }
    }
}

/// Looks for the work of a card in a base, of which the merge is known.
pub(super) async fn find(
    question: Question<'_>,
    merge: &Merge,
    base_tree: &Oid,
) -> Result<Option<Found>, WorktreeError> {
    let Question {
        store, head, base, ..
    } = question;
    let there = |how, commit| Some(Found::There { commit, how });
    if let Some(commit) = question.this_landing().await? {
        return Ok(there(LandedHow::ThisLanding, commit));
    }
    if store.is_ancestor(head, base).await? {
        let began = store.commit(&store::card_base_ref(question.card)).await?;
        if began.as_ref() == Some(head) {
            return Ok(Some(Found::Nothing));
        }
        return Ok(there(LandedHow::Ancestor, head.clone()));
    }
    if merge.adds_to(base_tree) {
        return Ok(None);
    }
    // A card and a base without a common commit were not merged.
    let Some(from) = store.merge_base(base, head).await? else {
        return Ok(None);
    };
    if store.tree_of(head).await? == store.tree_of(&from).await? && question.own_change().await?.is_none() {
        return Ok(Some(Found::Nothing));
    }
    if let Some(commit) = question.each_commit().await? {
        return Ok(there(LandedHow::EachCommit, commit));
    }
    if let Some(commit) = question.squashed(&from).await? {
        return Ok(there(LandedHow::Squashed, commit));
    }
    match merge {
        Merge::Clean(_) => Ok(there(LandedHow::AddsNothing, base.clone())),
        Merge::Conflict(_) => Ok(None),
    }
}

impl Question<'_> {
    fn call(&self, op: &'static str) -> Call {
        self.store.call(op)
    }

    /// The last commit of the landing, found by its trailer.
    async fn this_landing(&self) -> Result<Option<Oid>, WorktreeError> {
        let Some(landing) = self.landing else {
            return Ok(None);
        };
        let format = "--format=%H%n%(trailers:key=Cs-Panel-Landing,valueonly)";
        let log = self
            .call("log")
            .args(["log", "-z", "--no-color", "--grep=Cs-Panel-Landing:", format]);
        let range = format!("{}..{}", self.head, self.base);
        let out = self.store.git.ok(log.arg(range).arg("--")).await?;
        for entry in parse::z_fields(&out) {
            let mut lines = entry.lines().map(<[u8]>::trim_ascii);
            let commit = lines.next().unwrap_or_default();
            if lines.any(|line| line == landing.as_str().as_bytes()) {
                return Ok(Some(parse::oid("log", commit)?));
            }
        }
        Ok(None)
    }

    /// A commit of the card, not of the base, that changes a file.
    async fn own_change(&self) -> Result<Option<Oid>, WorktreeError> {
        let log = self
            .call("log")
            .args(["log", "--no-color", "--no-merges", "--max-count=1"]);
        let log = log.args(["--format=%H", "--full-history"]);
        let range = format!("{}..{}", self.base, self.head);
        // The empty path is every path: only commits that change one are listed.
        let out = self.store.git.ok(log.arg(range).args(["--", "."])).await?;
        first_oid("log", &out)
    }

    /// The newest commit of the base that has the change of a commit of the card, if each of those has one.
    async fn each_commit(&self) -> Result<Option<Oid>, WorktreeError> {
        let range = format!("{}...{}", self.base, self.head);
        let list = |side: &str| {
            let list = self.call("rev-list");
            list.args(["rev-list", "--no-merges", side, &range])
        };
        for side in ["--left-only", "--right-only"] {
            let count = list(side).args(["--count", &format!("--max-count={}", COMMITS_MAX + 1)]);
            let count = self.store.git.ok(count).await?;
            let count = count.trim_ascii().to_str_lossy().parse::<usize>();
            if !count.is_ok_and(|count| (1..=COMMITS_MAX).contains(&count)) {
                return Ok(None);
            }
        }
        let of_card = self
            .store
            .git
            .ok(list("--right-only").arg("--cherry-mark"))
            .await?;
        if !of_card.lines().all(|line| line.starts_with(b"=")) {
            return Ok(None);
        }
        let of_base = self
            .store
            .git
            .ok(list("--left-only").arg("--cherry-mark"))
            .await?;
        let newest = of_base.lines().find_map(|line| line.strip_prefix(b"="));
        first_oid("rev-list", newest.unwrap_or_default())
    }

    /// The commit of the base that has the change of all of the card.
    async fn squashed(&self, from: &Oid) -> Result<Option<Oid>, WorktreeError> {
        let (from, head) = (from.as_str(), self.head.as_str());
        let names = self.diff_tree().args(["--name-only", "-z", from, head]);
        let names = parse::z_paths(&self.store.git.ok(names).await?);
        let Some(one) = names.first() else {
            return Ok(None);
        };
        let candidates = self.candidates(from, one).await?;
        if candidates.is_empty() {
            return Ok(None);
        }
        let Some(wanted) = self.patch_ids(self.diff_tree().args(["-p", from, head])).await? else {
            return Ok(None);
        };
        let wanted: BTreeSet<&[u8]> = wanted
            .lines()
            .filter_map(|line| line.split_str(" ").next())
            .collect();
        let each = self.diff_tree().args(["-p", "--stdin", "--always"]);
        let Some(ids) = self.patch_ids(each.stdin(candidates)).await? else {
            return Ok(None);
        };
        for line in ids.lines() {
            if let Some((id, commit)) = line.split_once_str(" ")
                && wanted.contains(id)
            {
                return Ok(Some(parse::oid("patch-id", commit)?));
            }
        }
        Ok(None)
    }

    /// Commits of the base that change a file that the card changes too.
    async fn candidates(&self, from: &str, path: &RepoPath) -> Result<Vec<u8>, WorktreeError> {
        let list = self
            .call("rev-list")
            .args(["rev-list", "--no-merges", "--full-history"]);
        let list = list.arg(format!("--max-count={SQUASHES_MAX}"));
        let list = list
            .arg(format!("{from}..{}", self.base))
            .arg("--")
            .arg(path.to_os_str());
        Ok(self.store.git.ok(list).await?)
    }

    fn diff_tree(&self) -> Call {
        let diff = self
            .call("diff-tree")
            .args(["diff-tree", "-r", "--no-renames", "--no-ext-diff"]);
        diff.args(["--no-textconv", "--no-color", "--full-index", "--binary"])
    }

    /// The names of changes, each with its commit; `None` where the changes are more than we read.
    async fn patch_ids(&self, diff: Call) -> Result<Option<Vec<u8>>, WorktreeError> {
        let text = match self.store.git.ok(diff).await {
            Ok(text) => text,
            Err(error @ GitError::OverCap { .. }) => {
                tracing::debug!(%error, "too large to be looked for in the base");
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let ids = self.call("patch-id").args(["patch-id", "--stable"]);
        Ok(Some(self.store.git.ok(ids.stdin(text)).await?))
    }
}

fn first_oid(op: &'static str, lines: &[u8]) -> Result<Option<Oid>, WorktreeError> {
    let first = lines.lines().next().filter(|line| !line.is_empty());
    Ok(first.map(|line| parse::oid(op, line)).transpose()?)
}
