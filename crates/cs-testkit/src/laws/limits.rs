//! Laws of limits, drains, parked routes and whose cards a machine takes.

use std::sync::Arc;
use std::time::Duration;

use cs_fence::{Fenced, TokenHash};
use cs_journal::{DispatchRefusal, Task};
use cs_model::{Clock, CodebaseId, FailureClass, IdSource, MachineId, PauseKind};
use cs_record::{ErrorClass, PRESENCE_LIFE, Present, Route, Scope, SendTo};
use cs_settle::{GaveUp, GiveUp};
use tokio::task::JoinSet;

use super::World;
use super::children::dispatch;

async fn limit(world: &World, scope: Scope, most: Option<u32>) {
    world
        .machines
        .limit(scope, most, &world.person)
        .await
        .expect("it is written");
}

/// No claim, batch or dispatch goes over the limit of its machine or codebase; a run counts until its process is proven gone.
/// Invariant 17.
pub async fn a_limit_is_never_exceeded(world: &World) {
    for scope in [Scope::Machine(world.machine), Scope::Codebase(world.codebase)] {
        limit(world, scope, Some(2)).await;
        for _ in 0..4 {
            world.card().await;
        }
        assert!(world.peek().await.turns);
        let (receipt, request) = world.claim(Task::Turns, 9).await.expect("it answers");
        assert_eq!(receipt.runs.len(), 2, "{scope:?}");
        assert!(!world.peek().await.turns, "there is no room: {scope:?}");
        assert!(world.take(Task::Turns).await.is_none());
        let attempts: Vec<_> = receipt
            .runs
            .iter()
            .map(|run| run.attempt(&request.seed))
            .collect();
        let child = cs_journal::Child {
            parent: attempts[0],
            codebase: None,
            model: None,
            effort: None,
            brief: "dig".to_owned(),
        };
        let (refused, _) = world.claim(Task::Child(child), 1).await.expect("it answers");
        assert_eq!(refused.refused, Some(DispatchRefusal::NoSlot));
        let process = World::process(7);
        let _ = world
            .attempts
            .record_process(&attempts[0], &process)
            .await
            .expect("it answers");
        let _ = world.answer(&attempts[0], &World::words("done")).await;
        assert!(
            world.take(Task::Turns).await.is_none(),
            "its process is not proven gone"
        );
        let _ = world
            .attempts
            .clear_process(&attempts[0], &process)
            .await
            .expect("it answers");
        let third = world.take(Task::Turns).await.expect("there is room");
        limit(world, scope, None).await;
        let fourth = world.take(Task::Turns).await.expect("there is no limit");
        for attempt in [attempts[1], third.attempt, fourth.attempt] {
            let _ = world.answer(&attempt, &World::words("done")).await;
        }
    }
    let refused = world
        .machines
        .limit(Scope::Everything, Some(1), &world.person)
        .await;
    assert_eq!(
        refused.expect_err("a limit covers something").class(),
        ErrorClass::Invalid
    );
}

/// Sixteen takers at once do not go over a limit together.
pub async fn sixteen_takers_keep_to_a_limit(world: &World) {
    limit(world, Scope::Codebase(world.codebase), Some(3)).await;
    for _ in 0..20 {
        world.card().await;
    }
    let mut racers = JoinSet::new();
    for _ in 0..16 {
        let (claims, machine) = (Arc::clone(&world.claims), world.machine);
        let (operation, request) = (world.operation(), world.request(Task::Turns, 2));
        racers.spawn(async move { claims.claim(machine, operation, &request).await });
    }
    let taken = racers
        .join_all()
        .await
        .into_iter()
        .map(|receipt| receipt.expect("it answers").runs.len());
    assert_eq!(taken.sum::<usize>(), 3);
}

/// A codebase without room does not keep the cards of others waiting.
pub async fn a_full_codebase_stands_in_nobodys_way(world: &World) {
    limit(world, Scope::Codebase(world.codebase), Some(0)).await;
    for _ in 0..5 {
        world.card().await;
    }
    let plain = world.send(world.plain_card(), "tell me").await.card;
    let (receipt, _) = world.claim(Task::Turns, 2).await.expect("it answers");
    assert_eq!(
        receipt.runs.iter().map(|run| run.card).collect::<Vec<_>>(),
        [plain]
    );
}

