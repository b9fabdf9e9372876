//! A machine takes a landing.

use cs_journal::ClaimedLanding;
use cs_model::{LandingState, PauseKind, Time};

use super::Taker;
use crate::aggregate::Draft;
use crate::{Aggregate, Writes};

/// Gives the accepted landing of a card its next epoch, on the machine that has the card's tree; nothing otherwise. While
/// an agent of the card is not proven gone its work may still change, and the landing waits.
///
/// That no other landing on the same base of the codebase is running is for the selection to see; a constraint holds it.
#[must_use]
pub fn take_landing(aggregate: &Aggregate, taker: &Taker<'_>, now: Time) -> Option<(Writes, ClaimedLanding)> {
    let found = aggregate.live_landing()?;
    let limits = taker.limits.codebases.get(&found.codebase);
    let pauses = [taker.limits.pause, limits.and_then(|limits| limits.pause)];
    if pauses.contains(&Some(PauseKind::Pause))
        || found.state != LandingState::Accepted
        || found.machine != taker.machine
    {
        return None;
    }
    if aggregate.runs.iter().any(|run| run.process.is_some()) {
        return None;
    }
    let epoch = found.epoch.next()?;
    let claimed = ClaimedLanding {
        landing: found.id,
        card: found.card,
        codebase: found.codebase,
        epoch,
    };
    let mut draft = Draft::of(aggregate, now);
    for landing in draft
        .landings
        .iter_mut()
        .filter(|landing| landing.id == claimed.landing)
    {
        landing.state = LandingState::Running;
        landing.epoch = epoch;
        landing.token = Some(taker.request.seed.for_landing(landing.id, epoch).hash());
    }
    Some((draft.finish(), claimed))
}
