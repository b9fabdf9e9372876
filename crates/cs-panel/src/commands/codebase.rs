//! `codebase ...`: the git repositories that agents work on.

mod agents;
mod list;
mod set;

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use cs_model::{CodebaseId, IdSource, MachineId};
use cs_record::{Card, CardFilter, Codebase, RecordError, Refusal};
use cs_worktree::{Inspection, Repository};

use crate::app::{App, Desk};
use crate::checkouts::{self, Checkout, Noted, NotedFrom};
use crate::failure::Failure;
use crate::os::SystemIds;
use list::wire;

/// A codebase name that is taken gets a number, up to this one.
const NAME_NUMBER_MAX: u32 = 1_000;

#[derive(Debug, Subcommand)]
pub(crate) enum CodebaseCommand {
    /// Register a git repository, or show under which name it is registered.
    Add(AddArgs),
    /// Say what every tree of a codebase gets on this machine before its agent starts, and what a landing means there.
    Set(set::SetArgs),
    /// Forget where a codebase is on this machine.
    Remove(RemoveArgs),
    /// List the codebases of the record, and where this machine has them.
    List,
}

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// A path inside the repository [default: the current directory].
    path: Option<PathBuf>,
    /// What to call it [default: the name of its directory].
    #[arg(long)]
    name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// The codebase.
    name: String,
}

/// Carries out `codebase ...`.
pub(crate) async fn codebase(app: &App, command: CodebaseCommand) -> Result<(), Failure> {
    match command {
        CodebaseCommand::Add(args) => add(app, args).await,
        CodebaseCommand::Set(args) => set::set(app, args).await,
        CodebaseCommand::Remove(args) => remove(app, &args).await,
        CodebaseCommand::List => list::list(app).await,
    }
}

async fn add(app: &App, args: AddArgs) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let path = args
        .path
        .map_or_else(|| app.env.cwd.clone(), |path| app.env.absolute(&path));
    let seen = Repository::inspect(&app.git(&desk.state).await?, &path).await?;
    let registered = register(&desk, &seen, args.name.as_deref()).await?;
    let codebase = &registered.codebase;
    if app.global.json {
        registered.tell_settings(app);
        return app
            .out
            .json(&wire(codebase, desk.checkouts.find(codebase.id)?.as_ref()));
    }
    let path = registered.noted.checkout.path.display();
    app.out.line(&format!("codebase {} is {path}", codebase.name))?;
    registered.tell_settings(app);
    tell_about(app, &seen);
    Ok(())
}

async fn remove(app: &App, args: &RemoveArgs) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let codebase = named(&desk, &args.name).await?;
    let not_here = || {
        Failure::Refused(format!(
            "codebase `{}` is not on this machine; `cs-panel codebase list` says what is",
            args.name
        ))
    };
    if desk.checkouts.find(codebase.id)?.is_none() {
        return Err(not_here());
    }
    let cards = desk.ports.reads.cards(CardFilter::Current).await?.rows;
    let cards = cards.into_iter().map(|summary| summary.card);
    let its: Vec<Card> = cards.filter(|card| card.codebase == Some(codebase.id)).collect();
    let digits = |machine: Option<MachineId>| {
        let there = its.iter().filter(|card| card.machine == machine);
        there.map(|card| card.id.short()).collect::<Vec<String>>()
    };
    let open = digits(Some(desk.machine));
    if let Some(first) = open.first() {
        return Err(Failure::Refused(format!(
            "these cards have their trees of codebase `{}` on this machine: {}; land or close them first (`cs-panel close {first}`)",
            args.name,
            open.join(", ")
        )));
    }
    let waiting = digits(None);
    let removed = desk.checkouts.remove(codebase.id)?.ok_or_else(not_here)?;
    if app.global.json {
        return app.out.json(&wire(&codebase, None));
    }
    app.out.line(&format!(
        "codebase {} is no longer on this machine; {} is as it was",
        codebase.name,
        removed.path.display()
    ))?;
    if removed.is_set() {
        app.out.said(&format!(
            "what was set of it is kept, and set again when it is added again; by hand that is\n  {}",
            set::command(&codebase.name, &removed)
        ));
    }
    if !waiting.is_empty() {
        app.out.said(&format!(
            "these cards wait for a machine that has it: {}",
            waiting.join(", ")
        ));
    }
    app.out.said(&format!(
        "the record keeps its name and its cards, and this machine what was saved of it; `cs-panel codebase add PATH --name {}` takes it up again",
        crate::text::shell_word(&codebase.name)
    ));
    Ok(())
}

/// Finds a codebase of the record by its name.
///
/// # Errors
/// None is called so.
pub(crate) async fn named(desk: &Desk, name: &str) -> Result<Codebase, Failure> {
    let mut all = desk.ports.codebases.codebases().await?.into_iter();
    all.find(|codebase| codebase.name == name).ok_or_else(|| {
        Failure::plain(format!(
            "there is no codebase `{name}`; `cs-panel codebase list` lists them"
        ))
    })
}

