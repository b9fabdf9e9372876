//! A lock that another git holds for a moment, as an editor's does again and again, is waited for before a landing is refused for it.

use std::time::Duration;

use cs_worktree::{LandingPlan, MoveOutcome};

use crate::trees::{Planned, TreeError};

/// How often, and after which pause, it is tried again: 5 s in all.
const TRIES: u32 = 25;
const PAUSE: Duration = Duration::from_millis(200);

/// What may be refused for a lock.
pub(super) trait Refusable {
    /// Whether it was, and may not be the next time.
    fn passes_soon(&self) -> bool;
}

impl Refusable for Planned {
    fn passes_soon(&self) -> bool {
        match self {
            Self::Plan(LandingPlan::Refused(refusal)) => refusal.passes_soon(),
            Self::Plan(
                LandingPlan::AlreadyLanded { .. }
                | LandingPlan::NothingToLand
                | LandingPlan::Conflict(_)
                | LandingPlan::Ready(_),
            )
            | Self::NoCodebase
            | Self::NoWork
            | Self::Uncommitted(_)
            | Self::Beside(_)
            | Self::Waiting(_) => false,
        }
    }
}

impl Refusable for MoveOutcome {
    fn passes_soon(&self) -> bool {
        match self {
            Self::Refused(refusal) => refusal.passes_soon(),
            Self::Moved | Self::BaseMoved => false,
        }
    }
}

/// Does it, and again while a lock is in the way. What was refused has changed nothing.
pub(super) async fn patiently<T, F>(mut act: impl FnMut() -> F) -> Result<T, TreeError>
where
    T: Refusable,
    F: Future<Output = Result<T, TreeError>>,
{
    for _ in 0..TRIES {
        let done = act().await?;
        if !done.passes_soon() {
            return Ok(done);
        }
        tokio::time::sleep(PAUSE).await;
    }
    act().await
}

#[cfg(test)]
mod tests {
    use cs_worktree::{BusyWith, Refusal};

    use super::*;

    fn refused(what: BusyWith) -> MoveOutcome {
        MoveOutcome::Refused(Refusal::BaseBusy(what))
    }

    /// Returns how often it was tried, and what came of it.
    async fn tried(held: u32, what: BusyWith) -> (u32, MoveOutcome) {
        let mut tries = 0;
        let outcome = patiently(|| {
            tries += 1;
            let is_held = tries <= held;
            std::future::ready(Ok(if is_held {
                refused(what)
            } else {
                MoveOutcome::Moved
            }))
        });
        let outcome = outcome.await.expect("no trouble");
        (tries, outcome)
    }

    #[tokio::test(start_paused = true)]
    async fn a_lock_is_waited_for_and_anything_else_is_not() {
        assert_eq!(tried(0, BusyWith::IndexLock).await, (1, MoveOutcome::Moved));
        assert_eq!(tried(3, BusyWith::IndexLock).await, (4, MoveOutcome::Moved));
        assert_eq!(
            tried(TRIES, BusyWith::RefLock).await,
            (TRIES + 1, MoveOutcome::Moved)
        );
        let for_ever = tried(u32::MAX, BusyWith::RefLock).await;
        assert_eq!(for_ever, (TRIES + 1, refused(BusyWith::RefLock)));
        for what in [BusyWith::Merge, BusyWith::Rebase, BusyWith::Bisect] {
            assert_eq!(tried(3, what).await, (1, refused(what)));
        }
    }
}
