//! `pause` and `resume`: without a card, rows of the record that say where no new work starts; with one, its agent stands still.

mod card;

use clap::Args;
use cs_model::PauseKind;
use cs_record::{Pause, Scope};

use crate::app::{App, Desk};
use crate::failure::Failure;
use crate::wire::PauseWire;

/// What a pause or a limit covers.
#[derive(Debug, Clone, Args)]
pub(crate) struct Where {
    /// Only this machine.
    #[arg(long, conflicts_with = "codebase")]
    machine: bool,
    /// Only this codebase, on every machine.
    #[arg(long, value_name = "NAME")]
    codebase: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    /// Let the agent that works on this card stand still; without a card nothing that runs is touched.
    #[arg(conflicts_with_all = ["machine", "codebase", "drain"])]
    card: Option<String>,
    #[command(flatten)]
    scope: Where,
    /// Start no card that nobody has begun, but carry what was begun to its end.
    #[arg(long)]
    drain: bool,
    /// Why, for whoever asks.
    #[arg(long)]
    reason: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Let the agent of this card go on.
    #[arg(conflicts_with_all = ["machine", "codebase"])]
    card: Option<String>,
    #[command(flatten)]
    scope: Where,
}

impl Where {
    /// Finds what is meant.
    ///
    /// # Errors
    /// No codebase has that name.
    pub(crate) async fn resolve(&self, desk: &Desk) -> Result<Scope, Failure> {
        let Some(name) = &self.codebase else {
            return Ok(if self.machine {
                Scope::Machine(desk.machine)
            } else {
                Scope::Everything
            });
        };
        let known = desk.ports.codebases.codebases().await?;
        let found = known.iter().find(|codebase| codebase.name == *name);
        found.map(|codebase| Scope::Codebase(codebase.id)).ok_or_else(|| {
            Failure::plain(format!(
                "there is no codebase `{name}`; `cs-panel codebase list` shows those that there are"
            ))
        })
    }

    /// Names it for people.
    pub(crate) fn words(&self) -> String {
        match &self.codebase {
            Some(name) => format!("codebase {name}"),
            None if self.machine => "this machine".to_owned(),
            None => "everything".to_owned(),
        }
    }

    /// The flags that name it again.
    fn flags(&self) -> String {
        match &self.codebase {
            Some(name) => format!(" --codebase {}", crate::text::shell_word(name)),
            None if self.machine => " --machine".to_owned(),
            None => String::new(),
        }
    }
}

/// Carries out `pause`.
pub(crate) async fn pause(app: &App, args: &PauseArgs) -> Result<(), Failure> {
    if let Some(card) = &args.card {
        return card::pause(app, card, args.reason.as_deref()).await;
    }
    let desk = app.desk().await?;
    let person = app.person(&desk.state).await?;
    let scope = args.scope.resolve(&desk).await?;
    let kind = if args.drain {
        PauseKind::Drain
    } else {
        PauseKind::Pause
    };
    let pause = desk
        .ports
        .machines
        .pause(scope, kind, args.reason.as_deref(), &person)
        .await?;
    cs_daemon::control::poke(&desk.state).await;
    if app.global.json {
        return app.out.json(&PauseWire::from(&pause));
    }
    let (what, flags) = (args.scope.words(), args.scope.flags());
    let (state, effect) = words(kind);
    app.out.line(&format!(
        "{what} is {state}: {effect}; end it with `cs-panel resume{flags}`"
    ))
}

/// What a kind of pause is called, and what it does.
fn words(kind: PauseKind) -> (&'static str, &'static str) {
    match kind {
        PauseKind::Pause => ("paused", "no new work starts, what runs goes on"),
        PauseKind::Drain => (
            "drained",
            "no new card starts, what was begun is carried to its end",
        ),
    }
}

/// Carries out `resume`.
pub(crate) async fn resume(app: &App, args: &ResumeArgs) -> Result<(), Failure> {
    if let Some(card) = &args.card {
        return card::resume(app, card).await;
    }
    let desk = app.desk().await?;
    let scope = args.scope.resolve(&desk).await?;
    let was_paused = desk.ports.machines.unpause(scope).await?;
    cs_daemon::control::poke(&desk.state).await;
    let left = desk.ports.machines.pauses(desk.machine).await?;
    if app.global.json {
        return app
            .out
            .json(&left.iter().map(PauseWire::from).collect::<Vec<_>>());
    }
    let ended = if was_paused {
        "is not paused any more"
    } else {
        "was not paused"
    };
    app.out.line(&format!("{} {ended}", args.scope.words()))?;
    for pause in left {
        let other = still(&desk, &pause).await?;
        app.out.said(&format!(
            "{} is still {} by {} since {}; end it with `cs-panel resume{}`",
            other.words(),
            words(pause.kind).0,
            pause.by,
            pause.at,
            other.flags()
        ));
    }
    Ok(())
}

/// Names what a pause covers, as a person would have to.
async fn still(desk: &Desk, pause: &Pause) -> Result<Where, Failure> {
    let codebase = match pause.scope {
        Scope::Everything | Scope::Machine(_) => None,
        Scope::Codebase(id) => {
            let known = desk.ports.codebases.codebases().await?;
            let found = known.into_iter().find(|codebase| codebase.id == id);
            Some(found.map_or_else(|| id.to_string(), |codebase| codebase.name))
        }
    };
    Ok(Where {
        machine: matches!(pause.scope, Scope::Machine(_)),
        codebase,
    })
}
