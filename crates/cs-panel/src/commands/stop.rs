//! `stop`: ends a card's work, and returns when that is proven.

mod untold;

use std::time::Duration;

use clap::Args;
use cs_daemon::control::{self, ControlError, Stopped};
use cs_daemon::{Daemon, Mode, PauseNote, StateDir, StateError, StateLock};
use cs_model::{CardId, CardState, LandingId, LandingState};
use cs_record::RecordError;
use serde::Serialize;
use tokio::time::Instant;

use crate::app::{App, Desk};
use crate::failure::Failure;
use crate::{text, wiring};

/// How long a daemon that holds the state directory may take until it listens, or until it has left.
const HANDOVER_LIMIT: Duration = Duration::from_secs(20);
/// Between two looks at who is there.
const HANDOVER_STEP: Duration = Duration::from_millis(50);

/// So long a person waits without a word.
const SILENT_FOR: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    /// The card: its id, or the first or last of the digits that are shown.
    card: String,
}

/// What `stop --json` prints.
#[derive(Debug, Serialize)]
struct StopWire {
    card: CardId,
    /// Whether anything was live or pending on the record.
    was_active: bool,
    /// What the card was before.
    #[serde(skip)]
    before: CardState,
    /// How many executions were closed.
    executions_closed: u32,
    /// What could not be proven closed.
    left: Vec<String>,
    /// The landing that had begun before: the stop leaves it to go on, since its base may have moved already.
    landing: Option<LandingNow>,
    #[serde(skip)]
    who: Who,
}

/// Who looked after what ran of the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    /// The daemon that is there, and stays.
    Daemon,
    /// This command: nobody is there when it returns.
    Nobody,
}

/// A landing, as it is when the stop returns.
#[derive(Debug, Serialize)]
struct LandingNow {
    id: LandingId,
    state: LandingState,
}

/// Carries out `stop`.
pub(crate) async fn stop(app: &App, args: &StopArgs) -> Result<(), Failure> {
    let desk = match app.desk().await {
        Ok(desk) => desk,
        // Whatever is wrong with the record: what runs here can be ended.
        Err(Failure::Failed(why)) => return untold::stop(app, &args.card, Failure::Failed(why)).await,
        Err(other) => return Err(other),
    };
    let card = match desk.ports.reads.find_card(&args.card).await {
        Err(error @ (RecordError::Away(_) | RecordError::Corrupt(_))) => {
            return untold::stop(app, &args.card, error.into()).await;
        }
        found => found?,
    };
    let person = app.person(&desk.state).await?;
    let before = state_of(&desk, card).await?;
    let was_active = match desk.ports.acts.stop_card(card, &person).await {
        Err(error @ (RecordError::Away(_) | RecordError::Corrupt(_))) => {
            return untold::stop(app, &card.to_string(), error.into()).await;
        }
        stopped => stopped?,
    };
    forget_pauses(&desk, card).await?;
    let begun = running_landing(&desk, card).await?;
    let (stopped, who) = patiently(app, card, Box::pin(close(app, &desk, card))).await?;
    let (executions_closed, left) = match stopped {
        Stopped::Closed { executions } => (executions, not_proven(&desk, card).await?),
        Stopped::Incomplete { left } => (0, left),
        Stopped::NoDaemon => (
            0,
            vec!["nobody could look after its processes; try again".to_owned()],
        ),
    };
    tell(
        app,
        &StopWire {
            card,
            was_active,
            before,
            executions_closed,
            left,
            landing: landing_now(&desk, card, begun).await?,
            who,
        },
    )
}

/// Waits for the end of what runs of a card, and says so once where that takes long.
async fn patiently<T>(app: &App, card: CardId, closing: impl Future<Output = T>) -> T {
    let mut closing = std::pin::pin!(closing);
    if let Ok(closed) = tokio::time::timeout(SILENT_FOR, closing.as_mut()).await {
        return closed;
    }
    app.out.said(&format!(
        "what runs of card {} was asked to end; waiting for it, and in a few seconds it is ended by force",
        card.short()
    ));
    closing.await
}

/// Forgets the pauses that wait for the next attempts of a card: what is sent to it later is not held by them.
async fn forget_pauses(desk: &Desk, card: CardId) -> Result<(), Failure> {
    for run in desk.ports.reads.card(card).await?.runs {
        let Some(next) = run.epoch.next() else { continue };
        if let Err(error) = PauseNote::forget(&desk.state, run.id, next) {
            tracing::warn!(%error, run = %run.id, "a pause stays noted for the next attempt");
        }
    }
    Ok(())
}

async fn state_of(desk: &Desk, card: CardId) -> Result<CardState, Failure> {
    Ok(desk.ports.reads.card(card).await?.card.state)
}

/// Reads the landing of the card that a machine has begun: no stop ends it.
async fn running_landing(desk: &Desk, card: CardId) -> Result<Option<LandingId>, Failure> {
    let landings = desk.ports.reads.card(card).await?.landings;
    let running = landings
        .iter()
        .find(|landing| landing.state == LandingState::Running);
    Ok(running.map(|landing| landing.id))
}

/// Says what has become of a landing that had begun before the stop.
async fn landing_now(
    desk: &Desk,
    card: CardId,
    begun: Option<LandingId>,
) -> Result<Option<LandingNow>, Failure> {
    let landings = desk.ports.reads.card(card).await?.landings;
    let landing = landings.into_iter().find(|landing| Some(landing.id) == begun);
    Ok(landing.map(|landing| LandingNow {
        id: landing.id,
        state: landing.state,
    }))
}

