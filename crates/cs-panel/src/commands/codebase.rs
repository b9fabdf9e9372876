//! `codebase add` and `codebase list`: the git repositories that agents work on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use cs_model::{CodebaseId, IdSource};
use cs_record::{Codebase, RecordError, Refusal};
use cs_worktree::{Inspection, Repository};

use crate::app::{App, Desk};
use crate::failure::Failure;
use crate::os::SystemIds;
use crate::wire::CodebaseWire;

/// A codebase name that is taken gets a number, up to this one.
const NAME_NUMBER_MAX: u32 = 1_000;

#[derive(Debug, Subcommand)]
pub(crate) enum CodebaseCommand {
    /// Register a git repository, or show under which name it is registered.
    Add(AddArgs),
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

/// Carries out `codebase ...`.
pub(crate) async fn codebase(app: &App, command: CodebaseCommand) -> Result<(), Failure> {
    match command {
        CodebaseCommand::Add(args) => add(app, args).await,
        CodebaseCommand::List => list(app).await,
    }
}

async fn add(app: &App, args: AddArgs) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let path = args
        .path
        .map_or_else(|| app.env.cwd.clone(), |path| app.env.absolute(&path));
    let seen = Repository::inspect(&app.git(&desk.state).await?, &path).await?;
    let (codebase, path) = register(&desk, &seen, args.name.as_deref()).await?;
    if app.global.json {
        return app.out.json(&wire(&codebase, Some(&path)));
    }
    app.out
        .line(&format!("codebase {} is {}", codebase.name, path.display()))?;
    tell_about(app, &seen);
    Ok(())
}

async fn list(app: &App) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let here = desk
        .checkouts
        .list()?
        .into_iter()
        .map(|checkout| (checkout.codebase, checkout.path));
    let here: BTreeMap<CodebaseId, PathBuf> = here.collect();
    let codebases = desk.ports.codebases.codebases().await?;
    let all = codebases
        .iter()
        .map(|codebase| wire(codebase, here.get(&codebase.id).map(PathBuf::as_path)));
    let all: Vec<CodebaseWire> = all.collect();
    if app.global.json {
        return app.out.json(&all);
    }
    if all.is_empty() {
        app.out
            .said("no codebase is registered; add one with `cs-panel codebase add PATH`");
        return Ok(());
    }
    let row = |codebase: CodebaseWire| {
        vec![
            codebase.name,
            codebase.path.unwrap_or_else(|| "not on this machine".to_owned()),
        ]
    };
    app.out
        .table(&["CODEBASE", "CHECKOUT"], all.into_iter().map(row).collect())
}

fn wire(codebase: &Codebase, path: Option<&Path>) -> CodebaseWire {
    let path = path.map(|path| path.to_string_lossy().into_owned());
    CodebaseWire {
        id: codebase.id,
        name: codebase.name.clone(),
        path,
    }
}

/// Registers the repository that was seen, under `name` or the name of its directory; finds it when it is registered.
///
/// The local note comes first and holds the id, so that a crash in between is finished by the next call.
///
/// A name that the record knows from other machines, given for a repository that has none here, makes it this machine's checkout of
/// that codebase.
///
/// # Errors
/// `name` is that of another repository of this machine, or the repository has another name already.
pub(crate) async fn register(
    desk: &Desk,
    seen: &Inspection,
    name: Option<&str>,
) -> Result<(Codebase, PathBuf), Failure> {
    if let Some(name) = name {
        check_name(name)?;
    }
    let known = desk.ports.codebases.codebases().await?;
    let toplevel = &seen.repository.toplevel;
    let elsewhere = codebase_elsewhere(desk, &known, name)?;
    let noted = desk
        .checkouts
        .find_or_add(toplevel, &seen.repository.common_dir, || {
            elsewhere.unwrap_or_else(|| CodebaseId::from_uuid(SystemIds.uuid_v7()))
        })?;
    let add = |name: String| async move {
        desk.ports
            .codebases
            .add_codebase(noted.codebase, &name, desk.machine)
            .await
    };
    if let Some(known) = known.iter().find(|codebase| codebase.id == noted.codebase) {
        if name.is_some_and(|name| name != known.name) {
            return Err(Failure::Refused(format!(
                "{} is registered as codebase `{}` already; use that name",
                toplevel.display(),
                known.name
            )));
        }
        return Ok((add(known.name.clone()).await?, noted.path));
    }
    if let Some(name) = name {
        return Ok((add(name.to_owned()).await?, noted.path));
    }
    let plain = name_of(toplevel);
    for number in 1..=NAME_NUMBER_MAX {
        let candidate = if number == 1 {
            plain.clone()
        } else {
            format!("{plain}-{number}")
        };
        match add(candidate).await {
            Err(RecordError::Refused(Refusal::NameTaken { .. })) => {}
            other => return Ok((other?, noted.path)),
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
            "the base is your local branch {0} and the work lands on it; nothing is fetched or pushed",
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