/// Says whether the repository of a checkout is not where it was.
fn is_gone(checkout: &Checkout) -> bool {
    let missing = |path: &Path| {
        path.metadata()
            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    };
    missing(&checkout.common_dir)
}

/// A repository that is registered.
#[derive(Debug)]
pub(crate) struct Registered {
    /// As what.
    pub(crate) codebase: Codebase,
    noted: Noted,
    /// Whether the record knew it before.
    was_known: bool,
}

impl Registered {
    /// Says what is set of a codebase that has come to this machine again, or that what may have been set is gone.
    pub(crate) fn tell_settings(&self, app: &App) {
        let (name, word) = (&self.codebase.name, crate::text::shell_word(&self.codebase.name));
        match self.noted.from {
            NotedFrom::Before if self.noted.checkout.is_set() => app.out.said(&format!(
                "codebase {name} was on this machine before, and what was set of it holds again; `cs-panel codebase set {word}` shows it, \
                 by hand that is\n  {}",
                set::command(name, &self.noted.checkout)
            )),
            NotedFrom::New if self.was_known => app.out.said(&format!(
                "nothing is set of codebase {name} on this machine, whatever was set before or elsewhere: its landings are not verified \
                 and no branch is protected; see `cs-panel codebase set {word} --help`"
            )),
            NotedFrom::List | NotedFrom::Before | NotedFrom::New => {}
        }
    }
}

/// Registers the repository that was seen, under `name` or the name of its directory; finds it when it is registered.
///
/// The local note comes first and holds the id, so that a crash in between is finished by the next call.
///
/// A name that the record knows from other machines, given for a repository that has none here, makes it this machine's checkout of
/// that codebase. So does the name of one whose repository is gone from where it was: it has moved here.
///
/// # Errors
/// `name` is that of another repository of this machine, or the repository has another name already. Without a name: one of this name
/// is gone from where it was, and may be this one.
pub(crate) async fn register(
    desk: &Desk,
    seen: &Inspection,
    name: Option<&str>,
) -> Result<Registered, Failure> {
    if let Some(name) = name {
        check_name(name)?;
    }
    let known = desk.ports.codebases.codebases().await?;
    let toplevel = &seen.repository.toplevel;
    checkouts::check_path(toplevel)?;
    let elsewhere = codebase_elsewhere(desk, &known, name)?;
    take_up_moved(desk, &known, seen, name)?;
    if name.is_none() {
        refuse_without_name(desk, &known, seen)?;
    }
    let fresh = || CodebaseId::from_uuid(SystemIds.uuid_v7());
    let common_dir = &seen.repository.common_dir;
    let noted = desk
        .checkouts
        .find_or_add(toplevel, common_dir, elsewhere, fresh)?;
    let id = noted.checkout.codebase;
    let before = known.iter().find(|codebase| codebase.id == id);
    let codebase = match before {
        Some(known) if name.is_some_and(|name| name != known.name) => {
            return Err(Failure::Refused(format!(
                "{} is registered as codebase `{}` already; use that name",
                toplevel.display(),
                known.name
            )));
        }
        Some(known) => record(desk, id, &known.name).await?,
        None => match name {
            Some(name) => record(desk, id, name).await?,
            None => record_as_free(desk, id, &name_of(toplevel)).await?,
        },
    };
    Ok(Registered {
        codebase,
        noted,
        was_known: before.is_some(),
    })
}

async fn record(desk: &Desk, id: CodebaseId, name: &str) -> Result<Codebase, RecordError> {
    let codebases = &desk.ports.codebases;
    codebases.add_codebase(id, name, desk.machine).await
}

/// Records it under this name, or under the first one with a number that is not taken.
async fn record_as_free(desk: &Desk, id: CodebaseId, plain: &str) -> Result<Codebase, Failure> {
    for number in 1..=NAME_NUMBER_MAX {
        let candidate = if number == 1 {
            plain.to_owned()
        } else {
            format!("{plain}-{number}")
        };
        match record(desk, id, &candidate).await {
            Err(RecordError::Refused(Refusal::NameTaken { .. })) => {}
            other => return Ok(other?),
        }
    }
    Err(Failure::plain(format!(
        "{NAME_NUMBER_MAX} codebases are called `{plain}`; give another name with --name"
    )))
}

/// Finds the codebase of the record that a name means and that this machine has no checkout of yet: the repository becomes one.
fn codebase_elsewhere(
    desk: &Desk,
    known: &[Codebase],
    name: Option<&str>,
) -> Result<Option<CodebaseId>, Failure> {
    let Some(codebase) = known.iter().find(|codebase| Some(codebase.name.as_str()) == name) else {
        return Ok(None);
    };
    let here = desk.checkouts.list()?;
    let has_checkout = here.iter().any(|checkout| checkout.codebase == codebase.id);
    Ok((!has_checkout).then_some(codebase.id))
}

