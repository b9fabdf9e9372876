//! A person says something.

use std::collections::BTreeSet;

use cs_model::{Author, CardState, Priority, Time, TurnSeq, TurnState};
use cs_settle::Usage;

use super::attach::attach_to;
use super::retry::{count_anew, open_again};
use super::{MAX_BASE_BYTES, MAX_CHOICE_BYTES, MAX_TITLE_CHARS, check_body};
use crate::aggregate::{Draft, Words};
use crate::store::Facts;
use crate::{
    Aggregate, Card, Choice, Chosen, Dependency, Earlier, Plan, Readiness, ReadyFor, Refusal, Send, SendTo,
    Sent, Writes,
};

/// Puts the turn on a card that is there. A card that had failed, was stopped or has landed opens again. Tries and starts are counted
/// anew, also on a card at work, whose agent is ended for the turn (OW-14): a person may correct it as often as they like. The same turn
/// again changes nothing and gives the same place.
///
/// # Errors
/// Refused for a bad text, for a closed card, and when the card would wait for itself.
pub fn send_existing(aggregate: &Aggregate, send: &Send, facts: &Facts) -> Result<(Writes, Sent), Refusal> {
    let card = &aggregate.card;
    let sent = |seq| Sent {
        card: card.id,
        turn: send.turn,
        seq,
        open_asks: aggregate.open_asks(),
    };
    if let Some(turn) = aggregate.turns.iter().find(|turn| turn.id == send.turn) {
        return Ok((Writes::default(), sent(turn.seq)));
    }
    check_body("the message", &send.body)?;
    let mut draft = Draft::of(aggregate, facts.now);
    if card.state == CardState::Closed {
        return Err(Refusal::CardState {
            card: card.id.short(),
            state: card.state,
            cure: "send the message to a new card",
        });
    }
    open_again(&mut draft);
    count_anew(&mut draft);
    draft.card.landings_returned = 0;
    choose(&mut draft.card, &send.choice)?;
    attach_to(&mut draft, &facts.attached, &send.attachments, &send.person)?;
    let seq = draft.say(words(send));
    let writes = plan(draft, &send.plan, &facts.earlier)?;
    Ok((writes, sent(seq)))
}

/// Makes the card that the turn begins.
///
/// # Errors
/// Refused for a bad text or title, and for a card to be done first that is not there.
pub fn send_new(send: &Send, earlier: &[Earlier], now: Time) -> Result<(Writes, Sent), Refusal> {
    let (card, title, codebase, base, agent, opening) = match &send.to {
        SendTo::NewCard {
            card,
            title,
            codebase,
            base,
            agent,
            opening,
        } => (*card, title.trim(), *codebase, base, agent, *opening),
        SendTo::Card(card) => {
            return Err(Refusal::NoSuchCard { card: card.short() });
        }
    };
    check_body("the message", &send.body)?;
    check_title(title)?;
    check_base(base.as_deref())?;
    let mut card = Card {
        id: card,
        title: title.to_owned(),
        state: CardState::Open,
        reason: None,
        person: send.person.clone(),
        codebase,
        base: base.clone(),
        agent: agent.clone(),
        model: None,
        effort: None,
        owner: None,
        machine: None,
        opening,
        priority: Priority::default(),
        not_before: None,
        recovery: false,
        done: false,
        last_seq: TurnSeq::START,
        ready: Readiness {
            what: ReadyFor::Nothing,
            from: now,
        },
        usage: Usage::default(),
        landings_returned: 0,
        created_at: now,
        updated_at: now,
        version: 0,
    };
    choose(&mut card, &send.choice)?;
    let mut draft = Draft::new_card(card.clone(), now);
    attach_to(&mut draft, &[], &send.attachments, &send.person)?;
    let seq = draft.say(words(send));
    let writes = plan(draft, &send.plan, earlier)?;
    let sent = Sent {
        card: card.id,
        turn: send.turn,
        seq,
        open_asks: 0,
    };
    Ok((writes, sent))
}

/// Writes what the card's agent is to work with. Its run learns it with its next attempt; one that is at work goes on as it began.
fn choose(card: &mut Card, choice: &Choice) -> Result<(), Refusal> {
    let chosen = |what, chosen: &Option<Chosen>, before: &mut Option<String>| {
        match chosen {
            None => {}
            Some(Chosen::OfTheAgent) => *before = None,
            Some(Chosen::This(name)) if name.len() > MAX_CHOICE_BYTES => {
                return Err(Refusal::TooLong {
                    what,
                    bytes: name.len(),
                    limit_bytes: MAX_CHOICE_BYTES,
                });
            }
            Some(Chosen::This(name)) => *before = Some(name.clone()),
        }
        Ok(())
    };
    chosen("the name of the model", &choice.model, &mut card.model)?;
    chosen("the name of the effort", &choice.effort, &mut card.effort)
}

/// Writes when the card starts, and ends the decision.
fn plan(mut draft: Draft<'_>, plan: &Plan, earlier: &[Earlier]) -> Result<Writes, Refusal> {
    let card = draft.card.id;
    draft.card.not_before = plan.not_before.or(draft.card.not_before);
    draft.card.priority = plan.priority.unwrap_or(draft.card.priority);
    let mut dependencies = BTreeSet::new();
    for after in plan.after.iter().copied() {
        match earlier.iter().find(|known| known.card == after) {
            _ if after == card => {
                return Err(Refusal::WaitsForItself {
                    card: card.short(),
                    after: after.short(),
                });
            }
            None => return Err(Refusal::NoSuchCard { card: after.short() }),
            Some(known) if known.waits_for_it => {
                return Err(Refusal::WaitsForItself {
                    card: card.short(),
                    after: after.short(),
                });
            }
            Some(_) => {
                dependencies.insert(Dependency { card, after });
            }
        }
    }
    let mut writes = draft.finish();
    writes.dependencies = dependencies.into_iter().collect();
    Ok(writes)
}

fn words(send: &Send) -> Words {
    Words {
        id: send.turn,
        author: Author::Person(send.person.clone()),
        body: send.body.clone(),
        state: TurnState::Pending,
        run: None,
    }
}

fn check_title(title: &str) -> Result<(), Refusal> {
    let chars = title.chars().count();
    if chars == 0 || chars > MAX_TITLE_CHARS || title.chars().any(char::is_control) {
        return Err(Refusal::BadTitle { chars });
    }
    Ok(())
}

pub(super) fn check_base(base: Option<&str>) -> Result<(), Refusal> {
    let bytes = base.map_or(0, str::len);
    if bytes > MAX_BASE_BYTES {
        return Err(Refusal::TooLong {
            what: "the name of the base branch",
            bytes,
            limit_bytes: MAX_BASE_BYTES,
        });
    }
    Ok(())
}
