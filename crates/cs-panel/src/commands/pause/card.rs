//! `pause CARD` and `resume CARD`: the agent that works on a card stands still, and goes on.
//!
//! The wish is noted first, for an agent that has not begun yet; then its shim is asked, so that it needs no daemon. A daemon that is
//! there follows on, and does not mind.

use std::io;

use cs_daemon::{PauseNote, StateDir};
use cs_model::{CardId, Epoch, RunId, RunState, Time};
use cs_supervise::{ExecutionDir, Life, PauseError, Pauser, Verdict, glance, survey};
use serde::Serialize;

use crate::app::App;
use crate::failure::Failure;
use crate::here;
use crate::standstill::SHIM_PATIENCE;

/// What `pause CARD --json` and `resume CARD --json` print.
#[derive(Debug, Serialize)]
struct PauseCardWire {
    card: CardId,
    paused: bool,
    by: Option<String>,
    since: Option<Time>,
    reason: Option<String>,
    /// Whether its agent runs; otherwise it is being started, and will stand still from its start on.
    agent_runs: bool,
}

/// What is there of an agent.
enum Agent {
    /// Its shim can be asked.
    There(Pauser),
    /// It is being started, or will be.
    NotYet,
    /// It has just ended, or is ending.
    Ended,
}

/// An attempt at work on a card here.
struct AtWork {
    state: StateDir,
    card: CardId,
    run: RunId,
    epoch: Epoch,
}

/// Carries out `pause CARD`.
pub(super) async fn pause(app: &App, card: &str, reason: Option<&str>) -> Result<(), Failure> {
    let at = at_work(app, card).await?;
    let wish = PauseNote {
        by: app.person(&at.state).await?.to_string(),
        since: app.now(),
        reason: reason.map(str::to_owned),
    };
    let (earlier, unnoted) = match wish.write(&at.state, at.run, at.epoch) {
        Ok(earlier) => (earlier, None),
        // It says itself what is to be done.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Err(not_noted(error)),
        Err(error) => (None, Some(error)),
    };
    let is_new = earlier.is_none() && unnoted.is_none();
    let agent_runs = match hold_still(&at).await {
        Ok(agent_runs) => agent_runs,
        Err(NotPaused::Ended) => return ended(&at),
        Err(NotPaused::Partly(failure)) => return Err(failure),
        Err(NotPaused::Not(failure)) => {
            // What says that it is paused must not stay where it is not. An earlier one may be true.
            if is_new {
                forget(&at)?;
            }
            return Err(failure);
        }
    };
    if let Some(error) = unnoted {
        if !agent_runs {
            // Only the note would reach an agent that has not begun.
            return Err(not_noted(error));
        }
        app.out.said(&format!(
            "the pause could not be noted ({error}): it holds for as long as this agent lives, nobody is named for it, and an attempt that \
             follows goes on"
        ));
    }
    let note = earlier.unwrap_or(wish);
    let (card, short) = (at.card, at.card.short());
    if app.global.json {
        return app.out.json(&PauseCardWire {
            card,
            paused: true,
            by: Some(note.by),
            since: Some(note.since),
            reason: note.reason,
            agent_runs,
        });
    }
    let how = if agent_runs {
        "stands still, with everything that it has started"
    } else {
        "will stand still from its start on"
    };
    app.out.line(&format!(
        "the agent of card {short} {how}; `cs-panel resume {short}` lets it go on"
    ))
}

fn not_noted(error: io::Error) -> Failure {
    Failure::failed(error, "the pause cannot be noted")
}

/// Why an agent does not stand still.
enum NotPaused {
    /// It has ended.
    Ended,
    /// Some of its processes do, and some do not.
    Partly(Failure),
    /// It goes on.
    Not(Failure),
}

/// Asks the shim of an attempt to let its agent stand still. Says whether its agent runs.
async fn hold_still(at: &AtWork) -> Result<bool, NotPaused> {
    match agent(at).await.map_err(NotPaused::Not)? {
        Agent::NotYet => Ok(false),
        Agent::Ended => Err(NotPaused::Ended),
        Agent::There(pauser) => match pauser.pause().await {
            Ok(()) => Ok(true),
            Err(PauseError::Ended { .. }) => Err(NotPaused::Ended),
            Err(error @ PauseError::Incomplete { .. }) => Err(NotPaused::Partly(not_paused(error, at.card))),
            Err(error) => Err(NotPaused::Not(not_paused(error, at.card))),
        },
    }
}

