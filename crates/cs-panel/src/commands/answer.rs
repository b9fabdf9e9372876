//! `answer`: a person's words for an open question.

use clap::Args;
use cs_model::{AskId, AskState};
use cs_record::{AnswerAsk, Ask, RecordError};

use super::{asks, send};
use crate::app::{App, Desk};
use crate::failure::Failure;
use crate::text;
use crate::wire::AskWire;

const ANSWER_MAX_BYTES: usize = 1024 * 1024;

#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// The question, or a card with exactly one open question: an id, or the first or last of the digits that are shown.
    #[arg(value_name = "CARD|ASK")]
    to: String,
    /// The answer; `-` or nothing reads standard input.
    #[arg(value_name = "TEXT")]
    words: Option<String>,
}

/// Carries out `answer`.
pub(crate) async fn answer(app: &App, args: AnswerArgs) -> Result<(), Failure> {
    let body = send::words(args.words.as_deref(), "answer", ANSWER_MAX_BYTES)?;
    let desk = app.desk().await?;
    let ask = find(&desk, &args.to).await?;
    let person = app.person(&desk.state).await?;
    let answered = desk
        .ports
        .acts
        .answer_ask(&AnswerAsk {
            ask,
            body: body.trim().to_owned(),
            person,
        })
        .await?;
    app.wake(&desk).await;
    if app.global.json {
        return app.out.json(&AskWire::from(&answered));
    }
    app.out.line(&format!(
        "question {} on card {} is answered",
        answered.id.short(),
        answered.card.short()
    ))
}

/// Finds the question that is meant: the one with this id, or the only open one of the card with this id.
async fn find(desk: &Desk, given: &str) -> Result<AskId, Failure> {
    let reads = &desk.ports.reads;
    let card = found(reads.find_card(given).await)?;
    let ask = found(reads.find_ask(given).await)?;
    match (card, ask) {
        (None, Some(ask)) => Ok(ask),
        (Some(card), None) => {
            let asks = reads.card(card).await?.asks;
            only_open(&asks, &card.short())
        }
        (Some(card), Some(ask)) => Err(Failure::Usage(format!(
            "`{given}` fits card {card} and question {ask}; give more of the digits"
        ))),
        (None, None) => Err(Failure::plain(format!(
            "there is no card and no question `{}`; give four or more of the digits that `cs-panel asks` shows for \
             the open questions",
            text::one_line(given, 80)
        ))),
    }
}

fn only_open(asks: &[Ask], card: &str) -> Result<AskId, Failure> {
    let open: Vec<&Ask> = asks.iter().filter(|ask| ask.state == AskState::Open).collect();
    match open.as_slice() {
        [only] => Ok(only.id),
        [] => Err(Failure::Refused(format!(
            "card {card} has no open question; to say something more, `cs-panel send --card {card} MESSAGE`"
        ))),
        several => {
            let list: Vec<String> = several
                .iter()
                .map(|ask| format!("{}\n{}", ask.id.short(), asks::block(ask)))
                .collect();
            Err(Failure::Usage(format!(
                "card {card} has several open questions; name one of them\n{}",
                list.join("\n")
            )))
        }
    }
}

fn found<T>(looked: Result<T, RecordError>) -> Result<Option<T>, RecordError> {
    match looked {
        Ok(id) => Ok(Some(id)),
        Err(RecordError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
