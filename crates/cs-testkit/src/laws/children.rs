//! Laws of runs that send other runs.

use cs_fence::{Attempt, Fenced};
use cs_journal::{Child, DispatchRefusal, Task, Woke};
use cs_model::{AskState, AskTo, Author, CardState, Ending, FailureClass, RunKind, RunState};
use cs_record::{RunBrief, SendTo};
use cs_settle::{Answered, GaveUp};

use super::World;
use super::world::Taken;

fn child(parent: Attempt, brief: &str) -> Task {
    Task::Child(Child {
        parent,
        codebase: None,
        model: Some("small".to_owned()),
        effort: None,
        brief: brief.to_owned(),
    })
}

/// Sends a child that there is room for.
pub(super) async fn dispatch(world: &World, parent: &Attempt, brief: &str) -> Taken {
    world.take(child(*parent, brief)).await.expect("it can be sent")
}

pub(super) async fn refusal(world: &World, parent: &Attempt, brief: &str) -> DispatchRefusal {
    let before = world.picture().await;
    let (receipt, _) = world
        .claim(child(*parent, brief), 1)
        .await
        .expect("the record answers");
    assert!(receipt.is_empty(), "{receipt:?}");
    assert_eq!(before, world.picture().await, "a refusal writes nothing");
    receipt.refused.expect("it says why")
}

async fn brief(world: &World, attempt: &Attempt) -> RunBrief {
    match world.daemon.run_brief(attempt).await.expect("it answers") {
        Fenced::Applied(brief) => brief,
        Fenced::Stale(standing) => panic!("it is current: {standing}"),
    }
}

pub(super) async fn finish(world: &World, attempt: &Attempt, words: &str) -> Answered {
    match world.answer(attempt, &World::words(words)).await {
        Fenced::Applied(answered) => answered,
        Fenced::Stale(standing) => panic!("it is current: {standing}"),
    }
}

/// A worker is sent at work, once, with its brief; its words are a report, and its parent reads it back when all have ended.
/// Invariant 15.
pub async fn an_owner_sends_workers_and_reads_them_back(world: &World) {
    let owner = world.running().await;
    let card = owner.claimed.card;
    let one = dispatch(world, &owner.attempt, "the first half").await;
    world.clock.advance(std::time::Duration::from_secs(1));
    let two = dispatch(world, &owner.attempt, "the second half").await;
    assert_eq!(
        (one.claimed.kind, &one.claimed.woke),
        (RunKind::Worker, &Woke::Dispatched)
    );
    let seen = brief(world, &one.attempt).await;
    assert_eq!(
        (seen.brief.as_deref(), seen.children),
        (Some("the first half"), None)
    );
    finish(world, &owner.attempt, "I have sent two").await;
    let answered = finish(world, &one.attempt, "half is done").await;
    assert_eq!(answered.turn, None, "a report is no turn");
    assert!(
        world.take(Task::Rearms).await.is_none(),
        "one of them still works"
    );
    finish(world, &two.attempt, "so is the other").await;

    let back = world.take(Task::Rearms).await.expect("both have ended");
    let both = vec![one.claimed.run, two.claimed.run];
    assert_eq!(
        (back.claimed.run, &back.claimed.woke),
        (owner.claimed.run, &Woke::Children(both))
    );
    let children = brief(world, &back.attempt)
        .await
        .children
        .expect("an owner has a list");
    let reports: Vec<_> = children.iter().map(|child| child.report.as_deref()).collect();
    assert_eq!(reports, [Some("half is done"), Some("so is the other")]);
    assert_eq!(children[0].run.given, Some(back.claimed.epoch));
    finish(world, &back.attempt, "all is done").await;
    assert!(
        world.take(Task::Rearms).await.is_none(),
        "they are read back once"
    );
    let said = world.detail(card).await;
    assert_eq!(
        said.card.last_seq.get(),
        3,
        "two turns of the owner, none of the workers"
    );
}

/// Live workers do not keep a person's turn waiting, and the read-back then still comes.
pub async fn a_turn_does_not_wait_for_workers(world: &World) {
    let owner = world.running().await;
    let worker = dispatch(world, &owner.attempt, "dig").await;
    finish(world, &owner.attempt, "it digs").await;
    world.send(SendTo::Card(owner.claimed.card), "faster").await;
    let second = world.take(Task::Turns).await.expect("somebody has spoken");
    finish(world, &worker.attempt, "dug").await;
    assert!(world.take(Task::Rearms).await.is_none(), "the owner is at work");
    finish(world, &second.attempt, "I said so").await;
    let third = world
        .take(Task::Rearms)
        .await
        .expect("there is something to read back");
    assert_eq!(third.claimed.woke, Woke::Children(vec![worker.claimed.run]));
}

