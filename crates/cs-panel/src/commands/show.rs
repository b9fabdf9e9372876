//! `show`: one card with all that belongs to it.

mod base;
mod complaint;
mod landings;
mod prepared;

use std::fmt::Write as _;

use clap::Args;
use cs_model::{AskState, AskTo, Priority, RunState, Time, TurnSeq};
use cs_record::{Ask, Card, CardDetail, CardFilter, CardSummary, LeftBehind, Run, Turn};
use cs_settle::Usage;

use super::{cards, place, tail};
use crate::app::{App, Desk};
use crate::failure::Failure;
use crate::standstill::Standstills;
use crate::text;
use crate::waiting::Here;
use crate::wire::{AskWire, CardWire, DetailWire, LandingWire, RunWire, TurnWire};

/// How many of the newest turns are shown to people.
const TURNS_SHOWN: u32 = 6;
/// How many lines of one turn are shown to people.
const LINES_SHOWN: usize = 12;

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The card: its id, or the first or last of the digits that are shown.
    card: String,
}

/// Adds a line to a page.
macro_rules! line {
    ($page:expr, $($text:tt)*) => { writeln!($page, $($text)*).expect("a String takes everything") };
}

/// Carries out `show`.
pub(crate) async fn show(app: &App, args: &ShowArgs) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let id = desk.ports.reads.find_card(&args.card).await?;
    let detail = desk.ports.reads.card(id).await?;
    let still = Standstills::among(&desk, &detail.runs).await;
    let behind = base::behind(app, &desk, &detail.card).await;
    if app.global.json {
        let turns = tail::all_turns(desk.ports.reads.as_ref(), id, TurnSeq::START).await?;
        return app.out.json(&DetailWire {
            card: CardWire::new(&detail.card, detail.codebase.as_deref()),
            behind_base: behind,
            runs: detail.runs.iter().map(|run| RunWire::of(run, &still)).collect(),
            asks: detail.asks.iter().map(AskWire::from).collect(),
            landings: detail.landings.iter().map(LandingWire::from).collect(),
            turns: turns.iter().map(TurnWire::from).collect(),
        });
    }
    let skipped = detail.card.last_seq.get().saturating_sub(TURNS_SHOWN);
    let turns = tail::all_turns(desk.ports.reads.as_ref(), id, TurnSeq::new(skipped)).await?;
    let now = app.now();
    let all = desk.ports.reads.cards(CardFilter::Current).await?.rows;
    let mut here = Here::read(app, &desk).await?;
    here.still = still;
    let summary = summary(&detail);
    let doing = cards::doing(&summary, &all, &here, now);
    let is_kept = !summary.waits_for.is_empty() || here.keeps(&summary, &all, now).is_some();
    let in_base = base::holds_offer(app, &desk, &detail).await;
    cards::say_without_daemon(app, &desk, std::slice::from_ref(&summary)).await;
    let mut page = head(&detail, behind, now, &doing);
    if cards::waits_for_a_person(&summary) && !detail.runs.is_empty() {
        line!(page, "  next      {}", next(&summary));
    }
    page.push_str(&runs(&desk, &detail.runs, is_kept, now)?);
    page.push_str(&asks(&detail, in_base, now));
    page.push_str(&landings::page(&detail.landings, now));
    page.push_str(&newest(&turns, &detail, skipped, now));
    app.out.line(&page)
}

fn head(detail: &CardDetail, behind: Option<usize>, now: Time, doing: &str) -> String {
    let card = &detail.card;
    let mut page = String::new();
    line!(
        page,
        "card {}  {}",
        card.id.short(),
        text::one_line(&card.title, 200)
    );
    line!(page, "  state     {doing}");
    if let Some(reason) = &card.reason {
        line!(page, "  reason    {}", text::one_line(reason, 1_000));
    }
    line!(
        page,
        "  codebase  {}",
        detail.codebase.as_deref().unwrap_or("none (an empty directory)")
    );
    if let Some(base) = &card.base {
        line!(page, "  base      {}", base::words(base, behind));
    }
    if let Some(branch) = branch(detail) {
        line!(page, "  branch    {}", text::one_line(branch.as_str(), 200));
    }
    line!(page, "  agent     {}{}", card.agent, chosen(card));
    line!(page, "  person    {}", card.person);
    if card.priority != Priority::default() {
        line!(page, "  priority  {}", card.priority);
    }
    if let Some(from) = card.not_before.filter(|from| *from > now) {
        line!(page, "  starts    {}", text::due(now, from));
    }
    if !detail.waits_for.is_empty() {
        let cards: Vec<_> = detail.waits_for.iter().map(|card| card.short()).collect();
        line!(page, "  waits     for card {}", cards.join(", "));
    }
    line!(
        page,
        "  begun     {} ({})",
        text::ago(now, card.created_at),
        card.created_at.to_the_second()
    );
    let owner = detail.runs.iter().find(|run| Some(run.id) == card.owner);
    if let Some(owner) = owner.filter(|owner| owner.tries > 0) {
        line!(page, "  tries     {}", owner.tries);
    }
    if let Some(used) = used(card.usage) {
        line!(page, "  used      {used}");
    }
    page
}

