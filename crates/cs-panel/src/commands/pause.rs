//! `pause` and `resume`: rows of the record that say where no new work starts.

use clap::Args;
use cs_record::PauseScope;

use crate::app::{App, Desk};
use crate::failure::Failure;
use crate::wire::PauseWire;

#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    /// Only this machine; otherwise everything.
    #[arg(long)]
    machine: bool,
    /// Why, for whoever asks.
    #[arg(long)]
    reason: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The pause of this machine; otherwise that of everything.
    #[arg(long)]
    machine: bool,
}

/// Carries out `pause`.
pub(crate) async fn pause(app: &App, args: &PauseArgs) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let person = app.person(&desk.state).await?;
    let pause = desk
        .ports
        .machines
        .pause(scope(&desk, args.machine), args.reason.as_deref(), &person)
        .await?;
    cs_daemon::control::poke(&desk.state).await;
    if app.global.json {
        return app.out.json(&PauseWire::from(&pause));
    }
    let (what, cure) = words(args.machine);
    app.out.line(&format!(
        "{what} is paused: no new work starts, what runs goes on; end it with `{cure}`"
    ))
}

/// Carries out `resume`.
pub(crate) async fn resume(app: &App, args: &ResumeArgs) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let was_paused = desk.ports.machines.unpause(scope(&desk, args.machine)).await?;
    cs_daemon::control::poke(&desk.state).await;
    let left = desk.ports.machines.pauses(desk.machine).await?;
    if app.global.json {
        return app
            .out
            .json(&left.iter().map(PauseWire::from).collect::<Vec<_>>());
    }
    let (what, _) = words(args.machine);
    app.out.line(&format!(
        "{what} {}",
        if was_paused {
            "is not paused any more"
        } else {
            "was not paused"
        }
    ))?;
    for pause in left {
        let (other, cure) = words(pause.scope != PauseScope::Everything);
        app.out.said(&format!(
            "{other} is still paused by {} since {}; end it with `{cure}`",
            pause.by, pause.at
        ));
    }
    Ok(())
}

fn scope(desk: &Desk, machine: bool) -> PauseScope {
    if machine {
        PauseScope::Machine(desk.machine)
    } else {
        PauseScope::Everything
    }
}

/// What is paused, and the command that ends it.
fn words(machine: bool) -> (&'static str, &'static str) {
    if machine {
        ("this machine", "cs-panel resume --machine")
    } else {
        ("everything", "cs-panel resume")
    }
}
