//! Laws of what attempts use up.

use std::time::Duration;

use cs_fence::{Attempt, Fenced, Interruption, Token};
use cs_journal::Task;
use cs_model::{CardId, Clock, Epoch, FailureClass};
use cs_record::SendTo;
use cs_settle::{GiveUp, Usage, Used};

use super::World;

fn used(turns: u64, cached_tokens: Option<u64>) -> Used {
    Used {
        usage: Usage {
            turns: Some(turns),
            cached_tokens,
            cost_microusd: Some(0),
            ..Usage::default()
        },
        session: Some(format!("conversation of {turns}")),
        model: None,
    }
}

async fn tell(world: &World, attempt: &Attempt, used: &Used) -> Fenced<()> {
    world
        .settlements
        .used(attempt, used)
        .await
        .expect("the record answers")
}

/// Turns of the card, of all attempts of its owner and of the last of them that is counted.
async fn turns(world: &World, card: CardId) -> (Option<u64>, Option<u64>, Option<u64>) {
    let detail = world.detail(card).await;
    let run = world.owner(card).await.used.expect("something is counted");
    (detail.card.usage.turns, run.all.turns, run.last.turns)
}

/// What an attempt used up is counted with its outcome, for itself, its run and its card. What nobody told stays unknown, and of the
/// sums of a card also what was nothing.
pub async fn what_attempts_use_up_is_summed(world: &World) {
    let first = world.running().await;
    let card = first.claimed.card;
    assert_eq!(world.owner(card).await.used, None);
    assert_eq!(world.detail(card).await.card.usage, Usage::default());
    let failure = GiveUp {
        used: used(2, None),
        ..GiveUp::new(FailureClass::Agent, "it broke")
    };
    let told = world.settlements.give_up(&first.attempt, &failure).await;
    assert!(matches!(told, Ok(Fenced::Applied(_))), "{told:?}");
    world.clock.advance(Duration::from_secs(600));
    let second = world.take(Task::Resumes).await.expect("it goes on");
    let mut answer = World::words("done");
    answer.used = Used {
        model: Some("big".to_owned()),
        session: None,
        ..used(3, Some(70))
    };
    let _ = world.answer(&second.attempt, &answer).await;
    assert_eq!(turns(world, card).await, (Some(5), Some(5), Some(3)));
    let sums = world.detail(card).await.card.usage;
    assert_eq!((sums.cached_tokens, sums.reasoning_tokens), (Some(70), None));
    assert_eq!(sums.cost_microusd, None, "nothing that is known");
    let run = world.owner(card).await.used.expect("it is counted");
    assert_eq!((run.counted, run.all.cost_microusd), (Epoch::new(2), Some(0)));
    assert_eq!(
        (run.session.as_deref(), run.model.as_deref()),
        (Some("conversation of 2"), Some("big"))
    );
}

/// An attempt is counted once, with its outcome or apart from it, whatever became of it: it was cut short, its card was stopped, or its
/// run has gone on. One that the record has never begun is stale.
pub async fn an_attempt_is_counted_once_whatever_became_of_it(world: &World) {
    let first = world.running().await;
    let card = first.claimed.card;
    let reports = [Interruption {
        attempt: first.attempt,
        at: world.clock.now(),
    }];
    let interrupted = world
        .attempts
        .interrupt(world.machine, world.operation(), &reports);
    interrupted.await.expect("the record answers");
    world.clock.advance(Duration::from_secs(600));
    let second = world.take(Task::Resumes).await.expect("it goes on");
    for _ in 0..2 {
        let told = tell(world, &first.attempt, &used(2, None)).await;
        assert_eq!(told, Fenced::Applied(()), "its run has gone on");
        assert_eq!(turns(world, card).await, (Some(2), Some(2), Some(2)));
    }
    let never = [
        Attempt {
            token: Token::from_bytes([9; 16]),
            ..second.attempt
        },
        Attempt {
            epoch: Epoch::new(3),
            ..second.attempt
        },
    ];
    for attempt in never {
        let told = tell(world, &attempt, &used(9, None)).await;
        assert!(matches!(told, Fenced::Stale(_)), "{told:?}");
    }
    let stopped = world.people.stop_card(card, &world.person).await;
    stopped.expect("it is stopped");
    for _ in 0..2 {
        let told = tell(world, &second.attempt, &used(4, None)).await;
        assert_eq!(told, Fenced::Applied(()), "it is over");
        assert_eq!(turns(world, card).await, (Some(6), Some(6), Some(4)));
    }
    world.send(SendTo::Card(card), "go on").await;
    let third = world.running_card(card).await;
    let mut answer = World::words("done");
    answer.used = used(1, None);
    let _ = world.answer(&third.attempt, &answer).await;
    let told = tell(world, &third.attempt, &answer.used).await;
    assert_eq!(told, Fenced::Applied(()));
    assert_eq!(turns(world, card).await, (Some(7), Some(7), Some(1)));
}

/// What an attempt may say that it used up.
pub(super) fn some_use(which: u8) -> Used {
    Used {
        usage: Usage {
            turns: (which > 99).then_some(u64::from(which)),
            reasoning_tokens: Some(u64::from(which / 32)),
            ..Usage::default()
        },
        session: (which % 32 == 7).then(|| format!("conversation-{which}")),
        model: None,
    }
}
