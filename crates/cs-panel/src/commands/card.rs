//! `retry`, `close` and `hand-back`: what a person decides about a whole card.

use clap::Args;
use cs_model::{CardId, CardState, RunState};
use cs_record::{HandBack, ReadyFor};
use serde::Serialize;

use super::agent::parse_name;
use crate::app::{App, Desk};
use crate::failure::Failure;
use crate::text;
use crate::wire::CardWire;

#[derive(Debug, Args)]
pub(crate) struct CardArgs {
    /// The card: its id, or the first or last of the digits that are shown.
    card: String,
}

#[derive(Debug, Args)]
pub(crate) struct HandBackArgs {
    /// The card: its id, or the first or last of the digits that are shown.
    card: String,
    /// The agent that goes on with it.
    #[arg(long, value_name = "NAME", required_unless_present = "any_machine")]
    agent: Option<String>,
    /// Any machine may go on with it, not only the one that began; only for a card without a codebase.
    #[arg(long)]
    any_machine: bool,
}

/// Carries out `retry`.
pub(crate) async fn retry(app: &App, args: &CardArgs) -> Result<(), Failure> {
    let (desk, card) = open(app, &args.card).await?;
    let person = app.person(&desk.state).await?;
    if !desk.ports.acts.retry_card(card, &person).await? {
        return Err(Failure::Refused(format!(
            "card {0} has nothing to try again: {1}; `cs-panel show {0}` says how it stands",
            card.short(),
            if at_work(&desk, card).await? {
                "an agent works on it"
            } else {
                "no message of it waits"
            }
        )));
    }
    app.wake(&desk).await;
    tell(app, &desk, card, &format!("card {} is tried again", card.short())).await
}

/// Carries out `close`.
pub(crate) async fn close(app: &App, args: &CardArgs) -> Result<(), Failure> {
    let (desk, card) = open(app, &args.card).await?;
    let person = app.person(&desk.state).await?;
    desk.ports.acts.close_card(card, &person).await?;
    cs_daemon::control::poke(&desk.state).await;
    tell(app, &desk, card, &format!("card {} is closed", card.short())).await
}

/// Carries out `hand-back`.
pub(crate) async fn hand_back(app: &App, args: &HandBackArgs) -> Result<(), Failure> {
    let agent = args.agent.as_deref().map(parse_name).transpose()?;
    let (desk, card) = open(app, &args.card).await?;
    if let Some(agent) = &agent
        && !args.any_machine
    {
        app.config()?.choose_agent(Some(agent))?;
    }
    let hand_back = HandBack {
        card,
        agent,
        to_any_machine: args.any_machine,
        person: app.person(&desk.state).await?,
    };
    let before = desk.ports.reads.card(card).await?.card;
    desk.ports.acts.hand_back(&hand_back).await?;
    let is_other = hand_back
        .agent
        .as_ref()
        .is_some_and(|agent| *agent != before.agent);
    if is_other && (before.model.is_some() || before.effort.is_some()) {
        app.out.said(&format!(
            "the model and the effort that were chosen for agent {} are given back; choose others with `cs-panel send --card {} --model NAME`",
            before.agent,
            card.short()
        ));
    }
    app.wake(&desk).await;
    let who = hand_back.agent.map(|agent| format!(" to agent {agent}"));
    let place = if args.any_machine { ", on any machine" } else { "" };
    let said = format!("card {} is given{}{place}", card.short(), who.unwrap_or_default());
    tell(app, &desk, card, &said).await
}

async fn at_work(desk: &Desk, card: CardId) -> Result<bool, Failure> {
    let detail = desk.ports.reads.card(card).await?;
    Ok(detail.runs.iter().any(|run| run.state == RunState::Running))
}

async fn open(app: &App, card: &str) -> Result<(Desk, CardId), Failure> {
    let desk = app.desk().await?;
    let card = desk.ports.reads.find_card(card).await?;
    Ok((desk, card))
}

/// What these commands print with `--json`: the card as it is now.
#[derive(Debug, Serialize)]
struct Now {
    card: CardWire,
}

async fn tell(app: &App, desk: &Desk, card: CardId, said: &str) -> Result<(), Failure> {
    let detail = desk.ports.reads.card(card).await?;
    if app.global.json {
        let card = CardWire::new(&detail.card, detail.codebase.as_deref());
        return app.out.json(&Now { card });
    }
    app.out.line(said)?;
    if let Some(after) = detail.waits_for.first() {
        app.out.said(&format!("it waits for card {}", after.short()));
    }
    let ready = detail.card.ready;
    if detail.card.state == CardState::Open && ready.what != ReadyFor::Nothing && ready.from > app.now() {
        app.out
            .said(&format!("it starts {}", text::due(app.now(), ready.from)));
    }
    Ok(())
}