/// Notes that the repository that was seen is the one of this name, where that one is gone from where it was.
fn take_up_moved(
    desk: &Desk,
    known: &[Codebase],
    seen: &Inspection,
    name: Option<&str>,
) -> Result<(), Failure> {
    let (toplevel, common_dir) = (&seen.repository.toplevel, &seen.repository.common_dir);
    let here = desk.checkouts.list()?;
    if here.iter().any(|checkout| checkout.common_dir == *common_dir) {
        return Ok(());
    }
    let plain = name_of(toplevel);
    let wanted = name.unwrap_or(&plain);
    let codebase = known.iter().find(|codebase| codebase.name == wanted);
    let Some(old) = codebase.and_then(|codebase| here.iter().find(|old| old.codebase == codebase.id)) else {
        return Ok(());
    };
    let word = crate::text::shell_word(wanted);
    match (name, is_gone(old)) {
        (Some(_), true) => {
            desk.checkouts.change(old.codebase, |moved| {
                toplevel.clone_into(&mut moved.path);
                common_dir.clone_into(&mut moved.common_dir);
            })?;
            Ok(())
        }
        (Some(_), false) => Err(Failure::Refused(format!(
            "codebase `{wanted}` is {} on this machine; choose another name, or forget that one first with `cs-panel codebase remove {word}`",
            old.path.display()
        ))),
        (None, true) => Err(Failure::Refused(format!(
            "codebase `{wanted}` was {}, which is gone: if this is it, say so with `cs-panel codebase add {} --name {word}`, else give it another name with --name",
            old.path.display(),
            crate::text::shell_word(&toplevel.to_string_lossy())
        ))),
        (None, false) => Ok(()),
    }
}

/// Refuses to take a repository for a new codebase that was one on this machine before: its cards and what was set of it would be
/// another one's.
fn refuse_without_name(desk: &Desk, known: &[Codebase], seen: &Inspection) -> Result<(), Failure> {
    let toplevel = &seen.repository.toplevel;
    let were = desk.checkouts.were(&seen.repository.common_dir)?;
    let was = |codebase: &&Codebase| were.iter().any(|was| was.codebase == codebase.id);
    let Some(codebase) = known.iter().find(was) else {
        return Ok(());
    };
    Err(Failure::Refused(format!(
        "{} was codebase `{}` on this machine: if it is that still, say so with `cs-panel codebase add {} --name {}`, which sets again what \
         was set of it; else give it another name with --name",
        toplevel.display(),
        codebase.name,
        crate::text::shell_word(&toplevel.to_string_lossy()),
        crate::text::shell_word(&codebase.name)
    )))
}

/// Says what an agent will not see, and where its work will land.
pub(crate) fn tell_about(app: &App, seen: &Inspection) {
    if seen.uncommitted > 0 {
        let changes = crate::text::count(seen.uncommitted, "uncommitted change");
        let path = seen.repository.toplevel.display();
        app.out.said(&format!(
            "{path} has {changes}, which the agent will not see; commit what it should start from"
        ));
    }
    if seen.current_branch.as_ref() != Some(&seen.base_branch) {
        let path = seen.repository.toplevel.display();
        app.out.said(&format!(
            "{path} has {} checked out; the work starts from your local branch {} and lands on it",
            match &seen.current_branch {
                None => "no branch".to_owned(),
                Some(branch) => format!("the branch {branch}, which has no commit,"),
            },
            seen.base_branch
        ));
    }
    if seen.has_remote {
        app.out.said(&format!(
            "the base is your local branch {0} and the work lands on it; where that follows a branch of a remote, a landing is pushed \
             there first (`cs-panel codebase set` with --target local keeps it here); nothing else is fetched or pushed",
            seen.base_branch
        ));
    }
}

fn check_name(name: &str) -> Result<(), Failure> {
    let ok = (1..=100).contains(&name.chars().count())
        && name.trim() == name
        && !name.chars().any(char::is_control);
    if ok {
        return Ok(());
    }
    let name = crate::text::one_line(name, 80);
    Err(Failure::Usage(format!(
        "`{name}` cannot be the name of a codebase, expected 1 to 100 characters without control characters"
    )))
}

/// The name of the directory, or what is left of it.
fn name_of(toplevel: &Path) -> String {
    let name = toplevel.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.trim().chars().filter(|c| !c.is_control()).take(90).collect();
    if name.trim().is_empty() {
        "codebase".to_owned()
    } else {
        name.trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_codebase_is_named_after_its_directory() {
        assert_eq!(name_of(Path::new("/home/ada/parser")), "parser");
        assert_eq!(name_of(Path::new("/")), "codebase");
        assert!(check_name(&name_of(Path::new("/x/ a\u{1b}b "))).is_ok());
    }

    #[test]
    fn a_name_is_printable() {
        for bad in ["", " a", "a\n", &"x".repeat(101)] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }
}
