//! What an agent is shown of what belongs to its work, as text.

use std::fmt::Write;

use cs_model::{AskState, Author, CardId, LandingState, RunKind, TurnSeq};
use cs_record::{Ask, CardDetail, Landing, RecordError, Run, Turn};
use cs_tools::Shown;

use super::Of;
use crate::context::Context;

/// Longer answers of tools are cut in the middle by an agent; the newest words are worth the most.
const TURNS_MOST_BYTES: usize = 16 << 10;
const TURNS_AT_ONCE: u32 = 200;

/// Gives a text about something of an attempt's.
pub(super) async fn show(cx: &Context, of: &Of, what: &Shown) -> Result<String, RecordError> {
    let cards = &cx.deps.record.cards;
    Ok(match what {
        Shown::Card => card_text(&cards.card(of.row.card).await?),
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
        Shown::Attachment(name) => format!("Nothing is attached to your card, so there is no `{name}`."),
    })
}

/// Says what became of the last landing of an attempt's card, and what is to be done about it.
pub(super) async fn last_landing(cx: &Context, of: &Of) -> Result<String, RecordError> {
    let detail = cx.deps.record.cards.card(of.row.card).await?;
    Ok(match detail.landings.last() {
        None => "Nothing of your card was ever to be landed. Offer your work with `offer_landing` when it is done.".to_owned(),
        Some(landing) => landing_text(landing),
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
        let text = format!(
            "#{} {who}, {}:\n{}",
            turn.seq,
            turn.said_at.to_the_second(),
            turn.body
        );
        if text.len() > room && !shown.is_empty() {
            break;
        }
        room = room.saturating_sub(text.len());
        shown.push(text);
    }
    let left = turns.len() - shown.len();
    if left > 0 {
        shown.push(format!("[{left} older ones are not shown]"));
    }
    shown.reverse();
    match shown.is_empty() {
        true => "Nothing was said yet.".to_owned(),
        false => shown.join("\n\n"),
    }
}