/// Closes what runs of a card: by the daemon that is there, or here. A daemon may come or leave meanwhile, such as that of another
/// `stop`: then whoever is there next is asked.
async fn close(app: &App, desk: &Desk, card: CardId) -> Result<(Stopped, Who), Failure> {
    let until = Instant::now() + HANDOVER_LIMIT;
    loop {
        let stopped = control::stop(&desk.state, card)
            .await
            .map_err(|error| unproven(error, card))?;
        if stopped != Stopped::NoDaemon {
            return Ok((stopped, Who::Daemon));
        }
        match desk.state.lock() {
            Ok(lock) => return Ok((close_here(app, desk, lock, card).await?, Who::Nobody)),
            Err(StateError::Busy { .. }) if Instant::now() < until => tokio::time::sleep(HANDOVER_STEP).await,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Lists the processes of the card that the record still holds: it lets go of one only with the proof of its end.
async fn not_proven(desk: &Desk, card: CardId) -> Result<Vec<String>, Failure> {
    let runs = desk.ports.reads.card(card).await?.runs;
    let held = runs.iter().filter(|run| !run.state.is_live());
    let held = held.filter_map(|run| run.process.as_ref().map(|process| (run, process)));
    Ok(held
        .map(|(run, process)| {
            let (run_id, pid) = (run.id.short(), process.pid);
            if run.machine == desk.machine {
                return format!("run {run_id}, process {pid}");
            }
            let machine = run.machine;
            format!("run {run_id}, process {pid} on machine {machine}, whose daemon ends it; without one say `cs-panel stop` there")
        })
        .collect())
}

fn unproven(error: impl Into<anyhow::Error>, card: CardId) -> Failure {
    let short = card.short();
    Failure::failed(
        error,
        format!(
            "card {short} is stopped on the record, but it is not proven that nothing of it runs; try `cs-panel stop {short}` again"
        ),
    )
}

fn tell(app: &App, stop: &StopWire) -> Result<(), Failure> {
    if app.global.json {
        app.out.json(stop)?;
    }
    let short = stop.card.short();
    if !stop.left.is_empty() {
        let left = stop.left.join("\n  ");
        return Err(Failure::plain(format!(
            "card {short} is stopped on the record, but this is not proven closed:\n  {left}\ntry `cs-panel stop {short}` again; what it cannot end, end or look after \
             yourself and say so with `cs-panel execution dismiss EXECUTION` (`cs-panel ps` names it)"
        )));
    }
    if app.global.json {
        return Ok(());
    }
    let closed = match (stop.executions_closed, stop.was_active) {
        (0, true) => "no agent of it ran".to_owned(),
        (0, false) => match stop.before {
            CardState::Open => "it is stopped; nothing of it ran or waited for its agent".to_owned(),
            over @ (CardState::Failed | CardState::Stopped | CardState::Landed | CardState::Closed) => {
                format!("there was nothing to stop, it is {over}")
            }
        },
        (number, _) => format!("{} closed, with proof", text::count(number as usize, "execution")),
    };
    app.out.line(&format!("card {short}: {closed}"))?;
    let Some(landing) = &stop.landing else {
        return Ok(());
    };
    let (id, state) = (landing.id.short(), landing.state);
    if state.is_over() {
        return app.out.line(&format!(
            "its landing {id} had begun and has come to its end: {state}"
        ));
    }
    let goes_on = match stop.who {
        Who::Daemon => format!("goes on; `cs-panel show {short}` tells what comes of it"),
        Who::Nobody => format!(
            "stands still without a daemon; `cs-panel run` brings it to its end, `cs-panel show {short}` tells which"
        ),
    };
    app.out.line(&format!(
        "its landing {id} had begun, its base may have moved already; it {goes_on}"
    ))
}

/// Looks after the processes of a card where no daemon does: a daemon that may start nothing is asked as the real one would
/// be, and leaves at once. Agents of other cards are picked up and left running.
async fn close_here(app: &App, desk: &Desk, lock: StateLock, card: CardId) -> Result<Stopped, Failure> {
    let config = app.config()?;
    let deps = wiring::deps(app, desk, &config, 0).await?;
    let (done, leave) = tokio::sync::oneshot::channel::<()>();
    let daemon = Daemon::open(deps, lock)?.run(Mode::Stay, async move {
        // A sender that is gone means the same: there is nothing left to wait for.
        let _ = leave.await;
    });
    let mut daemon = std::pin::pin!(daemon);
    // The daemon is polled first: it listens before anything asks.
    let asked = tokio::select! {
        biased;
        ended = daemon.as_mut() => {
            ended?;
            return Ok(Stopped::NoDaemon);
        }
        asked = ask(&desk.state, card) => asked,
    };
    // The daemon that ended already needs no word.
    let _ = done.send(());
    daemon.await?;
    asked.map_err(|error| unproven(error, card))
}

/// Asks until somebody listens.
async fn ask(state: &StateDir, card: CardId) -> Result<Stopped, ControlError> {
    loop {
        match control::stop(state, card).await {
            Ok(Stopped::NoDaemon) => tokio::task::yield_now().await,
            other => return other,
        }
    }
}
