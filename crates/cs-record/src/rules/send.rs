//! A person says something.

use cs_model::{Author, CardState, Time, TurnSeq, TurnState};
use cs_settle::Usage;

use super::{MAX_BASE_BYTES, MAX_TITLE_CHARS, check_body};
use crate::aggregate::{Draft, Words};
use crate::{Aggregate, Card, Readiness, ReadyFor, Refusal, Send, SendTo, Sent, Writes};

/// Puts the turn on a card that is there. A card that had failed, was stopped or has landed opens again, with new counts of
/// tries and starts. The same turn again changes nothing and gives the same place.
///
/// # Errors
/// Refused for a bad text and for a closed card.
pub fn send_existing(aggregate: &Aggregate, send: &Send, now: Time) -> Result<(Writes, Sent), Refusal> {
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
    let mut draft = Draft::of(aggregate, now);
    match card.state {
        CardState::Open => {}
        CardState::Failed | CardState::Stopped | CardState::Landed => {
            draft.card.state = CardState::Open;
            draft.card.reason = None;
            draft.card.tries = 0;
            draft.card.starts = 0;
        }
        CardState::Closed => {
            return Err(Refusal::CardState {
                card: card.id.short(),
                state: card.state,
                cure: "send the message to a new card",
            });
        }
    }
    let seq = draft.say(words(send));
    Ok((draft.finish(), sent(seq)))
}

/// Makes the card that the turn begins.
///
/// # Errors
/// Refused for a bad text or title.
pub fn send_new(send: &Send, now: Time) -> Result<(Writes, Sent), Refusal> {
    let (card, title, codebase, base, agent) = match &send.to {
        SendTo::NewCard {
            card,
            title,
            codebase,
            base,
            agent,
        } => (*card, title.trim(), *codebase, base.clone(), agent.clone()),
        SendTo::Card(card) => {
            return Err(Refusal::NoSuchCard { card: card.short() });
        }
    };
    check_body("the message", &send.body)?;
    check_title(title)?;
    check_base(base.as_deref())?;
    let card = Card {
        id: card,
        title: title.to_owned(),
        state: CardState::Open,
        reason: None,
        person: send.person.clone(),
        codebase,
        base,
        agent,
        owner: None,
        machine: None,
        last_seq: TurnSeq::START,
        ready: Readiness {
            what: ReadyFor::Nothing,
            from: now,
        },
        tries: 0,
        starts: 0,
        usage: Usage::default(),
        created_at: now,
        updated_at: now,
        version: 0,
    };
    let sent = |seq| Sent {
        card: card.id,
        turn: send.turn,
        seq,
        open_asks: 0,
    };
    let mut draft = Draft::new_card(card.clone(), now);
    let seq = draft.say(words(send));
    Ok((draft.finish(), sent(seq)))
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

fn check_base(base: Option<&str>) -> Result<(), Refusal> {
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