/// Nothing is sent, and nothing written, by a run that is over, by a worker, without a brief; each is told why (TL-4).
pub async fn a_refused_dispatch_says_why(world: &World) {
    let owner = world.running().await;
    let worker = dispatch(world, &owner.attempt, "dig").await;
    assert_eq!(
        refusal(world, &worker.attempt, "deeper").await,
        DispatchRefusal::TooDeep
    );
    let empty = refusal(world, &owner.attempt, " ").await;
    assert!(
        matches!(empty, DispatchRefusal::BadBrief { bytes: 1, .. }),
        "{empty:?}"
    );
    let much = "x".repeat((1 << 20) + 1);
    let much = refusal(world, &owner.attempt, &much).await;
    assert!(matches!(much, DispatchRefusal::BadBrief { .. }), "{much:?}");
    let wrong = Attempt {
        token: worker.attempt.token,
        ..owner.attempt
    };
    assert_eq!(refusal(world, &wrong, "dig").await, DispatchRefusal::ParentOver);
    finish(world, &owner.attempt, "done").await;
    assert_eq!(
        refusal(world, &owner.attempt, "dig").await,
        DispatchRefusal::ParentOver
    );
    let unknown = Attempt {
        run: cs_model::RunId::from_uuid(cs_model::IdSource::uuid_v7(&*world.ids)),
        ..owner.attempt
    };
    assert_eq!(refusal(world, &unknown, "dig").await, DispatchRefusal::ParentOver);
}

/// A worker that fails for good does not fail its card: its parent reads why. It has tries of its own.
pub async fn a_worker_that_fails_is_read_back(world: &World) {
    let owner = world.running().await;
    let mut worker = dispatch(world, &owner.attempt, "dig").await;
    finish(world, &owner.attempt, "it digs").await;
    for _ in 0..2 {
        let gave_up = world.give_up(&worker.attempt, FailureClass::Agent).await;
        assert!(
            matches!(gave_up, Fenced::Applied(GaveUp::Again { .. })),
            "{gave_up:?}"
        );
        world.clock.advance(std::time::Duration::from_secs(600));
        worker = world.take(Task::Resumes).await.expect("it goes on");
        assert_eq!(
            (worker.claimed.kind, &worker.claimed.woke),
            (RunKind::Worker, &Woke::Retry)
        );
    }
    let gave_up = world.give_up(&worker.attempt, FailureClass::Agent).await;
    assert_eq!(gave_up, Fenced::Applied(GaveUp::Failed { tries: 3 }));
    let detail = world.detail(owner.claimed.card).await;
    assert_eq!(
        (detail.card.state, world.owner(detail.card.id).await.tries),
        (CardState::Open, 0)
    );
    let back = world.take(Task::Rearms).await.expect("its parent is woken");
    let children = brief(world, &back.attempt)
        .await
        .children
        .expect("an owner has a list");
    let why = children[0].run.failed_because.clone().unwrap_or_default();
    assert!(
        why.contains("it broke") && why.contains("3 tries") && children[0].report.is_none(),
        "{why}"
    );
}

async fn asking(world: &World, worker: &Taken) -> cs_model::AskId {
    let mut question = world.question(&["left", "right"], None).ask.expect("it asks");
    question.to = AskTo::Parent;
    world.note(&worker.attempt).await;
    let asked = world
        .agents
        .ask(&worker.attempt, &question)
        .await
        .expect("it answers");
    assert_eq!(asked, Fenced::Applied(()));
    question.id
}

/// A worker's question wakes its parent, who settles it; the worker goes on with the answer. No person is bothered.
/// Invariant 10.
pub async fn a_parent_settles_the_question_of_its_worker(world: &World) {
    let owner = world.running().await;
    let worker = dispatch(world, &owner.attempt, "dig").await;
    finish(world, &owner.attempt, "it digs").await;
    let ask = asking(world, &worker).await;
    assert!(
        world.cards.open_asks().await.expect("it answers").rows.is_empty(),
        "it goes to the parent"
    );
    finish(world, &worker.attempt, "I wait").await;
    world.gone(&worker.attempt).await;
    let back = world.take(Task::Rearms).await.expect("it is asked");
    assert_eq!(back.claimed.woke, Woke::Question(ask));
    assert_eq!(brief(world, &back.attempt).await.questions[0].id, ask);
    let wrong = world.agents.settle_ask(&back.attempt, ask, "up").await;
    assert!(wrong.is_err(), "it is none of the choices");
    let mine = world
        .agents
        .settle_ask(&worker.attempt, ask, "left")
        .await
        .expect("it answers");
    assert!(
        matches!(mine, Fenced::Stale(_)),
        "a run that asked does not run: {mine:?}"
    );
    let settled = world
        .agents
        .settle_ask(&back.attempt, ask, "left")
        .await
        .expect("it answers");
    let Fenced::Applied(settled) = settled else {
        panic!("it is current: {settled:?}")
    };
    assert_eq!(settled.answered_by, Some(Author::Agent(owner.claimed.run)));
    assert!(
        world
            .agents
            .settle_ask(&back.attempt, ask, "right")
            .await
            .is_err(),
        "the first answer wins"
    );
    finish(world, &back.attempt, "left, I said").await;
    let on = world.take(Task::Rearms).await.expect("the worker has its answer");
    assert_eq!(
        (on.claimed.run, on.claimed.woke.clone()),
        (worker.claimed.run, Woke::Answer(ask))
    );
    finish(world, &on.attempt, "dug left").await;
}