/// Carries out `resume CARD`.
pub(super) async fn resume(app: &App, card: &str) -> Result<(), Failure> {
    let at = at_work(app, card).await?;
    let (was_noted, agent_runs) = match agent(&at).await? {
        Agent::NotYet => (forget(&at)?, false),
        Agent::There(pauser) => {
            // First the note: a start that reads it must not pause what goes on.
            let was_noted = forget(&at)?;
            match pauser.resume().await {
                Ok(()) => (was_noted, true),
                Err(PauseError::Ended { .. }) => return ended(&at),
                Err(error) => return Err(not_paused(error, at.card)),
            }
        }
        Agent::Ended => return ended(&at),
    };
    let card = at.card;
    if app.global.json {
        return app.out.json(&PauseCardWire {
            card,
            paused: false,
            by: None,
            since: None,
            reason: None,
            agent_runs,
        });
    }
    let short = card.short();
    app.out.line(&match (was_noted, agent_runs) {
        (_, true) => format!("the agent of card {short} goes on"),
        (true, false) => format!("the agent of card {short} is not paused any more when it starts"),
        (false, false) => format!("the agent of card {short} was not paused"),
    })
}

/// Finds what is at work on a card here: by the record, or where that cannot be asked by the executions that live.
async fn at_work(app: &App, card: &str) -> Result<AtWork, Failure> {
    match by_record(app, card).await {
        Err(Failure::Failed(why)) => {
            let state = app.state_to_read()?;
            match here::live(&state, card)?.pop() {
                Some(live) => Ok(AtWork {
                    state,
                    card: live.row.card,
                    run: live.row.run,
                    epoch: live.row.epoch,
                }),
                None => Err(Failure::Failed(why)),
            }
        }
        found => found,
    }
}

async fn by_record(app: &App, card: &str) -> Result<AtWork, Failure> {
    let desk = app.desk().await?;
    let card = desk.ports.reads.find_card(card).await?;
    let runs = desk.ports.reads.card(card).await?.runs;
    let short = card.short();
    let Some(run) = runs.into_iter().find(|run| run.state == RunState::Running) else {
        return Err(Failure::Refused(format!(
            "no agent works on card {short}; to keep new work from starting: `cs-panel pause` with --machine, --codebase or nothing"
        )));
    };
    if run.machine != desk.machine {
        return Err(Failure::Refused(format!(
            "the agent of card {short} is on machine {}, say it there",
            run.machine
        )));
    }
    Ok(AtWork {
        state: desk.state,
        card,
        run: run.id,
        epoch: run.epoch,
    })
}

/// Looks whether the shim of an attempt can be asked. One that is being born reads the note itself.
async fn agent(at: &AtWork) -> Result<Agent, Failure> {
    let unread = |error: io::Error| Failure::failed(error, "the execution of its agent cannot be read");
    let names = at.state.executions_of(at.run, at.epoch).map_err(unread)?;
    let Some(name) = names.last() else {
        return Ok(Agent::NotYet);
    };
    let dir = ExecutionDir::at(at.state.execution(name));
    match glance(&dir).map_err(unread)?.life {
        Life::Unheld => return Ok(Agent::NotYet),
        Life::Lost | Life::Incomplete(_) | Life::Over(_) => return Ok(Agent::Ended),
        Life::Alive(_) => {}
    }
    let found = survey(&dir, SHIM_PATIENCE).await;
    match found.map_err(|error| Failure::failed(error, "its shim cannot be asked"))? {
        Verdict::Adopted(running) => Ok(Agent::There(running.pauser())),
        Verdict::Waiting(waiting) => Ok(Agent::There(waiting.pauser())),
        Verdict::ShimHung(_) => Err(Failure::plain(format!(
            "the shim of its agent does not answer; `cs-panel stop {}` ends it",
            at.card.short()
        ))),
        Verdict::InProcess(_) => Err(Failure::plain(format!(
            "execution {name} has no shim: whoever started it holds it"
        ))),
        Verdict::ForeignShim => Err(Failure::plain(format!(
            "something else answers in the place of the shim of execution {name}"
        ))),
        Verdict::NeverStarted(_)
        | Verdict::Finished(_)
        | Verdict::ShimDiedClosing(_)
        | Verdict::ShimLost(_)
        | Verdict::HostRebooted(_) => Ok(Agent::Ended),
    }
}

fn forget(at: &AtWork) -> Result<bool, Failure> {
    PauseNote::forget(&at.state, at.run, at.epoch)
        .map_err(|error| Failure::failed(error, "the note of the pause cannot be removed"))
}

fn ended(at: &AtWork) -> Result<(), Failure> {
    forget(at)?;
    Err(Failure::Refused(format!(
        "the agent of card {} has ended or is being ended",
        at.card.short()
    )))
}

fn not_paused(error: PauseError, card: CardId) -> Failure {
    let short = card.short();
    Failure::failed(
        error,
        format!(
            "the agent of card {short} was not paused or let go on as it should be; `cs-panel stop {short}` ends it"
        ),
    )
}
