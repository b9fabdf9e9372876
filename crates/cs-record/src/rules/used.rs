//! What an attempt used up.

use cs_fence::{Attempt, Fenced};
use cs_model::Time;
use cs_settle::{Usage, Used};

use crate::aggregate::Draft;
use crate::{Aggregate, RunUsage, Writes};

/// Counts what an attempt used up that has no outcome for the record: it was cut short, its run was stopped, or has gone on without it.
/// The money is spent all the same. Of an attempt that the record has left behind it knows the token no more; of one that it has
/// not begun yet, since it came out of a copy, it takes nothing.
pub fn used(aggregate: &Aggregate, attempt: &Attempt, used: &Used, now: Time) -> (Writes, Fenced<()>) {
    let run = aggregate.run(attempt.run);
    let is_its =
        |(epoch, token)| attempt.epoch < epoch || (attempt.epoch == epoch && attempt.token.hash() == token);
    if !run.map(|run| (run.epoch, run.token)).is_some_and(is_its) {
        return (Writes::default(), Fenced::Stale(aggregate.standing(attempt.run)));
    }
    let mut draft = Draft::of(aggregate, now);
    count(&mut draft, attempt, used);
    (draft.finish(), Fenced::Applied(()))
}

/// Adds what an attempt used up to the sums of its run and its card, once.
pub(super) fn count(draft: &mut Draft<'_>, attempt: &Attempt, used: &Used) {
    let Some(run) = draft.run_mut(attempt.run) else {
        return;
    };
    if let Some(counted) = RunUsage::with(run.used.as_ref(), attempt.epoch, used) {
        run.used = Some(counted);
        draft.card.usage = told(&draft.card.usage.plus(&used.usage));
    }
}

/// The sums of a card, which know no zero.
fn told(sum: &Usage) -> Usage {
    let more_than_nothing = |number: Option<u64>| number.filter(|number| *number > 0);
    Usage {
        turns: more_than_nothing(sum.turns),
        input_tokens: more_than_nothing(sum.input_tokens),
        cached_tokens: more_than_nothing(sum.cached_tokens),
        output_tokens: more_than_nothing(sum.output_tokens),
        reasoning_tokens: more_than_nothing(sum.reasoning_tokens),
        cost_microusd: more_than_nothing(sum.cost_microusd),
    }
}
