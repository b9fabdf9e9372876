//! What an agent is shown of what belongs to its work, as text.

mod attachments;

use std::fmt::Write;

use cs_model::{AskState, Author, CardId, LandingState, RunKind, TurnSeq};
use cs_record::{Ask, CardDetail, Landing, RecordError, Run, Turn};
use cs_tools::Shown;

use super::Of;
use crate::context::Context;

/// Longer answers of tools are cut in the middle by an agent; the newest words are worth the most.
const TURNS_MOST_BYTES: usize = 16 << 10;
const TURNS_AT_ONCE: u32 = 200;

/// No answer is longer: an agent pays for each word of it, and its bridge takes no more than a mebibyte.
const MOST_BYTES: usize = 24 << 10;

/// Gives a text about something of an attempt's.
pub(super) async fn show(cx: &Context, of: &Of, what: &Shown) -> Result<String, RecordError> {
    whole(cx, of, what).await.map(|text| cut(&text, MOST_BYTES))
}

/// The beginning of a text that is too long, with a note that it is.
fn cut(text: &str, most_bytes: usize) -> String {
    if text.len() <= most_bytes {
        return text.to_owned();
    }
    let kept = &text[..text.floor_char_boundary(most_bytes)];
    format!("{kept}\n[cut: {} bytes in all]", text.len())
}

async fn whole(cx: &Context, of: &Of, what: &Shown) -> Result<String, RecordError> {
    let cards = &cx.deps.record.cards;
    Ok(match what {
        Shown::Card => {
            let text = card_text(&cards.card(of.row.card).await?);
            let brief = cx.deps.record.reads.run_brief(&of.attempt).await?;
            [vec![text], attachments::names(&brief)].concat().join("\n")
        }
        Shown::Turns => turns_text(&all_turns(cx, of.row.card).await?),
        Shown::Run => {
            let detail = cards.card(of.row.card).await?;
            let run = detail.runs.iter().find(|run| run.id == of.row.run);
            run.map_or_else(|| "Your run is not on the record any more.".to_owned(), run_text)
        }
        Shown::Children => match of.row.kind {
            RunKind::Launcher | RunKind::Owner => {
                let detail = cards.card(of.row.card).await?;
                let mine = detail.runs.iter().filter(|run| run.parent == Some(of.row.run));
                children_text(mine)
            }
            kind @ (RunKind::Worker | RunKind::Issue) => format!("A {kind} sends no runs."),
        },
        Shown::Attachment(name) => attachments::show(cx, of, name).await?,
    })
}

/// Says what became of the last landing of an attempt's card, and what is to be done about it.
pub(super) async fn last_landing(cx: &Context, of: &Of) -> Result<String, RecordError> {
    let detail = cx.deps.record.cards.card(of.row.card).await?;
    Ok(match detail.landings.last() {
        None => "Nothing of your card was ever to be landed. Offer your work with `offer_landing` when it is done.".to_owned(),
        Some(landing) => cut(&landing_text(landing), MOST_BYTES),
    })
}

async fn all_turns(cx: &Context, card: CardId) -> Result<Vec<Turn>, RecordError> {
    let mut all: Vec<Turn> = Vec::new();
    loop {
        let after = all.last().map_or(TurnSeq::START, |turn| turn.seq);
        let more = cx.deps.record.cards.turns(card, after, TURNS_AT_ONCE).await?;
        if more.is_empty() {
            return Ok(all);
        }
        all.extend(more);
    }
}

fn card_text(detail: &CardDetail) -> String {
    let card = &detail.card;
    let mut text = format!("card {}: {}\nstate: {}", card.id.short(), card.title, card.state);
    let mut line = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            let _ = write!(text, "\n{name}: {value}");
        }
    };
    line("why", card.reason.as_deref());
    line("from", Some(&card.person.to_string()));
    line("codebase", detail.codebase.as_deref());
    line("lands on", card.base.as_deref());
    for ask in detail.asks.iter().filter(|ask| ask.state == AskState::Open) {
        line(
            if ask.offer.is_some() {
                "open offer"
            } else {
                "open question"
            },
            Some(&ask.question),
        );
    }
    for ask in detail.asks.iter().filter(|ask| ask.state == AskState::Answered) {
        line("answered", Some(&answered_text(ask)));
    }
    let landing = detail.landings.last().map(landing_text);
    line("last landing", landing.as_deref());
    text
}

