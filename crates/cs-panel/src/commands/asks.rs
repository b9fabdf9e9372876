//! `asks`: the open questions.

use cs_record::Ask;

use super::{listed, show};
use crate::app::App;
use crate::failure::Failure;
use crate::text;
use crate::wire::AskWire;

/// Carries out `asks`.
pub(crate) async fn asks(app: &App) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let listed = desk.ports.reads.open_asks().await?;
    listed::say_unreadable(app, &listed);
    if app.global.json {
        return listed::json(app, &listed, |(ask, _)| AskWire::from(ask));
    }
    let asks = listed.rows;
    if asks.is_empty() && !listed.unreadable.is_empty() {
        return Ok(());
    }
    if asks.is_empty() {
        app.out.said("no open questions");
        return Ok(());
    }
    let now = app.now();
    let blocks = asks.iter().map(|(ask, title)| {
        let when = text::ago(now, ask.asked_at);
        let head = format!(
            "{} on card {} ({}), {when}",
            ask.id.short(),
            ask.card.short(),
            text::one_line(title, 60)
        );
        format!("{head}\n{}", block(ask))
    });
    app.out.line(&blocks.collect::<Vec<_>>().join("\n"))
}

/// Writes a question, its choices and how to answer it.
pub(crate) fn block(ask: &Ask) -> String {
    let mut block = text::indented(&ask.question, "  ");
    if !ask.choices.is_empty() {
        block.push_str(&format!(
            "  choices: {}\n",
            text::one_line(&ask.choices.join(" | "), 1_000)
        ));
    }
    block.push_str(&format!("  {}\n", show::how_to_answer(ask)));
    block
}
