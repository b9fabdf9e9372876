//! What goes wrong and is mended.

use std::time::Duration;

use cs_daemon::{Ended, control};
use cs_fence::TokenSeed;
use cs_journal::{ClaimRecord, ClaimRequest, Task, Want};
use cs_model::{CardState, Ending, RunState};
use cs_supervise::{Lease, LeaseEnd, Limits};
use libtest_mimic::Trial;

use crate::record::{Call, Instead};
use crate::world::{World, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "an answer that the record did not take is told again, and the daemon then ends",
            told_again,
        ),
        trial(
            "RC-7, scenario 35: a report of an interruption that is answered without its run is told again",
            reported_again,
        ),
        trial(
            "RC-1: what is over is told first, then claims are cleared up, then interruptions reported",
            in_order,
        ),
        trial(
            "RC-3: what cannot be told stops the pass, and stays to be told",
            stops_the_pass,
        ),
        trial(
            "RC-4: what a claim takes that comes after its ledger was lost and made up for is given back and starts",
            late_claim,
        ),
        trial(
            "an agent that was taken out of the configuration while it ran is read to its end",
            unconfigured,
        ),
        trial(
            "an attempt whose agent was taken out of the configuration before it began waits for it",
            waits_for_its_agent,
        ),
        trial(
            "a run that cannot be carried on now keeps its slot",
            keeps_its_slot,
        ),
        trial(
            "an agent keeps its lease while the record does not answer its new daemon at all",
            |world| keeps_its_lease(world, Call::Present, "can be used again", 1),
        ),
        trial(
            "an agent keeps its lease while its new daemon cannot carry it on",
            |world| keeps_its_lease(world, Call::RunBrief, "could not be carried on", 4),
        ),
        trial(
            "scenario 21, PS-10: an agent whose process could not be noted on the record goes on to its answer",
            goes_on_unnoted,
        ),
        trial(
            "scenario 20, PS-11: an attempt that is cut short before its agent runs leaves no failure and no process",
            nothing_of_what_never_ran,
        ),
        trial(
            "what makes passes fail is said once, and so is that it is over",
            said_once,
        ),
        trial(
            "a daemon that is told to leave while the record does not answer leaves all the same",
            leaves_a_silent_record,
        ),
        trial(
            "a daemon that has left has nobody at its ledger any more",
            leaves_nobody,
        ),
    ]
}

/// Invariant 8.
async fn told_again(world: World) {
    let agent = world.gated("agent");
    world.open_gate("agent");
    let card = world.send("agent").await;
    world.record.plan(Call::Answer, [Instead::Away]);
    let ended = world.run_once(&[("agent", &agent)]).await.unwrap();
    assert!(matches!(ended, Ended::Idle { next_due: None }), "{ended:?}");
    assert_eq!((world.starts("agent"), world.answers(card).await.len()), (1, 1));
}

/// Invariant 8.
async fn reported_again(world: World) {
    let agent = world.gated("agent");
    world.open_gate("agent");
    let card = world.send("agent").await;
    let journal = world.journal();
    let claimed = journal.claim(&turns(1)).await.unwrap().adopt_all().remove(0);
    drop(claimed.interrupted().unwrap());
    drop(journal);
    world
        .record
        .plan(Call::Interrupt, [Instead::LeaveOut, Instead::Away]);
    for _ in 0..2 {
        world.run_once(&[("agent", &agent)]).await.unwrap_err();
        let run = world.card(card).await.runs.remove(0);
        assert_eq!((run.state, run.epoch.get()), (RunState::Running, 1));
        let journal = world.journal();
        assert_eq!(journal.recover().receipts.len(), 1, "it is kept");
    }
    world.run_once(&[("agent", &agent)]).await.unwrap();
    assert_eq!(world.record.met()[&Call::Interrupt], 3);
    assert_eq!((world.starts("agent"), world.answers(card).await.len()), (1, 1));
    assert_eq!(world.card(card).await.runs[0].epoch.get(), 2);
}

