//! How far the base of a card has gone on without it.

use cs_model::CardState;
use cs_record::Card;
use cs_worktree::{WorktreeError, Worktrees};

use crate::app::{App, Desk};
use crate::commands::place;
use crate::failure::Failure;
use crate::text;

/// Counts the commits that the base has, as this machine last fetched it, and the card has not; nothing where the card has no tree
/// or git is not usable: that is for other commands to say.
pub(super) async fn behind(app: &App, desk: &Desk, card: &Card) -> Result<Option<usize>, Failure> {
    match card.state {
        // What landed is in the base by then.
        CardState::Landed | CardState::Closed => return Ok(None),
        CardState::Open | CardState::Failed | CardState::Stopped => {}
    }
    let Some(spec) = place::spec_of(card)? else {
        return Ok(None);
    };
    let Ok(git) = app.git(&desk.state).await else {
        return Ok(None);
    };
    match Worktrees::new(desk.state.git(), git).behind_base(&spec).await {
        Ok(behind) => Ok(Some(behind)),
        Err(WorktreeError::NoCard | WorktreeError::BaseMissing { .. }) => Ok(None),
        Err(error) => Err(error.into()),
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