/// A drain starts no card that nobody has begun, and carries what was begun to its end; a pause starts nothing.
pub async fn a_drain_lets_what_was_begun_go_on(world: &World) {
    let scopes = [
        Scope::Everything,
        Scope::Machine(world.machine),
        Scope::Codebase(world.codebase),
    ];
    for scope in scopes {
        let begun = world.running().await;
        world
            .machines
            .pause(scope, PauseKind::Drain, None, &world.person)
            .await
            .expect("it is written");
        let fresh = world.card().await;
        assert!(
            world.take(Task::Turns).await.is_none(),
            "nobody has begun it: {scope:?}"
        );
        let worker = dispatch(world, &begun.attempt, "dig").await;
        let _ = world.answer(&worker.attempt, &World::words("dug")).await;
        let _ = world.answer(&begun.attempt, &World::words("done")).await;
        let back = world.take(Task::Rearms).await.expect("what was begun goes on");
        let _ = world.answer(&back.attempt, &World::words("done")).await;
        world.send(SendTo::Card(begun.claimed.card), "more").await;
        let next = world.take(Task::Turns).await.expect("what was begun goes on");
        assert_eq!(next.claimed.card, begun.claimed.card);
        world
            .machines
            .pause(scope, PauseKind::Pause, None, &world.person)
            .await
            .expect("it is written");
        let _ = world.give_up(&next.attempt, FailureClass::Verify).await;
        assert!(
            world.take(Task::Resumes).await.is_none(),
            "a pause in its place starts nothing: {scope:?}"
        );
        let pauses = world.machines.pauses(world.machine).await.expect("it answers");
        assert_eq!(
            pauses
                .iter()
                .map(|pause| (pause.scope, pause.kind))
                .collect::<Vec<_>>(),
            [(scope, PauseKind::Pause)]
        );
        assert!(world.machines.unpause(scope).await.expect("it answers"));
        let resumed = world.take(Task::Resumes).await.expect("it goes on");
        let _ = world.answer(&resumed.attempt, &World::words("done")).await;
        let taken = world.take(Task::Turns).await.expect("it starts");
        assert_eq!(taken.claimed.card, fresh);
        let _ = world.answer(&taken.attempt, &World::words("done")).await;
    }
}

async fn fail(world: &World, class: FailureClass, until: Option<u64>) -> GaveUp {
    let taken = world.running().await;
    let mut failure = GiveUp::new(class, "not now");
    failure.until = until.map(|seconds| world.clock.now().plus(Duration::from_secs(seconds)));
    match world
        .settlements
        .give_up(&taken.attempt, &failure)
        .await
        .expect("it answers")
    {
        Fenced::Applied(gave_up) => gave_up,
        Fenced::Stale(standing) => panic!("it is current: {standing}"),
    }
}

/// A failed sign-in parks the route: nothing starts on it, no try is counted, until a person says that it is mended; then what
/// waited goes on. A person may try one card on it; its success says that the route works.
pub async fn a_parked_route_waits_for_a_person_or_a_success(world: &World) {
    for class in [FailureClass::Authentication, FailureClass::Credit] {
        assert_eq!(fail(world, class, None).await, GaveUp::Parked);
        let waiting = world.card().await;
        world.clock.advance(Duration::from_secs(86_400));
        assert!(world.take(Task::Resumes).await.is_none() && world.take(Task::Turns).await.is_none());
        let parks = world.machines.parks(world.machine).await.expect("it answers");
        assert_eq!((parks.len(), parks[0].class, parks[0].until), (1, class, None));
        let route = parks[0].route.clone();
        assert!(world.machines.unpark(&route).await.expect("it answers"));
        assert!(!world.machines.unpark(&route).await.expect("it answers"));
        let on = world.take(Task::Resumes).await.expect("it goes on");
        assert_eq!(world.owner(on.claimed.card).await.tries, 0);
        let again = world.give_up(&on.attempt, class).await;
        assert_eq!(again, Fenced::Applied(GaveUp::Parked));

        assert!(
            world.take(Task::Recovery).await.is_none(),
            "nobody wants one tried"
        );
        assert!(
            world
                .people
                .retry_card(waiting, &world.person)
                .await
                .expect("it is open")
        );
        let peeked = world.peek().await;
        assert!(peeked.recovery && !peeked.turns && !peeked.resumes, "{peeked:?}");
        let tried = world.take(Task::Recovery).await.expect("a person wants it tried");
        assert_eq!(tried.claimed.card, waiting);
        assert!(world.take(Task::Recovery).await.is_none(), "once");
        let _ = world.answer(&tried.attempt, &World::words("it works")).await;
        assert!(
            world
                .machines
                .parks(world.machine)
                .await
                .expect("it answers")
                .is_empty()
        );
        let on = world.take(Task::Resumes).await.expect("what waited goes on");
        let _ = world.answer(&on.attempt, &World::words("done")).await;
    }
}

/// A rate limit parks the route until the time that the provider stated, else for a wait of our own; then it is open by itself.
pub async fn a_rate_limit_parks_the_route_until_its_time(world: &World) {
    let started = world.clock.now();
    let gave_up = fail(world, FailureClass::RateLimit, Some(7200)).await;
    let until = started.plus(Duration::from_secs(7200));
    assert_eq!(
        gave_up,
        GaveUp::Again {
            not_before: until,
            tries: 0
        }
    );
    world.card().await;
    assert!(world.take(Task::Turns).await.is_none(), "the route takes nothing");
    assert_eq!(world.peek().await.next_due, Some(until));
    world.clock.set(until);
    assert!(world.take(Task::Turns).await.is_some() && world.take(Task::Resumes).await.is_some());
    let gave_up = fail(world, FailureClass::RateLimit, None).await;
    let ours = world.clock.now().plus(Duration::from_secs(60));
    assert!(
        matches!(gave_up, GaveUp::Again { not_before, .. } if not_before >= ours),
        "{gave_up:?}"
    );
}

