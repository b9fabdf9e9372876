//! How far the base of a card has gone on without it.

use std::time::Duration;

use cs_model::{AskState, CardState};
use cs_record::{Card, CardDetail};
use cs_worktree::{WorkInBase, WorktreeError, Worktrees};

use crate::app::{App, Desk};
use crate::commands::place;
use crate::failure::Failure;
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

/// How long a card is kept from being shown by a look into its base.
const LOOK_LIMIT: Duration = Duration::from_secs(5);

/// Whether the base holds the work that a card offers, because a person brought it there: then there is nothing to land. Where git cannot
/// tell now, the offer stands.
pub(super) async fn holds_offer(app: &App, desk: &Desk, detail: &CardDetail) -> bool {
    let is_offered = |ask: &cs_record::Ask| ask.offer.is_some() && ask.state == AskState::Open;
    if !detail.asks.iter().any(is_offered) {
        return false;
    }
    let found = tokio::time::timeout(LOOK_LIMIT, work_in_base(app, desk, &detail.card)).await;
    match found {
        Ok(Ok(found)) => matches!(found, Some(WorkInBase::There { .. })),
        Ok(Err(error)) => {
            tracing::debug!(error = error.text(), card = %detail.card.id, "whether its base has its work is not known");
            false
        }
        Err(_) => false,
    }
}

async fn work_in_base(app: &App, desk: &Desk, card: &Card) -> Result<Option<WorkInBase>, Failure> {
    let Some(spec) = place::spec_of(card)? else {
        return Ok(None);
    };
    let worktrees = Worktrees::new(desk.state.git(), app.git(&desk.state).await?);
    let repository = place::repository(desk, &worktrees, card).await?;
    let base = spec.base_branch.clone();
    Ok(Some(worktrees.work_in_base(&repository, &spec, &base).await?))
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