/// The branch that holds the work of a card, once an agent was given it.
fn branch(detail: &CardDetail) -> Option<cs_worktree::BranchName> {
    let spec = place::spec_of(&detail.card).ok()??;
    (!detail.runs.is_empty()).then_some(spec.branch)
}

/// What a person can say about a card that waits for them and asks nothing.
fn next(summary: &CardSummary) -> String {
    let card = summary.card.id.short();
    let more = format!("say more: cs-panel send --card {card} MESSAGE");
    match summary.card.codebase {
        Some(_) => format!("look: cs-panel diff {card}   land it: cs-panel land {card}   {more}"),
        None => format!("look: cs-panel open {card}   {more}"),
    }
}

/// Says what a person chose for the agent of a card.
fn chosen(card: &Card) -> String {
    let said = |what, name: &Option<String>| {
        let name = name.as_deref().map(|name| text::one_line(name, 200));
        name.map(|name| format!(", {what} {name}")).unwrap_or_default()
    };
    said("model", &card.model) + &said("effort", &card.effort)
}

/// Takes from a card's detail what the list of cards shows, so that both say the same of it.
fn summary(detail: &CardDetail) -> CardSummary {
    let open = |ask: &&Ask| ask.state == AskState::Open && ask.to == AskTo::Person;
    CardSummary {
        card: detail.card.clone(),
        codebase: detail.codebase.clone(),
        live: detail.runs.iter().find(|run| run.state.is_live()).cloned(),
        open_asks: detail.asks.iter().filter(open).cloned().collect(),
        left_behind: detail.runs.iter().find_map(|run| run.left_behind.clone()),
        is_ending: detail
            .runs
            .iter()
            .any(|run| !run.state.is_live() && run.process.is_some()),
        // A detail does not count them, and what a card does follows from the rest.
        waiting_turns: 0,
        landing: detail
            .landings
            .iter()
            .find(|landing| !landing.state.is_over())
            .cloned(),
        last_landing: detail.landings.last().map(|landing| landing.state),
        waits_for: detail.waits_for.clone(),
    }
}

