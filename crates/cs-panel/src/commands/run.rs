//! `run`: the daemon.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use cs_daemon::control::{self, Poked};
use cs_daemon::{
    Alone, Daemon, DaemonError, Ended, GoingOn, LandingLeft, LandingStage, Mode, StateDir, StateError,
    StateLock,
};
use cs_record::CardFilter;
use cs_record::RecordError;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use crate::app::{App, Desk};
use crate::config::{ADD_AN_AGENT, Config};
use crate::failure::Failure;
use crate::record::Place;
use crate::waiting::{Here, Kept};
use crate::watch::RecordWatch;
use crate::{os, text, wiring};

/// How long a daemon that answers nobody any more may hold the state directory.
const HANDOVER_LIMIT: Duration = Duration::from_secs(2);
/// Between two looks whether it has gone.
const HANDOVER_STEP: Duration = Duration::from_millis(50);

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// End when nothing is ready, running or landing.
    #[arg(long)]
    once: bool,
}

/// Carries out `run`.
pub(crate) async fn run(app: &App, args: &RunArgs) -> Result<(), Failure> {
    let config = app.config()?;
    let desk = app.desk().await?;
    let lock = lock(&desk.state).await?;
    let deps = wiring::deps(app, &desk, &config, config.slots).await?;
    let leave = leave()?;
    greet(app, &desk, &config, args.once)?;
    let mode = if args.once { Mode::Once } else { Mode::Stay };
    let running = Daemon::open(deps, lock)?.run(mode, leave);
    let ended = match desk.record {
        Place::File(_) => running.await?,
        Place::Server(_) => tokio::select! {
            ended = running => ended?,
            () = wake_on_changes(app, &desk) => return Err(Failure::plain("the record is not listened to any more")),
        },
    };
    tell_end(app, &ended)?;
    match ended {
        Ended::Idle { .. } => tell_kept(app, &desk).await,
        Ended::AdmissionClosed { .. } | Ended::Detached { .. } => Ok(()),
    }
}

/// Takes the state directory. A daemon that was just killed may hold it for a moment more, and answers nobody: that is waited for.
async fn lock(state: &StateDir) -> Result<StateLock, Failure> {
    let until = Instant::now() + HANDOVER_LIMIT;
    loop {
        match state.lock() {
            Err(StateError::Busy { .. })
                if Instant::now() < until && control::poke(state).await == Poked::NoDaemon =>
            {
                tokio::time::sleep(HANDOVER_STEP).await;
            }
            locked => return Ok(locked?),
        }
    }
}

/// Says which cards are ready and do not start here, and why.
///
/// # Errors
/// Refused when a person closed new work for any of them.
async fn tell_kept(app: &App, desk: &Desk) -> Result<(), Failure> {
    let here = Here::read(app, desk).await?;
    let all = desk.ports.reads.cards(CardFilter::Current).await?.rows;
    let now = app.now();
    let (mut closed, mut elsewhere) = (BTreeMap::<String, usize>::new(), BTreeMap::<String, usize>::new());
    for kept in all.iter().filter_map(|summary| here.keeps(summary, &all, now)) {
        let reasons = match kept {
            Kept::Closed(_) => &mut closed,
            Kept::NotHere(_) => &mut elsewhere,
        };
        *reasons.entry(kept.words().to_owned()).or_default() += 1;
    }
    for (why, cards) in elsewhere {
        app.out.said(&format!(
            "not started here: {}: {why}",
            text::count(cards, "card")
        ));
    }
    if closed.is_empty() {
        return Ok(());
    }
    let reasons = closed.iter();
    let reasons: Vec<_> = reasons
        .map(|(why, cards)| format!("{}: {why}", text::count(*cards, "card")))
        .collect();
    Err(Failure::Refused(format!(
        "no new work may start for {}",
        reasons.join("; ")
    )))
}

/// Wakes the daemon whenever a server says that its record changed, and every 2 s while it does not say so. Never returns.
async fn wake_on_changes(app: &App, desk: &Desk) {
    let mut watch = RecordWatch::on(&desk.record);
    loop {
        watch.changed(|text| app.out.said(text)).await;
        // The daemon's socket is not there yet at its start, when it looks at everything anyway.
        cs_daemon::control::poke(&desk.state).await;
    }
}

