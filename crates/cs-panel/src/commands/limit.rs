//! `limit`: how many runs may be live at once on a machine or a codebase.

use clap::Args;
use cs_record::{LiveLimit, Scope};

use super::pause::Where;
use crate::app::{App, Desk};
use crate::failure::Failure;
use crate::wire::LimitWire;

#[derive(Debug, Args)]
pub(crate) struct LimitArgs {
    #[command(flatten)]
    scope: Where,
    /// How many runs may be live at once, or `none` to take the limit away; without it all limits are listed.
    most: Option<Most>,
}

/// A number, or none.
#[derive(Debug, Clone, Copy)]
struct Most(Option<u32>);

impl std::str::FromStr for Most {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self(None)),
            number => number
                .parse()
                .map(|number| Self(Some(number)))
                .map_err(|_| "expected a whole number from 0 on, or `none`".to_owned()),
        }
    }
}

/// Carries out `limit`.
pub(crate) async fn limit(app: &App, args: &LimitArgs) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let scope = args.scope.resolve(&desk).await?;
    let Some(Most(most)) = args.most else {
        return list(app, &desk).await;
    };
    if scope == Scope::Everything {
        return Err(Failure::Usage(
            "say what the limit covers: `--machine` or `--codebase NAME`".to_owned(),
        ));
    }
    let person = app.person(&desk.state).await?;
    desk.ports.machines.limit(scope, most, &person).await?;
    cs_daemon::control::poke(&desk.state).await;
    if app.global.json {
        return list(app, &desk).await;
    }
    let what = args.scope.words();
    match most {
        Some(most) => app
            .out
            .line(&format!("at most {most} runs are live at once on {what}")),
        None => app.out.line(&format!("{what} has no limit")),
    }
}

async fn list(app: &App, desk: &Desk) -> Result<(), Failure> {
    let limits = desk.ports.machines.limits().await?;
    if app.global.json {
        return app
            .out
            .json(&limits.iter().map(LimitWire::from).collect::<Vec<_>>());
    }
    if limits.is_empty() {
        app.out
            .said("no limits; set one with `cs-panel limit --codebase NAME 2`");
        return Ok(());
    }
    let codebases = desk.ports.codebases.codebases().await?;
    let row = |limit: &LiveLimit| {
        let what = match limit.scope {
            Scope::Everything => "everything".to_owned(),
            Scope::Machine(machine) if machine == desk.machine => "this machine".to_owned(),
            Scope::Machine(machine) => format!("machine {}", machine.short()),
            Scope::Codebase(id) => codebases.iter().find(|codebase| codebase.id == id).map_or_else(
                || format!("codebase {}", id.short()),
                |codebase| codebase.name.clone(),
            ),
        };
        let by = format!("{} {}", limit.by, limit.at.to_the_second());
        vec![what, limit.most.to_string(), by]
    };
    app.out
        .table(&["WHERE", "AT MOST", "SET BY"], limits.iter().map(row).collect())
}