/// Says what was used up, of what agents reported; nothing when they reported nothing.
fn used(usage: Usage) -> Option<String> {
    let part = |number: Option<u64>, what| {
        let number = number.filter(|number| *number > 0);
        number
            .map(|number| format!(" ({number} {what})"))
            .unwrap_or_default()
    };
    let mut parts = Vec::new();
    let (input, output) = (usage.input_tokens.unwrap_or(0), usage.output_tokens.unwrap_or(0));
    if input > 0 || output > 0 {
        parts.push(format!(
            "{input} tokens in{}, {output} tokens out{}",
            part(usage.cached_tokens, "kept"),
            part(usage.reasoning_tokens, "of reasoning")
        ));
    }
    if let Some(turns) = usage.turns.filter(|turns| *turns > 0) {
        parts.push(format!("{turns} {}", if turns == 1 { "turn" } else { "turns" }));
    }
    if let Some(cost) = usage.cost_microusd.filter(|cost| *cost > 0) {
        let cents = cost.div_ceil(10_000);
        parts.push(format!("{}.{:02} USD", cents / 100, cents % 100));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// `is_kept` says that something is in the way of what is due.
fn runs(desk: &Desk, runs: &[Run], is_kept: bool, now: Time) -> Result<String, Failure> {
    let state = &desk.state;
    let mut page = String::new();
    for run in runs {
        let since = run.resumed_at.unwrap_or(run.started_at);
        let attempt = run.epoch;
        let short = run.id.short();
        line!(
            page,
            "\nrun {short} ({}) attempt {attempt}: {}, started {}",
            run.kind,
            run.state,
            text::ago(now, since)
        );
        if let Some(left) = &run.left_behind {
            page.push_str(&left_behind(desk, run, left, now));
        } else if let Some(process) = &run.process
            && run.state != RunState::Running
        {
            line!(
                page,
                "  its process {} is not proven gone; `cs-panel stop` tries again",
                process.pid
            );
        }
        if let Some(because) = &run.failed_because {
            let class = run.failure.map(|class| format!(" ({class})")).unwrap_or_default();
            line!(page, "  failed{class}: {}", text::one_line(because, 1_000));
        }
        let unread = |error| Failure::failed(error, "what was done for its tree cannot be read");
        for said in prepared::of(state, run).map_err(unread)? {
            line!(page, "  {said}");
        }
        let failed = |error| Failure::failed(error, "what the agent complained about cannot be read");
        if let Some(complaint) = complaint::of(state, run).map_err(failed)? {
            line!(page, "  its standard error ends with:");
            for said in &complaint.lines {
                line!(page, "    {}", text::one_line(said, 200));
            }
            line!(page, "  all of it is in {}", complaint.file.display());
        }
        // Of the only one the card says it.
        let told = run.used.as_ref().filter(|_| runs.len() > 1);
        if let Some(used) = told.and_then(|told| used(told.all)) {
            line!(page, "  used {used}");
        }
        if let Some(again) = run.again_at.filter(|again| *again > now || !is_kept) {
            line!(page, "  goes on {}", text::due(now, again));
        }
    }
    Ok(page)
}

/// Says what of a run could not be ended, and what can be done about it.
fn left_behind(desk: &Desk, run: &Run, left: &LeftBehind, now: Time) -> String {
    let cure = if run.machine == desk.machine {
        let names = desk.state.executions_of(run.id, run.epoch).unwrap_or_default();
        let name = names.last().map_or("", String::as_str);
        format!("end them, or look after them and say so with `cs-panel execution dismiss {name}`")
    } else {
        format!(
            "look after them on machine {}, where they are",
            run.machine.short()
        )
    };
    format!(
        "  stop incomplete since {}: {}; {cure}\n",
        text::ago(now, left.since),
        text::one_line(&left.what, 1_000)
    )
}

fn asks(detail: &CardDetail, in_base: bool, now: Time) -> String {
    let mut page = String::new();
    for ask in &detail.asks {
        let what = if ask.offer.is_some() {
            "offer to land"
        } else {
            "question"
        };
        line!(
            page,
            "\n{what} {} ({}, {})",
            ask.id.short(),
            ask.state,
            text::ago(now, ask.asked_at)
        );
        page.push_str(&text::indented(&ask.question, "  "));
        if !ask.choices.is_empty() {
            line!(
                page,
                "  choices: {}",
                text::one_line(&ask.choices.join(" | "), 1_000)
            );
        }
        if let Some(answer) = &ask.answer {
            let above = landings::said_above(&detail.landings, answer);
            line!(
                page,
                "  answer: {}",
                above.unwrap_or_else(|| text::one_line(answer, 1_000))
            );
        }
        if ask.state == AskState::Open {
            if in_base && ask.offer.is_some() {
                let base = detail.card.base.as_deref().unwrap_or("its base");
                line!(
                    page,
                    "  already in {}: landing it moves nothing and ends the card",
                    text::one_line(base, 200)
                );
            }
            line!(page, "  {}", how_to_answer(ask));
        }
    }
    page
}

/// Shows the commands that answer a question.
pub(crate) fn how_to_answer(ask: &Ask) -> String {
    let (short, card) = (ask.id.short(), ask.card.short());
    if ask.offer.is_some() {
        return format!("land it: cs-panel land {card}   ask for more: cs-panel answer {short} TEXT");
    }
    format!("answer it: cs-panel answer {short} TEXT")
}

fn newest(turns: &[Turn], detail: &CardDetail, skipped: u32, now: Time) -> String {
    let mut page = String::new();
    if skipped > 0 {
        line!(
            page,
            "\n({} before these; `cs-panel tail` shows all)",
            text::count(skipped as usize, "turn")
        );
    }
    for turn in turns {
        line!(page, "\n{}", tail::turn_head(turn, &detail.runs, now));
        if let Some(above) = landings::said_above(&detail.landings, &turn.body) {
            line!(page, "  {above}");
            continue;
        }
        let body = text::indented(&turn.body, "  ");
        let lines: Vec<&str> = body.lines().collect();
        for line in lines.iter().take(LINES_SHOWN) {
            line!(page, "{line}");
        }
        if lines.len() > LINES_SHOWN {
            line!(
                page,
                "  ({} more)",
                text::count(lines.len() - LINES_SHOWN, "line")
            );
        }
    }
    page
}