/// One card has its outcome in the ledger, one was interrupted, one could not be started, and a claim has no answer.
async fn in_order(world: World) {
    let agent = world.gated("agent");
    world.open_gate("agent");
    let mut cards = Vec::new();
    for _ in 0..3 {
        cards.push(world.send("agent").await);
    }
    let journal = world.journal();
    let mut taken = journal.claim(&turns(3)).await.unwrap().adopt_all();
    taken.sort_by_key(|one| cards.iter().position(|card| *card == one.row().card));
    let mut taken = taken.into_iter();
    let (answered, cut, failed) = (taken.next(), taken.next(), taken.next());
    let started = answered
        .unwrap()
        .prepare("one")
        .unwrap()
        .registered("null")
        .unwrap();
    drop(started.started("null").unwrap().outcome(OUTCOME).unwrap());
    drop(cut.unwrap().interrupted().unwrap());
    let note = r#"{"class": "invalid_request", "reason": "it cannot be"}"#;
    drop(failed.unwrap().failed(note).unwrap());
    world.record.plan(Call::Claim, [Instead::Away]);
    journal.claim(&turns(3)).await.unwrap_err();
    drop(journal);
    world.record.take_calls();

    world.run_once(&[("agent", &agent)]).await.unwrap();
    let told = |call: &Call| TELLS.contains(call);
    let calls: Vec<Call> = world.record.take_calls();
    let until_claim = calls.into_iter().take_while(|call| *call != Call::Claim);
    assert_eq!(until_claim.filter(told).collect::<Vec<_>>(), TELLS);
    assert_eq!(world.answers(cards[0]).await, ["Told late."]);
    assert_eq!(world.answers(cards[1]).await, ["Done."]);
    assert_eq!(world.card(cards[2]).await.card.state, CardState::Failed);
    assert_eq!(world.starts("agent"), 1);
}

/// Invariant 8.
async fn stops_the_pass(world: World) {
    let agent = world.gated("agent");
    world.open_gate("agent");
    let card = world.send("agent").await;
    world.record.plan(Call::Answer, [Instead::Away, Instead::Away]);
    world.run_once(&[("agent", &agent)]).await.unwrap_err();
    let calls = world.record.take_calls();
    assert_eq!(
        calls.last(),
        Some(&Call::Answer),
        "nothing comes after it: {calls:?}"
    );
    let other = world.send("agent").await;
    world.run_once(&[("agent", &agent)]).await.unwrap();
    assert_eq!(world.answers(card).await, ["Done."]);
    assert_eq!(world.answers(other).await, ["Done."]);
    assert_eq!(world.starts("agent"), 2);
}

/// Invariant 4. Nobody knows the token of what such a claim takes: the daemon that sent it is gone with its ledger.
async fn late_claim(world: World) {
    let agent = world.gated("agent");
    world.open_gate("agent");
    world.run_once(&[("agent", &agent)]).await.unwrap();
    let card = world.send("agent").await;
    let late = ClaimRequest::one(Task::Turns, "agent", TokenSeed::from_bytes([7; 32]));
    let taken = world
        .record
        .claim(world.machine(), world.operation(), &late)
        .await;
    assert_eq!(taken.unwrap().runs.len(), 1);
    world.run_once(&[("agent", &agent)]).await.unwrap();
    assert_eq!(world.answers(card).await, ["Done."]);
    assert_eq!(world.starts("agent"), 1);
}

/// What a pass tells and asks before it takes, in the order of RC-1.
const TELLS: [Call; 5] = [
    Call::Answer,
    Call::GiveUp,
    Call::Reconcile,
    Call::RunningRuns,
    Call::Interrupt,
];

/// An outcome as a ledger keeps it.
const OUTCOME: &str = r#"{"task": {"task": "answered", "text": "Told late."}, "process": null,
    "usage": {"turns": 0, "input_tokens": 0, "output_tokens": 0, "cost_microusd": 0}}"#;

fn turns(limit: u32) -> Want {
    Want {
        task: Task::Turns,
        limit,
        agents: vec!["agent".to_owned()],
    }
}

async fn unconfigured(world: World) {
    let agent = world.gated("agent");
    let card = world.send("agent").await;
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_runs("agent").await;
    daemon.leave().await;
    world.open_gate("agent");
    world.run_once(&[]).await.unwrap();
    assert_eq!(world.answers(card).await, ["Done."]);
}

/// Nothing of it has failed, and no try is spent.
async fn waits_for_its_agent(world: World) {
    let agent = world.gated("agent");
    world.open_gate("agent");
    let card = world.send("agent").await;
    let journal = world.journal();
    drop(journal.claim(&turns(1)).await.unwrap().adopt_all());
    drop(journal);
    world.run_once(&[]).await.unwrap();
    let mut detail = world.card(card).await;
    assert_eq!(detail.card.state, CardState::Open);
    let run = detail.runs.remove(0);
    assert_eq!(run.state, RunState::Ended(Ending::Interrupted));
    assert_eq!((run.failed_because, run.tries), (None, 0));
    let said = world.all_said();
    assert!(
        said.contains("has no agent `agent` any more; add it with"),
        "{said}"
    );
    world.run_once(&[("agent", &agent)]).await.unwrap();
    assert_eq!(world.answers(card).await, ["Done."]);
    assert_eq!(world.starts("agent"), 1);
}

