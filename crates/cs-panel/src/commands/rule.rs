//! `rule ...`: standing rules, which agents are told at each of their starts.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use cs_model::{CodebaseId, IdSource, RuleId};
use cs_record::rules::MAX_RULE_BYTES;
use cs_record::{AddRule, Codebase, StandingRule};
use cs_worktree::plain;

use super::codebase::named;
use super::send::words;
use crate::app::{App, Desk};
use crate::failure::Failure;
use crate::os::SystemIds;
use crate::text;
use crate::wire::RuleWire;

#[derive(Debug, Subcommand)]
pub(crate) enum RuleCommand {
    /// Add a rule, for all agents or for those of a codebase.
    Add(AddArgs),
    /// List the rules, as agents are told them.
    List(ListArgs),
    /// Write other words for a rule.
    Edit(EditArgs),
    /// Take a rule away.
    Rm(RmArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// Only for agents that work on this codebase.
    #[arg(long, value_name = "NAME")]
    codebase: Option<String>,
    #[command(flatten)]
    words: WordsArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only those that agents on this codebase are told.
    #[arg(long, value_name = "NAME")]
    codebase: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct EditArgs {
    /// The rule: its id, or the first or last of the digits that are shown.
    rule: String,
    #[command(flatten)]
    words: WordsArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    /// The rule: its id, or the first or last of the digits that are shown.
    rule: String,
}

/// The words of a rule.
#[derive(Debug, Args)]
struct WordsArgs {
    /// Read the words from this file.
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    file: Option<PathBuf>,
    /// The words; `-` or nothing reads standard input.
    text: Option<String>,
}

impl WordsArgs {
    fn read(&self, app: &App) -> Result<String, Failure> {
        match &self.file {
            Some(file) => words(Some(&from_file(&app.env.absolute(file))?), "rule", MAX_RULE_BYTES),
            None => words(self.text.as_deref(), "rule", MAX_RULE_BYTES),
        }
    }
}

/// Reads the words of a file: all of them, whatever they are.
fn from_file(file: &Path) -> Result<String, Failure> {
    let name = file.display();
    let bytes = plain::read(file, MAX_RULE_BYTES as u64).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => Failure::Usage(format!(
            "{name} is longer than the {MAX_RULE_BYTES} bytes of a rule; shorten it, or make two rules of it"
        )),
        ErrorKind::IsADirectory | ErrorKind::InvalidInput | ErrorKind::NotFound => {
            Failure::Usage(format!("{name} cannot be read: {error}"))
        }
        _ => Failure::failed(error, format!("{name} cannot be read")),
    })?;
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| Failure::Usage(format!("{name} is not UTF-8; expected text")))?;
    if text == "-" {
        return Err(Failure::Usage(format!("{name} holds no words")));
    }
    Ok(text)
}

/// Carries out `rule ...`.
pub(crate) async fn rule(app: &App, command: RuleCommand) -> Result<(), Failure> {
    match command {
        RuleCommand::Add(args) => add(app, &args).await,
        RuleCommand::List(args) => list(app, &args).await,
        RuleCommand::Edit(args) => edit(app, &args).await,
        RuleCommand::Rm(args) => remove(app, &args).await,
    }
}

async fn add(app: &App, args: &AddArgs) -> Result<(), Failure> {
    let body = args.words.read(app)?;
    let desk = app.desk().await?;
    let codebase = codebase_of(&desk, args.codebase.as_deref()).await?;
    let add = AddRule {
        rule: RuleId::from_uuid(SystemIds.uuid_v7()),
        codebase: codebase.as_ref().map(|codebase| codebase.id),
        body,
        person: app.person(&desk.state).await?,
    };
    let rule = desk.ports.standing.add_rule(&add).await?;
    if app.global.json {
        return app
            .out
            .json(&RuleWire::of(&rule, codebase.map(|codebase| codebase.name)));
    }
    let whom = codebase.map_or_else(
        || "all agents".to_owned(),
        |codebase| format!("the agents on {}", codebase.name),
    );
    app.out.line(&format!(
        "rule {} is set: {whom} are told it from their next start on",
        rule.id.short()
    ))
}

async fn edit(app: &App, args: &EditArgs) -> Result<(), Failure> {
    let body = args.words.read(app)?;
    let desk = app.desk().await?;
    let id = desk.ports.standing.find_rule(&args.rule).await?;
    let person = app.person(&desk.state).await?;
    let rule = desk.ports.standing.edit_rule(id, &body, &person).await?;
    if app.global.json {
        let known = desk.ports.codebases.codebases().await?;
        return app.out.json(&RuleWire::of(&rule, name_of(&known, rule.codebase)));
    }
    app.out.line(&format!(
        "rule {} has version {}: agents are told it from their next start on",
        rule.id.short(),
        rule.version
    ))
}

async fn remove(app: &App, args: &RmArgs) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let id = desk.ports.standing.find_rule(&args.rule).await?;
    desk.ports.standing.remove_rule(id).await?;
    if app.global.json {
        return list(app, &ListArgs { codebase: None }).await;
    }
    app.out.line(&format!(
        "rule {} is gone: agents are told at their next start that it holds no longer",
        id.short()
    ))
}

async fn list(app: &App, args: &ListArgs) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let only = codebase_of(&desk, args.codebase.as_deref()).await?;
    let mut rules = desk.ports.standing.standing_rules().await?;
    if let Some(only) = &only {
        rules.retain(|rule| rule.covers(Some(only.id)));
    }
    let known = desk.ports.codebases.codebases().await?;
    let name = |rule: &StandingRule| name_of(&known, rule.codebase);
    if app.global.json {
        let all = rules.iter().map(|rule| RuleWire::of(rule, name(rule)));
        return app.out.json(&all.collect::<Vec<_>>());
    }
    if rules.is_empty() {
        app.out.said("no rules; add one with `cs-panel rule add TEXT`");
        return Ok(());
    }
    let now = app.now();
    let blocks = rules.iter().map(|rule| {
        let whom = name(rule).map_or_else(|| "all agents".to_owned(), |name| format!("agents on {name}"));
        let when = text::ago(now, rule.updated_at);
        let head = format!(
            "{} for {whom}, version {}, by {}, {when}",
            rule.id.short(),
            rule.version,
            text::one_line(rule.by.as_str(), 60)
        );
        format!("{head}\n{}", text::indented(&rule.body, "  "))
    });
    app.out.line(blocks.collect::<Vec<_>>().join("\n").trim_end())
}

async fn codebase_of(desk: &Desk, name: Option<&str>) -> Result<Option<Codebase>, Failure> {
    match name {
        Some(name) => named(desk, name).await.map(Some),
        None => Ok(None),
    }
}

fn name_of(known: &[Codebase], id: Option<CodebaseId>) -> Option<String> {
    let id = id?;
    let found = known.iter().find(|codebase| codebase.id == id);
    Some(found.map_or_else(|| id.short(), |codebase| codebase.name.clone()))
}
