//! `cards`: the list.

use clap::Args;
use cs_daemon::control::{self, Poked};
use cs_model::{CardState, LandingState, RunState, Time};
use cs_record::{CardFilter, CardSummary, ReadyFor};

use super::listed;
use crate::app::{App, Desk};
use crate::failure::Failure;
use crate::standstill::Standstills;
use crate::text;
use crate::waiting::{Here, Room};
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
    say_without_daemon(app, &desk, &cards).await;
    let now = app.now();
    let mut here = Here::read(app, &desk).await?;
    here.still = still;
    here.room = Room::Row;
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

/// Says that nobody looks after what a list shows as being under way on this machine, where that is so.
pub(crate) async fn say_without_daemon(app: &App, desk: &Desk, cards: &[CardSummary]) {
    let runs = |card: &CardSummary| {
        let live = card.live.as_ref();
        live.is_some_and(|run| run.state == RunState::Running && run.machine == desk.machine)
    };
    let lands =
        |card: &CardSummary| card.landing.is_some() && card.card.machine.is_none_or(|it| it == desk.machine);
    if !cards.iter().any(|card| runs(card) || lands(card)) {
        return;
    }
    if control::poke(&desk.state).await == Poked::NoDaemon {
        app.out.said(
            "no daemon runs here: what runs or lands is shown as the last one left it, and goes no further on the record; `cs-panel run` \
             starts one",
        );
    }
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
        return match &ask.offer {
            Some(_) => format!("offers to land{}", came_of(summary)),
            None => "asks".to_owned(),
        };
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
        ReadyFor::Nothing if summary.card.state == CardState::Open => {
            format!("waits for you{}", came_of(summary))
        }
        ReadyFor::Nothing => summary.card.state.to_string(),
    }
}

/// Whether a card waits for what a person says next, and asks nothing.
pub(crate) fn waits_for_a_person(summary: &CardSummary) -> bool {
    let is_at_work = summary.live.is_some() || summary.landing.is_some();
    let is_left = summary.is_ending || summary.left_behind.is_some();
    summary.card.state == CardState::Open
        && summary.card.ready.what == ReadyFor::Nothing
        && summary.open_asks.is_empty()
        && !is_at_work
        && !is_left
}

/// Says what came of the last landing of a card, where its work is not on its base for that.
fn came_of(summary: &CardSummary) -> &'static str {
    match summary.last_landing {
        Some(LandingState::Refused) => " (landing refused)",
        Some(LandingState::Published) => " (published)",
        Some(LandingState::Conflict) => " (landing in conflict)",
        Some(LandingState::VerifyFailed) => " (verify failed)",
        Some(LandingState::Landed | LandingState::Accepted | LandingState::Running) | None => "",
    }
}
