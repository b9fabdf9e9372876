//! Limits and dependencies hold however many write at once.

use std::sync::Arc;

use cs_journal::Task;
use cs_model::{CardId, CodebaseId, IdSource, MachineId, OperationId, PauseKind, TurnId};
use cs_record::{RecordError, Refusal, Scope, Send, SendTo};
use cs_testkit::laws::World;
use tokio::task::JoinSet;

use crate::acts::{child, claim, new_card, request, take};
use crate::schema::Schema;

const TAKERS: usize = 16;

/// Sixteen take what they can, on these machines in turn; returns how much all of them have.
async fn take_at_once(world: &World, machines: &[MachineId]) -> usize {
    let mut takers = JoinSet::new();
    for number in 0..TAKERS {
        let (claims, machine) = (Arc::clone(&world.claims), machines[number % machines.len()]);
        let calls: Vec<_> = (0..4)
            .map(|_| (OperationId::from_uuid(world.ids.uuid_v7()), request(world, 5)))
            .collect();
        takers.spawn(async move {
            let mut taken = 0;
            for (operation, request) in calls {
                let receipt = claims.claim(machine, operation, &request).await;
                taken += receipt.expect("the record answers").runs.len();
            }
            taken
        });
    }
    takers.join_all().await.into_iter().sum()
}

async fn limit(world: &World, scope: Scope, most: Option<u32>) {
    let limited = world.machines.limit(scope, most, &world.person).await;
    limited.expect("the record answers");
}

/// A machine that has the codebase of the world too.
async fn other_machine(world: &World) -> MachineId {
    let machine = MachineId::from_uuid(world.ids.uuid_v7());
    let added = world
        .codebases
        .add_codebase(world.codebase, "engine", machine)
        .await;
    added.expect("a machine may have the same codebase");
    machine
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_takers_never_exceed_the_limit_of_a_machine() {
    let world = Arc::new(Schema::new().await).world().await;
    for _ in 0..20 {
        new_card(&world).await;
    }
    let scope = Scope::Machine(world.machine);
    limit(&world, scope, Some(3)).await;
    assert_eq!(take_at_once(&world, &[world.machine]).await, 3);
    limit(&world, scope, Some(7)).await;
    assert_eq!(take_at_once(&world, &[world.machine]).await, 4);
    limit(&world, scope, None).await;
    assert_eq!(take_at_once(&world, &[world.machine]).await, 13);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn takers_of_two_machines_never_exceed_the_limit_of_their_codebase() {
    let world = Arc::new(Schema::new().await).world().await;
    for _ in 0..20 {
        new_card(&world).await;
    }
    let machines = [world.machine, other_machine(&world).await];
    limit(&world, Scope::Codebase(world.codebase), Some(3)).await;
    assert_eq!(take_at_once(&world, &machines).await, 3);
}

/// What a run sends counts as what a take starts.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn children_that_are_sent_at_once_never_exceed_the_limit() {
    let world = Arc::new(Schema::new().await).world().await;
    for _ in 0..4 {
        new_card(&world).await;
    }
    let owners = take(&world, 4).await;
    limit(&world, Scope::Machine(world.machine), Some(7)).await;
    let world = Arc::new(world);
    let mut senders = JoinSet::new();
    for number in 0..TAKERS {
        let (world, parent) = (Arc::clone(&world), owners[number % owners.len()]);
        senders.spawn(async move { claim(&world, Task::Child(child(parent)), 1).await.len() });
    }
    let sent: usize = senders.join_all().await.into_iter().sum();
    assert_eq!(sent, 3);
}

/// A batch that is full of work which nobody may start now does not keep the rest waiting.
#[tokio::test]
async fn a_codebase_without_room_starves_no_other() {
    let world = Arc::new(Schema::new().await).world().await;
    let closed = CodebaseId::from_uuid(world.ids.uuid_v7());
    let added = world
        .codebases
        .add_codebase(closed, "closed", world.machine)
        .await;
    added.expect("the name is free");
    for _ in 0..8 {
        crate::acts::new_card_of(&world, Some(closed)).await;
    }
    new_card(&world).await;
    let scope = Scope::Codebase(closed);
    limit(&world, scope, Some(0)).await;
    assert_eq!(take(&world, 4).await.len(), 1, "limited");
    limit(&world, scope, None).await;
    for kind in [PauseKind::Pause, PauseKind::Drain] {
        new_card(&world).await;
        let paused = world.machines.pause(scope, kind, None, &world.person).await;
        paused.expect("the record answers");
        assert_eq!(take(&world, 4).await.len(), 1, "{kind:?}");
    }
    let open = world.machines.unpause(scope).await;
    assert!(open.expect("the record answers"));
    assert_eq!(take(&world, 99).await.len(), 8);
}

async fn wait_for(world: &World, card: CardId, after: CardId) -> bool {
    let turn = TurnId::from_uuid(world.ids.uuid_v7());
    let mut send = Send::new(turn, SendTo::Card(card), world.person.clone(), "later");
    send.plan.after = vec![after];
    match world.people.send(&send).await {
        Ok(_) => true,
        Err(RecordError::Refused(Refusal::WaitsForItself { .. })) => false,
        Err(other) => panic!("{other:?}"),
    }
}

/// Three cards that are made to wait for each other in a ring, over and over: in each round one of them is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cards_that_are_planned_at_once_never_wait_for_each_other() {
    let world = Arc::new(Arc::new(Schema::new().await).world().await);
    for round in 0..10 {
        let mut ring = Vec::new();
        for _ in 0..3 {
            ring.push(new_card(&world).await);
        }
        let mut planners = JoinSet::new();
        for place in 0..3 {
            let (world, card, after) = (Arc::clone(&world), ring[place], ring[(place + 1) % 3]);
            planners.spawn(async move { wait_for(&world, card, after).await });
        }
        let written = planners.join_all().await.into_iter().filter(|done| *done).count();
        assert_eq!(written, 2, "round {round}");
    }
}
