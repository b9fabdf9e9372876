//! What a person says to an agent that is at work.

use cs_daemon::control;
use cs_model::{CardId, PauseKind, RunState, TurnState};
use cs_record::{Machines, Scope};
use libtest_mimic::Trial;

use crate::record::{Call, Instead};
use crate::world::{Staying, World, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "a new turn ends the owner at work, which goes on with it as its next attempt (OW-14)",
            goes_on_with_it,
        ),
        trial(
            "a turn that came while no daemon was there redirects the agent that outlived it",
            without_a_daemon,
        ),
        trial(
            "an agent is not ended for a turn while nothing may start, and is when it may",
            while_paused,
        ),
        trial(
            "corrections one after the other reach the agent, and none of them counts against it",
            many,
        ),
        trial(
            "a daemon that dies while it ends an agent for a turn leaves it to the next one, which does not call it stopped",
            dies_in_between,
        ),
    ]
}

/// An agent waits at its gate, and its process is on the record.
async fn at_work(world: &World) -> (String, CardId, Staying) {
    let agent = world.gated("agent");
    let card = world.send("agent").await;
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_starts("agent", 1).await;
    world.until_noted(card).await;
    (agent, card, daemon)
}

async fn goes_on_with_it(world: World) {
    let (agent, card, daemon) = at_work(&world).await;
    let first = world.pid("agent");
    world.send_more(card).await;
    control::poke(&world.state()).await;
    world.until_starts("agent", 2).await;
    assert!(!world.is_alive_as("agent", first), "one tree, one agent");
    world.open_gate("agent");
    daemon.leave().await;
    world.run_once(&[("agent", &agent)]).await.unwrap();
    assert_eq!(world.answers(card).await, ["Done."]);
    let detail = world.card(card).await;
    let run = &detail.runs[0];
    assert_eq!((run.epoch.get(), run.tries), (2, 0), "{run:?}");
    let turns = world.turns(card).await;
    assert!(
        turns.iter().all(|turn| turn.state == TurnState::Settled),
        "{turns:?}"
    );
}

async fn without_a_daemon(world: World) {
    let (agent, card, daemon) = at_work(&world).await;
    daemon.leave().await;
    world.send_more(card).await;
    assert!(world.is_alive("agent"));
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_starts("agent", 2).await;
    world.open_gate("agent");
    daemon.leave().await;
    world.run_once(&[("agent", &agent)]).await.unwrap();
    assert_eq!(world.answers(card).await, ["Done."]);
    assert_eq!(world.starts("agent"), 2);
}

async fn while_paused(world: World) {
    let (agent, card, daemon) = at_work(&world).await;
    let record = &world.record.record;
    let person = "Ada".parse().unwrap();
    record
        .pause(Scope::Everything, PauseKind::Pause, None, &person)
        .await
        .unwrap();
    world.send_more(card).await;
    // Two whole passes see the turn.
    world.until_passes(2).await;
    assert!(world.is_alive("agent"), "what runs goes on in a pause");
    record.unpause(Scope::Everything).await.unwrap();
    control::poke(&world.state()).await;
    world.until_starts("agent", 2).await;
    world.open_gate("agent");
    daemon.leave().await;
    world.run_once(&[("agent", &agent)]).await.unwrap();
    assert_eq!(world.answers(card).await, ["Done."]);
}

async fn many(world: World) {
    let agent = world.gated("agent");
    let card = world.send("agent").await;
    let daemon = world.daemon(&[("agent", &agent)]).await;
    for start in 1..=12 {
        world.until_starts("agent", start).await;
        world.send_more(card).await;
        control::poke(&world.state()).await;
    }
    world.until_starts("agent", 13).await;
    world.open_gate("agent");
    daemon.leave().await;
    world.run_once(&[("agent", &agent)]).await.unwrap();
    assert_eq!(world.answers(card).await, ["Done."]);
    assert_eq!(world.card(card).await.runs[0].tries, 0);
}

/// Its end was seen, and the record could not be asked for what.
async fn dies_in_between(world: World) {
    let (agent, card, daemon) = at_work(&world).await;
    world.send_more(card).await;
    world.record.plan(Call::Interrupt, [Instead::Away, Instead::Away]);
    control::poke(&world.state()).await;
    world.until_gone("agent").await;
    daemon.leave().await;
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_starts("agent", 2).await;
    assert_eq!(world.card(card).await.runs[0].state, RunState::Running);
    world.open_gate("agent");
    daemon.leave().await;
    world.run_once(&[("agent", &agent)]).await.unwrap();
    assert_eq!(world.answers(card).await, ["Done."]);
    assert!(!world.all_said().contains("its agent was stopped"), "{world:?}");
}