fn answered_text(ask: &Ask) -> String {
    format!(
        "{} -> {}",
        ask.question,
        ask.answer.as_deref().unwrap_or_default()
    )
}

fn landing_text(landing: &Landing) -> String {
    let what = match landing.state {
        LandingState::Accepted => "It is accepted and waits for its turn. There is nothing to do for you.",
        LandingState::Running => "It is being carried out. There is nothing to do for you.",
        LandingState::Landed => "It is done: the work is on its base.",
        LandingState::Conflict => {
            "It does not merge with its base. Merge the base into your branch, resolve the conflicts, commit, and offer it again."
        }
        LandingState::VerifyFailed => {
            "The verification failed on the merged result. Mend what it says, commit, and offer it again."
        }
        LandingState::Refused => {
            "It was refused, and the person was told why. There is nothing to do for you."
        }
        LandingState::Published => {
            "Your branch is at the remote, and no base has moved. There is nothing to do for you."
        }
    };
    let mut text = format!("{}. {what}", landing.state);
    if let Some(result) = &landing.result {
        let _ = write!(text, "\n{result}");
    }
    if let Some(evidence) = &landing.evidence {
        let _ = write!(
            text,
            "\n`{}` ended with {} on commit {}",
            evidence.command, evidence.exit, evidence.commit
        );
    }
    text
}

fn run_text(run: &Run) -> String {
    let mut text = format!(
        "run {}: {} of card {}\nstate: {}, attempt {}\nagent: {}\nfirst started: {}",
        run.id.short(),
        run.kind,
        run.card.short(),
        run.state,
        run.epoch,
        run.agent,
        run.started_at.to_the_second()
    );
    if let Some(why) = &run.failed_because {
        let _ = write!(text, "\nits last failure: {why}; {} tries are used", run.tries);
    }
    text
}

fn children_text<'a>(runs: impl Iterator<Item = &'a Run>) -> String {
    let lines: Vec<String> = runs.map(run_text).collect();
    if lines.is_empty() {
        return "You have sent no runs.".to_owned();
    }
    lines.join("\n\n")
}

/// The newest turns that fit, the newest last, each with who said it.
fn turns_text(turns: &[Turn]) -> String {
    let mut shown = Vec::new();
    let mut room = TURNS_MOST_BYTES;
    for turn in turns.iter().rev() {
        let who = match &turn.author {
            Author::Person(person) => person.to_string(),
            Author::Agent(run) => format!("agent of run {}", run.short()),
            Author::System => "cs-panel".to_owned(),
        };
        let body = cut(&turn.body, TURNS_MOST_BYTES);
        let text = format!("#{} {who}, {}:\n{body}", turn.seq, turn.said_at.to_the_second());
        if text.len() > room && !shown.is_empty() {
            break;
        }
        room = room.saturating_sub(text.len());
        shown.push(text);
    }
    let left = turns.len() - shown.len();
    if left > 0 {
        shown.push(format!("[older ones that are not shown: {left}]"));
    }
    shown.reverse();
    match shown.is_empty() {
        true => "Nothing was said yet.".to_owned(),
        false => shown.join("\n\n"),
    }
}

#[cfg(test)]
mod tests {
    use cs_model::{Time, TurnId, TurnState};

    use super::*;

    fn turn(seq: u32, body: &str) -> Turn {
        let id = uuid::Uuid::from_u128(u128::from(seq));
        Turn {
            id: TurnId::from_uuid(id),
            card: CardId::from_uuid(id),
            seq: TurnSeq::new(seq),
            author: Author::System,
            body: body.to_owned(),
            state: TurnState::Settled,
            run: None,
            said_at: Time::from_unix_micros(0),
        }
    }

    #[test]
    fn the_newest_turns_are_shown_and_none_is_too_long_for_an_agent() {
        assert_eq!(turns_text(&[]), "Nothing was said yet.");
        let short = turns_text(&[turn(1, "first"), turn(2, "second")]);
        let (first, second) = (short.find("first"), short.find("second"));
        assert!(
            first.is_some() && first < second && !short.contains("not shown"),
            "{short}"
        );
        let long = "\u{e9}".repeat(600_000);
        let text = turns_text(&[turn(1, "first"), turn(2, &long)]);
        assert!(text.len() < MOST_BYTES, "{}", text.len());
        assert!(
            text.contains("[cut: 1200000 bytes in all]")
                && text.starts_with("[older ones that are not shown: 1]")
        );
    }
}
