//! People: they send messages, answer, accept, stop, try again, close, hand back and pause.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cs_daemon::control::Request;
use cs_model::{AskState, CardId, CardState, Clock, IdSource, LandingId, Opening, PauseKind, TurnId};
use cs_record::{
    AcceptLanding, AnswerAsk, Ask, Card, HandBack, Machines, PeopleActs, Plan, RecordError, Scope, Send,
    SendTo,
};
use cs_testkit::Rows;
use tokio::sync::oneshot;

use crate::actor::Actor;
use crate::broken::{self, Mutant};
use crate::invariant::Event;
use crate::machine::{AGENT, person};
use crate::world::World;

/// Notes what a person did and what came of it. A refusal is an answer like others.
fn told<T: std::fmt::Debug>(world: &World, what: &'static str, came: &Result<T, RecordError>) {
    match came {
        Ok(_) => {
            world.count(what);
            world.note(format_args!("a person: {what}"));
        }
        Err(error) => world.note(format_args!("a person: {what}: {error}")),
    }
    if let Err(RecordError::Corrupt(what)) = came {
        world.fail("the record is sound", what.clone());
    }
    world.see(&Event::Acted);
}

fn rows(world: &World) -> Rows {
    world.store.rows().unwrap_or_default()
}

/// Somebody who works with cards.
#[derive(Debug, Default)]
pub(crate) struct Person {
    paused: Option<Scope>,
}

#[async_trait]
impl Actor for Person {
    async fn act(&mut self, world: &Arc<World>) {
        let rows = rows(world);
        if rows.cards.len() < world.profile.cards && world.dice.chance(4_000) {
            return begin(world).await;
        }
        let Some(card) = world.dice.pick(&rows.cards) else {
            return begin(world).await;
        };
        if let Some(scope) = self.paused.take() {
            return unpause(world, scope).await;
        }
        if !world.dice.chance(world.profile.unrest) {
            return match card.state {
                CardState::Failed | CardState::Stopped if world.dice.chance(5_000) => {
                    retry(world, card.id).await
                }
                CardState::Open
                | CardState::Failed
                | CardState::Stopped
                | CardState::Landed
                | CardState::Closed
                    if world.dice.chance(world.profile.talk) =>
                {
                    send(world, SendTo::Card(card.id)).await;
                }
                CardState::Open
                | CardState::Failed
                | CardState::Stopped
                | CardState::Landed
                | CardState::Closed => {}
            };
        }
        if world.dice.chance(world.profile.led_away) {
            return lead_away(world, card).await;
        }
        if world.dice.chance(world.profile.limited) {
            return limit(world).await;
        }
        match world.dice.below(12) {
            0..=3 => stop(world, card.id).await,
            4 => retry(world, card.id).await,
            5..=7 => hand_back(world, card).await,
            8 if world.dice.chance(2_500) => close(world, card.id).await,
            8..=10 => self.pause(world).await,
            _ => stop_now(world, card.id),
        }
    }

    /// Who paused ends it.
    async fn settle(&mut self, world: &Arc<World>) {
        if let Some(scope) = self.paused.take() {
            unpause(world, scope).await;
        }
    }
}

impl Person {
    async fn pause(&mut self, world: &World) {
        let scope = match world.dice.pick(&world.machines) {
            Some(machine) if world.dice.chance(5_000) => Scope::Machine(machine.id),
            Some(_) | None => Scope::Everything,
        };
        let kind = if world.dice.chance(5_000) {
            PauseKind::Pause
        } else {
            PauseKind::Drain
        };
        let came = world.record.pause(scope, kind, None, &person()).await;
        if came.is_ok() {
            // The later one takes the place of one that was there.
            world.see(&match kind {
                PauseKind::Pause => Event::Paused { scope },
                PauseKind::Drain => Event::Unpaused { scope },
            });
        }
        told(world, "pauses", &came);
        self.paused = Some(scope);
    }
}

async fn unpause(world: &World, scope: Scope) {
    let came = world.record.unpause(scope).await;
    world.see(&Event::Unpaused { scope });
    told(world, "unpauses", &came);
}

async fn begin(world: &World) {
    let card = CardId::from_uuid(world.ids.uuid_v7());
    let codebase = world.dice.pick(&world.codebases).copied();
    let codebase = codebase.filter(|_| world.dice.chance(world.profile.codebases));
    let to = SendTo::NewCard {
        card,
        title: "Work".to_owned(),
        codebase,
        base: codebase.map(|_| "main".to_owned()),
        agent: AGENT.parse().expect("a name of an agent"),
        opening: Opening::Owner,
    };
    let rows = rows(world);
    let earlier = world.dice.pick(&rows.cards).map(|earlier| earlier.id);
    let after = earlier.filter(|_| world.dice.chance(world.profile.planned));
    let wait = world.dice.span(Duration::from_secs(5), Duration::from_secs(150));
    let later = world.clock.now().plus(wait);
    let not_before = Some(later).filter(|_| world.dice.chance(world.profile.planned / 2));
    world.see(&Event::Planned {
        card,
        after,
        not_before,
    });
    let plan = Plan {
        after: after.into_iter().collect(),
        not_before,
        ..Plan::default()
    };
    let is_forgotten = world.is_mutant(Mutant::PlanIsForgotten);
    send_with(world, to, if is_forgotten { Plan::default() } else { plan }).await;
}

