//! `history`: what happened to a card, from the record's own journal.

use std::fmt::Display;

use clap::Args;
use cs_journal::Woke;
use cs_model::{AskTo, Author, CardId, Time};
use cs_record::{Cursor, Event, Events, MAX_EVENTS, What};
use serde::Serialize;

use crate::app::App;
use crate::failure::Failure;
use crate::text;

/// The longest line about one event.
const LINE_CHARS: usize = 400;

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The card: its id, or the first or last of the digits that are shown.
    card: String,
}

/// One event of `history --json`.
#[derive(Debug, Serialize)]
struct EventWire {
    /// From where whoever follows the record reads on.
    cursor: Cursor,
    event: Event,
}

/// Carries out `history`.
pub(crate) async fn history(app: &App, args: &HistoryArgs) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let card = desk.ports.reads.find_card(&args.card).await?;
    let told = all(desk.ports.events.as_ref(), card).await?;
    if app.global.json {
        return app.out.json(&told);
    }
    if told.is_empty() {
        return app
            .out
            .line("nothing is known of it: the record is older than its history");
    }
    let lines = told.iter().map(|told| line(&told.event));
    app.out.line(&lines.collect::<Vec<_>>().join("\n"))
}

async fn all(events: &dyn Events, card: CardId) -> Result<Vec<EventWire>, Failure> {
    let (mut told, mut cursor) = (Vec::new(), Cursor::START);
    loop {
        let page = events.events(cursor, Some(card), MAX_EVENTS).await?;
        let Some((last, _)) = page.last() else {
            return Ok(told);
        };
        cursor = *last;
        told.extend(
            page.into_iter()
                .map(|(cursor, event)| EventWire { cursor, event }),
        );
    }
}

/// When and what, and where there is one its attempt and machine.
fn line(event: &Event) -> String {
    let run = event.run.map(|run| format!("run {}", run.short()));
    let attempt = event.run.and(event.epoch).map(|epoch| format!("attempt {epoch}"));
    let machine = event
        .machine
        .map(|machine| format!("machine {}", machine.short()));
    let by: Vec<String> = [run, attempt, machine].into_iter().flatten().collect();
    let by = if by.is_empty() {
        String::new()
    } else {
        format!(" ({})", by.join(", "))
    };
    let line = format!("{} {}{by}", event.at.to_the_second(), words(&event.what));
    text::one_line(&line, LINE_CHARS)
}

fn words(what: &What) -> String {
    match what {
        What::Made { by } => format!("the card was made by {by}"),
        What::Said { seq, by, .. } => format!("turn {seq} by {}", who(by)),
        What::Attached { attachment } => format!("file {} was attached", attachment.short()),
        What::Detached { attachment } => format!("file {} was taken away", attachment.short()),
        What::Claimed {
            job,
            agent,
            model,
            effort,
            woke,
        } => {
            let chosen = [some(" ", model.as_ref()), some(" ", effort.as_ref())].concat();
            let because = some(": ", woke.as_ref().map(woken));
            format!("claimed for the {job}, agent {agent}{chosen}{because}")
        }
        What::Started { pid } => format!("started as process {pid}"),
        What::Gone => "its processes are gone".to_owned(),
        What::LeftBehind { what } => format!("left behind: {what}"),
        What::Finished => "settled: finished".to_owned(),
        What::WaitsForAnswer => "settled: waits for an answer".to_owned(),
        What::Failed {
            class,
            reason,
            again_at,
        } => {
            let class = class.map_or("unknown", |class| class.as_str());
            format!(
                "settled: failed ({class}){}{}",
                some(": ", reason.as_ref()),
                again(*again_at)
            )
        }
        What::Interrupted { again_at } => format!("settled: interrupted{}", again(*again_at)),
        What::Ended { ending } => format!("settled: {ending}"),
        What::Stopped => "settled: stopped".to_owned(),
        What::Asked { ask, offer: true, .. } => format!("offer {} to land the work", ask.short()),
        What::Asked {
            ask,
            to,
            offer: false,
        } => format!("question {} {}", ask.short(), to_whom(*to)),
        What::Answered { ask, by } => format!("question {} was answered by {}", ask.short(), who(by)),
        What::PassedOn { ask } => format!("question {} goes to a person", ask.short()),
        What::Withdrawn { ask } => format!("question {} was withdrawn", ask.short()),
        What::OfferAccepted { ask } => format!("offer {} was accepted", ask.short()),
        What::OfferOpen { ask } => format!("offer {} is open again", ask.short()),
        What::LandingAccepted { landing, by, onto } => {
            format!(
                "landing {}{} was accepted by {by}",
                landing.short(),
                some(" on ", onto.as_ref())
            )
        }
        What::LandingTaken { landing } => format!("landing {} was begun", landing.short()),
        What::LandingReleased { landing } => format!("landing {} was given back", landing.short()),
        What::LandingOver {
            landing,
            state,
            commit,
        } => {
            let state = state.as_str().replace('_', " ");
            format!(
                "landing {}: {state}{}",
                landing.short(),
                some(" as ", commit.as_ref())
            )
        }
        What::CardFailed { reason } => format!("the card failed{}", some(": ", reason.as_ref())),
        What::CardStopped { by } => format!("the card was stopped{}", some(" by ", by.as_ref())),
        What::CardLanded => "the card has landed".to_owned(),
        What::CardClosed { by } => format!("the card was closed{}", some(" by ", by.as_ref())),
        What::Reopened { by } => format!("the card was opened again{}", some(" by ", by.as_ref())),
        What::Retried { by } => format!("to be tried again{}", some(", says ", by.as_ref())),
        What::HandedBack {
            by,
            agent,
            to_any_machine,
        } => {
            let machine = if *to_any_machine { " on any machine" } else { "" };
            format!(
                "handed back{}: {agent} goes on{machine}",
                some(" by ", by.as_ref())
            )
        }
    }
}

/// A part of a line where there is something to say.
fn some(before: &str, value: Option<impl Display>) -> String {
    value.map_or_else(String::new, |value| format!("{before}{value}"))
}

fn again(at: Option<Time>) -> String {
    match at {
        Some(at) => format!("; goes on from {}", at.to_the_second()),
        None => "; does not go on by itself".to_owned(),
    }
}

fn who(author: &Author) -> String {
    match author {
        Author::Person(person) => person.to_string(),
        Author::Agent(run) => format!("the agent of run {}", run.short()),
        Author::System => "the system".to_owned(),
    }
}

const fn to_whom(to: AskTo) -> &'static str {
    match to {
        AskTo::Person => "to a person",
        AskTo::Parent => "to the run that sent it",
    }
}

fn woken(woke: &Woke) -> String {
    match woke {
        Woke::Turns(turns) => text::count(turns.len(), "turn"),
        Woke::Answer(ask) => format!("the answer to question {}", ask.short()),
        Woke::Retry => "after a failure".to_owned(),
        Woke::Interrupted => "after it was cut short".to_owned(),
        Woke::Dispatched => "sent by another run".to_owned(),
        Woke::Question(ask) => format!("question {} of a run that it sent", ask.short()),
        Woke::Children(runs) => format!("{} to read back", text::count(runs.len(), "run")),
    }
}