/// Says who works where and for how long (UI-3).
fn greet(app: &App, desk: &Desk, config: &Config, once: bool) -> Result<(), Failure> {
    let mode = match (once, &desk.record) {
        (true, _) => "once: ends when nothing is ready, running or landing",
        (false, Place::File(_)) => {
            "until interrupted: looks at the record every 2 s and whenever a command changes it"
        }
        (false, Place::Server(_)) => {
            "until interrupted: looks at the record every 30 s and whenever somebody changes it"
        }
    };
    app.out.line(&format!(
        "machine {} ({})",
        desk.machine,
        text::one_line(&os::host_name(), 80)
    ))?;
    app.out
        .line(&format!("state   {}", desk.state.root().display()))?;
    if let Place::Server(settings) = &desk.record {
        app.out.line(&format!("record  {}", settings.place()))?;
    }
    app.out.line(&format!("mode    {mode}"))?;
    for remark in config.remarks() {
        app.out.said(&remark);
    }
    if config.agents.is_empty() {
        let path = config.path.display();
        app.out.said(&format!(
            "no agent is configured in {path}, so no card can be taken; {ADD_AN_AGENT}"
        ));
    }
    Ok(())
}

/// Says how the daemon ended.
fn tell_end(app: &App, ended: &Ended) -> Result<(), Failure> {
    match ended {
        Ended::Idle { next_due: None } => app.out.line("idle: nothing is ready, running or landing"),
        Ended::Idle { next_due: Some(due) } => app.out.line(&format!(
            "idle: nothing is ready, running or landing; something becomes ready {}",
            text::due(app.now(), *due)
        )),
        Ended::AdmissionClosed { reasons } => {
            let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
            Err(Failure::Refused(format!(
                "no new work may start: {}",
                reasons.join("; ")
            )))
        }
        Ended::Detached { going_on, landings } => {
            tell_going_on(app, going_on, landings.is_empty())?;
            tell_landings(app, landings)
        }
    }
}

/// Says what becomes of the landings that were under way.
fn tell_landings(app: &App, landings: &[LandingLeft]) -> Result<(), Failure> {
    for left in landings {
        let (landing, card) = (left.landing.short(), left.card.short());
        let stage = match left.stage {
            LandingStage::VerifyRuns => "its verify runs on, and the next `cs-panel run` reads what it says",
            LandingStage::Waits => "it waits for the next `cs-panel run`",
        };
        app.out.line(&format!(
            "  landing {landing} of card {card} is not over: {stage}; to stop it: cs-panel stop {card}"
        ))?;
    }
    Ok(())
}

fn tell_going_on(app: &App, going_on: &[GoingOn], is_all: bool) -> Result<(), Failure> {
    if going_on.is_empty() {
        let what = if is_all {
            "left: no agent runs"
        } else {
            "left: no agent runs, but"
        };
        return app.out.line(what);
    }
    let run_on = if going_on.len() == 1 {
        "1 agent runs on".to_owned()
    } else {
        format!("{} agents run on", going_on.len())
    };
    app.out.line(&format!(
        "left: {run_on} without a daemon; the next `cs-panel run` picks up what still runs"
    ))?;
    for on in going_on {
        let card = on.card.short();
        app.out.line(&format!(
            "  run {} of card {card}{}; to stop it: cs-panel stop {card}",
            on.run.short(),
            alone(on.alone)
        ))?;
    }
    Ok(())
}

/// Says what an agent does while no daemon follows it.
fn alone(alone: Alone) -> String {
    let in_about = |span| humantime::format_duration(span);
    match alone {
        Alone::GoesOn => " goes on".to_owned(),
        Alone::StaysPaused => " stays paused".to_owned(),
        Alone::Pauses(span) => format!(
            " goes on, and pauses in about {} unless a daemon is back by then",
            in_about(span)
        ),
        Alone::Stops(span) => format!(
            " goes on, and is stopped in about {} unless a daemon is back by then",
            in_about(span)
        ),
    }
}

/// Returns when a person or the system asks the daemon to leave.
fn leave() -> Result<impl Future<Output = ()> + Send, Failure> {
    let on = |kind| signal(kind).map_err(|error| Failure::failed(error, "signals cannot be received"));
    let (mut interrupt, mut terminate, mut hangup) = (
        on(SignalKind::interrupt())?,
        on(SignalKind::terminate())?,
        on(SignalKind::hangup())?,
    );
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}

impl From<DaemonError> for Failure {
    fn from(error: DaemonError) -> Self {
        let error = anyhow::Error::new(error);
        let refusal = error
            .chain()
            .find_map(|cause| match cause.downcast_ref::<RecordError>() {
                Some(RecordError::Refused(refusal)) => Some(refusal.to_string()),
                Some(_) | None => None,
            });
        refusal.map_or(Self::Failed(error), Self::Refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_daemon_that_dies_is_waited_for_and_one_that_stays_is_not() {
        let dir = tempfile::tempdir().expect("a directory");
        let state = StateDir::open(&dir.path().join("state")).expect("it opens");
        let former = state.lock().expect("nobody has it");
        // It goes once the first look has found it.
        let leaves = async { drop(former) };
        let (taken, ()) = tokio::join!(lock(&state), leaves);
        let taken = taken.expect("the former one has gone");
        assert!(matches!(lock(&state).await, Err(Failure::Refused(_))));
        drop(taken);
    }
}
