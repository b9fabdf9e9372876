//! `demo`: the whole way from a message to a landed commit, with nothing but the real parts, in a folder of its own.
//!
//! The demo types the commands that a person would: each is this same program, started anew. Only the agent is a scripted one.

mod proof;
mod stage;

use std::path::{Path, PathBuf};

use clap::Args;
use cs_model::IdSource;
use serde::Serialize;
use serde_json::Value;

use crate::app::App;
use crate::cli::Global;
use crate::failure::Failure;
use crate::os::SystemIds;
use crate::text;
use stage::Stage;

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// The folder that the demo makes; it must not be there, or be empty [default: a new one below /tmp].
    #[arg(long)]
    dir: Option<PathBuf>,
}

/// The message that the demo sends, and the answer that it gives.
const MESSAGE: &str = "Add a friendly greeting in greeting.txt";
const ANSWER: &str = "the world";

/// What `demo --json` prints at its end.
#[derive(Debug, Serialize)]
struct DemoWire {
    folder: String,
    card: String,
    commit: String,
}

/// Carries out `demo`.
pub(crate) async fn demo(app: &App, args: &DemoArgs) -> Result<(), Failure> {
    refuse_foreign(&app.global)?;
    let name = || format!("cs-panel-demo-{}", SystemIds.uuid_v7().simple());
    let dir = args
        .dir
        .as_ref()
        .map_or_else(|| app.env.temp_dir.join(name()), |dir| app.env.absolute(dir));
    let stage = Stage::build(app, &dir).await?;
    tokio::select! {
        told = story(&stage) => told,
        _ = tokio::signal::ctrl_c() => Err(Failure::plain(format!(
            "the demo was interrupted; what it made is in {}", dir.display()
        ))),
    }
}

/// Refuses the flags that name what the demo makes itself: it touches nothing of the person's.
fn refuse_foreign(global: &Global) -> Result<(), Failure> {
    let given = [
        ("--state-dir", global.state_dir.is_some()),
        ("--database-url", global.database_url.is_some()),
        ("--config", global.config.is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((flag, _)) => Err(Failure::Usage(format!(
            "the demo makes a state directory, a record and a configuration of its own; leave out {flag}, \
             and choose where it makes them with --dir"
        ))),
    }
}

async fn story(stage: &Stage<'_>) -> Result<(), Failure> {
    stage.tell(&format!("The demo makes everything in {}", stage.dir().display()))?;
    stage.tell("\n1. A scratch repository with one commit, and an agent that follows a script.")?;
    stage.tell("\n2. A message becomes a card. It waits on the record until a daemon takes it.")?;
    let sent = stage.shown(&["send", MESSAGE]).await?;
    let card = card_of(stage, &sent).await?;

    stage.tell(
        "\n3. The daemon starts the agent in a clone of its own. The agent edits, commits, and asks.",
    )?;
    stage.shown(&["run", "--once"]).await?;
    let ask = only_ask(stage, &card, false).await?;
    stage.tell(&format!("   The question: {}", one_line(&ask["question"])))?;

    stage.tell("\n4. You answer. The same run goes on with the answer, and offers to land its work.")?;
    stage.shown(&["answer", &card, ANSWER]).await?;
    stage.shown(&["run", "--once"]).await?;
    let offer = only_ask(stage, &card, true).await?;
    stage.tell(&format!("   The offer: {}", one_line(&offer["question"])))?;

    stage.tell("\n5. You look at what changed, and accept. The daemon merges it into main.")?;
    let patch = stage.shown(&["diff", &card]).await?;
    stage.expect(
        patch.contains("+Hello, the world."),
        "the diff shows the greeting",
    )?;
    stage.shown(&["land", &card]).await?;
    stage.shown(&["run", "--once"]).await?;

    let shown = stage.json(&["show", &card]).await?;
    let commit = proof::landed(stage, &shown).await?;
    proof::nothing_runs(stage, &shown).await?;
    let short = commit.get(..10).unwrap_or(&commit);
    stage.tell(&format!(
        "\nLanded: main is at {short}, greeting.txt is there, and no process of the agent is left."
    ))?;
    look_closer(stage, &card)?;
    let folder = stage.dir().display().to_string();
    stage.finish(&DemoWire { folder, card, commit })
}

fn look_closer(stage: &Stage<'_>, card: &str) -> Result<(), Failure> {
    let panel = stage.command_line();
    let repo = text::shell_word(&stage.repository().to_string_lossy());
    stage.tell("\nLook closer:")?;
    for what in ["show", "tail"] {
        stage.tell(&format!("  {panel} {what} {card}"))?;
    }
    stage.tell(&format!("  cd {repo} && git log --oneline --graph"))?;
    let dir = text::shell_word(&stage.dir().to_string_lossy());
    stage.tell(&format!(
        "Everything is in {dir}; remove it when you have seen enough."
    ))
}

/// Finds the short id of the card that was sent.
async fn card_of(stage: &Stage<'_>, sent: &str) -> Result<String, Failure> {
    let cards = stage.json(&["cards"]).await?;
    let id = cards[0]["card"]["id"].as_str().unwrap_or_default();
    let short = id.get(id.len().saturating_sub(8)..).unwrap_or_default();
    stage.expect(
        !short.is_empty() && sent.contains(short),
        "the message is on a new card",
    )?;
    Ok(short.to_owned())
}

/// Finds the one open question, which is an offer to land or is not.
async fn only_ask(stage: &Stage<'_>, card: &str, offers_landing: bool) -> Result<Value, Failure> {
    let asks = stage.json(&["asks"]).await?;
    let only = asks
        .as_array()
        .filter(|asks| asks.len() == 1)
        .and_then(|asks| asks.first());
    let fits = |ask: &&Value| {
        ask["offers_landing"] == Value::Bool(offers_landing)
            && ask["card"].as_str().is_some_and(|id| id.ends_with(card))
    };
    let what = if offers_landing {
        "the agent offers to land its work"
    } else {
        "the agent asks one question"
    };
    stage.expect(only.filter(fits).is_some(), what)?;
    Ok(only.cloned().unwrap_or_default())
}

fn one_line(text: &Value) -> String {
    text::one_line(text.as_str().unwrap_or_default(), 200)
}

/// Refuses a folder that holds something.
fn make_folder(dir: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::failed(error, format!("the folder {} cannot be made", dir.display()));
    std::fs::create_dir_all(dir).map_err(failed)?;
    if std::fs::read_dir(dir).map_err(failed)?.next().is_some() {
        return Err(Failure::Usage(format!(
            "the folder {} is not empty; name one that is empty or not there",
            dir.display()
        )));
    }
    Ok(())
}
