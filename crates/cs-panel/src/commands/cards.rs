//! `cards`: the list.

use clap::Args;
use cs_model::{CardState, RunState, Time};
use cs_record::{CardFilter, CardSummary, ReadyFor};

use super::listed;
use crate::app::App;
use crate::failure::Failure;
use crate::standstill::Standstills;
use crate::text;
use crate::waiting::Here;
use crate::wire::SummaryWire;

#[derive(Debug, Args)]
pub(crate) struct CardsArgs {
    /// Landed and closed cards too.
    #[arg(long)]
    all: bool,
}

/// Carries out `cards`.
pub(crate) async fn cards(app: &App, args: &CardsArgs) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let filter = if args.all {
        CardFilter::All
    } else {
        CardFilter::Current
    };
    let listed = desk.ports.reads.cards(filter).await?;
    listed::say_unreadable(app, &listed);
    let live = listed.rows.iter().filter_map(|summary| summary.live.as_ref());
    let still = Standstills::among(&desk, live).await;
    if app.global.json {
        return listed::json(app, &listed, |summary| SummaryWire::of(summary, &still));
    }
    let cards = listed.rows;
    if cards.is_empty() && !listed.unreadable.is_empty() {
        return Ok(());
    }
    if cards.is_empty() {
        let more = if args.all {
            ""
        } else {
            " (`--all` shows those that are over)"
        };
        app.out
            .said(&format!("no cards{more}; begin one with `cs-panel send MESSAGE`"));
        return Ok(());
    }
    let now = app.now();
    let mut here = Here::read(app, &desk).await?;
    here.still = still;
    let row = |summary: &CardSummary| {
        let card = &summary.card;
        vec![
            card.id.short(),
            doing(summary, &cards, &here, now),
            summary.codebase.clone().unwrap_or_else(|| "-".to_owned()),
            card.agent.to_string(),
            text::ago(now, card.updated_at),
            text::one_line(&card.title, 60),
        ]
    };
    app.out.table(
        &["CARD", "STATE", "CODEBASE", "AGENT", "CHANGED", "TITLE"],
        cards.iter().map(row).collect(),
    )
}

/// Says in a few words what a card does or waits for, as seen from this machine. `all` are the cards that are not over.
pub(crate) fn doing(summary: &CardSummary, all: &[CardSummary], here: &Here, now: Time) -> String {
    if let Some(left) = &summary.left_behind {
        return format!("stop incomplete; {}", text::one_line(&left.what, 60));
    }
    if let Some(landing) = &summary.landing {
        return format!("landing ({})", landing.state);
    }
    if let Some(live) = &summary.live
        && live.state == RunState::Running
    {
        if let Some(still) = here.still.get(live.id) {
            return still.words(now);
        }
        return format!(
            "running for {}",
            text::span(now, live.resumed_at.unwrap_or(live.started_at))
        );
    }
    if let Some(ask) = summary.open_asks.first() {
        return if ask.offer.is_some() {
            "offers to land"
        } else {
            "asks"
        }
        .to_owned();
    }
    let ready = summary.card.ready;
    let waits = ready.what != ReadyFor::Nothing;
    if let (true, Some(after)) = (waits, summary.waits_for.first()) {
        let more = match summary.waits_for.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        let earlier = all.iter().find(|other| other.card.id == *after);
        let how = match earlier.map(|other| other.card.state) {
            Some(state @ (CardState::Failed | CardState::Stopped)) => format!(", which is {state}"),
            Some(CardState::Open | CardState::Landed | CardState::Closed) | None => String::new(),
        };
        return format!("waits for card {}{how}{more}", after.short());
    }
    if let Some(kept) = here.keeps(summary, all, now) {
        return kept.words().to_owned();
    }
    match ready.what {
        ReadyFor::Resume if ready.from > now => format!("tries again {}", text::due(now, ready.from)),
        ReadyFor::Resume => "waits to go on".to_owned(),
        ReadyFor::Turns | ReadyFor::Rearm if ready.from > now => {
            format!("starts {}", text::due(now, ready.from))
        }
        ReadyFor::Turns | ReadyFor::Rearm => "waits for a start".to_owned(),
        ReadyFor::Nothing if summary.card.state == CardState::Open && summary.is_ending => {
            "waits for the end of its former agent".to_owned()
        }
        ReadyFor::Nothing if summary.card.state == CardState::Open => "waits for you".to_owned(),
        ReadyFor::Nothing => summary.card.state.to_string(),
    }
}