/// A question that its parent does not settle goes to a person, and wakes the parent no more.
pub async fn a_question_that_a_parent_leaves_goes_to_a_person(world: &World) {
    let owner = world.running().await;
    let worker = dispatch(world, &owner.attempt, "dig").await;
    finish(world, &owner.attempt, "it digs").await;
    let ask = asking(world, &worker).await;
    finish(world, &worker.attempt, "I wait").await;
    world.gone(&worker.attempt).await;
    let back = world.take(Task::Rearms).await.expect("it is asked");
    finish(world, &back.attempt, "I do not know").await;
    assert!(world.take(Task::Rearms).await.is_none());
    let open = world.cards.open_asks().await.expect("it answers").rows;
    assert_eq!(
        (open.len(), open[0].0.id, open[0].0.state),
        (1, ask, AskState::Open)
    );
}

/// A stop reaches workers that go on although their owner has failed for good.
pub async fn a_stop_reaches_workers_of_a_failed_card(world: &World) {
    let owner = world.running().await;
    let worker = dispatch(world, &owner.attempt, "dig").await;
    let _ = world.give_up(&owner.attempt, FailureClass::InvalidRequest).await;
    let card = owner.claimed.card;
    let closed = world.people.close_card(card, &world.person).await;
    assert_eq!(
        closed.expect_err("a worker runs").class(),
        cs_record::ErrorClass::Conflict
    );
    assert!(
        world
            .people
            .stop_card(card, &world.person)
            .await
            .expect("it stops")
    );
    let late = world.answer(&worker.attempt, &World::words("dug")).await;
    assert!(matches!(late, Fenced::Stale(_)), "{late:?}");
    assert_eq!(world.detail(card).await.card.state, CardState::Stopped);
}

/// A card without a codebase is done only when its children are read back too. Invariant 16.
pub async fn a_card_with_something_to_read_back_is_not_done(world: &World) {
    let card = world.send(world.plain_card(), "tell me").await.card;
    let owner = world.running_card(card).await;
    let worker = dispatch(world, &owner.attempt, "dig").await;
    finish(world, &owner.attempt, "it digs").await;
    finish(world, &worker.attempt, "dug").await;
    assert!(!world.detail(card).await.card.done);
    let back = world.take(Task::Rearms).await.expect("it is read back");
    finish(world, &back.attempt, "it is dug").await;
    assert!(world.detail(card).await.card.done);
}

/// A launcher starts for the first turn of its card and sends the owner, who gets all later turns; there is one owner.
/// A launcher's failure fails its card and keeps the message, so that no launcher is started for it again and again; a retry by
/// An owner may not answer for a person: what its worker asks a person, or offers, is not its to settle.
pub async fn a_parent_does_not_answer_for_a_person(world: &World) {
    let owner = world.running().await;
    let worker = dispatch(world, &owner.attempt, "dig").await;
    world.note(&worker.attempt).await;
    let question = world.question(&[], None).ask.expect("it asks");
    let asked = world.agents.ask(&worker.attempt, &question).await;
    assert_eq!(asked.expect("it answers"), Fenced::Applied(()));
    let refused = world.agents.settle_ask(&owner.attempt, question.id, "left").await;
    assert_eq!(
        refused.expect_err("a person is asked").class(),
        cs_record::ErrorClass::Invalid
    );
}

/// A stop ends the whole tree of a card.
pub async fn a_stop_ends_children_too(world: &World) {
    let owner = world.running().await;
    let worker = dispatch(world, &owner.attempt, "dig").await;
    let card = owner.claimed.card;
    assert!(
        world
            .people
            .stop_card(card, &world.person)
            .await
            .expect("it stops")
    );
    let states: Vec<_> = world
        .detail(card)
        .await
        .runs
        .iter()
        .map(|run| run.state)
        .collect();
    assert_eq!(states, [RunState::Ended(Ending::Stopped); 2]);
    let late = world.answer(&worker.attempt, &World::words("dug")).await;
    assert!(matches!(late, Fenced::Stale(_)), "{late:?}");
    assert!(!world.people.stop_card(card, &world.person).await.expect("it is"));
    world.send(SendTo::Card(card), "go on").await;
    let next = world.take(Task::Turns).await.expect("a turn opens it");
    let children = brief(world, &next.attempt)
        .await
        .children
        .expect("an owner has a list");
    assert_eq!(children.len(), 1, "it is told whom it had sent");
}