async fn send(world: &World, to: SendTo) {
    send_with(world, to, Plan::default()).await;
}

/// Sends a message; a person whose command lost its answer repeats it.
async fn send_with(world: &World, to: SendTo, plan: Plan) {
    let send = Send {
        turn: TurnId::from_uuid(world.ids.uuid_v7()),
        to,
        person: person(),
        body: "Do it".to_owned(),
        plan,
        choice: cs_record::Choice::default(),
        attachments: Vec::new(),
    };
    let came = world.record.send(&send).await;
    told(world, "messages", &came);
    if world.happens(world.profile.unanswered) {
        let again = world.record.send(&send).await;
        told(world, "messages repeated", &again);
    }
}

pub(crate) async fn stop(world: &World, card: CardId) {
    let came = world.record.stop_card(card, &person()).await;
    told(world, "stops", &came);
    if world.dice.chance(6_000) {
        stop_now(world, card);
    }
}

/// Asks the daemons to close what runs of a card, as the command does after it has stopped the card.
fn stop_now(world: &World, card: CardId) {
    for machine in &world.machines {
        let (reply, _nobody_waits) = oneshot::channel();
        machine.request(Request::Stop { card, reply });
    }
    world.note(format_args!(
        "a person waits for the end of card {}",
        card.short()
    ));
}

async fn retry(world: &World, card: CardId) {
    world.see(&Event::Planned {
        card,
        after: None,
        not_before: None,
    });
    let came = world.record.retry_card(card, &person()).await;
    told(world, "retries", &came);
}

async fn close(world: &World, card: CardId) {
    let came = world.record.close_card(card, &person()).await;
    told(world, "cards closed", &came);
}

/// Ends what works on a card, gives it free for any machine, and has it tried again: what the former machine still does is late.
async fn lead_away(world: &World, card: &Card) {
    stop(world, card.id).await;
    hand_back(world, card).await;
    retry(world, card.id).await;
}

/// Limits how many runs may be live on a machine, or on a codebase.
async fn limit(world: &World) {
    let machine = world
        .dice
        .pick(&world.machines)
        .map(|machine| Scope::Machine(machine.id));
    let codebase = world
        .dice
        .pick(&world.codebases)
        .map(|codebase| Scope::Codebase(*codebase));
    let Some(scope) = machine.filter(|_| world.dice.chance(5_000)).or(codebase) else {
        return;
    };
    let most = 1 + u32::from(world.dice.chance(3_000));
    world.see(&Event::Limited { scope, most });
    if world.is_mutant(Mutant::LimitIsForgotten) {
        return;
    }
    let came = world.record.limit(scope, Some(most), &person()).await;
    told(world, "limits", &came);
}

async fn hand_back(world: &World, card: &Card) {
    let hand_back = HandBack {
        card: card.id,
        agent: None,
        to_any_machine: card.codebase.is_none(),
        person: person(),
    };
    let came = world.record.hand_back(&hand_back).await;
    told(world, "cards handed back", &came);
}

/// Somebody who answers what agents ask and accepts what they offer.
#[derive(Debug, Default)]
pub(crate) struct Asker;

#[async_trait]
impl Actor for Asker {
    async fn act(&mut self, world: &Arc<World>) {
        let rows = rows(world);
        let open: Vec<&Ask> = rows
            .asks
            .iter()
            .filter(|ask| ask.state == AskState::Open)
            .collect();
        if world.profile.offers {
            for ask in open.iter().filter(|ask| ask.offer.is_some()) {
                accept(world, ask).await;
            }
        }
        match world.dice.pick(&open) {
            Some(ask) if ask.offer.is_some() && world.dice.chance(8_000) => accept(world, ask).await,
            Some(ask) => answer(world, ask).await,
            None => {}
        }
    }

    async fn settle(&mut self, world: &Arc<World>) {
        let rows = rows(world);
        for ask in rows.asks.iter().filter(|ask| ask.state == AskState::Open) {
            if ask.offer.is_some() && world.dice.chance(5_000) {
                accept(world, ask).await;
            } else {
                answer(world, ask).await;
            }
        }
    }
}

/// Answers; now and then somebody else has answered a little earlier.
async fn answer(world: &World, ask: &Ask) {
    answer_with(world, ask, "Yes").await;
    if world.dice.chance(2_000) {
        answer_with(world, ask, "No").await;
    }
}

async fn answer_with(world: &World, ask: &Ask, body: &str) {
    let answer = AnswerAsk {
        ask: ask.id,
        body: body.to_owned(),
        person: person(),
    };
    let came = world.record.answer_ask(&answer).await;
    let (ask, body) = (ask.id, body.to_owned());
    match &came {
        Ok(_) => world.see(&Event::Answered { ask, body }),
        Err(_) => broken::answered_again(world, ask, &body),
    }
    told(world, "questions answered", &came);
}

async fn accept(world: &World, ask: &Ask) {
    let accept = AcceptLanding::new(LandingId::from_uuid(world.ids.uuid_v7()), ask.card, person());
    let came = world.record.accept_landing(&accept).await;
    told(world, "landings accepted", &came);
}
