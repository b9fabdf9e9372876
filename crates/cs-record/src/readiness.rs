//! What a card is ready for.

use cs_model::{AskState, CardState, Ending, RunState};

use crate::{Aggregate, Readiness, ReadyFor, Run};

/// Says what a card is ready for, from the aggregate alone. It is stored after every decision; takes select by it and
/// decide by it again under the lock.
///
/// * Only an open card without a landing under way is ready for anything.
/// * An owner whose process is on the record is ready for nothing, whatever its state: only the proof of its end, which is
///   [`clear_process`](cs_fence::AttemptRecord::clear_process), lets the next attempt start. One card, one tree, one agent.
/// * Pending turns go before everything else, also before the wait of a retry: somebody has spoken.
/// * An owner that asked goes on when none of its questions is open and at least one answer is news to it.
#[must_use]
pub fn readiness(aggregate: &Aggregate) -> Readiness {
    let card = &aggregate.card;
    let nothing = Readiness {
        what: ReadyFor::Nothing,
        from: card.updated_at,
    };
    if card.state != CardState::Open || aggregate.live_landing().is_some() {
        return nothing;
    }
    let owner = aggregate.owner();
    if owner.is_some_and(|run| run.state == RunState::Running || run.process.is_some()) {
        return nothing;
    }
    if let Some(from) = aggregate.pending().map(|turn| turn.said_at).min() {
        let what = ReadyFor::Turns;
        return Readiness { what, from };
    }
    owner.and_then(|run| goes_on(aggregate, run)).unwrap_or(nothing)
}

fn goes_on(aggregate: &Aggregate, owner: &Run) -> Option<Readiness> {
    match owner.state {
        RunState::Asked => rearm(aggregate, owner),
        RunState::Ended(Ending::Failed | Ending::Interrupted) => owner.again_at.map(|from| Readiness {
            what: ReadyFor::Resume,
            from,
        }),
        RunState::Running
        | RunState::Ended(
            Ending::Finished | Ending::Stopped | Ending::Capped(_) | Ending::Blocked | Ending::Orphaned(_),
        ) => None,
    }
}

fn rearm(aggregate: &Aggregate, owner: &Run) -> Option<Readiness> {
    let mut from = None;
    for ask in aggregate.asks.iter().filter(|ask| ask.run == owner.id) {
        match ask.state {
            AskState::Open | AskState::Accepted => return None,
            AskState::Answered if !ask.delivered => from = from.max(ask.answered_at),
            AskState::Answered | AskState::Withdrawn => {}
        }
    }
    from.map(|from| Readiness {
        what: ReadyFor::Rearm,
        from,
    })
}
