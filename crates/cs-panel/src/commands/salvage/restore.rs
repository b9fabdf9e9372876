//! `salvage restore`: the way back of what is kept.

use std::path::PathBuf;

use cs_model::CardState;
use cs_record::Card;
use cs_worktree::{BranchName, CodebaseKey, Repository, WorktreeError, Worktrees};
use serde::Serialize;

use super::RestoreArgs;
use super::kept::{self, Kept, Names, What};
use crate::app::{App, Desk};
use crate::failure::Failure;
use crate::text;

/// So many files are named that a branch holds although the agent's rules ignore them.
const HIDDEN_SHOWN: usize = 10;

/// What `salvage restore --json` prints.
#[derive(Debug, Serialize)]
struct RestoredWire {
    restored: String,
    path: Option<PathBuf>,
    branch: Option<String>,
    commit: Option<String>,
}

/// What a restore needs.
pub(super) struct Restoring<'a> {
    pub(super) app: &'a App,
    pub(super) desk: &'a Desk,
    pub(super) names: &'a Names,
    pub(super) worktrees: &'a Worktrees,
}

impl Restoring<'_> {
    /// Carries out `salvage restore`.
    pub(super) async fn restore(&self, all: &[Kept], args: &RestoreArgs) -> Result<(), Failure> {
        if let Some(branch) = &args.to.branch {
            return self.to_branch(all, &args.name, branch).await;
        }
        let kept = kept::find(all, &args.name)?;
        match (&args.to.to, &kept.what) {
            (Some(to), What::Snapshot(work)) => {
                let to = self.app.env.absolute(to);
                let done = self
                    .worktrees
                    .restore_to_directory(&kept.codebase, &work.reference, &to);
                done.await?;
                self.app.out.said(
                    "it is a repository of its own, and what was not committed is not committed there either",
                );
                self.tell(kept, Some(to), None, None)
            }
            (Some(_), What::Tree(_)) => Err(Failure::Usage(format!(
                "{0} is a whole tree: bring it back with `cs-panel salvage restore {0} --tree`{1}",
                kept.name,
                self.its_snapshot(all, kept)
            ))),
            (None, What::Tree(_)) => self.to_place(kept).await,
            (None, What::Snapshot(_)) => Err(Failure::Usage(format!(
                "{0} is a snapshot: bring it back with `--to DIR` or `--branch NAME`; `cs-panel salvage list` says which are trees",
                kept.name
            ))),
        }
    }

    /// Names the snapshot of a tree in the trash.
    fn its_snapshot(&self, all: &[Kept], kept: &Kept) -> String {
        let What::Tree(tree) = &kept.what else {
            return String::new();
        };
        let same = |other: &&Kept| other.what.reference() == tree.reference.as_deref();
        match tree.reference.as_ref().and_then(|_| all.iter().find(same)) {
            Some(snapshot) => format!(
                "; what was not committed in it is also kept as {0}: `cs-panel salvage restore {0} --to DIR`",
                snapshot.name
            ),
            None => String::new(),
        }
    }

    async fn to_place(&self, kept: &Kept) -> Result<(), Failure> {
        let What::Tree(tree) = &kept.what else {
            return Ok(());
        };
        let put_back = self.worktrees.restore_trashed(tree).await;
        let put_back = put_back.map_err(|error| match error {
            WorktreeError::NotOurTree { path } if path != tree.path => Failure::Refused(format!(
                "card {} has another tree in {}; use what is in {} by hand",
                kept.card_words(),
                path.display(),
                tree.path.display()
            )),
            error => error.into(),
        })?;
        let card = kept.card.and_then(|card| self.names.card(card));
        if let Some(card) = card.filter(|card| is_over(card)) {
            let short = card.id.short();
            let reopened = match card.state {
                CardState::Closed => String::new(),
                _ => format!(", or open the card again with `cs-panel send --card {short}`"),
            };
            self.app.out.said(&format!(
                "card {short} is {}: a daemon puts its tree away again when it starts and after a landing; take what you need{reopened}",
                card.state
            ));
        }
        self.tell(kept, Some(put_back.path), None, None)
    }

    async fn to_branch(&self, all: &[Kept], given: &str, branch: &str) -> Result<(), Failure> {
        let branch = BranchName::new(branch).map_err(|error| Failure::Usage(error.to_string()))?;
        // Also what an attempt committed and then rewrote has a ref, and is no snapshot.
        if given.starts_with("refs/cs-panel/") && !all.iter().any(|kept| kept.what.reference() == Some(given))
        {
            return self.any_ref_to_branch(given, &branch).await;
        }
        let kept = kept::find(all, given)?;
        let What::Snapshot(work) = &kept.what else {
            return Err(Failure::Usage(format!(
                "{0} is a whole tree: bring it back with `cs-panel salvage restore {0} --tree`{1}",
                kept.name,
                self.its_snapshot(all, kept)
            )));
        };
        let repository = self.repository(&kept.codebase, &kept.codebase_name).await?;
        let made = self
            .worktrees
            .restore_to_branch(&repository, &kept.codebase, &work.reference, &branch);
        let commit = made.await?;
        self.warn_of_hidden(&kept.codebase, &work.reference).await;
        self.tell(kept, None, Some(branch.to_string()), Some(commit.to_string()))
    }

    async fn any_ref_to_branch(&self, reference: &str, branch: &BranchName) -> Result<(), Failure> {
        for (codebase, key) in self.names.codebases() {
            let Ok(repository) = self.repository(&key, &codebase.name).await else {
                continue;
            };
            match self
                .worktrees
                .restore_to_branch(&repository, &key, reference, branch)
                .await
            {
                Ok(commit) => {
                    self.warn_of_hidden(&key, reference).await;
                    let wire = RestoredWire {
                        restored: reference.to_owned(),
                        path: None,
                        branch: Some(branch.to_string()),
                        commit: Some(commit.to_string()),
                    };
                    return self.print(&wire);
                }
                Err(WorktreeError::NotSaved { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Failure::plain(format!(
            "nothing is kept as {reference}; `cs-panel salvage list` lists what is, `cs-panel salvage show` the refs of an attempt"
        )))
    }

    /// Says that a branch holds what `.gitignore` of the repository would have kept out of it, as `salvage show` does.
    async fn warn_of_hidden(&self, codebase: &CodebaseKey, reference: &str) {
        // What was made stands, whether its files can be looked at or not.
        let Ok(detail) = self.worktrees.saved_detail(codebase, reference).await else {
            return;
        };
        let saved: Vec<String> = detail.hidden.saved.iter().map(ToString::to_string).collect();
        if saved.is_empty() {
            return;
        }
        let shown = saved
            .iter()
            .take(HIDDEN_SHOWN)
            .map(|path| text::one_line(path, 200));
        let more = match saved.len().saturating_sub(HIDDEN_SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        self.app.out.said(&format!(
            "the branch holds what only rules of the agent ignore, look for secrets before you push it: {}{more}",
            shown.collect::<Vec<_>>().join(", ")
        ));
    }

    async fn repository(&self, codebase: &CodebaseKey, name: &str) -> Result<Repository, Failure> {
        let here = self.desk.checkouts.list()?;
        let checkout = here
            .into_iter()
            .find(|checkout| checkout.codebase.to_string() == codebase.as_str());
        let checkout = checkout.ok_or_else(|| {
            Failure::Refused(format!(
                "this machine has no checkout of codebase `{name}`; register it with `cs-panel codebase add PATH --name {}`",
                text::shell_word(name)
            ))
        })?;
        Ok(Repository::inspect(self.worktrees.git(), &checkout.path)
            .await?
            .repository)
    }

    fn tell(
        &self,
        kept: &Kept,
        path: Option<PathBuf>,
        branch: Option<String>,
        commit: Option<String>,
    ) -> Result<(), Failure> {
        self.print(&RestoredWire {
            restored: kept.name.clone(),
            path,
            branch,
            commit,
        })
    }

    fn print(&self, wire: &RestoredWire) -> Result<(), Failure> {
        if self.app.global.json {
            return self.app.out.json(wire);
        }
        match (&wire.path, &wire.branch) {
            (Some(path), _) => self
                .app
                .out
                .line(&format!("{} is in {}", wire.restored, path.display())),
            (None, Some(branch)) => self.app.out.line(&format!(
                "{} is branch {branch} of your repository",
                wire.restored
            )),
            (None, None) => Ok(()),
        }
    }
}

fn is_over(card: &Card) -> bool {
    matches!(card.state, CardState::Landed | CardState::Closed)
}
