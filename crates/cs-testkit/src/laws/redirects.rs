//! Laws of what a person says to an owner that is at work.

use std::time::Duration;

use cs_fence::{Attempt, Fenced, InterruptOutcome};
use cs_journal::Task;
use cs_model::{CardId, Clock, FailureClass, IdSource, MachineId, RunState};
use cs_record::{Former, Redirect, SendTo};

use super::World;
use super::fences::interrupt;
use super::world::{AGENT, Taken};

/// A card whose owner is at work since a second.
async fn at_work(world: &World) -> Taken {
    let taken = world.running().await;
    later(world);
    taken
}

fn later(world: &World) {
    world.clock.set(world.clock.now().plus(Duration::from_secs(1)));
}

async fn redirects(world: &World) -> Vec<Redirect> {
    world.peek().await.redirects
}

async fn cut_short(world: &World, attempt: &Attempt) {
    assert_eq!(interrupt(world, attempt).await, InterruptOutcome::Interrupted);
}

async fn more(world: &World, card: CardId) {
    world.send(SendTo::Card(card), "no, the other one").await;
}

/// A turn that a person says to an owner at work is named with the very attempt, until that has ended; the next one takes it with the
/// turns that the former had (OW-14).
pub async fn a_turn_for_an_owner_at_work_is_a_redirect(world: &World) {
    let taken = at_work(world).await;
    let card = taken.claimed.card;
    assert_eq!(redirects(world).await, []);
    more(world, card).await;
    let redirect = Redirect {
        run: taken.claimed.run,
        epoch: taken.claimed.epoch,
        card,
        codebase: taken.claimed.codebase,
        is_due: true,
    };
    assert_eq!(redirects(world).await, [redirect]);
    assert!(world.take(Task::Turns).await.is_none(), "its agent is not gone");
    cut_short(world, &taken.attempt).await;
    assert_eq!(redirects(world).await, [], "it has ended");
    let next = world.take(Task::Turns).await.expect("the turn waits");
    let brief = world.daemon.run_brief(&next.attempt).await.expect("it answers");
    let Fenced::Applied(brief) = brief else {
        panic!("it is the present attempt: {brief:?}");
    };
    assert_eq!(brief.former, Former::CutShort);
    let held = brief
        .turns
        .iter()
        .filter(|turn| turn.run == Some(next.claimed.run));
    assert_eq!(held.count(), 2, "the former turn and the new one");
    assert_eq!(redirects(world).await, [], "it has begun after the turn");
}

/// Of several turns that wait the newest decides, whatever came before the attempt began (OW-15).
pub async fn scenario_32_the_newest_turn_decides(world: &World) {
    let taken = at_work(world).await;
    let card = taken.claimed.card;
    more(world, card).await;
    cut_short(world, &taken.attempt).await;
    // In the very moment of the next start: it takes this one, and nothing is newer.
    let next = world.take(Task::Turns).await.expect("the turn waits");
    more(world, card).await;
    assert_eq!(redirects(world).await, [], "it is not strictly later");
    later(world);
    more(world, card).await;
    let named: Vec<_> = redirects(world).await.iter().map(|one| one.epoch).collect();
    assert_eq!(named, [next.claimed.epoch]);
}

/// What the system or an agent says, a worker and an owner that has asked are no redirect; neither is one of another machine.
pub async fn nobody_else_is_redirected(world: &World) {
    let taken = at_work(world).await;
    let card = taken.claimed.card;
    let ask = world.ask(&taken.attempt, &world.question(&[], None)).await;
    more(world, card).await;
    assert_eq!(redirects(world).await, [], "it waits for its answer");
    world.reply(ask).await;
    assert!(world.take(Task::Turns).await.is_some(), "both wake it");
    later(world);
    more(world, card).await;
    let stranger = MachineId::from_uuid(world.ids.uuid_v7());
    let other = world.daemon.peek(stranger, &[AGENT.to_owned()]).await;
    assert_eq!(other.expect("it answers").redirects, [], "another machine");
    assert_eq!(redirects(world).await.len(), 1);
    world
        .people
        .stop_card(card, &world.person)
        .await
        .expect("it can be stopped");
    assert_eq!(redirects(world).await, [], "it was stopped");
    assert_ne!(world.run_state(card).await, RunState::Running);
}

/// An owner whose next attempt could not start now goes on until it could: for later, after another card, on a parked route.
pub async fn a_redirect_waits_until_the_next_attempt_may_start(world: &World) {
    let taken = at_work(world).await;
    let card = taken.claimed.card;
    let mut turn = world.new_turn(SendTo::Card(card), "tonight, the other one");
    let at = world.clock.now().plus(Duration::from_secs(60));
    turn.plan.not_before = Some(at);
    world.people.send(&turn).await.expect("a good turn is taken");
    let due = async || {
        redirects(world)
            .await
            .iter()
            .map(|one| one.is_due)
            .collect::<Vec<_>>()
    };
    assert_eq!(due().await, [false]);
    world.clock.set(at);
    assert_eq!(due().await, [true]);

    let first = world.card().await;
    let mut turn = world.new_turn(SendTo::Card(card), "after that");
    turn.plan.after = vec![first];
    world.people.send(&turn).await.expect("a good turn is taken");
    assert_eq!(due().await, [false]);
    world
        .people
        .close_card(first, &world.person)
        .await
        .expect("nothing moves");
    assert_eq!(due().await, [true]);

    let other = world.running().await;
    let _ = world.give_up(&other.attempt, FailureClass::Authentication).await;
    assert_eq!(due().await, [false], "the route is parked");
}

/// A person may correct an owner as often as they like: each turn begins new counts of tries and starts.
pub async fn corrections_do_not_use_up_the_starts(world: &World) {
    let mut taken = at_work(world).await;
    let card = taken.claimed.card;
    for _ in 0..15 {
        more(world, card).await;
        cut_short(world, &taken.attempt).await;
        taken = world.take(Task::Turns).await.expect("it goes on");
        later(world);
    }
    let owner = world.owner(card).await;
    assert_eq!((owner.tries, owner.starts), (0, 1));
}