/// A success says that the route works only if its attempt began after the route was parked; a person can always say so.
pub async fn an_older_success_does_not_open_a_route(world: &World) {
    let before = world.running().await;
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(
        fail(world, FailureClass::Authentication, None).await,
        GaveUp::Parked
    );
    let _ = world.answer(&before.attempt, &World::words("done")).await;
    let parks = world.machines.parks(world.machine).await.expect("it answers");
    assert_eq!(parks.len(), 1, "it began before");
    assert!(world.take(Task::Resumes).await.is_none());
}

/// An agent that is not there, or cannot be used as it is, parks its route whatever its class says: no try is counted, what
/// waited goes on once a person has mended it, and ten starts are enough. FB-4.
pub async fn a_route_that_cannot_work_is_parked(world: &World) {
    let failure = GiveUp::of_route(FailureClass::InvalidRequest, "it is not installed");
    let mut taken = world.running().await;
    for start in 1..=cs_settle::MAX_STARTS {
        let gave_up = world.settlements.give_up(&taken.attempt, &failure).await;
        let gave_up = gave_up.expect("it answers");
        if start == cs_settle::MAX_STARTS {
            assert_eq!(gave_up, Fenced::Applied(GaveUp::Failed { tries: 0 }));
            return;
        }
        assert_eq!(gave_up, Fenced::Applied(GaveUp::Parked));
        let parks = world.machines.parks(world.machine).await.expect("it answers");
        let [park] = &parks[..] else { panic!("{parks:?}") };
        assert_eq!(
            (park.class, park.reason.as_str(), park.until),
            (failure.class, failure.reason.as_str(), None)
        );
        assert!(
            world.take(Task::Resumes).await.is_none(),
            "its route takes nothing"
        );
        world.machines.unpark(&park.route).await.expect("it answers");
        taken = world.take(Task::Resumes).await.expect("it goes on");
        assert_eq!(world.owner(taken.claimed.card).await.tries, 0);
    }
}

/// Ten starts park a card also when each of them ends at a parked route.
pub async fn a_route_that_never_works_ends_in_a_failed_card(world: &World) {
    let mut taken = world.running().await;
    for start in 1.. {
        let gave_up = world.give_up(&taken.attempt, FailureClass::Authentication).await;
        if gave_up == Fenced::Applied(GaveUp::Parked) {
            let route = world.machines.parks(world.machine).await.expect("it answers")[0]
                .route
                .clone();
            world.machines.unpark(&route).await.expect("it answers");
            taken = world.take(Task::Resumes).await.expect("it goes on");
        } else {
            assert_eq!(gave_up, Fenced::Applied(GaveUp::Failed { tries: 0 }));
            assert_eq!(start, cs_settle::MAX_STARTS);
            return;
        }
    }
}

/// A route is parked on its machine only.
pub async fn another_machine_does_not_mind_a_parked_route(world: &World) {
    assert_eq!(
        fail(world, FailureClass::Authentication, None).await,
        GaveUp::Parked
    );
    let other = MachineId::from_uuid(world.ids.uuid_v7());
    world
        .codebases
        .add_codebase(world.codebase, "engine", other)
        .await
        .expect("it has it too");
    let card = world.card().await;
    let request = world.request(Task::Turns, 1);
    let receipt = world
        .claims
        .claim(other, world.operation(), &request)
        .await
        .expect("it answers");
    assert_eq!(receipt.runs[0].card, card);
    let unknown = Route {
        machine: other,
        agent: "mine".parse().expect("a name"),
    };
    assert!(!world.machines.unpark(&unknown).await.expect("it answers"));
}

/// A machine takes the cards of its person, or of everybody when it says so.
pub async fn a_machine_takes_the_cards_of_its_person(world: &World) {
    let mut present = Present {
        machine: world.machine,
        name: "desk".to_owned(),
        person: "Grace".parse().expect("a name"),
        boot_id: "boot".to_owned(),
        daemon: TokenHash::from_bytes([1; 32]),
        follows: Vec::new(),
        codebases: vec![world.codebase],
        serves_everyone: false,
    };
    world.machines.present(&present).await.expect("it is there");
    let card = world.card().await;
    assert!(
        !world.peek().await.turns && world.take(Task::Turns).await.is_none(),
        "it is not Ada's"
    );
    present.serves_everyone = true;
    world.machines.present(&present).await.expect("it is there");
    assert_eq!(
        world.take(Task::Turns).await.map(|taken| taken.claimed.card),
        Some(card)
    );
    world.card().await;
    present.serves_everyone = false;
    present.person = world.person.clone();
    world.clock.advance(PRESENCE_LIFE);
    world.machines.present(&present).await.expect("it is there");
    assert!(world.take(Task::Turns).await.is_some());
    let codebase = CodebaseId::from_uuid(world.ids.uuid_v7());
    limit(world, Scope::Codebase(codebase), Some(1)).await;
    assert_eq!(
        world.machines.limits().await.expect("it answers").len(),
        1,
        "also of one that nobody has yet"
    );
}
