//! Where the files of a card are on this machine.

use std::path::PathBuf;

use cs_model::{CardId, CardState, RunState};
use cs_record::{Card, CardDetail, Run};
use cs_worktree::{Repository, TreeSpec, Worktrees};

use crate::app::{App, Desk};
use crate::failure::Failure;

/// A card, and which tree belongs to it.
#[derive(Debug)]
pub(super) struct Place {
    /// The card with its runs.
    pub(super) detail: CardDetail,
    /// Its tree, which need not be there; nothing for a card without a codebase.
    pub(super) spec: Option<TreeSpec>,
    /// All trees of this machine.
    pub(super) worktrees: Worktrees,
}

impl Place {
    /// Finds the card and names its tree.
    ///
    /// # Errors
    /// There is no such card, git is missing, or the names of the card cannot be used in git.
    pub(super) async fn find(app: &App, desk: &Desk, card: &str) -> Result<Self, Failure> {
        let id = desk.ports.reads.find_card(card).await?;
        let detail = desk.ports.reads.card(id).await?;
        let spec = spec_of(&detail.card)?;
        let worktrees = Worktrees::new(desk.state.git(), app.git(&desk.state).await?);
        Ok(Self {
            detail,
            spec,
            worktrees,
        })
    }

    /// The card.
    pub(super) fn card(&self) -> &Card {
        &self.detail.card
    }

    /// The run that works on this machine on the card at the moment.
    pub(super) fn at_work(&self, desk: &Desk) -> Option<&Run> {
        let works = |run: &&Run| run.state == RunState::Running && run.machine == desk.machine;
        self.detail.runs.iter().find(works)
    }

    /// The directory of the card's files.
    ///
    /// # Errors
    /// It is not there; the text says why, and what to do.
    pub(super) fn path(&self, desk: &Desk) -> Result<PathBuf, Failure> {
        let card = self.card();
        let found = match &self.spec {
            Some(spec) => self.worktrees.find_tree(spec)?.map(|tree| tree.path),
            None => Some(desk.state.plain_dir(card.id)).filter(|dir| dir.is_dir()),
        };
        found.ok_or_else(|| Failure::Refused(why_not_there(card, desk)))
    }
}

/// Says why a card has no files here, and what to do.
fn why_not_there(card: &Card, desk: &Desk) -> String {
    let short = card.id.short();
    if let Some(other) = card.machine.filter(|other| *other != desk.machine) {
        return format!(
            "the files of card {short} are on machine {}; use it there",
            other.short()
        );
    }
    if card.owner.is_none() {
        return format!(
            "no agent has worked on card {short} yet, so it has no files; `cs-panel show {short}` says what it waits for"
        );
    }
    let kept = format!(
        "`cs-panel salvage list {short}` lists what is kept of it, `cs-panel open {short} --worktree DIR` gives its commits in a worktree of your own"
    );
    match card.state {
        CardState::Landed | CardState::Closed => {
            format!("card {short} is {} and its tree was put away; {kept}", card.state)
        }
        CardState::Open | CardState::Failed | CardState::Stopped => {
            format!("the tree of card {short} is not here now, its next start makes it again; {kept}")
        }
    }
}

/// Names the tree of a card.
pub(super) fn spec_of(card: &Card) -> Result<Option<TreeSpec>, Failure> {
    cs_daemon::tree_spec(card).map_err(|error| {
        let short = card.id.short();
        Failure::failed(error, format!("the tree of card {short} cannot be named"))
    })
}

/// Finds the user's repository of a card's codebase.
///
/// # Errors
/// The card has no codebase, or it is not on this machine.
pub(super) async fn repository(
    desk: &Desk,
    worktrees: &Worktrees,
    card: &Card,
) -> Result<Repository, Failure> {
    let short = card.id.short();
    let Some(codebase) = card.codebase else {
        return Err(no_codebase(desk, card.id));
    };
    let here = desk.checkouts.list()?;
    let checkout = here.into_iter().find(|checkout| checkout.codebase == codebase);
    let checkout = checkout.ok_or_else(|| {
        Failure::Refused(format!(
            "this machine has no checkout of the codebase of card {short}; register it with `cs-panel codebase add PATH --name NAME`"
        ))
    })?;
    Ok(Repository::inspect(worktrees.git(), &checkout.path)
        .await?
        .repository)
}

/// What to say where only a card with a codebase will do.
pub(super) fn no_codebase(desk: &Desk, card: CardId) -> Failure {
    Failure::Refused(format!(
        "card {} has no codebase, so nothing of it is in git; its files are in {}",
        card.short(),
        desk.state.plain_dir(card).display()
    ))
}