/// Invariant 7.
async fn keeps_its_slot(world: World) {
    let (first, second) = (world.gated("first"), world.gated("second"));
    let agents = [("first", first.as_str()), ("second", second.as_str())];
    let one = world.send("first").await;
    let daemon = world.daemon(&agents).await;
    world.until_runs("first").await;
    daemon.leave().await;

    let two = world.send("second").await;
    world.open_gate("second");
    world.record.plan(Call::RunBrief, [Instead::Away]);
    let daemon = world.daemon(&agents).await;
    world.until_said("could not be carried on").await;
    world.until_said("still runs").await;
    assert_eq!(world.starts("second"), 0, "the only slot is taken");
    world.open_gate("first");
    daemon.leave().await;
    world.run_once(&agents).await.unwrap();
    assert_eq!(world.answers(one).await, ["Done."]);
    assert_eq!(world.answers(two).await, ["Done."]);
}

/// A daemon is there, so nobody is alone: it comes back to the attempt after 2, 6 and 14 s, or after 1, 3 and 7 s.
async fn keeps_its_lease(world: World, away: Call, said: &str, times: usize) {
    let lease = Lease {
        length: Duration::from_secs(3),
        at_end: LeaseEnd::Stop,
    };
    let world = world.with_limits(Limits {
        lease,
        ..Limits::default()
    });
    let agent = world.gated("agent");
    let card = world.send("agent").await;
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_runs("agent").await;
    daemon.leave().await;
    world.record.plan(away, vec![Instead::Away; 2 + times.min(2)]);
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_said_times(said, times).await;
    world.open_gate("agent");
    world.until_said("answered").await;
    daemon.leave().await;
    assert_eq!((world.starts("agent"), world.answers(card).await.len()), (1, 1));
}

async fn goes_on_unnoted(world: World) {
    let agent = world.gated("agent");
    let card = world.send("agent").await;
    world.record.plan(Call::RecordProcess, [Instead::Away]);
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_said("could not be noted").await;
    world.until_runs("agent").await;
    assert!(world.is_alive("agent"));
    world.open_gate("agent");
    world.until_said("answered").await;
    daemon.leave().await;
    assert_eq!((world.starts("agent"), world.answers(card).await.len()), (1, 1));
}

async fn nothing_of_what_never_ran(world: World) {
    let agent = world.gated("agent");
    world.open_gate("agent");
    let card = world.send("agent").await;
    // New work is closed between its claim and its prompt.
    world.record.plan(Call::Standing, [Instead::Pause]);
    world.run_once(&[("agent", &agent)]).await.unwrap();
    assert_eq!(world.starts("agent"), 0);
    let run = world.card(card).await.runs.remove(0);
    assert_eq!(run.state, RunState::Ended(Ending::Interrupted));
    assert_eq!((run.failed_because, run.process, run.tries), (None, None, 0));
    let met = world.record.met();
    assert_eq!(
        (met.get(&Call::GiveUp), met.get(&Call::Interrupt)),
        (None, Some(&1))
    );
}

async fn said_once(world: World) {
    let daemon = world.daemon(&[]).await;
    world.record.plan(Call::Peek, [Instead::Away; 3]);
    for _ in 0..3 {
        control::poke(&world.state()).await;
    }
    world.until_said("can be used again").await;
    daemon.leave().await;
    let said = world.all_said();
    assert_eq!(said.matches("poll_failed").count(), 1, "{said}");
    assert!(said.contains("as planned; agents go on"), "{said}");
}

/// The attempt is left as a crash would leave it.
async fn leaves_a_silent_record(world: World) {
    let agent = world.gated("agent");
    let card = world.send("agent").await;
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_runs("agent").await;
    world.record.take_calls();
    world.record.plan(Call::Peek, [Instead::Silent]);
    world.until_met(Call::Peek).await;
    let ended = daemon.leave().await;
    assert!(
        matches!(&ended, Ended::Detached { going_on, .. } if going_on.len() == 1),
        "{ended:?}"
    );
    world.open_gate("agent");
    world.run_once(&[("agent", &agent)]).await.unwrap();
    assert_eq!((world.starts("agent"), world.answers(card).await.len()), (1, 1));
}

async fn leaves_nobody(world: World) {
    let agent = world.gated("agent");
    let card = world.send("agent").await;
    for daemons_before in 0..5 {
        let daemon = world.daemon(&[("agent", &agent)]).await;
        world.until_runs("agent").await;
        // One that left before it had looked would know of nobody who goes on.
        world.until_said_times("still runs", daemons_before).await;
        let ended = daemon.leave().await;
        assert!(
            matches!(&ended, Ended::Detached { going_on, .. } if going_on.len() == 1),
            "daemon {daemons_before}: {ended:?}, {}",
            world.all_said()
        );
    }
    world.open_gate("agent");
    world.run_once(&[("agent", &agent)]).await.unwrap();
    assert_eq!((world.starts("agent"), world.answers(card).await.len()), (1, 1));
}
