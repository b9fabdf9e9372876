//! How far the base of a card has gone on without it.

use cs_model::CardState;
use cs_record::Card;
use cs_worktree::{WorktreeError, Worktrees};

use crate::app::{App, Desk};
use crate::commands::place;
use crate::text;

/// Counts the commits that the base has, as this machine last fetched it, and the card has not; nothing where the card has no tree
/// or git cannot tell: a card is shown whatever is wrong with its store.
pub(super) async fn behind(app: &App, desk: &Desk, card: &Card) -> Option<usize> {
    match card.state {
        // What landed is in the base by then.
        CardState::Landed | CardState::Closed => return None,
        CardState::Open | CardState::Failed | CardState::Stopped => {}
    }
    let spec = place::spec_of(card).ok()??;
    let git = app.git(&desk.state).await.ok()?;
    match Worktrees::new(desk.state.git(), git).behind_base(&spec).await {
        Ok(behind) => Some(behind),
        Err(WorktreeError::NoCard | WorktreeError::BaseMissing { .. }) => None,
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, card = %card.id, "how far its base has gone on is not known");
            None
        }
    }
}

/// Says it to a person.
pub(super) fn words(base: &str, behind: Option<usize>) -> String {
    match behind {
        None | Some(0) => base.to_owned(),
        Some(behind) => {
            let commits = text::count(behind, "commit");
            format!("{base}, which has gone on by {commits} (as last fetched)")
        }
    }
}
